//! Damaged structures in remote memory.

use layout::GlobalPtr;
use std::fmt;

/// A structure that does not match the pointer to it: memory was lost, or a foreign process wrote
/// there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damage {
    pub flaw: Flaw,
    pub at: GlobalPtr,
}

/// Kinds of damage to a structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Flaw {
    /// The pointer to a hash table's root leads to something else.
    NoHashRoot,
    /// The pointer to a tree's root block leads to something else.
    NoTreeRoot,
    /// A root block has an impossible node shape.
    SenselessShape,
    /// A tree's first leaf is missing.
    NoFirstLeaf,
    /// An inner node's first key is not its low fence.
    LowFenceMissing,
    /// An inner node has no entry for a key that it covers.
    LeadsNowhere,
}

impl Flaw {
    pub const ALL: [Self; 6] = [
        Self::NoHashRoot,
        Self::NoTreeRoot,
        Self::SenselessShape,
        Self::NoFirstLeaf,
        Self::LowFenceMissing,
        Self::LeadsNowhere,
    ];

    pub const fn at(self, at: GlobalPtr) -> Damage {
        Damage { flaw: self, at }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::NoHashRoot => "the root of a hash table is missing",
            Self::NoTreeRoot => "the root of a tree is missing",
            Self::SenselessShape => "the root of a tree has an impossible node shape",
            Self::NoFirstLeaf => "the first leaf of a tree is missing",
            Self::LowFenceMissing => "an inner node of a tree does not begin with its low fence",
            Self::LeadsNowhere => "an inner node of a tree has no entry for a key that it covers",
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (region, offset) = (self.at.region().0, self.at.offset());
        write!(formatter, "in region {region} at byte {offset}, {}", self.flaw.sentence())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::RegionId;

    #[test]
    fn damage_tells_what_and_where() {
        let damage = Flaw::NoTreeRoot.at(GlobalPtr::new(RegionId(3), 4096));
        assert_eq!(damage.to_string(), "in region 3 at byte 4096, the root of a tree is missing");
    }
}
