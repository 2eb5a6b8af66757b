//! Words of a text by a dictionary, as jieba cuts them without its model.
//!
//! Source: jieba's definition: of all ways to cut a run of characters into words of the dictionary, the one whose product of
//! frequencies is largest; single letters and digits that follow each other stay together.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

const ROOT: u32 = 0;
const NO_TAG: u16 = u16::MAX;
const PLANE: usize = 1 << 16;

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Hashes a number; keys are nodes of the dictionary and single characters, too few to be chosen badly.
#[derive(Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = value.wrapping_mul(MULTIPLIER);
        self.0 = mixed ^ mixed >> 32;
    }
}

/// What a character leads to in the tree of all words.
#[derive(Clone, Copy)]
struct Step {
    /// Logarithm of the frequency of the word that ends here; NaN where none does.
    weight: f64,
    node: u32,
    tag: u16,
    /// No word goes on from here.
    last: bool,
}

const NOWHERE: Step = Step { weight: f64::NAN, node: ROOT, tag: NO_TAG, last: true };

/// Words with their frequencies and tags, as a tree of characters.
pub struct Dictionary {
    /// By first character, as far as it is in the basic plane.
    first: Vec<Step>,
    /// By node and the character that follows it.
    next: HashMap<u64, Step, BuildHasherDefault<Mixer>>,
    tag_names: Vec<String>,
    /// Logarithm of the sum of all frequencies.
    total: f64,
}

impl Dictionary {
    /// Lines of a word, its frequency and its tag; an error is the number of the first other line.
    pub fn parse(lines: &str) -> Result<Self, usize> {
        let mut found =
            Dictionary { first: vec![NOWHERE; PLANE], next: HashMap::default(), tag_names: Vec::new(), total: 0.0 };
        let mut tags: HashMap<&str, u16> = HashMap::new();
        let (mut total, mut nodes) = (0u64, ROOT);
        for (at, line) in lines.lines().enumerate() {
            let mut parts = line.trim().split(' ');
            let (Some(word), Some(Ok(frequency))) = (parts.next(), parts.next().map(str::parse::<u64>)) else {
                return Err(at + 1);
            };
            total += frequency;
            let tag = parts.next().map_or(NO_TAG, |tag| {
                *tags.entry(tag).or_insert_with(|| {
                    found.tag_names.push(tag.to_owned());
                    found.tag_names.len() as u16 - 1
                })
            });
            let (mut node, mut rest) = (ROOT, word.chars().peekable());
            while let Some(character) = rest.next() {
                let step = found.step_mut(node, character as u32);
                if step.node == ROOT {
                    nodes += 1;
                    step.node = nodes;
                }
                if rest.peek().is_some() {
                    step.last = false;
                } else {
                    step.tag = tag;
                    step.weight = if frequency > 0 { (frequency as f64).ln() } else { f64::NAN };
                }
                node = step.node;
            }
        }
        found.total = (total as f64).ln();
        Ok(found)
    }

    fn step_mut(&mut self, node: u32, code: u32) -> &mut Step {
        match self.first.get_mut(code as usize) {
            Some(step) if node == ROOT => step,
            _ => self.next.entry(key(node, code)).or_insert(NOWHERE),
        }
    }

    fn step(&self, node: u32, code: u32) -> Step {
        match self.first.get(code as usize) {
            Some(&step) if node == ROOT => step,
            _ => self.next.get(&key(node, code)).copied().unwrap_or(NOWHERE),
        }
    }

    /// The tag of a word of the dictionary.
    pub fn tag(&self, word: &str) -> Option<&str> {
        let mut step = NOWHERE;
        for character in word.chars() {
            step = self.step(step.node, character as u32);
            if step.node == ROOT {
                return None;
            }
        }
        self.tag_names.get(step.tag as usize).map(String::as_str)
    }

