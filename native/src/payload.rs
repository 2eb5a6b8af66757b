//! Tables of features as bytes and back, as `es_dedup.detectors.features.pack` and `unpack`.
//!
//! A row is version (1), bytes of signatures (2), length (4), content hash (8), has words (1), fingerprint (8); signatures of 5 bytes
//! each, and their number (4) where not all are kept; then coverage: five numbers of 4 bytes, five counts of 2, three of 1, the
//! dense columns, and the mostly empty ones as places (2) and values (4).

use crate::features::Columns;
use crate::table::Table;

const VERSION: u8 = 1;
const HEAD: usize = 24;
const COVERAGE_HEAD: usize = 33;
const SIGNATURE: usize = 5;
const SIGNATURES_MOST: usize = 2048;

/// Each row as bytes.
pub fn pack(table: &Table<'_>) -> Vec<Vec<u8>> {
    (0..table.lengths.len()).map(|row| pack_row(table, row)).collect()
}

fn pack_row(table: &Table<'_>, row: usize) -> Vec<u8> {
    let (periods, cover) = (&table.periods, &table.coverage);
    let signatures = Table::values(periods.signatures, periods.offsets, row);
    let all_kept = signatures.len() as i64 == periods.totals[row];
    let grams = Table::values(cover.grams, cover.gram_offsets, row);
    let clauses = Table::values(cover.clauses, cover.clause_offsets, row);
    let titles = Table::values(cover.titles, cover.title_offsets, row);
    let numbers = Table::values(cover.numbers, cover.number_offsets, row);
    let sparse = [
        Table::values(cover.gram_masks, cover.gram_offsets, row),
        Table::values(cover.clause_masks, cover.clause_offsets, row),
        Table::values(cover.clause_masked, cover.clause_offsets, row),
    ];
    let mut bytes = Vec::with_capacity(HEAD + COVERAGE_HEAD + 4 * (grams.len() + 2 * clauses.len()) + 512);
    bytes.push(VERSION);
    bytes.extend((signatures.len() as u16 * 5 + if all_kept { 0 } else { 4 }).to_le_bytes());
    bytes.extend((table.lengths[row] as u32).to_le_bytes());
    bytes.extend(table.hashes[row].to_le_bytes());
    bytes.push(u8::from(table.has_words[row]));
    bytes.extend(table.fingerprints[row].to_le_bytes());
    for signature in signatures {
        bytes.extend(&signature.to_le_bytes()[..SIGNATURE]);
    }
    if !all_kept {
        bytes.extend((periods.totals[row] as u32).to_le_bytes());
    }
    for column in [cover.tokens, cover.gram_threshold, cover.clause_threshold, cover.number_threshold, cover.body_mask]
    {
        bytes.extend(column[row].to_le_bytes());
    }
    bytes.extend((grams.len() as u16).to_le_bytes());
    bytes.extend((clauses.len() as u16).to_le_bytes());
    for column in sparse {
        let filled = column.iter().filter(|&&value| value != 0).count();
        bytes.extend((filled as u16).to_le_bytes());
    }
    bytes.extend([titles.len() as u8, numbers.len() as u8, u8::from(cover.titled[row])]);
    for value in [grams, clauses, titles, numbers].into_iter().flatten() {
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend(Table::values(cover.clause_lengths, cover.clause_offsets, row));
    for column in sparse {
        let filled = || column.iter().enumerate().filter(|(_, &value)| value != 0);
        filled().for_each(|(place, _)| bytes.extend((place as u16).to_le_bytes()));
        filled().for_each(|(_, value)| bytes.extend(value.to_le_bytes()));
    }
    bytes
}

/// The table of rows that `pack` made; the number of the first row whose bytes are damaged.
pub fn unpack(payloads: &[&[u8]]) -> Result<Columns, usize> {
    let mut columns = Columns::default();
    for (row, payload) in payloads.iter().enumerate() {
        unpack_row(payload, &mut columns).ok_or(row)?;
    }
    Ok(columns)
}

/// None where the bytes are damaged.
fn unpack_row(payload: &[u8], columns: &mut Columns) -> Option<()> {
    let mut reader = Reader(payload);
    if reader.byte()? != VERSION {
        return None;
    }
    let size = usize::from(reader.half()?);
    columns.lengths.push(i64::from(reader.word()?));
    columns.hashes.push(reader.long()?);
    columns.has_words.push(reader.byte()? != 0);
    columns.fingerprints.push(reader.long()?);
    unpack_signatures(reader.take(size)?, columns)?;
    unpack_coverage(reader, columns)
}

fn unpack_signatures(bytes: &[u8], columns: &mut Columns) -> Option<()> {
    let count = bytes.len() / SIGNATURE;
    let (signatures, rest) = bytes.split_at(count * SIGNATURE);
    let total = match rest.len() {
        0 => count,
        4 => {
            let total = Reader(rest).word()? as usize;
            (count == SIGNATURES_MOST && total > count).then_some(total)?
        }
        _ => return None,
    };
    columns.period_counts.push(count as i64);
    columns.totals.push(total as i64);
    columns.signatures.extend(
        signatures
            .chunks_exact(SIGNATURE)
            .map(|bytes| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))),
    );
    Some(())
}

fn unpack_coverage(mut reader: Reader<'_>, columns: &mut Columns) -> Option<()> {
    for column in [
        &mut columns.tokens,
        &mut columns.gram_threshold,
        &mut columns.clause_threshold,
        &mut columns.number_threshold,
        &mut columns.body_mask,
    ] {
        column.push(reader.word()?);
    }
    let mut counts = [0; 5];
    for count in &mut counts {
        *count = usize::from(reader.half()?);
    }
    let [grams, clauses, gram_marks, clause_marks, masked] = counts;
    let (titles, numbers) = (usize::from(reader.byte()?), usize::from(reader.byte()?));
    columns.titled.push(reader.byte()? != 0);
    for (count, column, counted) in [
        (grams, &mut columns.grams, &mut columns.gram_counts),
        (clauses, &mut columns.clauses, &mut columns.clause_counts),
        (titles, &mut columns.titles, &mut columns.title_counts),
        (numbers, &mut columns.numbers, &mut columns.number_counts),
    ] {
        counted.push(count as i64);
        reader.words(count, column)?;
    }
    columns.clause_lengths.extend(reader.take(clauses)?);
    for (filled, size, column) in [
        (gram_marks, grams, &mut columns.gram_masks),
        (clause_marks, clauses, &mut columns.clause_masks),
        (masked, clauses, &mut columns.clause_masked),
    ] {
        reader.sparse(filled, size, column)?;
    }
    reader.0.is_empty().then_some(())
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const SIZE: usize>(&mut self) -> Option<[u8; SIZE]> {
        self.take(SIZE)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn half(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn word(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn words(&mut self, count: usize, column: &mut Vec<u32>) -> Option<()> {
        let bytes = self.take(4 * count)?;
        column.extend(bytes.chunks_exact(4).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])));
        Some(())
    }

    /// Appends a mostly empty part of a column; None where a place lies outside.
    fn sparse(&mut self, filled: usize, size: usize, column: &mut Vec<u32>) -> Option<()> {
        let begin = column.len();
        column.resize(begin + size, 0);
        let mut places = Reader(self.take(2 * filled)?);
        for _ in 0..filled {
            let place = usize::from(places.half()?);
            *column[begin..].get_mut(place)? = self.word()?;
        }
        Some(())
    }
}
