//! Features of the default methods of many pages, as `es_dedup.detectors.features.featurise`.

use bytemuck::cast_slice;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::hashing::{high, mix, sequence_hash, Polynomial, SEED};
use crate::numbers::{mark_numbers, number_runs};
use crate::table::Language;
use crate::text::Texts;
use crate::threads::{in_threads, ranges};
use crate::titles::{term_masks, title_terms};
use crate::tokens::Tokens;

const PERIOD_BASE: u64 = 0x8CB9_2BA7_2F3D_8DD7;
const PAIR_BASE: u64 = 0x9FB2_1C65_1E98_DF25;
const TOKEN_BASE: u64 = 0xC2B2_AE3D_27D4_EB4F;
const GRAM_BASE: u64 = 0x1656_67B1_9E37_79F9;
const NUMBER_MASK: u64 = 0x23;
const FULL_STOP: u32 = 0x3002;
const CJK_GRAM: usize = 5;
const WORD_GRAM: usize = 4;
const SIGNATURES_MOST: usize = 2048;
const SKETCH_LEAST: usize = 128;
const SKETCH_MOST: usize = 512;
const SKETCH_SHARE: usize = 8;
const CLAUSES_MOST: usize = 192;
const NUMBERS_MOST: usize = 128;
const LONGEST_CLAUSE: u32 = 255;
/// Threshold of a sample that left nothing out.
pub const COMPLETE: u32 = u32::MAX;
/// Pages that a thread works on at a time.
const PART: usize = 16;

/// What is the same for all pages of a call.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub language: Language<'a>,
    /// Characters of a period signature.
    pub window: usize,
}

macro_rules! columns {
    ($($name:ident: $kind:ty),* $(,)?) => {
        /// Columns of a table of features; those that end in `_counts` say how many values of others each page has.
        #[derive(Default)]
        pub struct Columns { $(pub $name: Vec<$kind>),* }

        impl Columns {
            /// The rows of several tables, one after the other.
            fn joined(parts: Vec<Self>) -> Self {
                let mut whole = Self::default();
                $(
                    whole.$name.reserve_exact(parts.iter().map(|part| part.$name.len()).sum());
                    for part in &parts { whole.$name.extend_from_slice(&part.$name) }
                )*
                whole
            }
        }
    };
}

columns! {
    lengths: i64, hashes: u64, fingerprints: u64, has_words: bool,
    period_counts: i64, signatures: u64, totals: i64,
    tokens: u32, body_mask: u32, titled: bool,
    gram_counts: i64, grams: u32, gram_masks: u32, gram_threshold: u32,
    clause_counts: i64, clauses: u32, clause_lengths: u8, clause_masks: u32, clause_masked: u32, clause_threshold: u32,
    title_counts: i64, titles: u32,
    number_counts: i64, numbers: u32, number_threshold: u32,
}

/// Features of normalised texts and of the headlines of the same pages.
pub fn features(texts: Texts<'_>, titles: Texts<'_>, given: Given<'_>, threads: usize) -> Columns {
    let pages = ranges(texts.count(), PART);
    Columns::joined(in_threads(texts.count().div_ceil(PART), threads, |part| {
        let mut columns = Columns::default();
        let mut work = Work::default();
        for page in pages(part) {
            work.page(texts.page(page), titles.page(page), given, &mut columns);
        }
        columns
    }))
}

/// Arrays that are used again for each page.
#[derive(Default)]
struct Work {
    body: Tokens,
    title: Tokens,
    dense: Vec<u32>,
    masks: Vec<u32>,
    numbers: Vec<bool>,
    grams: Vec<u64>,
    clauses: Vec<Clause>,
}

struct Clause {
    hash: u32,
    /// Hash with each run of numbers as one mask; 0 without numbers.
    masked: u32,
    characters: u32,
    /// Terms of the title that begin in it.
    mask: u32,
}

