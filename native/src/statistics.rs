//! What recurring grams and clauses count, as `es_dedup.decision.statistics` and `es_dedup.decision.remainders`.

use std::cell::LazyCell;
use std::iter::once;
use std::ops::Range;
use std::sync::Mutex;

use crate::table::Features;
use crate::threads::in_threads;

const MIN_POSTINGS: usize = 3;
const SAMPLED_POSTINGS: usize = 128;
const FEATURE_FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
const DRAW_FACTOR: u64 = 0xBF58_476D_1CE4_E5B9;
const DRAW_SHIFT: u32 = 29;
const VOTE_STEP: usize = 3;
const TITLE_UNLIKE: f64 = 0.08;
const TITLE_ALIKE: f64 = 0.20;
const LINK_LOW: f64 = 0.30;
const LINK_HIGH: f64 = 0.60;
const ALIKE_BITS: f64 = 8.0;
const UNLIKE_BITS: f64 = 16.0;
const LONG_SPAN_DAYS: i64 = 365;
const SITE_TITLE: f64 = 0.80;
const TITLED: f64 = 0.50;
const COMMON: f64 = 0.80;
const COMMON_FROM: usize = 20;
const AGREED_LOW: f64 = 0.50;
const AGREED_HIGH: f64 = 0.90;
const LEAST_WEIGHT: f64 = 0.02;
const SHARED_LOW: f64 = 0.05;
const SHARED_HIGH: f64 = 0.15;
const SMALL: f64 = 0.20;
const LARGE: f64 = 0.30;
const COMMON_SMALL: f64 = 0.10;
const COMMON_LARGE: f64 = 0.20;
const EDITS_SHARED: f64 = 0.45;
const MISSING_LOW: f64 = 0.01;
const MISSING_HIGH: f64 = 0.04;
const FILLED_IN: f64 = 0.50;

const COMPLETE: u32 = u32::MAX;
const MASK_BITS: u32 = 32;
/// Each thread has the postings of about so small a part of the features in memory.
const PARTS: usize = 8;
/// Hashes that show where the parts begin.
const SAMPLED_HASHES: usize = 4096;
/// What is counted of three pages, side by side in one number: a total, in it what remains, and in that what another page shares.
const COUNT_BITS: u32 = 21;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
/// By how many of the three pages hold a hash.
const COUNTED_AS: [u64; 4] = [0, 1 | 1 << COUNT_BITS, 1 | 1 << COUNT_BITS | 1 << (2 * COUNT_BITS), 1];
/// Bits of the place where a thread keeps the vote of a triple: copies of one text share all their features.
const VOTE_BITS: u32 = 17;

/// `es_dedup.decision.remainders.Sketches`; as many a page as there are columns.
#[derive(Clone, Copy)]
pub struct Sketches<'a> {
    pub hashes: &'a [u32],
    pub sizes: &'a [u8],
    pub thresholds: &'a [u32],
}

impl<'a> Sketches<'a> {
    /// The smallest hashes of a page and what each counts.
    fn of(&self, page: usize) -> (&'a [u32], &'a [u8]) {
        let width = self.hashes.len() / self.thresholds.len();
        (&self.hashes[page * width..][..width], &self.sizes[page * width..][..width])
    }

    /// Of each page of three: the share that remains, and the share of the remainder that another one has.
    fn remainders(&self, triple: [usize; 3]) -> [(f64, f64); 3] {
        // all hashes up to it are known of all three
        let bound = triple.map(|page| self.thresholds[page]).into_iter().fold(COMPLETE - 1, u32::min);
        let known = triple.map(|page| self.of(page));
        let (mut next, mut counts) = ([0usize; 3], [0u64; 3]);
        loop {
            let heads = [0, 1, 2].map(|page| known[page].0.get(next[page]).copied().unwrap_or(COMPLETE));
            let least = heads[0].min(heads[1]).min(heads[2]);
            if least > bound {
                break;
            }
            // no branches: which pages hold a hash cannot be foretold
            let holds = heads.map(|head| usize::from(head == least));
            let unit = COUNTED_AS[holds[0] + holds[1] + holds[2]];
            for page in 0..3 {
                let size = known[page].1.get(next[page]).map_or(0, |&size| u64::from(size));
                counts[page] += size * holds[page] as u64 * unit;
                next[page] += holds[page];
            }
        }
        counts.map(|count| {
            let [total, remaining, shared] = [0, 1, 2].map(|place| (count >> (place * COUNT_BITS) & COUNT_MASK) as f64);
            (remaining / total.max(1.0), shared / remaining.max(1.0))
        })
    }
}

