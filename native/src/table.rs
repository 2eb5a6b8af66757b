//! Tables of features as Python holds them, seen as slices.

use numpy::{NotContiguousError, PyReadonlyArray1};
use pyo3::prelude::*;

macro_rules! view {
    ($(#[$doc:meta])* $arrays:ident => $view:ident { $($name:ident: $kind:ty),* $(,)? }) => {
        #[derive(FromPyObject)]
        pub struct $arrays<'py> { $($name: PyReadonlyArray1<'py, $kind>),* }

        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $view<'a> { $(pub $name: &'a [$kind]),* }

        impl $arrays<'_> {
            pub fn view(&self) -> Result<$view<'_>, NotContiguousError> {
                Ok($view { $($name: self.$name.as_slice()?),* })
            }
        }
    };
}

view! {
    /// `es_dedup.detectors.coverage_features.CoverageTable`, which describes the columns.
    CoverageArrays => Coverage {
        tokens: u32, gram_offsets: i64, grams: u32, gram_masks: u32, gram_threshold: u32,
        clause_offsets: i64, clauses: u32, clause_lengths: u8, clause_masks: u32, clause_masked: u32, clause_threshold: u32,
        title_offsets: i64, titles: u32, body_mask: u32, titled: bool,
        number_offsets: i64, numbers: u32, number_threshold: u32,
    }
}

view! {
    /// `es_dedup.detectors.ccdet.PeriodTable`.
    PeriodArrays => Periods { offsets: i64, signatures: u64, totals: i64 }
}

view! {
    /// `es_dedup.detectors.coverage_pairs.Weights`.
    WeightArrays => Weights { grams: f32, clauses: f32 }
}

view! {
    /// Grams, or clauses, of pages: `es_dedup.decision.statistics.RowFeatures`.
    FeatureArrays => Features { hashes: u32, masks: u32, starts: i64, ends: i64 }
}

view! {
    /// Kinds of characters, by a table of the basic plane and for the others that occur, ascending; and the hashes of words that are
    /// no terms of a title, ascending.
    LanguageArrays => Language { kinds: u8, astral: u32, astral_kinds: u8, function_words: u64 }
}

#[derive(FromPyObject)]
pub struct TableArrays<'py> {
    lengths: PyReadonlyArray1<'py, i64>,
    hashes: PyReadonlyArray1<'py, u64>,
    fingerprints: PyReadonlyArray1<'py, u64>,
    has_words: PyReadonlyArray1<'py, bool>,
    periods: PeriodArrays<'py>,
    coverage: CoverageArrays<'py>,
}

/// `es_dedup.detectors.features.FeatureTable`.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    pub lengths: &'a [i64],
    pub hashes: &'a [u64],
    pub fingerprints: &'a [u64],
    pub has_words: &'a [bool],
    pub periods: Periods<'a>,
    pub coverage: Coverage<'a>,
}

impl TableArrays<'_> {
    pub fn view(&self) -> Result<Table<'_>, NotContiguousError> {
        Ok(Table {
            lengths: self.lengths.as_slice()?,
            hashes: self.hashes.as_slice()?,
            fingerprints: self.fingerprints.as_slice()?,
            has_words: self.has_words.as_slice()?,
            periods: self.periods.view()?,
            coverage: self.coverage.view()?,
        })
    }
}

impl Table<'_> {
    /// The values of one row.
    pub fn values<'a, T>(column: &'a [T], offsets: &[i64], row: usize) -> &'a [T] {
        &column[offsets[row] as usize..offsets[row + 1] as usize]
    }
}
