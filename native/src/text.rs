//! Steps of normalising over all characters of a batch, as `es_dedup.text.normalise`.

const SPACE: u32 = 0x20;
const NEWLINE: u32 = 0x0A;

/// Texts of several pages: page `i` is `codes[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Copy)]
pub struct Texts<'a> {
    pub codes: &'a [u32],
    pub offsets: &'a [i64],
}

impl<'a> Texts<'a> {
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn page(&self, page: usize) -> &'a [u32] {
        &self.codes[self.offsets[page] as usize..self.offsets[page + 1] as usize]
    }
}

/// Where the runs of characters `inside` begin and end that have a flagged one; those beyond the tables are inside, and flagged.
pub fn flagged_runs(texts: Texts<'_>, inside: &[bool], flags: &[bool]) -> (Vec<i64>, Vec<i64>) {
    let by = |table: &[bool], code: u32| table.get(code as usize).copied().unwrap_or(true);
    let flagged = |run: &[u32]| run.iter().any(|code| by(flags, *code));
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for page in (0..texts.count()).filter(|page| flagged(texts.page(*page))) {
        let mut at = texts.offsets[page];
        for run in texts.page(page).split_inclusive(|code| !by(inside, *code)) {
            let end = at + run.len() as i64;
            if flagged(run) {
                starts.push(at);
                ends.push(end - i64::from(!by(inside, run[run.len() - 1])));
            }
            at = end;
        }
    }
    (starts, ends)
}

/// Each character by the table; those beyond it stay.
pub fn mapped_codes(codes: &[u32], mapped: &[u32]) -> Vec<u32> {
    codes.iter().map(|code| mapped.get(*code as usize).copied().unwrap_or(*code)).collect()
}

/// Texts without removed characters (0), each run of white space one newline or one space, none at a page's ends.
pub fn collapsed(texts: Texts<'_>) -> (Vec<u32>, Vec<i64>) {
    let between = |code: &u32| matches!(*code, 0 | SPACE | NEWLINE);
    let mut result = Vec::with_capacity(texts.codes.len());
    let mut offsets = Vec::with_capacity(texts.offsets.len());
    offsets.push(0);
    for page in 0..texts.count() {
        let begin = result.len();
        let mut waiting = None;
        for run in texts.page(page).chunk_by(|one, other| between(one) == between(other)) {
            if between(&run[0]) {
                waiting = run.iter().filter(|&&code| code != 0).min(); // a newline is less than a space
            } else {
                result.extend(waiting.take().filter(|_| result.len() > begin));
                result.extend_from_slice(run);
            }
        }
        offsets.push(result.len() as i64);
    }
    (result, offsets)
}