/// `es_dedup.decision.statistics.PostingSample`; of `titles` as many a page as there are columns.
#[derive(Clone, Copy)]
pub struct Pages<'a> {
    pub keys: &'a [u64],
    pub sites: &'a [i64],
    pub titles: &'a [u64],
    pub titled: &'a [bool],
    pub fingerprints: &'a [u64],
    pub hashes: &'a [u64],
    pub days: &'a [i64],
    pub grams: Sketches<'a>,
    pub clauses: Sketches<'a>,
}

impl<'a> Pages<'a> {
    fn title(&self, page: usize) -> &'a [u64] {
        let width = self.titles.len() / self.hashes.len();
        &self.titles[page * width..(page + 1) * width]
    }
}

impl Features<'_> {
    /// Hashes at which the parts begin, and one behind the last.
    fn bounds(self) -> Vec<u64> {
        let mut some: Vec<u32> = self.hashes.iter().step_by(self.hashes.len() / SAMPLED_HASHES + 1).copied().collect();
        some.sort_unstable();
        let cuts = (1..PARTS).filter_map(|part| some.get(part * some.len() / PARTS));
        once(0).chain(cuts.map(|&hash| u64::from(hash))).chain([1 << (u64::BITS - MASK_BITS)]).collect()
    }

    /// Postings of the features between two hashes; those of each page ascend. A posting is a hash, its page, and whether the feature
    /// holds words of the title there.
    fn postings(self, between: Range<u64>) -> Vec<u64> {
        let mut postings = Vec::with_capacity(self.hashes.len() / PARTS);
        for (page, (&start, &end)) in self.starts.iter().zip(self.ends).enumerate() {
            let (start, end) = (start as usize, end as usize);
            let hashes = &self.hashes[start..end];
            let first = hashes.partition_point(|&hash| u64::from(hash) < between.start);
            let some = hashes[first..].iter().take_while(|&&hash| u64::from(hash) < between.end);
            postings.extend(
                some.zip(&self.masks[start + first..end])
                    .map(|(&hash, &mask)| u64::from(hash) << MASK_BITS | (page as u64) << 1 | u64::from(mask != 0)),
            );
        }
        postings
    }
}

/// Recurring features in ascending order, and the weight of each.
pub fn weigh(features: Features<'_>, pages: Pages<'_>, threads: usize) -> (Vec<u32>, Vec<f32>) {
    let kept: Vec<_> = (0..threads).map(|_| Mutex::new(Votes(vec![([0; 3], false, 0.0); 1 << VOTE_BITS]))).collect();
    let bounds = features.bounds();
    let mut of_site = vec![0; pages.sites.iter().max().map_or(0, |&most| most as usize + 1)];
    pages.sites.iter().for_each(|&site| of_site[site as usize] += 1);
    let found = in_threads(bounds.len() - 1, threads, |part| {
        let mut votes = kept.iter().find_map(|votes| votes.try_lock().ok()).expect("as many as threads");
        let mut postings = features.postings(bounds[part]..bounds[part + 1]);
        postings.sort_unstable();
        let (mut values, mut weights) = (Vec::new(), Vec::new());
        for feature in postings.chunk_by(|one, other| hash_of(*one) == hash_of(*other)) {
            if feature.len() >= MIN_POSTINGS {
                let sampled = &drawn(feature, pages.keys);
                let of: Vec<usize> = sampled.iter().map(|&posting| page_of(posting)).collect();
                values.push(hash_of(sampled[0]));
                let held = |site| feature.iter().filter(|&&posting| pages.sites[page_of(posting)] == site).count();
                let nearly_all_of = |site, pages| nearly_all(feature.len(), pages) && nearly_all(held(site), pages);
                let mut sites: Vec<_> = of.iter().map(|&page| pages.sites[page]).collect();
                sites.sort_unstable();
                let such = sites
                    .chunk_by(|one, other| one == other)
                    .filter(|some| nearly_all_of(some[0], of_site[some[0] as usize]));
                let common = nearly_all(feature.len(), pages.keys.len()) || 2 * such.flatten().count() > of.len();
                weights.push(weight(&of, sampled, common, pages, &mut votes) as f32);
            }
        }
        (values, weights)
    });
    let (values, weights): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    (values.concat(), weights.concat())
}

