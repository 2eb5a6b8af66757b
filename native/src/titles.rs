//! Terms of titles and where they begin in the body, as `es_dedup.text.titles`.

use crate::hashing::mix;
use crate::tokens::Tokens;

const PAIR_BASE: u64 = 0xA076_1D64_78BD_642F;
const MAX_TERMS: usize = 32;
const UNTITLED_TOKENS: usize = 24;
/// Few enough bits to stay in the nearest cache, enough to spare nearly every comparison.
const FILTER_BITS: u32 = 12;

/// The term that begins at a token.
#[inline(always)]
fn term_at(tokens: &Tokens, at: usize) -> u64 {
    if tokens.begins_pair(at) {
        return mix(tokens.hashes[at].wrapping_mul(PAIR_BASE).wrapping_add(tokens.hashes[at + 1]));
    }
    tokens.hashes[at]
}

/// Distinct terms of a title, or of the first tokens of a page without one, in order of appearance.
///
/// `function_words` are hashes of words that are no terms, ascending.
pub fn title_terms(title: &Tokens, body: &Tokens, function_words: &[u64]) -> Vec<u64> {
    let (tokens, count) =
        if title.count() > 0 { (title, title.count()) } else { (body, body.count().min(UNTITLED_TOKENS)) };
    let mut terms = Vec::with_capacity(MAX_TERMS);
    for at in 0..count {
        let term = term_at(tokens, at);
        let names_something =
            tokens.begins_pair(at) || !tokens.each[at].single && function_words.binary_search(&term).is_err();
        if names_something && terms.len() < MAX_TERMS && !terms.contains(&term) {
            terms.push(term);
        }
    }
    terms
}

/// Per token of the body, bit `j` set where term `j` begins.
pub fn term_masks(body: &Tokens, terms: &[u64], masks: &mut Vec<u32>) {
    masks.clear();
    masks.resize(body.count(), 0);
    if terms.is_empty() {
        return;
    }
    let place = |term: u64| ((term >> (64 - FILTER_BITS + 6)) as usize, 1u64 << (term >> (64 - FILTER_BITS) & 63));
    let mut filter = [0u64; 1 << (FILTER_BITS - 6)];
    for &term in terms {
        let (word, bit) = place(term);
        filter[word] |= bit;
    }
    for (at, mask) in masks.iter_mut().enumerate() {
        let term = term_at(body, at);
        let (word, bit) = place(term);
        if filter[word] & bit != 0 {
            if let Some(found) = terms.iter().position(|&each| each == term) {
                *mask = 1 << found;
            }
        }
    }
}
