//! What a mutant is.

use crate::kind::Kind;

/// A planted bug.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Its name: that of the first guard it removes.
    pub name: &'static str,
    /// Guards that are removed with it, because they hold without it, too.
    pub also: &'static [&'static str],
    /// What the guard does, in a few words.
    pub guard: &'static str,
    /// The worlds that find it out.
    pub kind: Kind,
}

impl Mutant {
    /// The mutant with further guards removed, because they hold without its own, too.
    pub const fn without(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }

    /// All guards that are removed.
    pub fn guards(&self) -> Vec<&'static str> {
        std::iter::once(self.name).chain(self.also.iter().copied()).collect()
    }
}