/// The postings of a feature that are compared, in the order of page keys shuffled differently for each feature.
fn drawn(feature: &[u64], keys: &[u64]) -> Vec<u64> {
    let spread = u64::from(hash_of(feature[0])).wrapping_mul(FEATURE_FACTOR);
    let shuffled = |&posting: &u64| {
        let key = (keys[page_of(posting)] ^ spread).wrapping_mul(DRAW_FACTOR);
        (key ^ key >> DRAW_SHIFT, posting)
    };
    let mut drawn: Vec<_> = feature.iter().map(shuffled).collect();
    if drawn.len() > SAMPLED_POSTINGS {
        drawn.select_nth_unstable(SAMPLED_POSTINGS);
        drawn.truncate(SAMPLED_POSTINGS);
    }
    drawn.sort_unstable();
    drawn.into_iter().map(|(_, posting)| posting).collect()
}

fn nearly_all(held: usize, of: usize) -> bool {
    of >= COMMON_FROM && held as f64 >= COMMON * of as f64
}

fn hash_of(posting: u64) -> u32 {
    (posting >> MASK_BITS) as u32
}

fn page_of(posting: u64) -> usize {
    (posting as u32 >> 1) as usize
}

/// A mean over some of the postings of a feature; 0 over none.
#[derive(Default)]
struct Mean {
    total: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64, counted: bool) {
        if counted {
            self.total += value;
            self.count += 1.0;
        }
    }

    fn value(&self) -> f64 {
        self.total / self.count.max(1.0)
    }
}

/// The last vote at each place: the triple, whether nearly every page of all or of a site carries the shared text, and the vote.
struct Votes(Vec<([u32; 3], bool, f64)>);

