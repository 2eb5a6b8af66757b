//! Language of a sample of a text by its script, as `es_dedup.extraction.language`.

const MIN_LETTERS: usize = 20;
const MIN_ENGLISH_SHARE: f64 = 0.15;
const LONGEST: usize = 5;
const ENGLISH: [&str; 30] = [
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "on", "was", "with", "as", "by", "be", "are",
    "this", "at", "from", "or", "an", "have", "not", "but", "which", "you", "his", "they", "has",
];

/// `zh`, `en` or `und`.
pub fn of_sample(sample: &str) -> &'static str {
    let (mut ideographs, mut others, mut words, mut known) = (0, 0, 0, 0);
    let mut word = Word::default();
    for code in sample.chars().chain([' ']) {
        match code {
            'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' => word.push(code),
            _ => {
                if word.length > 0 {
                    words += 1;
                    known += usize::from(word.is_english());
                    word = Word::default();
                }
                ideographs += usize::from(matches!(code, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'));
                others += usize::from(matches!(code, '\u{3041}'..='\u{30fa}' | '\u{ac00}'..='\u{d7a3}'));
            }
        }
    }
    if ideographs.max(words) < MIN_LETTERS || others as f64 > 0.1 * (ideographs + words) as f64 {
        "und"
    } else if ideographs >= words {
        "zh"
    } else if known as f64 >= MIN_ENGLISH_SHARE * words as f64 {
        "en"
    } else {
        "und"
    }
}

/// A run of letters: how many, and the first ones in lower case, 0 for one beyond ASCII.
#[derive(Default)]
struct Word {
    start: [u8; LONGEST],
    length: usize,
}

impl Word {
    fn push(&mut self, letter: char) {
        if let Some(place) = self.start.get_mut(self.length) {
            *place = if letter.is_ascii() { letter.to_ascii_lowercase() as u8 } else { 0 };
        }
        self.length += 1;
    }

    fn is_english(&self) -> bool {
        self.length <= LONGEST && ENGLISH.iter().any(|known| known.as_bytes() == &self.start[..self.length])
    }
}
