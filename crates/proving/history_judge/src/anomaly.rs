//! Anomalies: the kinds, the levels of isolation that forbid each, and their definitions.
//!
//! - *Adya 1999*: Atul Adya, *Weak Consistency: A Generalized Theory and Optimistic Implementations
//!   for Distributed Transactions*, MIT. Phenomena as cycles of dependencies between transactions.
//! - *Berenson 1995*: Berenson, Bernstein, Gray, Melton, O'Neil, O'Neil, *A Critique of ANSI SQL
//!   Isolation Levels*, SIGMOD. Snapshot isolation and lost update.
//! - *Cerone and Gotsman 2016*: Andrea Cerone, Alexey Gotsman, *Analysing Snapshot Isolation*,
//!   PODC. Snapshot isolation with sessions as the absence of cycles without two adjacent
//!   anti-dependencies.
//! - *Kingsbury and Alvaro 2020*: Kyle Kingsbury, Peter Alvaro, *Elle: Inferring Isolation
//!   Anomalies from Experimental Observations*, PVLDB 14(3). Version orders from lists, and names
//!   of anomalies.
//! - *Daudjee and Salem 2006*: Khuzaima Daudjee, Kenneth Salem, *Lazy Database Replication with
//!   Snapshot Isolation*, VLDB. Strong and strong session snapshot isolation.

use std::fmt;

/// The kinds of anomalies, independent of sessions and time; worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shape {
    /// A transaction contradicts itself: a read does not reflect the transaction's earlier reads
    /// and writes, or returns a value that it writes only later.
    Internal,
    /// A read returns a value that no transaction wrote.
    GarbageRead,
    /// A list contains an element twice that was appended once.
    DuplicateElement,
    /// Two reads of a list, neither a prefix of the other: no order of its versions explains both.
    IncompatibleOrder,
    /// G1a, aborted read: a read returns a value of an aborted transaction [Adya 1999].
    G1a,
    /// G1b, intermediate read: a read returns a value that its writer itself overwrote [Adya 1999].
    G1b,
    /// Two transactions read the same version of a key, and both wrote the key [Berenson 1995].
    LostUpdate,
    /// G0, write cycle: a cycle of write dependencies only [Adya 1999].
    G0,
    /// G1c, circular information flow: a cycle of write and read dependencies [Adya 1999].
    G1c,
    /// G-single: a cycle with exactly one anti-dependency, such as read skew [Adya 1999].
    GSingle,
    /// G-nonadjacent: a cycle with several anti-dependencies, no two of them adjacent, such as a
    /// long fork [Cerone and Gotsman 2016; named by Kingsbury and Alvaro 2020].
    GNonadjacent,
    /// G2: a cycle with adjacent anti-dependencies, such as write skew [Adya 1999]. Without
    /// predicate operations it is G2-item.
    G2,
}

/// The order that a cycle needs beside the data: that within sessions, or that of real time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Order {
    Data,
    /// A session's transactions follow each other.
    Session,
    /// A transaction that ended before another began precedes it.
    RealTime,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Anomaly {
    /// The order that the cycle needs.
    pub order: Order,
    pub shape: Shape,
}

impl Anomaly {
    /// An anomaly of the data alone.
    pub fn of_data(shape: Shape) -> Self {
        Self { order: Order::Data, shape }
    }

    /// Its meaning, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self.shape {
            Shape::Internal => "a transaction contradicts its own reads and writes",
            Shape::GarbageRead => "a read returns a value that no transaction wrote",
            Shape::DuplicateElement => "a list contains a value twice that was appended once",
            Shape::IncompatibleOrder => "two reads of a list contradict each other",
            Shape::G1a => "a read returns a value of an aborted transaction",
            Shape::G1b => {
                "a read returns a value that its writer overwrote in the same transaction"
            }
            Shape::LostUpdate => "two transactions changed the same version, so one change is lost",
            Shape::G0 => "write dependencies form a cycle",
            Shape::G1c => "write and read dependencies form a cycle",
            Shape::GSingle => "a snapshot misses a write that another of its reads depends on",
            Shape::GNonadjacent => {
                "two snapshots contradict each other: neither includes the other"
            }
            Shape::G2 => "transactions miss each other's writes, so no serial order exists",
        }
    }

    /// The publication that defined it.
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

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Every transaction reads from a snapshot of committed data, and of two concurrent
    /// transactions that write the same key only one commits.
    Snapshot,
    /// In addition, the snapshot includes everything that its session did before [Daudjee and Salem
    /// 2006].
    StrongSessionSnapshot,
    /// In addition, the snapshot includes everything that was committed before the transaction
    /// began.
    StrongSnapshot,
    /// The effects are those of some serial order.
    Serializable,
    /// The effects are those of a serial order that agrees with every session's order.
    StrongSessionSerializable,
    /// The effects are those of a serial order that agrees with real time.
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

    /// Its name on the command line.
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

    /// Whether it requires a serial order, rather than snapshots.
    pub fn is_serial(self) -> bool {
        self >= Self::Serializable
    }

    /// The order that it requires beside the data.
    pub fn order(self) -> Order {
        match self {
            Self::Snapshot | Self::Serializable => Order::Data,
            Self::StrongSessionSnapshot | Self::StrongSessionSerializable => Order::Session,
            Self::StrongSnapshot | Self::StrictSerializable => Order::RealTime,
        }
    }

    /// Whether a history with this anomaly violates this level.
    ///
    /// A serial history also satisfies snapshot isolation, and real time implies the order of
    /// sessions.
    pub fn forbids(self, anomaly: Anomaly) -> bool {
        anomaly.order <= self.order() && (self.is_serial() || anomaly.shape != Shape::G2)
    }

    /// Whether every history of this level also satisfies the other.
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
