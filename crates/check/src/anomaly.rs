//! What can be wrong with a history, what each level of isolation forbids, and who defined it.
//!
//! - *Adya 1999*: Atul Adya, *Weak Consistency: A Generalized Theory and Optimistic Implementations for
//!   Distributed Transactions*, MIT. Phenomena as cycles of dependencies between transactions.
//! - *Berenson 1995*: Berenson, Bernstein, Gray, Melton, O'Neil, O'Neil, *A Critique of ANSI SQL Isolation
//!   Levels*, SIGMOD. Snapshot isolation and lost update.
//! - *Cerone and Gotsman 2016*: Andrea Cerone, Alexey Gotsman, *Analysing Snapshot Isolation*, PODC.
//!   Snapshot isolation, of sessions, as the absence of cycles in which no two anti-dependencies are
//!   adjacent.
//! - *Kingsbury and Alvaro 2020*: Kyle Kingsbury, Peter Alvaro, *Elle: Inferring Isolation Anomalies from
//!   Experimental Observations*, PVLDB 14(3). Version orders from lists, and names for what is found.
//! - *Daudjee and Salem 2006*: Khuzaima Daudjee, Kenneth Salem, *Lazy Database Replication with Snapshot
//!   Isolation*, VLDB. Strong and strong session snapshot isolation.

use std::fmt;

/// The kinds of anomalies, without regard to sessions and time; worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shape {
    /// A transaction contradicts itself: a read does not show its own earlier reads and writes, or shows
    /// a write that it makes only later.
    Internal,
    /// A read of a value that nobody wrote.
    GarbageRead,
    /// A list with an element twice that was appended once.
    DuplicateElement,
    /// Two reads of a list of which none is a prefix of the other: there is no order of its versions.
    IncompatibleOrder,
    /// G1a, aborted read: a read of what an aborted transaction wrote [Adya 1999].
    G1a,
    /// G1b, intermediate read: of what its writer overwrote itself [Adya 1999].
    G1b,
    /// Two transactions read the same version of a key, and both wrote the key [Berenson 1995].
    LostUpdate,
    /// G0, write cycle: writes only [Adya 1999].
    G0,
    /// G1c, circular information flow: writes and reads of them [Adya 1999].
    G1c,
    /// G-single: a cycle with exactly one anti-dependency, as read skew [Adya 1999].
    GSingle,
    /// G-nonadjacent: a cycle with several anti-dependencies, of which no two follow each other, as long
    /// fork [Cerone and Gotsman 2016; named by Kingsbury and Alvaro 2020].
    GNonadjacent,
    /// G2: a cycle with anti-dependencies that follow each other, as write skew [Adya 1999]. Without
    /// predicates among the operations it is G2-item.
    G2,
}

/// What a cycle needs beside the data: the order within sessions, or of real time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Order {
    /// Nothing.
    Data,
    /// That a session's transactions follow each other.
    Session,
    /// That a transaction that ended before another began precedes it.
    RealTime,
}

/// An anomaly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Anomaly {
    /// What order it rests on.
    pub order: Order,
    /// What it is.
    pub shape: Shape,
}

impl Anomaly {
    /// An anomaly of the data alone.
    pub fn of_data(shape: Shape) -> Self {
        Self { order: Order::Data, shape }
    }

