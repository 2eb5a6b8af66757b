//! Stable 64-bit hashing, as `es_dedup.text.hashing`.

pub const SEED: u64 = 0x6573_6465_6475_7031;
const MIX_ADD: u64 = 0x9E37_79B9_7F4A_7C15 ^ SEED;

/// Spreads a value over all bits, bijectively (the SplitMix64 finaliser, Steele et al. 2014).
#[inline(always)]
pub fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(MIX_ADD);
    mixed ^= mixed >> 30;
    mixed = mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^= mixed >> 27;
    mixed = mixed.wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Hash of a sequence of values: a polynomial in the place, then mixed.
pub struct Polynomial {
    base: u64,
    power: u64,
    sum: u64,
}

impl Polynomial {
    /// `base` is odd.
    #[inline(always)]
    pub fn new(base: u64) -> Self {
        Self { base, power: 1, sum: 0 }
    }

    #[inline(always)]
    pub fn push(&mut self, value: u64) {
        self.sum = self.sum.wrapping_add(value.wrapping_mul(self.power));
        self.power = self.power.wrapping_mul(self.base);
    }

    #[inline(always)]
    pub fn hash(&self) -> u64 {
        mix(self.sum)
    }
}

/// Hash of the values in this order.
#[inline(always)]
pub fn sequence_hash(values: impl Iterator<Item = u64>, base: u64) -> u64 {
    let mut polynomial = Polynomial::new(base);
    values.for_each(|value| polynomial.push(value));
    polynomial.hash()
}

/// The upper half of a hash, of which samples are made.
#[inline(always)]
pub fn high(hash: u64) -> u32 {
    (hash >> 32) as u32
}
