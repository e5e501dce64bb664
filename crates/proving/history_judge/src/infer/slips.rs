//! The anomalies of single transactions and of pairs: the first of each kind, and their counts.

use super::writes::Writes;
use super::{INITIAL, Read};
use crate::anomaly::{Anomaly, Shape};
use crate::graph::Relation;
use crate::history::{History, KeyId, Outcome, TransactionId};
use crate::witness::{Link, Witness};
use std::collections::BTreeMap;

/// The anomalies found so far.
pub(crate) struct Slips<'h> {
    history: &'h History,
    found: BTreeMap<Shape, (Witness, u64)>,
}

/// A read that returns something wrong.
#[derive(Clone, Copy)]
pub(super) struct BadRead {
    pub reader: TransactionId,
    pub key: KeyId,
    /// The value in question.
    pub value: i64,
}

impl<'h> Slips<'h> {
    pub(super) fn new(history: &'h History) -> Self {
        Self { history, found: BTreeMap::new() }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Witness, u64)> {
        self.found.values().map(|(witness, count)| (witness, *count))
    }

    fn add(&mut self, shape: Shape, witness: impl FnOnce(&History) -> Witness) {
        let history = self.history;
        self.found.entry(shape).or_insert_with(|| (witness(history), 0)).1 += 1;
    }

    /// Adds a read that contradicts the transaction's own earlier reads and writes of the key.
    pub(super) fn add_internal(&mut self, read: BadRead, expected: &str, found: &str) {
        self.add(Shape::Internal, |history| {
            let key = history.key_name(read.key);
            let summary = format!(
                "T1 reads {found} from key {key}, but its own earlier operations leave {expected} there"
            );
            alone(Shape::Internal, read, summary)
        });
    }

    /// Adds a read of a value that the transaction itself writes only later.
    pub(super) fn add_future(&mut self, read: BadRead) {
        self.add(Shape::Internal, |history| {
            let key = history.key_name(read.key);
            let summary =
                format!("T1 reads {} from key {key} before it writes it there itself", read.value);
            alone(Shape::Internal, read, summary)
        });
    }

    /// Adds a read of a value that no transaction wrote.
    pub(super) fn add_garbage(&mut self, read: BadRead) {
        self.add(Shape::GarbageRead, |history| {
            let key = history.key_name(read.key);
            let summary =
                format!("T1 reads {} from key {key}; no transaction wrote it there", read.value);
            alone(Shape::GarbageRead, read, summary)
        });
    }

    /// Adds a list with an element that occurs twice.
    pub(super) fn add_duplicate(&mut self, read: BadRead) {
        self.add(Shape::DuplicateElement, |history| {
            let key = history.key_name(read.key);
            let summary = format!("T1 finds {} twice in the list of key {key}", read.value);
            alone(Shape::DuplicateElement, read, summary)
        });
    }

    /// Adds two reads, neither a prefix of the other.
    pub(super) fn add_incompatible(
        &mut self,
        read: BadRead,
        at: usize,
        other: impl FnOnce() -> TransactionId,
    ) {
        self.add(Shape::IncompatibleOrder, |history| {
            let key = history.key_name(read.key);
            let summary = format!(
                "the lists that T1 and T2 read from key {key} differ at element {}, \
                 where T1 has {}",
                at + 1,
                read.value
            );
            let anomaly = Anomaly::of_data(Shape::IncompatibleOrder);
            let (transactions, keys) = (vec![read.reader, other()], vec![read.key]);
            Witness { anomaly, transactions, summary, links: Vec::new(), keys }
        });
    }

    /// Adds a read of a value of an aborted transaction, or of one that its writer overwrote.
    pub(super) fn add_dirty(&mut self, read: BadRead, writer: TransactionId) {
        let has_aborted = self.history.transaction(writer).outcome == Outcome::Aborted;
        let shape = if has_aborted { Shape::G1a } else { Shape::G1b };
        self.add(shape, |history| {
            let key = history.key_name(read.key);
            let value = read.value;
            let summary = match has_aborted {
                true => {
                    format!("T2 reads {value} from key {key}, which T1 wrote, but T1 aborted")
                }
                false => {
                    format!("T2 reads {value} from key {key}, which T1 itself overwrote")
                }
            };
            let why = format!("T2 reads {value} from key {key}, which T1 wrote");
            let links = vec![Link { from: 0, to: 1, relation: Relation::WriteRead, why }];
            let (transactions, keys) = (vec![writer, read.reader], vec![read.key]);
            Witness { anomaly: Anomaly::of_data(shape), transactions, summary, links, keys }
        });
    }

    /// Adds transactions that read the same version and wrote the key.
    pub(super) fn add_lost_updates(&mut self, reads: &[Read], writes: &Writes) {
        let mut updates: Vec<Read> = reads.iter().filter(|read| read.is_update).copied().collect();
        updates.sort_unstable_by_key(|read| (read.key, read.version, read.transaction));
        let is_same = |a: &Read, b: &Read| (a.key, a.version) == (b.key, b.version);
        for rivals in updates.chunk_by(is_same).filter(|rivals| rivals.len() > 1) {
            self.add(Shape::LostUpdate, |history| lost_update(history, rivals, writes));
        }
    }
}

fn alone(shape: Shape, read: BadRead, summary: String) -> Witness {
    let (transactions, keys) = (vec![read.reader], vec![read.key]);
    Witness { anomaly: Anomaly::of_data(shape), transactions, summary, links: Vec::new(), keys }
}

fn lost_update(history: &History, rivals: &[Read], writes: &Writes) -> Witness {
    let key = history.key_name(KeyId(rivals[0].key));
    let version = match rivals[0].version {
        INITIAL => "before any write".to_owned(),
        version => format!("with {} written last", writes.get(version).value),
    };
    let further = match rivals.len() {
        2 => String::new(),
        count => format!(", as do {} more", count - 2),
    };
    let summary = format!("T1 and T2 both read key {key} {version}, and both write it{further}");
    let link = |from: usize, to: usize| Link {
        from,
        to,
        relation: Relation::ReadWrite,
        why: format!("T{} read key {key} {version}, which T{} overwrote", from + 1, to + 1),
    };
    Witness {
        anomaly: Anomaly::of_data(Shape::LostUpdate),
        transactions: rivals[..2].iter().map(|read| TransactionId(read.transaction)).collect(),
        summary,
        links: vec![link(0, 1), link(1, 0)],
        keys: vec![KeyId(rivals[0].key)],
    }
}
