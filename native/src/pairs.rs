//! Measures of pairs of pages, as `es_dedup.detectors.coverage_pairs.measure`.

use crate::table::{Coverage, Table, Weights};
use crate::threads::{in_threads, ranges};

/// Weight below which a feature is taken for template.
const CONTENT: f32 = 0.5;
const LEAST: f64 = 1e-9;
/// Pairs that a thread works on at a time.
const PART: usize = 64;

pub const SIDE_COUNTS: usize = 7;
pub const SIDE_COVERS: usize = 4;
pub const SHARED_COUNTS: usize = 4;

/// Columns of measures, pair after pair.
///
/// `counts` per side: title terms, shared, lost, foreign and foreign lost terms, numbers, lost numbers. `covers` per side: gram,
/// clause and raw cover, weighted share of the grams that the other page has. `shared`: clauses, discounted clauses, clauses with
/// the same numbers and with other ones. `overlap` of the titles.
#[derive(Default)]
pub struct Measures {
    pub counts: Vec<i64>,
    pub covers: Vec<f64>,
    pub shared: Vec<i64>,
    pub overlap: Vec<f64>,
}

/// Rows of one table, one for each pair.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub table: Coverage<'a>,
    pub rows: &'a [i64],
    pub weights: Weights<'a>,
}

pub fn measure(left: Side<'_>, right: Side<'_>, threads: usize) -> Measures {
    let pairs = ranges(left.rows.len(), PART);
    let parts = in_threads(left.rows.len().div_ceil(PART), threads, |part| {
        let mut measures = Measures::default();
        let mut hits = Hits::default();
        for pair in pairs(part) {
            let pages = Page::of(left, pair).zip(Page::of(right, pair));
            measure_pair(&pages, &mut hits, &mut measures);
        }
        measures
    });
    let mut whole = Measures::default();
    for part in parts {
        whole.counts.extend(part.counts);
        whole.covers.extend(part.covers);
        whole.shared.extend(part.shared);
        whole.overlap.extend(part.overlap);
    }
    whole
}

/// What is compared of one page.
struct Page<'a> {
    grams: Marked<'a>,
    clauses: Marked<'a>,
    clause_lengths: &'a [u8],
    clause_masked: &'a [u32],
    numbers: &'a [u32],
    number_threshold: u32,
    titles: &'a [u32],
    body_mask: u32,
}

/// Sampled hashes of a page with the terms of its title that begin in each, and what each counts.
struct Marked<'a> {
    hashes: &'a [u32],
    masks: &'a [u32],
    weights: &'a [f32],
    threshold: u32,
}

struct Pair<T> {
    left: T,
    right: T,
}

impl<'a> Page<'a> {
    fn of(side: Side<'a>, pair: usize) -> Self {
        let (table, row) = (side.table, side.rows[pair] as usize);
        Self {
            grams: Marked {
                hashes: Table::values(table.grams, table.gram_offsets, row),
                masks: Table::values(table.gram_masks, table.gram_offsets, row),
                weights: Table::values(side.weights.grams, table.gram_offsets, row),
                threshold: table.gram_threshold[row],
            },
            clauses: Marked {
                hashes: Table::values(table.clauses, table.clause_offsets, row),
                masks: Table::values(table.clause_masks, table.clause_offsets, row),
                weights: Table::values(side.weights.clauses, table.clause_offsets, row),
                threshold: table.clause_threshold[row],
            },
            clause_lengths: Table::values(table.clause_lengths, table.clause_offsets, row),
            clause_masked: Table::values(table.clause_masked, table.clause_offsets, row),
            numbers: Table::values(table.numbers, table.number_offsets, row),
            number_threshold: table.number_threshold[row],
            titles: Table::values(table.titles, table.title_offsets, row),
            body_mask: table.body_mask[row],
        }
    }

    fn zip(self, right: Self) -> Pair<Self> {
        Pair { left: self, right }
    }
}

/// For either page of a pair, which of its values below the common threshold the other page has.
#[derive(Default)]
struct Hits {
    left: Vec<bool>,
    right: Vec<bool>,
}

impl Hits {
    /// Both lists ascend without repeats.
    fn find(&mut self, left: &[u32], right: &[u32], bound: u32) {
        let left = &left[..left.partition_point(|&value| value <= bound)];
        let right = &right[..right.partition_point(|&value| value <= bound)];
        for (hits, values) in [(&mut self.left, left), (&mut self.right, right)] {
            hits.clear();
            hits.resize(values.len(), false);
        }
        let (mut one, mut other) = (0, 0);
        while one < left.len() && other < right.len() {
            let (mine, theirs) = (left[one], right[other]);
            if mine == theirs {
                self.left[one] = true;
                self.right[other] = true;
            }
            one += usize::from(mine <= theirs);
            other += usize::from(theirs <= mine);
        }
    }
}

