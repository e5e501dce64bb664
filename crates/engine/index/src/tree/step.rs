//! Named points right after each remotely visible effect on a tree.

use fabric::FailurePoint;

/// Failure points of a change of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeStep {
    /// Create: the first leaf is in memory; nothing leads to it.
    FirstLeafWritten,
    /// Split: the leaf's insert word carries the splitter's timestamp and lock bit.
    LeafLocked,
    /// Split: the new leaves are complete and link to the old right neighbour; nothing leads to
    /// them.
    RightWritten,
    /// Split: the leaf ends at the first separator and links to the new leaves; it is unlocked.
    /// Readers that come through the inner nodes reach the new leaves over it.
    LeftRewritten,
    /// Split: the inner nodes lead to the new leaves directly.
    SeparatorsAdded,
    /// Absorb: leaf and right neighbour are locked.
    NeighboursLocked,
    /// Absorb: the leaf holds its own and its neighbour's entries, and links past the neighbour,
    /// which is DEAD; both are unlocked. Inner nodes may still lead to the neighbour, whose readers
    /// call again.
    RightTakenOver,
    /// Absorb: no inner node leads to the neighbour.
    SeparatorRemoved,
    /// Server: the latch of the tree is held.
    LatchHeld,
    /// Server: new right inner nodes are complete; nothing leads to them.
    InnerRightWritten,
    /// Server: the inner node ends at its first separator and links to the new ones.
    InnerLeftWritten,
    /// Server: descents start one level higher.
    RootRaised,
    /// Server: an inner node without separators of its own was absorbed by its left neighbour.
    InnerTookOver,
    /// Server: that inner node is DEAD.
    InnerDead,
    /// Server: the inner nodes match the leaves; the latch is still held.
    Settled,
}

impl TreeStep {
    /// Every step, for sweeps that kill at each of them.
    pub const ALL: &[Self] = &[
        Self::FirstLeafWritten,
        Self::LeafLocked,
        Self::RightWritten,
        Self::LeftRewritten,
        Self::SeparatorsAdded,
        Self::NeighboursLocked,
        Self::RightTakenOver,
        Self::SeparatorRemoved,
        Self::LatchHeld,
        Self::InnerRightWritten,
        Self::InnerLeftWritten,
        Self::RootRaised,
        Self::InnerTookOver,
        Self::InnerDead,
        Self::Settled,
    ];
}

impl FailurePoint for TreeStep {
    fn name(self) -> &'static str {
        match self {
            Self::FirstLeafWritten => "tree::FirstLeafWritten",
            Self::LeafLocked => "tree::LeafLocked",
            Self::RightWritten => "tree::RightWritten",
            Self::LeftRewritten => "tree::LeftRewritten",
            Self::SeparatorsAdded => "tree::SeparatorsAdded",
            Self::NeighboursLocked => "tree::NeighboursLocked",
            Self::RightTakenOver => "tree::RightTakenOver",
            Self::SeparatorRemoved => "tree::SeparatorRemoved",
            Self::LatchHeld => "tree::LatchHeld",
            Self::InnerRightWritten => "tree::InnerRightWritten",
            Self::InnerLeftWritten => "tree::InnerLeftWritten",
            Self::RootRaised => "tree::RootRaised",
            Self::InnerTookOver => "tree::InnerTookOver",
            Self::InnerDead => "tree::InnerDead",
            Self::Settled => "tree::Settled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = TreeStep::ALL.iter().map(|step| step.name()).collect();
        assert_eq!(names.len(), TreeStep::ALL.len());
    }
}
