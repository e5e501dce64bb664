//! The definition of a mutant.

use crate::kind::Kind;

/// A planted bug.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Its name: that of the first guard it removes.
    pub name: &'static str,
    /// Further guards that are removed with it, because each of them suffices alone.
    pub also: &'static [&'static str],
    /// The function of the guard, in a few words.
    pub guard: &'static str,
    /// The worlds that detect it.
    pub kind: Kind,
}

impl Mutant {
    /// The mutant with further guards removed, because each of them suffices alone.
    pub const fn without(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }

    /// All guards that are removed.
    pub fn guards(&self) -> Vec<&'static str> {
        std::iter::once(self.name).chain(self.also.iter().copied()).collect()
    }
}
