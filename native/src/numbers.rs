//! Numbers inside clauses, as `es_dedup.text.numbers`.

use crate::hashing::{mix, sequence_hash};
use crate::tokens::{Tokens, CHARACTER_BASE};

const RUN_BASE: u64 = 0x94D0_49BB_1331_11EB;
const COMMA: u32 = 0x2C;
const GROUP: u32 = 3;

/// Marks tokens that are numbers: digit runs, runs of Chinese numerals, a numeral before a unit; whether there are any.
pub fn mark_numbers(tokens: &Tokens, numbers: &mut Vec<bool>) -> bool {
    numbers.clear();
    let same_clause = |one: usize, other: usize| tokens.each[one].clause == tokens.each[other].clause;
    let figure = |at: usize| tokens.each[at].digits || tokens.is_numeral(at);
    numbers.extend((0..tokens.count()).map(|at| {
        if tokens.each[at].digits || !tokens.is_numeral(at) {
            return tokens.each[at].digits;
        }
        let next = at + 1;
        next < tokens.count() && same_clause(at, next) && (figure(next) || tokens.is_unit(next))
            || at > 0 && same_clause(at, at - 1) && figure(at - 1)
    }));
    numbers.contains(&true)
}

/// A token, or several that are one number with its thousands set apart by commas.
struct Joined {
    token: usize,
    hash: u64,
}

/// Hashes of the runs of numbers, each with the token after it; a date in an agency's dateline is left out.
pub fn number_runs(codes: &[u32], tokens: &Tokens, numbers: &[bool]) -> Vec<u64> {
    let joined = with_thousands_joined(codes, tokens, numbers);
    let last = joined.len() - 1;
    let clause = |at: usize| tokens.each[joined[at].token].clause;
    let first_code = |at: usize| tokens.each[joined[at].token].first;
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in (0..joined.len()).filter(|&at| numbers[joined[at].token]) {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == at && clause(*end) == clause(at) => *end = at,
            _ => runs.push((at, at)),
        }
    }
    let is_day = |end: usize| {
        let after = (end + 1).min(last);
        first_code(after) == u32::from('日') && tokens.marks_dateline(joined[(after + 1).min(last)].token)
    };
    let in_dateline = |run: usize| {
        let end = runs[run].1;
        let after = (end + 1).min(last);
        is_day(end)
            || first_code(after) == u32::from('月')
                && runs.get(run + 1).is_some_and(|&(start, end)| start == after + 1 && is_day(end))
    };
    (0..runs.len())
        .filter(|&run| !in_dateline(run))
        .map(|run| {
            let (start, end) = runs[run];
            let hash = sequence_hash(joined[start..=end].iter().map(|each| each.hash), RUN_BASE);
            let follows = end < last && clause(end + 1) == clause(end);
            mix(hash.wrapping_add(if follows { joined[end + 1].hash } else { 0 }))
        })
        .collect()
}

fn with_thousands_joined(codes: &[u32], tokens: &Tokens, numbers: &[bool]) -> Vec<Joined> {
    let size = |at: usize| tokens.each[at].end - tokens.each[at].start;
    let is_group_after = |at: usize, next: usize| {
        next < tokens.count()
            && numbers[next]
            && !tokens.each[next].single
            && size(next) == GROUP
            && size(at) <= GROUP
            && tokens.each[next].start == tokens.each[at].end + 1
            && codes[tokens.each[at].end as usize] == COMMA
    };
    let mut joined = Vec::with_capacity(tokens.count());
    let mut token = 0;
    while token < tokens.count() {
        let mut end = token;
        if numbers[token] && !tokens.each[token].single {
            while is_group_after(end, end + 1) {
                end += 1;
            }
        }
        let hash = if end == token {
            tokens.hashes[token]
        } else {
            let figures = &codes[tokens.each[token].start as usize..tokens.each[end].end as usize];
            let digits = figures.iter().filter(|&&code| code != COMMA);
            sequence_hash(digits.map(|&code| mix(u64::from(code))), CHARACTER_BASE)
        };
        joined.push(Joined { token, hash });
        token = end + 1;
    }
    joined
}
