//! No input makes the core panic, and the number of threads never shows in a result.

use es_dedup_native::features::{features, Given};
use es_dedup_native::payload::unpack;
use es_dedup_native::search::{bitmap_of, find, shared_terms, Postings};
use es_dedup_native::table::Language;
use es_dedup_native::text::{collapsed, Texts};
use es_dedup_native::words::Dictionary;
use proptest::collection::vec;
use proptest::prelude::*;

/// Code points that mean something to the core, and any others.
fn codes() -> impl Strategy<Value = u32> {
    let meaning: Vec<u32> = "泵站一二万〇年日电讯。！,.:-aB15 \n\0😀𫢸".chars().map(u32::from).collect();
    prop_oneof![4 => proptest::sample::select(meaning), 1 => 0..=u32::from(char::MAX)]
}

/// Texts of several pages and their offsets.
fn pages() -> impl Strategy<Value = (Vec<u32>, Vec<i64>)> {
    vec(vec(codes(), 0..300), 0..40).prop_map(|pages| {
        let ends = pages.iter().scan(0, |end, page| {
            *end += page.len() as i64;
            Some(*end)
        });
        (pages.concat(), std::iter::once(0).chain(ends).collect())
    })
}

proptest! {
    #[test]
    fn features_of_any_text_do_not_depend_on_threads((codes, offsets) in pages(), window in 1..30usize) {
        let plane: Vec<u8> = (0..0x10000u32).map(|code| match code {
            0x3007 | 0x30..=0x39 | 0x61..=0x7A => 2,
            0x3400..=0x9FFF => 1,
            _ => 0,
        }).collect();
        let language = Language { kinds: &plane, astral: &[0x1F600], astral_kinds: &[1], function_words: &[] };
        let given = Given { language, window };
        let (codes, offsets) = collapsed(Texts { codes: &codes, offsets: &offsets });
        let texts = Texts { codes: &codes, offsets: &offsets };
        let (one, several) = (features(texts, texts, given, 1), features(texts, texts, given, 3));
        prop_assert_eq!(&one.grams, &several.grams);
        prop_assert_eq!(&one.clause_masks, &several.clause_masks);
        prop_assert_eq!(one.lengths.len(), texts.count());
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut payload in vec(any::<u8>(), 0..200)) {
        let _ = unpack(&[&payload]);
        payload.insert(0, 1);
        let _ = unpack(&[&payload]);
    }

    #[test]
    fn values_are_found_where_a_plain_search_finds_them(
        mut known in vec(0..5000u32, 0..300), values in vec(0..5000u32, 0..300),
    ) {
        known.sort_unstable();
        known.dedup();
        let starts = [0, known.partition_point(|&value| value < 4096) as i32, known.len() as i32];
        let (at, places) = find(&known, &values, &starts, 12, &bitmap_of(&known), 2);
        let wanted: Vec<i64> = (0..values.len() as i64).filter(|&at| known.contains(&values[at as usize])).collect();
        prop_assert_eq!(&at, &wanted);
        for (at, place) in at.iter().zip(places) {
            prop_assert_eq!(known[place as usize], values[*at as usize]);
        }
    }

    #[test]
    fn pairs_that_share_terms_are_counted_once(terms in vec((0..60i64, vec(0..60i64, 0..9)), 0..200)) {
        let mut terms = terms;
        terms.sort();
        let query: Vec<i64> = terms.iter().map(|(row, _)| *row).collect();
        let counts: Vec<i64> = terms.iter().map(|(_, owners)| owners.len() as i64).collect();
        let owners: Vec<i64> = terms.iter().flat_map(|(_, owners)| owners.clone()).collect();
        let starts: Vec<i64> = counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end - count)
        }).collect();
        let postings = Postings {
            query: &query, starts: &starts, counts: &counts, owners: &owners, rows: 60, facts: &[], least: 1,
        };
        let mut wanted = std::collections::BTreeMap::new();
        for (row, owners) in &terms {
            for owner in owners.iter().filter(|&owner| owner != row) {
                *wanted.entry((*row, *owner)).or_insert(0i64) += 1;
            }
        }
        for threads in [1, 3] {
            let found = shared_terms(&postings, threads);
            let pairs: std::collections::BTreeMap<_, _> =
                found.left.iter().zip(&found.right).map(|(&l, &r)| (l, r)).zip(found.common.iter().copied()).collect();
            prop_assert_eq!(found.left.len(), pairs.len());
            prop_assert_eq!(&pairs, &wanted);
        }
    }

    #[test]
    fn words_are_the_text_again(text in vec(prop_oneof![Just('水'), Just('泵'), Just('a'), Just('1'), Just('-'), Just('\r'), Just('\n'), any::<char>()], 0..200)) {
        let dictionary = Dictionary::parse("水 5 n\n水泵 3 n\n泵水 3 v\na水泵 1 x\n无 0 x\n").unwrap_or_else(|_| unreachable!());
        let codes: Vec<u32> = text.iter().map(|&character| character as u32).collect();
        let words = dictionary.cut(&codes);
        let mut again = Vec::new();
        for (&id, &start) in words.ids.iter().zip(&words.starts) {
            prop_assert_eq!(start as usize, again.len());
            let at = 3 * id as usize;
            let (from, to) = (words.distinct[at], words.distinct[at + 1]);
            prop_assert!(from < to && from <= start);
            again.extend_from_slice(&codes[from as usize..to as usize]);
        }
        prop_assert_eq!(again, codes);
    }
}
