//! Look-ups in ascending values, and rows that share terms, as `es_dedup.text.ragged` and `es_dedup.batch.join`.

use crate::threads::{in_threads, ranges};

pub const FILTER_BITS: u32 = 22;
const FILTER: u64 = (1 << FILTER_BITS) - 1;
/// Query rows that a thread works on at a time.
const PART: usize = 512;
/// Values that a thread looks up at a time.
const VALUES: usize = 1 << 16;

/// A bit for each lowest `FILTER_BITS` bits that occur, 64 to a word; it fits into a near cache.
pub fn bitmap_of<T: Copy + Into<u64>>(known: &[T]) -> Vec<u64> {
    let mut seen = vec![0; 1 << (FILTER_BITS - 6)];
    for &value in known {
        let bit = value.into() & FILTER;
        seen[(bit >> 6) as usize] |= 1 << (bit & 63);
    }
    seen
}

/// Places of the values that are known, and for each its place among the known ones.
///
/// `starts`: where the known values of each bucket begin; a value's bucket is `value >> shift`. `seen`: `bitmap_of` the known
/// values.
pub fn find<T: Copy + Ord + Into<u64> + Sync>(
    known: &[T],
    values: &[T],
    starts: &[i32],
    shift: u32,
    seen: &[u64],
    threads: usize,
) -> (Vec<i64>, Vec<i64>) {
    let some = ranges(values.len(), VALUES);
    let found = in_threads(values.len().div_ceil(VALUES), threads, |part| {
        let (mut at, mut places) = (Vec::new(), Vec::new());
        for element in some(part) {
            let number = values[element].into();
            let bit = number & FILTER;
            if seen[(bit >> 6) as usize] >> (bit & 63) & 1 == 0 {
                continue;
            }
            let bucket = (number >> shift) as usize;
            let (first, last) = (starts[bucket] as usize, starts[bucket + 1] as usize);
            if let Ok(place) = known[first..last].binary_search(&values[element]) {
                at.push(element as i64);
                places.push((first + place) as i64);
            }
        }
        (at, places)
    });
    let (at, places): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    (at.concat(), places.concat())
}

/// The postings that answer: element `i` is a term that row `query[i]` asks for, answered by `counts[i]` of `owners` from `starts[i]`.
pub struct Postings<'a> {
    /// Ascending.
    pub query: &'a [i64],
    pub starts: &'a [i64],
    pub counts: &'a [i64],
    pub owners: &'a [i64],
    /// Number of all rows.
    pub rows: usize,
    /// Per row the bound of its queried sample and the third of its stored values; nothing: all pairs are wanted.
    pub facts: &'a [u64],
    /// Terms in common that are enough in any case.
    pub least: i64,
}

/// Rows with a term in common: row that asks, row that answers, terms in common.
#[derive(Default)]
pub struct Shared {
    pub left: Vec<i64>,
    pub right: Vec<i64>,
    pub common: Vec<i64>,
}

/// Each pair once, by query row, in no other order.
pub fn shared_terms(postings: &Postings<'_>, threads: usize) -> Shared {
    let mut edges: Vec<usize> = Vec::new(); // where query rows begin, and the end
    for at in 0..postings.query.len() {
        if at == 0 || postings.query[at] != postings.query[at - 1] {
            edges.push(at);
        }
    }
    edges.push(postings.query.len());
    let count = edges.len() - 1;
    let part_of = ranges(count, count.div_ceil(threads.max(1)).max(PART));
    let parts = count.div_ceil(count.div_ceil(threads.max(1)).max(PART));
    let found = in_threads(parts, threads, |part| {
        let mut counter = Counter { shared: vec![0; postings.rows], met: Vec::new() };
        let mut pairs = Shared::default();
        for query in part_of(part) {
            counter.count(postings, edges[query]..edges[query + 1], &mut pairs);
        }
        pairs
    });
    let mut whole = Shared::default();
    for part in found {
        whole.left.extend(part.left);
        whole.right.extend(part.right);
        whole.common.extend(part.common);
    }
    whole
}

struct Counter {
    /// Terms in common with each row; 0 between queries.
    shared: Vec<i32>,
    met: Vec<i64>,
}

impl Counter {
    fn count(&mut self, postings: &Postings<'_>, terms: std::ops::Range<usize>, pairs: &mut Shared) {
        let row = postings.query[terms.start];
        for at in terms {
            let first = postings.starts[at] as usize;
            for &other in &postings.owners[first..first + postings.counts[at] as usize] {
                let shared = &mut self.shared[other as usize];
                if *shared == 0 {
                    self.met.push(other);
                }
                *shared += 1;
            }
        }
        for other in self.met.drain(..) {
            let common = i64::from(std::mem::take(&mut self.shared[other as usize]));
            let bound = |row: i64, place: usize| postings.facts[2 * row as usize + place];
            let enough = postings.facts.is_empty() || common >= postings.least || bound(other, 1) > bound(row, 0);
            if other != row && enough {
                pairs.left.push(row);
                pairs.right.push(other);
                pairs.common.push(common);
            }
        }
    }
}
