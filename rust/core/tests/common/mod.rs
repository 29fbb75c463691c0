//! Chance that can be repeated: a test prints the seed that it failed with.

/// A generator of numbers that look random (xorshift).
pub(crate) struct Chance(u64);

impl Chance {
    /// The numbers of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }

    /// One of them.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        *from.get(self.below(from.len())).unwrap()
    }
}
