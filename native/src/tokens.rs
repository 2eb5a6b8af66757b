//! Tokens and clauses of normalised texts, as `es_dedup.text.tokens`.

use crate::hashing::{mix, Polynomial};
use crate::table::Language;

pub const CHARACTER_BASE: u64 = 0x9E6D_62D0_6F6A_9A9B;
const PLANE: usize = 0x1_0000;
const CJK: u8 = 1;
const WORD: u8 = 2;

// What a character of the basic plane is beside its kind.
const HARD_MARK: u8 = 1;
const SOFT_MARK: u8 = 2;
const NUMERAL: u8 = 4;
const UNIT: u8 = 8;
const DATELINE: u8 = 16;

static ROLES: [u8; PLANE] = roles();

const fn roles() -> [u8; PLANE] {
    let mut table = [0u8; PLANE];
    table = with_role(table, "。!?;…\n", HARD_MARK);
    table = with_role(table, ".,:", SOFT_MARK);
    table = with_role(table, "零一二三四五六七八九十百千万亿两", NUMERAL);
    table = with_role(table, "年月日时分秒号点个名例人元岁米度倍成期届次", UNIT);
    with_role(table, "电讯", DATELINE)
}

const fn with_role(mut table: [u8; PLANE], characters: &str, role: u8) -> [u8; PLANE] {
    let bytes = characters.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let first = bytes[at] as usize;
        let (code, length) = if first < 0x80 {
            (first, 1)
        } else {
            // no character here takes two or four bytes
            let low = ((bytes[at + 1] as usize & 0x3F) << 6) | (bytes[at + 2] as usize & 0x3F);
            (((first & 0x0F) << 12) | low, 3)
        };
        table[code] |= role;
        at += length;
    }
    table
}

fn role(code: u32) -> u8 {
    ROLES.get(code as usize).copied().unwrap_or(0)
}

impl Language<'_> {
    #[inline(always)]
    fn kind_of(&self, code: u32) -> u8 {
        if (code as usize) < PLANE {
            return self.kinds[code as usize];
        }
        self.astral.binary_search(&code).map_or(0, |place| self.astral_kinds[place])
    }
}

/// Where a token begins and ends among the page's codes, and what it is.
pub struct Token {
    pub start: u32,
    pub end: u32,
    /// Running number of its clause within the page.
    pub clause: u32,
    /// Its first character.
    pub first: u32,
    /// Whether it is a single character, as Chinese ones are.
    pub single: bool,
    /// Whether it is a word of digits alone.
    pub digits: bool,
}

/// Tokens of one page, and the hash of each.
#[derive(Default)]
pub struct Tokens {
    pub hashes: Vec<u64>,
    pub each: Vec<Token>,
}

impl Tokens {
    pub fn count(&self) -> usize {
        self.hashes.len()
    }

    /// Whether a token and the next one of its clause are both single characters.
    #[inline(always)]
    pub fn begins_pair(&self, at: usize) -> bool {
        at + 1 < self.count()
            && self.each[at].single
            && self.each[at + 1].single
            && self.each[at].clause == self.each[at + 1].clause
    }

    pub fn is_numeral(&self, at: usize) -> bool {
        self.each[at].single && role(self.each[at].first) & NUMERAL != 0
    }

    pub fn is_unit(&self, at: usize) -> bool {
        self.each[at].single && role(self.each[at].first) & UNIT != 0
    }

    /// Whether the token begins with a character that follows the date in an agency's dateline.
    pub fn marks_dateline(&self, at: usize) -> bool {
        role(self.each[at].first) & DATELINE != 0
    }

    /// Replaces the tokens by those of a normalised text.
    pub fn read(&mut self, codes: &[u32], language: Language<'_>) {
        self.hashes.clear();
        self.each.clear();
        let mut clauses = 0;
        let mut new_clause = true;
        let mut at = 0;
        while at < codes.len() {
            let code = codes[at];
            let kind = language.kind_of(code);
            if kind != CJK && kind != WORD {
                let role = role(code);
                new_clause |= role & HARD_MARK != 0 || role & SOFT_MARK != 0 && !inside_word(codes, at);
                at += 1;
                continue;
            }
            clauses += u32::from(new_clause);
            new_clause = false;
            let start = at;
            let mut hash = Polynomial::new(CHARACTER_BASE);
            hash.push(mix(u64::from(code)));
            at += 1;
            let mut digits = kind == WORD && is_digit(code);
            if kind == WORD {
                while at < codes.len() && language.kind_of(codes[at]) == WORD {
                    hash.push(mix(u64::from(codes[at])));
                    digits &= is_digit(codes[at]);
                    at += 1;
                }
            }
            self.hashes.push(hash.hash());
            let (start, end, clause) = (start as u32, at as u32, clauses - 1);
            self.each.push(Token { start, end, clause, first: code, single: kind == CJK, digits });
        }
    }
}

/// Whether a character is a digit; 〇 makes a run of digits.
fn is_digit(code: u32) -> bool {
    is_ascii_digit(code) || code == 0x3007
}

fn is_ascii_digit(code: u32) -> bool {
    (0x30..=0x39).contains(&code)
}

fn is_ascii_word(code: u32) -> bool {
    is_ascii_digit(code) || (0x61..=0x7A).contains(&code)
}

/// A point, comma or colon between digits, or a point between ASCII letters or digits.
fn inside_word(codes: &[u32], at: usize) -> bool {
    if at == 0 || at + 1 >= codes.len() {
        return false;
    }
    let (before, after) = (codes[at - 1], codes[at + 1]);
    is_ascii_digit(before) && is_ascii_digit(after)
        || codes[at] == u32::from(b'.') && is_ascii_word(before) && is_ascii_word(after)
}