    /// What it means, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self.shape {
            Shape::Internal => "a transaction contradicts its own reads and writes",
            Shape::GarbageRead => "a read shows a value that nobody wrote",
            Shape::DuplicateElement => "a value that was appended once stands in a list twice",
            Shape::IncompatibleOrder => "two reads of a list contradict each other",
            Shape::G1a => "a read shows what an aborted transaction wrote",
            Shape::G1b => "a read shows what its writer overwrote in the same transaction",
            Shape::LostUpdate => "two transactions changed the same version, so one change is lost",
            Shape::G0 => "writes follow each other in a circle",
            Shape::G1c => "information flows in a circle",
            Shape::GSingle => "a snapshot lacks a part of what it should show",
            Shape::GNonadjacent => "snapshots exist of which none is before the other",
            Shape::G2 => "transactions overlook each other's writes, so no serial order exists",
        }
    }

    /// Who defined it.
    pub fn source(self) -> &'static str {
        match self.shape {
            Shape::G1a | Shape::G1b | Shape::G0 | Shape::G1c | Shape::GSingle | Shape::G2 => {
                "Adya 1999"
            }
            Shape::LostUpdate => "Berenson et al. 1995",
            Shape::GNonadjacent => "Cerone and Gotsman 2016",
            Shape::Internal
            | Shape::GarbageRead
            | Shape::DuplicateElement
            | Shape::IncompatibleOrder => "Kingsbury and Alvaro 2020",
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match self.shape {
            Shape::Internal => "internal",
            Shape::GarbageRead => "garbage-read",
            Shape::DuplicateElement => "duplicate-element",
            Shape::IncompatibleOrder => "incompatible-order",
            Shape::G1a => "G1a",
            Shape::G1b => "G1b",
            Shape::LostUpdate => "lost-update",
            Shape::G0 => "G0",
            Shape::G1c => "G1c",
            Shape::GSingle => "G-single",
            Shape::GNonadjacent => "G-nonadjacent",
            Shape::G2 => "G2",
        };
        let order = match self.order {
            Order::Data => "",
            Order::Session => "-session",
            Order::RealTime => "-realtime",
        };
        write!(formatter, "{shape}{order}")
    }
}

/// A level of isolation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Every transaction reads from some snapshot of what was committed, and of two concurrent ones that
    /// write the same key one commits.
    Snapshot,
    /// And the snapshot holds all that its session did before [Daudjee and Salem 2006].
    StrongSessionSnapshot,
    /// And the snapshot holds all that was committed before the transaction began.
    StrongSnapshot,
    /// As if one transaction ran after the other.
    Serializable,
    /// In an order that every session's own agrees with.
    StrongSessionSerializable,
    /// In an order that real time agrees with.
    StrictSerializable,
}

impl Level {
    /// All levels, each family from weak to strong.
    pub const ALL: [Self; 6] = [
        Self::Snapshot,
        Self::StrongSessionSnapshot,
        Self::StrongSnapshot,
        Self::Serializable,
        Self::StrongSessionSerializable,
        Self::StrictSerializable,
    ];

    /// Its name, as a user types it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::StrongSessionSnapshot => "strong-session-snapshot",
            Self::StrongSnapshot => "strong-snapshot",
            Self::Serializable => "serializable",
            Self::StrongSessionSerializable => "strong-session-serializable",
            Self::StrictSerializable => "strict-serializable",
        }
    }

    /// Whether it demands a serial order, rather than snapshots.
    pub fn is_serial(self) -> bool {
        self >= Self::Serializable
    }

    /// The order that it demands beside the data.
    pub fn order(self) -> Order {
        match self {
            Self::Snapshot | Self::Serializable => Order::Data,
            Self::StrongSessionSnapshot | Self::StrongSessionSerializable => Order::Session,
            Self::StrongSnapshot | Self::StrictSerializable => Order::RealTime,
        }
    }

    /// Whether a history that has the anomaly is not of this level.
    ///
    /// A serial history is one of snapshots, too; what orders sessions is ordered by time.
    pub fn forbids(self, anomaly: Anomaly) -> bool {
        anomaly.order <= self.order() && (self.is_serial() || anomaly.shape != Shape::G2)
    }

    /// Whether every history of this level is also of the other.
    pub fn implies(self, other: Self) -> bool {
        self.order() >= other.order() && self.is_serial() >= other.is_serial()
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stronger_levels_forbid_all_that_weaker_ones_do() {
        let orders = [Order::Data, Order::Session, Order::RealTime];
        let shapes = [Shape::Internal, Shape::GSingle, Shape::GNonadjacent, Shape::G2];
        for (strong, weak) in Level::ALL.iter().flat_map(|a| Level::ALL.iter().map(move |b| (a, b)))
        {
            if strong.implies(*weak) {
                for (order, shape) in orders.iter().flat_map(|a| shapes.iter().map(move |b| (a, b)))
                {
                    let anomaly = Anomaly { order: *order, shape: *shape };
                    assert!(strong.forbids(anomaly) >= weak.forbids(anomaly), "{strong} {anomaly}");
                }
            }
        }
        let write_skew = Anomaly::of_data(Shape::G2);
        assert!(!Level::StrongSnapshot.forbids(write_skew));
        assert!(Level::Serializable.forbids(write_skew));
    }
}