impl Work {
    fn page(&mut self, text: &[u32], title: &[u32], given: Given<'_>, columns: &mut Columns) {
        self.body.read(text, given.language);
        self.title.read(title, given.language);
        columns.lengths.push(text.len() as i64);
        columns.has_words.push(self.body.count() > 0);
        columns.fingerprints.push(fingerprint(&self.body.hashes));
        self.periods(text, given.window, columns);
        columns.hashes.push(xxh3_64_with_seed(cast_slice(&self.dense), SEED));
        let singles = self.body.each.iter().filter(|token| token.single).count();
        columns.tokens.push((2 * self.body.count() - singles) as u32);

        let terms = title_terms(&self.title, &self.body, given.language.function_words);
        term_masks(&self.body, &terms, &mut self.masks);
        columns.titled.push(self.title.count() > 0);
        columns.body_mask.push(self.masks.iter().fold(0, |all, mask| all | mask));
        columns.title_counts.push(terms.len() as i64);
        columns.titles.extend(terms.into_iter().map(high));

        self.sample_grams(columns);
        let any = mark_numbers(&self.body, &mut self.numbers);
        self.sample_clauses(any, columns);
        let mut runs: Vec<u32> =
            if any { number_runs(text, &self.body, &self.numbers).into_iter().map(high).collect() } else { Vec::new() };
        runs.sort_unstable();
        runs.dedup();
        columns.number_threshold.push(threshold(&runs, NUMBERS_MOST));
        runs.truncate(NUMBERS_MOST);
        columns.number_counts.push(runs.len() as i64);
        columns.numbers.extend(runs);
    }

    /// The text without white space, and the signatures of the characters before each full stop.
    fn periods(&mut self, text: &[u32], window: usize, columns: &mut Columns) {
        self.dense.clear();
        let mut signatures: Vec<u64> = Vec::new();
        let mut begin = 0;
        for &code in text.iter().filter(|&&code| code != 0x20 && code != 0x0A) {
            if code == FULL_STOP {
                let end = self.dense.len();
                let start = begin.max(end.saturating_sub(window));
                if start < end {
                    let characters = self.dense[start..end].iter().map(|&code| mix(u64::from(code)));
                    signatures.push(sequence_hash(characters, PERIOD_BASE) >> 24);
                }
                begin = end + 1;
            }
            self.dense.push(code);
        }
        signatures.sort_unstable();
        signatures.dedup();
        columns.totals.push(signatures.len() as i64);
        signatures.truncate(SIGNATURES_MOST);
        columns.period_counts.push(signatures.len() as i64);
        columns.signatures.extend(signatures);
    }

    /// The smallest distinct gram hashes, each with the terms of the title that begin in its first tokens.
    fn sample_grams(&mut self, columns: &mut Columns) {
        let count = self.body.count();
        let last_is_word = count >= WORD_GRAM && !self.body.each[count - WORD_GRAM].single;
        let total = count.saturating_sub(CJK_GRAM - 1) + usize::from(last_is_word);
        let limit = (total / SKETCH_SHARE).clamp(SKETCH_LEAST, SKETCH_MOST);
        let mut share = ((limit as f64 * 1.5 + 40.0) / total.max(1) as f64).min(1.0);
        let distinct = loop {
            // Only hashes below about 1.5 times the expected threshold can be among the smallest; the rest need no sorting.
            self.hash_grams((share * f64::from(u32::MAX)) as u32);
            self.grams.sort_unstable();
            let distinct = self.grams.chunk_by(|one, other| one >> 32 == other >> 32).count();
            if distinct > limit || share >= 1.0 {
                break distinct;
            }
            share = 1.0; // a page that repeats itself has far fewer distinct grams
        };
        let equal = self.grams.chunk_by(|one, other| one >> 32 == other >> 32);
        for places in equal.take(limit) {
            columns.grams.push(high(places[0]));
            let begin_in = |place: &u64| {
                let token = *place as u32 as usize;
                self.masks[token..token + WORD_GRAM].iter().fold(0, |all, mask| all | mask)
            };
            columns.gram_masks.push(places.iter().map(begin_in).fold(0, |all, mask| all | mask));
        }
        columns.gram_counts.push(distinct.min(limit) as i64);
        let last = columns.grams.last().copied();
        columns.gram_threshold.push(if distinct > limit { last.unwrap_or(COMPLETE) } else { COMPLETE });
    }

    /// Fills `grams` with the hash of each complete gram, none above the bound, above the place of its first token.
    fn hash_grams(&mut self, bound: u32) {
        let tokens = &self.body;
        let powers: [u64; CJK_GRAM] = std::array::from_fn(|step| GRAM_BASE.wrapping_pow(step as u32));
        let mut kept = 0;
        self.grams.resize(tokens.count(), 0);
        for at in 0..tokens.count() {
            let Some(gram) = tokens.hashes.get(at..at + gram_size(tokens.each[at].single)) else { continue };
            let sum =
                gram.iter().zip(powers).fold(0u64, |sum, (hash, power)| sum.wrapping_add(hash.wrapping_mul(power)));
            let hash = high(mix(sum));
            // no branch: which hashes are small cannot be foretold
            self.grams[kept] = u64::from(hash) << 32 | at as u64;
            kept += usize::from(hash <= bound);
        }
        self.grams.truncate(kept);
    }

