//! The graph of dependencies between transactions, and the search for cycles in it.
//!
//! ```text
//! edges.rs        every dependency, with its reason, in flat arrays
//! view.rs         the graph of a level of isolation: which edges it has, and how they join
//! components.rs   strongly connected components: whether there are cycles, and where
//! shortest.rs     the shortest way back along an edge
//! cycle.rs        which anomalies the cycles are
//! ```
//!
//! Decision: docs/decisions/0064-snapshot-isolation-has-two-graph-nodes-per-transaction.md

mod components;
pub(crate) mod cycle;
pub(crate) mod edges;
mod shortest;
pub(crate) mod view;

pub(crate) use components::Components;

/// The reason why one transaction comes before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Relation {
    /// Both wrote a key, the second after the first (ww).
    WriteWrite,
    /// The second read the first one's write (wr).
    WriteRead,
    /// The first read a version that the second overwrote (rw, anti-dependency).
    ReadWrite,
    /// Both belong to one session, which ran the first before the second.
    Session,
    /// The first had ended before the second began.
    RealTime,
}

impl Relation {
    /// Its name in the drawings of a graph.
    pub fn name(self) -> &'static str {
        match self {
            Self::WriteWrite => "ww",
            Self::WriteRead => "wr",
            Self::ReadWrite => "rw",
            Self::Session => "session",
            Self::RealTime => "real time",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Relations(u8);

impl Relations {
    pub(crate) const WRITES: Self = Self::of(&[Relation::WriteWrite]);
    pub(crate) const READS: Self = Self::of(&[Relation::WriteRead]);
    pub(crate) const ANTI: Self = Self::of(&[Relation::ReadWrite]);

    pub(crate) const fn of(relations: &[Relation]) -> Self {
        let mut set = 0;
        let mut index = 0;
        while index < relations.len() {
            set |= 1 << relations[index] as u8;
            index += 1;
        }
        Self(set)
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn has(self, relation: Relation) -> bool {
        self.0 & (1 << relation as u8) != 0
    }
}
