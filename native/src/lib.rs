//! The inner loops of es-dedup: arrays in, arrays out, each result equal bit by bit to that of the Python form.
//!
//! Every function works outside the interpreter's lock; `threads` is how many threads it may use.

pub mod features;
pub mod hashing;
pub mod language;
pub mod networks;
pub mod numbers;
pub mod pairs;
pub mod payload;
pub mod search;
pub mod statistics;
pub mod table;
pub mod text;
pub mod threads;
pub mod titles;
pub mod tokens;
pub mod words;

#[cfg(target_endian = "big")]
compile_error!("hashes of texts are over little-endian code points");

use pyo3::prelude::*;

#[pymodule]
mod es_dedup_native {
    use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
    use pyo3::exceptions::{PyTypeError, PyValueError};
    use pyo3::prelude::*;
    use pyo3::types::{PyBytes, PyDict};

    use crate::features::{Columns, Given};
    use crate::table::{CoverageArrays, FeatureArrays, LanguageArrays, TableArrays, WeightArrays};
    use crate::text::Texts;
    use crate::threads::without_lock;
    use crate::{language, networks, pairs, payload, search, statistics, text, words};

    type Array<'py, T> = PyReadonlyArray1<'py, T>;
    type NewArray<'py, T> = Bound<'py, PyArray1<T>>;

    /// Raised when any function takes or gives anything else than before, other results too; the package refuses other versions.
    #[pymodule_export]
    const INTERFACE: u32 = 11;

    fn texts<'a>(codes: &'a Array<'_, u32>, offsets: &'a Array<'_, i64>) -> PyResult<Texts<'a>> {
        Ok(Texts { codes: codes.as_slice()?, offsets: offsets.as_slice()? })
    }