    fn sample_clauses(&mut self, any_numbers: bool, columns: &mut Columns) {
        self.hash_clauses(any_numbers);
        let mut order: Vec<u64> =
            self.clauses.iter().enumerate().map(|(row, clause)| u64::from(clause.hash) << 32 | row as u64).collect();
        order.sort_unstable();
        order.dedup_by_key(|key| *key >> 32); // of equal clauses the first one stays
        let cut = order.len() > CLAUSES_MOST;
        order.truncate(CLAUSES_MOST);
        columns.clause_threshold.push(if cut { high(order[CLAUSES_MOST - 1]) } else { COMPLETE });
        columns.clause_counts.push(order.len() as i64);
        for key in order {
            let clause = &self.clauses[key as u32 as usize];
            columns.clauses.push(clause.hash);
            columns.clause_lengths.push(clause.characters.min(LONGEST_CLAUSE) as u8);
            columns.clause_masks.push(clause.mask);
            columns.clause_masked.push(clause.masked);
        }
    }

    fn hash_clauses(&mut self, any_numbers: bool) {
        let tokens = &self.body;
        let mask = mix(NUMBER_MASK);
        self.clauses.clear();
        let mut at = 0;
        while at < tokens.count() {
            let number = tokens.each[at].clause;
            let mut hash = Polynomial::new(TOKEN_BASE);
            let mut masked = Polynomial::new(TOKEN_BASE);
            let mut clause = Clause { hash: 0, masked: 0, characters: 0, mask: 0 };
            let (mut numeric, mut in_number) = (false, false);
            while at < tokens.count() && tokens.each[at].clause == number {
                hash.push(tokens.hashes[at]);
                clause.characters += tokens.each[at].end - tokens.each[at].start;
                clause.mask |= self.masks[at];
                if any_numbers {
                    let figure = self.numbers[at];
                    if !(figure && in_number) {
                        masked.push(if figure { mask } else { tokens.hashes[at] });
                    }
                    numeric |= figure;
                    in_number = figure;
                }
                at += 1;
            }
            clause.hash = high(hash.hash());
            clause.masked = if numeric { high(masked.hash()) } else { 0 };
            self.clauses.push(clause);
        }
    }
}

/// The largest of the `most` smallest values, which ascend; `COMPLETE` where there are no more.
fn threshold(values: &[u32], most: usize) -> u32 {
    values.get(most).map_or(COMPLETE, |_| values[most - 1])
}

/// Tokens of a gram that begins with a single character, or with a word.
fn gram_size(single: bool) -> usize {
    [WORD_GRAM, CJK_GRAM][usize::from(single)]
}

/// SimHash over pairs of neighbouring tokens, or over the only token; 0 without tokens.
///
/// Sixty-four counters are added at once: plane `k` holds bit `k` of each. Four values go into the lowest two planes, and what these
/// cannot hold ripples up as a carry does.
fn fingerprint(hashes: &[u64]) -> u64 {
    let mut planes = [0u64; 64];
    let mut values = hashes.windows(2).map(|pair| pair[0].wrapping_mul(PAIR_BASE).wrapping_add(pair[1])).map(mix);
    if let [only] = hashes {
        planes[0] = mix(*only);
    }
    while let Some(first) = values.next() {
        let [second, third, fourth] = std::array::from_fn(|_| values.next().unwrap_or(0));
        let (ones, carry) = sum(planes[0], first, second);
        let (ones, other) = sum(ones, third, fourth);
        let (twos, mut carry) = sum(planes[1], carry, other);
        (planes[0], planes[1]) = (ones, twos);
        let mut plane = 2;
        while carry != 0 {
            (planes[plane], carry) = (planes[plane] ^ carry, planes[plane] & carry);
            plane += 1;
        }
    }
    let total = hashes.windows(2).len().max(hashes.len().min(1)) as u64;
    // A bit is set where its counter is above half of all: counters are compared with it from the highest plane down.
    let half = total / 2;
    let (mut above, mut equal) = (0u64, !0u64);
    for (plane, &ones) in planes.iter().enumerate().rev() {
        let bit = if half >> plane & 1 == 1 { !0u64 } else { 0 };
        above |= equal & ones & !bit;
        equal &= !(ones ^ bit);
    }
    above
}

/// Sum of three numbers of one bit, in each of 64 places: its lower and its upper bit.
fn sum(one: u64, two: u64, three: u64) -> (u64, u64) {
    let odd = one ^ two;
    (odd ^ three, one & two | odd & three)
}