/// What a page shares with the other one: by weight and without, and the title's terms in what is shared and in what is not.
struct Cover {
    weighted: f64,
    raw: f64,
    /// Weighted share of all values, whatever those count that are not shared.
    share: f64,
    inside: u32,
    apart: u32,
}

/// `size`: what a value at a place counts before its weight.
fn cover(values: &Marked<'_>, hits: &[bool], size: impl Fn(usize) -> f64) -> Cover {
    let (mut raw, mut weighted, mut informative, mut total) = (0.0, 0.0, 0.0, 0.0);
    let (mut inside, mut apart) = (0, 0);
    for (place, &hit) in hits.iter().enumerate() {
        let (weight, mask, size) = (values.weights[place], values.masks[place], size(place));
        let counted = size * f64::from(weight);
        total += size;
        informative += counted;
        if !hit {
            apart |= mask;
            continue;
        }
        raw += size;
        weighted += counted;
        if weight >= CONTENT {
            inside |= mask;
        }
    }
    let share = weighted / total.max(1.0);
    Cover { weighted: weighted / informative.max(LEAST), raw: raw / total.max(LEAST), share, inside, apart }
}

fn measure_pair(pages: &Pair<Page<'_>>, hits: &mut Hits, measures: &mut Measures) {
    let (left, right) = (&pages.left, &pages.right);
    hits.find(left.grams.hashes, right.grams.hashes, left.grams.threshold.min(right.grams.threshold));
    let grams = [cover(&left.grams, &hits.left, |_| 1.0), cover(&right.grams, &hits.right, |_| 1.0)];

    hits.find(left.clauses.hashes, right.clauses.hashes, left.clauses.threshold.min(right.clauses.threshold));
    let clauses = [
        cover(&left.clauses, &hits.left, |place| f64::from(left.clause_lengths[place])),
        cover(&right.clauses, &hits.right, |place| f64::from(right.clause_lengths[place])),
    ];
    measures.shared.extend(shared_clauses(pages, hits));

    hits.find(left.numbers, right.numbers, left.number_threshold.min(right.number_threshold));
    let (new_left, known) = new_terms(left.titles, right.titles);
    let (new_right, _) = new_terms(right.titles, left.titles);
    measures.overlap.push(known as f64 / left.titles.len().min(right.titles.len()).max(1) as f64);

    let sides = [(left, &hits.left, new_left), (right, &hits.right, new_right)];
    for ((page, numbers, new), (gram, clause)) in sides.into_iter().zip(grams.iter().zip(&clauses)) {
        let (inside, apart) = (gram.inside | clause.inside, gram.apart | clause.apart);
        let lost = apart & !inside & page.body_mask;
        measures.counts.extend(
            [page.body_mask, inside & page.body_mask, lost, new & page.body_mask & (inside | apart), new & lost]
                .map(|terms| i64::from(terms.count_ones())),
        );
        let lost_numbers = numbers.iter().filter(|&&hit| !hit).count();
        measures.counts.extend([numbers.len() as i64, lost_numbers as i64]);
        measures.covers.extend([gram.weighted, clause.weighted, gram.raw.max(clause.raw), gram.share]);
    }
}

/// Clauses in common, those of them that are template, those with numbers, and those that differ in numbers alone.
fn shared_clauses(pages: &Pair<Page<'_>>, hits: &Hits) -> [i64; SHARED_COUNTS] {
    let (left, right) = (&pages.left, &pages.right);
    let mut shared = [0; SHARED_COUNTS];
    for place in (0..hits.left.len()).filter(|&place| hits.left[place]) {
        shared[0] += 1;
        shared[1] += i64::from(left.clauses.weights[place] < CONTENT);
        shared[2] += i64::from(left.clause_masked[place] != 0);
    }
    let alike = masked_alike(left.clause_masked, &hits.left, right.clause_masked, &hits.right);
    shared[3] = alike.min(masked_alike(right.clause_masked, &hits.right, left.clause_masked, &hits.left));
    shared
}

/// Clauses that differ from every clause of the other page, and from one of them in nothing but numbers.
fn masked_alike(masked: &[u32], hits: &[bool], others: &[u32], other_hits: &[bool]) -> i64 {
    let without_match = |(place, _): &(usize, &u32)| !hits[*place];
    let alike =
        masked.iter().enumerate().take(hits.len()).filter(without_match).filter(|(_, &value)| {
            value != 0 && others.iter().zip(other_hits).any(|(&other, &hit)| other == value && !hit)
        });
    alike.count() as i64
}

/// The terms of a title that the other one lacks, as a mask, and how many it has.
fn new_terms(terms: &[u32], others: &[u32]) -> (u32, usize) {
    let (mut new, mut known) = (0, 0);
    for (place, term) in terms.iter().enumerate() {
        if others.contains(term) {
            known += 1;
        } else {
            new |= 1 << place;
        }
    }
    (new, known)
}
