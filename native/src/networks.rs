//! Sums of distances in networks of words, as `es_dedup.detectors.dwdcs_paths`.

use std::ops::Range;

use crate::threads::in_threads;

/// Connected graphs: nodes of graph `g` are `offsets[g]..offsets[g + 1]`, neighbours of node `n` are
/// `neighbours[starts[n]..starts[n + 1]]`.
pub struct Graphs<'a> {
    pub offsets: &'a [i64],
    pub starts: &'a [i64],
    pub neighbours: &'a [i64],
}

/// Sum of the distances between all other nodes when a node is gone, for each node named.
pub fn removal_sums(graphs: &Graphs<'_>, removed: &[i64], removed_offsets: &[i64], threads: usize) -> Vec<i64> {
    let sums = in_threads(graphs.offsets.len() - 1, threads, |graph| {
        let named = &removed[removed_offsets[graph] as usize..removed_offsets[graph + 1] as usize];
        if named.is_empty() {
            return Vec::new();
        }
        let nodes = graphs.offsets[graph] as usize..graphs.offsets[graph + 1] as usize;
        // most networks have fewer than 256 nodes; `dwdcs.max_concepts` is 5,000 at most
        let sums = match nodes.len().div_ceil(64) {
            0..=1 => sums_without::<1>,
            2 => sums_without::<2>,
            3 => sums_without::<3>,
            4 => sums_without::<4>,
            5..=8 => sums_without::<8>,
            9..=16 => sums_without::<16>,
            17..=32 => sums_without::<32>,
            _ => sums_without::<79>,
        };
        sums(graphs, nodes, named)
    });
    sums.concat()
}

/// `removal_sums` of one graph, which has these nodes; a set of them fits into `WORDS` words.
fn sums_without<const WORDS: usize>(graphs: &Graphs<'_>, nodes: Range<usize>, named: &[i64]) -> Vec<i64> {
    let bounds = graphs.starts[nodes.start..=nodes.end].windows(2);
    let neighbours: Vec<Vec<usize>> = bounds
        .map(|bound| &graphs.neighbours[bound[0] as usize..bound[1] as usize])
        .map(|near| near.iter().map(|&node| node as usize - nodes.start).collect())
        .collect();
    let mut near = vec![[0; WORDS]; nodes.len()];
    for (node, set) in near.iter_mut().enumerate() {
        for &each in neighbours[node].iter().chain([&node]) {
            set[each / 64] |= 1 << (each % 64);
        }
    }
    let alive = nodes.len() as i64 - 1;
    let diameter = distances(&neighbours, &near, None).levels;
    let sum_without = |&gone: &i64| {
        let found = distances(&neighbours, &near, Some(gone as usize - nodes.start));
        found.total + (alive * alive - found.pairs) * (diameter + 1)
    };
    named.iter().map(sum_without).collect()
}

struct Distances {
    /// Sum of all finite distances.
    total: i64,
    /// Ordered pairs that are connected, each node with itself among them.
    pairs: i64,
    /// The longest distance.
    levels: i64,
}

/// Breadth-first search from all nodes at once, one of them as if it were gone; `near` has the set of each node and its neighbours.
fn distances<const WORDS: usize>(neighbours: &[Vec<usize>], near: &[[u64; WORDS]], gone: Option<usize>) -> Distances {
    let alive: Vec<usize> = (0..neighbours.len()).filter(|&node| Some(node) != gone).collect();
    let mut reach = near.to_vec(); // from each node, by the level
    if let Some(gone) = gone {
        reach.iter_mut().for_each(|set| set[gone / 64] &= !(1 << (gone % 64)));
        reach[gone] = [0; WORDS];
    }
    let mut next = reach.clone();
    let mut full = vec![false; neighbours.len()];
    let count = alive.len() as i64;
    let mut found = Distances { total: 0, pairs: count, levels: 0 };
    let mut pairs: i64 = reach.iter().map(size_of_set).sum();
    while pairs > found.pairs {
        found.levels += 1;
        found.total += found.levels * (pairs - found.pairs);
        found.pairs = pairs;
        if pairs == count * count {
            break;
        }
        pairs = 0;
        for &node in &alive {
            let mut row = reach[node];
            if full[node] {
                pairs += count;
            } else {
                for &neighbour in &neighbours[node] {
                    row.iter_mut().zip(&reach[neighbour]).for_each(|(mine, theirs)| *mine |= theirs);
                }
                let reached = size_of_set(&row);
                full[node] = reached == count;
                pairs += reached;
            }
            next[node] = row;
        }
        std::mem::swap(&mut reach, &mut next);
    }
    found
}

fn size_of_set<const WORDS: usize>(set: &[u64; WORDS]) -> i64 {
    set.iter().map(|word| i64::from(word.count_ones())).sum()
}
