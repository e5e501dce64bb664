//! What stands in remote memory and cannot be.

use layout::GlobalPtr;
use std::fmt;

/// A structure that is not what a pointer to it promises: memory was lost, or somebody else wrote there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damage {
    /// What is wrong with it.
    pub flaw: Flaw,
    /// Where it stands.
    pub at: GlobalPtr,
}

/// What is wrong with a structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Flaw {
    /// No root of a hash table stands there.
    NoHashRoot,
    /// No root block of a tree stands there.
    NoTreeRoot,
    /// A root block says nothing sensible of the shape of its nodes.
    SenselessShape,
    /// A tree's first leaf is not there.
    NoFirstLeaf,
    /// An inner node does not begin with its low fence.
    LowFenceMissing,
    /// An inner node leads nowhere.
    LeadsNowhere,
}

impl Flaw {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::NoHashRoot,
        Self::NoTreeRoot,
        Self::SenselessShape,
        Self::NoFirstLeaf,
        Self::LowFenceMissing,
        Self::LeadsNowhere,
    ];

    /// It, found at `at`.
    pub const fn at(self, at: GlobalPtr) -> Damage {
        Damage { flaw: self, at }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::NoHashRoot => "there is no root of a hash table",
            Self::NoTreeRoot => "there is no root of a tree",
            Self::SenselessShape => "the root of a tree tells of impossible nodes",
            Self::NoFirstLeaf => "the first leaf of a tree is gone",
            Self::LowFenceMissing => "an inner node of a tree does not begin with its low fence",
            Self::LeadsNowhere => "an inner node of a tree leads nowhere",
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
        assert_eq!(damage.to_string(), "in region 3 at byte 4096, there is no root of a tree");
    }
}