    #[pyfunction]
    fn language_of_sample(sample: &str) -> &'static str {
        language::of_sample(sample)
    }

    #[pyfunction]
    fn flagged_runs<'py>(
        py: Python<'py>,
        codes: Array<'py, u32>,
        offsets: Array<'py, i64>,
        inside: Array<'py, bool>,
        flags: Array<'py, bool>,
    ) -> PyResult<(NewArray<'py, i64>, NewArray<'py, i64>)> {
        let (texts, inside, flags) = (texts(&codes, &offsets)?, inside.as_slice()?, flags.as_slice()?);
        let (starts, ends) = without_lock(py, || text::flagged_runs(texts, inside, flags))?;
        Ok((starts.into_pyarray(py), ends.into_pyarray(py)))
    }

    #[pyfunction]
    fn mapped_codes<'py>(
        py: Python<'py>,
        codes: Array<'py, u32>,
        mapped: Array<'py, u32>,
    ) -> PyResult<NewArray<'py, u32>> {
        let (codes, mapped) = (codes.as_slice()?, mapped.as_slice()?);
        Ok(without_lock(py, || text::mapped_codes(codes, mapped))?.into_pyarray(py))
    }

    #[pyfunction]
    fn collapsed<'py>(
        py: Python<'py>,
        codes: Array<'py, u32>,
        offsets: Array<'py, i64>,
    ) -> PyResult<(NewArray<'py, u32>, NewArray<'py, i64>)> {
        let texts = texts(&codes, &offsets)?;
        let (codes, offsets) = without_lock(py, || text::collapsed(texts))?;
        Ok((codes.into_pyarray(py), offsets.into_pyarray(py)))
    }

    #[pyfunction]
    fn features<'py>(
        py: Python<'py>,
        bodies: (Array<'py, u32>, Array<'py, i64>),
        titles: (Array<'py, u32>, Array<'py, i64>),
        language: LanguageArrays<'py>,
        window: usize,
        threads: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (bodies, titles) = (texts(&bodies.0, &bodies.1)?, texts(&titles.0, &titles.1)?);
        let given = Given { language: language.view()?, window };
        let columns = without_lock(py, || crate::features::features(bodies, titles, given, threads))?;
        as_arrays(py, columns)
    }

    #[pyfunction]
    fn pack<'py>(py: Python<'py>, table: TableArrays<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let table = table.view()?;
        let rows = without_lock(py, || payload::pack(&table))?;
        Ok(rows.iter().map(|row| PyBytes::new(py, row)).collect())
    }

    /// Columns, or the number of the first row whose bytes are damaged.
    #[pyfunction]
    fn unpack<'py>(py: Python<'py>, payloads: Vec<Bound<'py, PyBytes>>) -> PyResult<Bound<'py, PyAny>> {
        let payloads: Vec<&[u8]> = payloads.iter().map(|payload| payload.as_bytes()).collect();
        match without_lock(py, || payload::unpack(&payloads))? {
            Ok(columns) => Ok(as_arrays(py, columns)?.into_any()),
            Err(row) => Ok(row.into_pyobject(py)?.into_any()),
        }
    }

    /// The columns by name, counts as offsets.
    fn as_arrays(py: Python<'_>, columns: Columns) -> PyResult<Bound<'_, PyDict>> {
        let arrays = PyDict::new(py);
        macro_rules! set {
            ($($name:ident),*) => { $( arrays.set_item(stringify!($name), columns.$name.into_pyarray(py))?; )* };
        }
        set!(lengths, hashes, fingerprints, has_words, signatures, totals, tokens, body_mask, titled);
        set!(grams, gram_masks, gram_threshold, titles, numbers, number_threshold);
        set!(clauses, clause_lengths, clause_masks, clause_masked, clause_threshold);
        for (name, counts) in [
            ("offsets", columns.period_counts),
            ("gram_offsets", columns.gram_counts),
            ("clause_offsets", columns.clause_counts),
            ("title_offsets", columns.title_counts),
            ("number_offsets", columns.number_counts),
        ] {
            let mut offsets = Vec::with_capacity(counts.len() + 1);
            offsets.push(0);
            offsets.extend(counts.iter().scan(0, |end, count| {
                *end += count;
                Some(*end)
            }));
            arrays.set_item(name, offsets.into_pyarray(py))?;
        }
        Ok(arrays)
    }

    /// Counts per side, covers per side, shared counts and title overlap, each as one array, pair after pair.
    #[pyfunction]
    #[expect(clippy::type_complexity, reason = "a tuple of arrays")]
    fn measure<'py>(
        py: Python<'py>,
        left: (CoverageArrays<'py>, Array<'py, i64>, WeightArrays<'py>),
        right: (CoverageArrays<'py>, Array<'py, i64>, WeightArrays<'py>),
        threads: usize,
    ) -> PyResult<(NewArray<'py, i64>, NewArray<'py, f64>, NewArray<'py, i64>, NewArray<'py, f64>)> {
        let left = pairs::Side { table: left.0.view()?, rows: left.1.as_slice()?, weights: left.2.view()? };
        let right = pairs::Side { table: right.0.view()?, rows: right.1.as_slice()?, weights: right.2.view()? };
        let measures = without_lock(py, || pairs::measure(left, right, threads))?;
        Ok((
            measures.counts.into_pyarray(py),
            measures.covers.into_pyarray(py),
            measures.shared.into_pyarray(py),
            measures.overlap.into_pyarray(py),
        ))
    }

    /// Values that are hashes, of either width.
    #[derive(FromPyObject)]
    enum Hashes<'py> {
        Short(Array<'py, u32>),
        Long(Array<'py, u64>),
    }

    #[pyfunction]
    fn bitmap_of<'py>(py: Python<'py>, known: Hashes<'py>) -> PyResult<NewArray<'py, u64>> {
        let bitmap = match &known {
            Hashes::Short(known) => search::bitmap_of(known.as_slice()?),
            Hashes::Long(known) => search::bitmap_of(known.as_slice()?),
        };
        Ok(bitmap.into_pyarray(py))
    }

    #[pyfunction]
    fn find<'py>(
        py: Python<'py>,
        known: Hashes<'py>,
        values: Hashes<'py>,
        starts: Array<'py, i32>,
        shift: u32,
        seen: Array<'py, u64>,
        threads: usize,
    ) -> PyResult<(NewArray<'py, i64>, NewArray<'py, i64>)> {
        fn found<'py, T: Element + Copy + Ord + Into<u64> + Sync>(
            py: Python<'py>,
            known: &Array<'py, T>,
            values: &Array<'py, T>,
            (starts, shift, seen, threads): (&[i32], u32, &[u64], usize),
        ) -> PyResult<(Vec<i64>, Vec<i64>)> {
            let (known, values) = (known.as_slice()?, values.as_slice()?);
            without_lock(py, || search::find(known, values, starts, shift, seen, threads))
        }
        let given = (starts.as_slice()?, shift, seen.as_slice()?, threads);
        let (at, places) = match (&known, &values) {
            (Hashes::Short(known), Hashes::Short(values)) => found(py, known, values, given)?,
            (Hashes::Long(known), Hashes::Long(values)) => found(py, known, values, given)?,
            _ => return Err(PyTypeError::new_err("values of two widths")),
        };
        Ok((at.into_pyarray(py), places.into_pyarray(py)))
    }

    /// `facts`: two values a row, one row after the other, or none.
    #[pyfunction]
    #[expect(clippy::too_many_arguments, reason = "columns of one table")]
    fn shared_terms<'py>(
        py: Python<'py>,
        query: Array<'py, i64>,
        starts: Array<'py, i64>,
        counts: Array<'py, i64>,
        owners: Array<'py, i64>,
        rows: usize,
        facts: Array<'py, u64>,
        least: i64,
        threads: usize,
    ) -> PyResult<(NewArray<'py, i64>, NewArray<'py, i64>, NewArray<'py, i64>)> {
        let postings = search::Postings {
            query: query.as_slice()?,
            starts: starts.as_slice()?,
            counts: counts.as_slice()?,
            owners: owners.as_slice()?,
            rows,
            facts: facts.as_slice()?,
            least,
        };
        let shared = without_lock(py, || search::shared_terms(&postings, threads))?;
        Ok((shared.left.into_pyarray(py), shared.right.into_pyarray(py), shared.common.into_pyarray(py)))
    }

    #[pyfunction]
    fn removal_sums<'py>(
        py: Python<'py>,
        offsets: Array<'py, i64>,
        starts: Array<'py, i64>,
        neighbours: Array<'py, i64>,
        removed: Array<'py, i64>,
        removed_offsets: Array<'py, i64>,
        threads: usize,
    ) -> PyResult<NewArray<'py, i64>> {
        let graphs = networks::Graphs {
            offsets: offsets.as_slice()?,
            starts: starts.as_slice()?,
            neighbours: neighbours.as_slice()?,
        };
        let (removed, removed_offsets) = (removed.as_slice()?, removed_offsets.as_slice()?);
        let sums = without_lock(py, || networks::removal_sums(&graphs, removed, removed_offsets, threads))?;
        Ok(sums.into_pyarray(py))
    }

    /// `es_dedup.decision.remainders.Sketches`.
    type Sketches<'py> = (PyReadonlyArray2<'py, u32>, PyReadonlyArray2<'py, u8>, Array<'py, u32>);

    fn sketches<'a>(of: &'a Sketches<'_>) -> PyResult<statistics::Sketches<'a>> {
        Ok(statistics::Sketches { hashes: of.0.as_slice()?, sizes: of.1.as_slice()?, thresholds: of.2.as_slice()? })
    }

    /// `es_dedup.decision.statistics.PostingSample`.
    #[derive(FromPyObject)]
    struct Sample<'py> {
        keys: Array<'py, u64>,
        sites: Array<'py, i64>,
        titles: PyReadonlyArray2<'py, u64>,
        titled: Array<'py, bool>,
        fingerprints: Array<'py, u64>,
        hashes: Array<'py, u64>,
        days: Array<'py, i64>,
        grams: Sketches<'py>,
        clauses: Sketches<'py>,
    }

    #[pyfunction]
    fn weigh<'py>(
        py: Python<'py>,
        features: FeatureArrays<'py>,
        sample: Sample<'py>,
        threads: usize,
    ) -> PyResult<(NewArray<'py, u32>, NewArray<'py, f32>)> {
        let pages = statistics::Pages {
            keys: sample.keys.as_slice()?,
            sites: sample.sites.as_slice()?,
            titles: sample.titles.as_slice()?,
            titled: sample.titled.as_slice()?,
            fingerprints: sample.fingerprints.as_slice()?,
            hashes: sample.hashes.as_slice()?,
            days: sample.days.as_slice()?,
            grams: sketches(&sample.grams)?,
            clauses: sketches(&sample.clauses)?,
        };
        let features = features.view()?;
        let (values, weights) = without_lock(py, || statistics::weigh(features, pages, threads))?;
        Ok((values.into_pyarray(py), weights.into_pyarray(py)))
    }

    /// Words with their frequencies and tags, by which texts are cut.
    #[pyclass(frozen)]
    struct Dictionary(words::Dictionary);

    #[pymethods]
    impl Dictionary {
        #[new]
        fn new(py: Python<'_>, lines: &str) -> PyResult<Self> {
            let parsed = without_lock(py, || words::Dictionary::parse(lines))?;
            parsed
                .map(Dictionary)
                .map_err(|line| PyValueError::new_err(format!("line {line}: no word with a frequency")))
        }

        fn tag(&self, word: &str) -> Option<&str> {
            self.0.tag(word)
        }

        /// Number of each word by first appearance, where each begins, and three facts of each number, see `Words`.
        fn cut<'py>(
            &self,
            py: Python<'py>,
            codes: Array<'py, u32>,
        ) -> PyResult<(NewArray<'py, i64>, NewArray<'py, i64>, NewArray<'py, i64>)> {
            let codes = codes.as_slice()?;
            let found = without_lock(py, || self.0.cut(codes))?;
            Ok((found.ids.into_pyarray(py), found.starts.into_pyarray(py), found.distinct.into_pyarray(py)))
        }
    }
}