    /// The words of a text.
    pub fn cut(&self, codes: &[u32]) -> Words {
        let mut words = Words::default();
        let mut numbers: HashMap<u64, i64, BuildHasherDefault<Mixer>> = HashMap::default();
        let mut unknown: HashMap<&[u32], i64> = HashMap::new();
        let mut add = |from: usize, to: usize, node: u32| {
            let new = words.distinct.len() as i64 / 3;
            let number = match (node, to - from) {
                (ROOT, 1) => *numbers.entry(u64::from(codes[from])).or_insert(new),
                (ROOT, _) => *unknown.entry(&codes[from..to]).or_insert(new),
                _ => *numbers.entry(key(node, 0)).or_insert(new),
            };
            if number == new {
                words.distinct.extend([from as i64, to as i64, i64::from(node)]);
            }
            words.ids.push(number);
            words.starts.push(from as i64);
        };
        let mut route = Vec::new();
        let mut at = 0;
        while at < codes.len() {
            let run = codes[at..].iter().take_while(|&&code| in_words(code)).count();
            if run == 0 {
                let size = if codes[at..].starts_with(&[0x0D, 0x0A]) { 2 } else { 1 };
                add(at, at + size, ROOT);
                at += size;
                continue;
            }
            self.best(&codes[at..at + run], &mut route);
            let (end, mut waiting) = (at + run, at);
            let begin = at;
            while at < end {
                let (_, to, node) = route[at - begin];
                let to = begin + to;
                if to == at + 1 && alphanumeric(codes[at]) {
                    at = to; // joined with the letters and digits before and after it
                    continue;
                }
                if waiting < at {
                    add(waiting, at, self.node_of(&codes[waiting..at]));
                }
                add(at, to, node);
                (at, waiting) = (to, to);
            }
            if waiting < end {
                add(waiting, end, self.node_of(&codes[waiting..end]));
            }
        }
        words
    }

    /// The node of a word that may be chosen; the root of any other text.
    fn node_of(&self, word: &[u32]) -> u32 {
        let mut step = NOWHERE;
        for &code in word {
            step = self.step(step.node, code);
            if step.node == ROOT {
                break;
            }
        }
        if step.weight.is_nan() {
            ROOT
        } else {
            step.node
        }
    }

    /// For each place of a run the weight of the best words from there on, where the first of them ends, and its node.
    fn best(&self, run: &[u32], route: &mut Vec<(f64, usize, u32)>) {
        route.clear();
        route.resize(run.len() + 1, (0.0, 0, ROOT));
        for from in (0..run.len()).rev() {
            let mut found: Option<(f64, usize, u32)> = None;
            let mut node = ROOT;
            for (to, &code) in run.iter().enumerate().skip(from) {
                let step = self.step(node, code);
                if !step.weight.is_nan() {
                    let weight = step.weight - self.total + route[to + 1].0;
                    if found.is_none_or(|(best, ..)| weight >= best) {
                        found = Some((weight, to + 1, step.node)); // of equals the longer word
                    }
                }
                if step.last {
                    break;
                }
                node = step.node;
            }
            route[from] = found.unwrap_or((0.0 - self.total + route[from + 1].0, from + 1, ROOT));
        }
    }
}

/// Words of a text, in order.
#[derive(Default)]
pub struct Words {
    /// Number of each word, by first appearance.
    pub ids: Vec<i64>,
    /// Where each begins.
    pub starts: Vec<i64>,
    /// Of each number where its first appearance begins and ends, and the word's node, 0 where the dictionary does not have it.
    pub distinct: Vec<i64>,
}

fn key(node: u32, code: u32) -> u64 {
    u64::from(node) << 32 | u64::from(code)
}

fn alphanumeric(code: u32) -> bool {
    u8::try_from(code).is_ok_and(|byte| byte.is_ascii_alphanumeric())
}

/// Characters of which words are made; all others are words of their own.
fn in_words(code: u32) -> bool {
    (0x4E00..=0x9FD5).contains(&code)
        || u8::try_from(code).is_ok_and(|byte| byte.is_ascii_alphanumeric() || b"+#&._%-".contains(&byte))
}