impl Votes {
    fn of(&mut self, triple: [usize; 3], common: bool, pages: Pages<'_>) -> f64 {
        let spread =
            triple.iter().fold(0u64, |spread, &page| (spread ^ page as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let kept = &mut self.0[(spread >> (64 - VOTE_BITS)) as usize];
        let key = triple.map(|page| page as u32);
        if (kept.0, kept.1) != (key, common) {
            *kept = (key, common, vote(triple, common, pages));
        }
        kept.2
    }
}

fn weight(of: &[usize], postings: &[u64], common: bool, pages: Pages<'_>, votes: &mut Votes) -> f64 {
    let [mut same_title, mut titled_pairs, mut overlap, mut linked, mut alike]: [Mean; 5] = Default::default();
    let size = of.len();
    let (mut first, mut last) = (i64::MAX, 0);
    for (at, &page) in of.iter().enumerate() {
        let neighbour = of[(at + 1) % size];
        let (title, other) = (pages.title(page), pages.title(neighbour));
        let titled = pages.titled[page] && pages.titled[neighbour];
        same_title.add(f64::from(titled && title == other), true);
        titled_pairs.add(f64::from(titled), true);
        if titled {
            let shared: u32 = title.iter().zip(other).map(|(one, two)| (one & two).count_ones()).sum();
            let terms = |title: &[u64]| title.iter().map(|word| word.count_ones()).sum::<u32>();
            let least = terms(title).min(terms(other)).max(1);
            overlap.add(f64::from(shared) / f64::from(least), true);
        }
        linked.add(f64::from(postings[at] & 1 == 1), pages.titled[page]);
        let bits = (pages.fingerprints[page] ^ pages.fingerprints[neighbour]).count_ones();
        alike.add(1.0 - scale(f64::from(bits), ALIKE_BITS, UNLIKE_BITS), true);
        let day = pages.days[page];
        if day > 0 {
            (first, last) = (first.min(day), last.max(day));
        }
    }
    let of_site = same_title.value() >= SITE_TITLE;
    let untitled = of_site || titled_pairs.value() < TITLED;
    let common = common && !of_site;
    let whole = if untitled { by_remainders(of, common, pages, votes) } else { alike.value() };
    let long_span = last > 0 && last - first >= LONG_SPAN_DAYS;
    let weight = if of_site || long_span {
        whole
    } else {
        let topic = scale(overlap.value(), TITLE_UNLIKE, TITLE_ALIKE);
        topic.max(scale(linked.value(), LINK_LOW, LINK_HIGH)).max(whole)
    };
    let weight = if common { scale(weight, AGREED_LOW, AGREED_HIGH) } else { weight };
    weight.max(LEAST_WEIGHT)
}

/// The mean vote of triples of different texts; 1 where there is none.
fn by_remainders(of: &[usize], common: bool, pages: Pages<'_>, votes: &mut Votes) -> f64 {
    let mut mean = Mean::default();
    for at in (0..of.len()).step_by(VOTE_STEP) {
        let mut triple = [of[at], of[(at + 1) % of.len()], of[(at + 2) % of.len()]];
        let [one, two, three] = triple.map(|page| pages.hashes[page]);
        if one != two && two != three && one != three {
            triple.sort_unstable();
            mean.add(votes.of(triple, common, pages), true);
        }
    }
    if mean.count == 0.0 {
        return 1.0;
    }
    mean.value()
}

/// How strongly the remainders of three pages indicate that their shared text is content.
fn vote(triple: [usize; 3], common: bool, pages: Pages<'_>) -> f64 {
    let mean = |values: [f64; 3]| values.iter().sum::<f64>() / 3.0;
    let most = |values: [f64; 3]| values.into_iter().fold(0.0, f64::max);
    let (grams, clauses) = (pages.grams.remainders(triple), LazyCell::new(|| pages.clauses.remainders(triple)));
    let (remaining, shared) = (grams.map(|page| page.0), grams.map(|page| page.1));
    let size = mean(remaining);
    let (small, large) = if common { (COMMON_SMALL, COMMON_LARGE) } else { (SMALL, LARGE) };
    let mut content = 1.0 - scale(size, small, large);
    // clauses are only asked where they may say something else
    let longer = |shared: [f64; 3]| scale(most(shared), SHARED_LOW, SHARED_HIGH);
    if longer(shared) > content {
        let in_clauses = |at: usize| if clauses[at].0 > 0.0 { shared[at].min(clauses[at].1) } else { shared[at] };
        content = content.max(longer([0, 1, 2].map(in_clauses)));
    }
    let missing_of = |edited: f64| scale(EDITS_SHARED * edited - mean(shared) * size, MISSING_LOW, MISSING_HIGH);
    if most(remaining) >= FILLED_IN || content == 0.0 || missing_of(size) == 0.0 {
        return content;
    }
    let edited = ((mean(clauses.map(|page| page.0)) - size) / (1.0 - size).max(1e-9)).clamp(0.0, size);
    content * (1.0 - missing_of(edited) * scale(size, 0.0, SMALL))
}

/// 0 up to `low`, 1 from `high`, linear in between.
fn scale(value: f64, low: f64, high: f64) -> f64 {
    ((value - low) / (high - low)).clamp(0.0, 1.0)
}
