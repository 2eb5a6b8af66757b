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
        // `dwdcs.max_concepts` is 5,000 at most
        let search = match nodes.len().div_ceil(64) {
            0..=1 => distances::<1>,
            2 => distances::<2>,
            3..=8 => distances::<8>,
            9..=32 => distances::<32>,
            _ => distances::<79>,
        };
        let alive = nodes.len() as i64 - 1;
        let diameter = search(graphs, nodes.clone(), None).levels;
        let sum_without = |&gone: &i64| {
            let found = search(graphs, nodes.clone(), Some(gone as usize));
            found.total + (alive * alive - found.pairs) * (diameter + 1)
        };
        named.iter().map(sum_without).collect()
    });
    sums.concat()
}

struct Distances {
    /// Sum of all finite distances.
    total: i64,
    /// Ordered pairs that are connected, each node with itself among them.
    pairs: i64,
    /// The longest distance.
    levels: i64,
}

/// Breadth-first search from all nodes at once: one bit set, of `WORDS` words, of the nodes reached for each.
fn distances<const WORDS: usize>(graphs: &Graphs<'_>, nodes: Range<usize>, gone: Option<usize>) -> Distances {
    let mut reach = vec![[0u64; WORDS]; nodes.len()];
    let alive: Vec<usize> = nodes.clone().filter(|&node| Some(node) != gone).map(|node| node - nodes.start).collect();
    for &node in &alive {
        reach[node][node / 64] = 1 << (node % 64);
    }
    let mut next = reach.clone();
    let mut full = vec![false; nodes.len()];
    let count = alive.len() as i64;
    let mut found = Distances { total: 0, pairs: count, levels: 0 };
    while found.pairs < count * count {
        let mut pairs = 0;
        for &node in &alive {
            let mut row = reach[node];
            if full[node] {
                pairs += count;
            } else {
                let (first, last) = (graphs.starts[nodes.start + node], graphs.starts[nodes.start + node + 1]);
                for &neighbour in &graphs.neighbours[first as usize..last as usize] {
                    let theirs = &reach[neighbour as usize - nodes.start];
                    row.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine |= theirs);
                }
                let reached = row.iter().map(|word| i64::from(word.count_ones())).sum::<i64>();
                full[node] = reached == count;
                pairs += reached;
            }
            next[node] = row;
        }
        if pairs == found.pairs {
            break;
        }
        found.levels += 1;
        found.total += found.levels * (pairs - found.pairs);
        found.pairs = pairs;
        std::mem::swap(&mut reach, &mut next);
    }
    found
}
