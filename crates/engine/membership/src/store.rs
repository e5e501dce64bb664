//! The two places for a cluster's state: files of one host, or etcd.
//!
//! Decision: docs/decisions/0066-membership-is-one-record-replaced-by-compare-and-swap.md

use crate::clock::Moment;
use crate::error::RegistryError;
use crate::etcd_store::{EtcdHold, EtcdStore};
use crate::file_store::{FileHold, FileStore};
use crate::member::Member;
use crate::record::Stored;
use std::time::Duration;

/// The place of the state. Both implement the same three operations: read all of it at one moment,
/// change it if nobody else has, and keep entries only as long as their owner lives.
pub(crate) enum Store {
    File(FileStore),
    Etcd(EtcdStore),
}

/// Keeps an entry alive.
pub(crate) enum Hold {
    File(FileHold),
    Etcd(EtcdHold),
}

/// A new record, with the change of an entry.
pub(crate) struct Change<'a> {
    /// The record's text as it was read: if it differs from the current one, nothing changes.
    pub(crate) seen: Option<&'a str>,
    pub(crate) record: &'a str,
    pub(crate) entry: EntryChange<'a>,
}

/// The change of an entry.
pub(crate) enum EntryChange<'a> {
    None,
    Put { name: &'a str, text: &'a str, hold: &'a Hold },
    Remove { name: &'a str },
}

/// The result of a renewal.
pub(crate) enum Renewal {
    /// The lease holds until then; `None` if it ends only with the process.
    Until(Option<Moment>),
    /// The entry no longer exists.
    Gone,
}

impl Store {
    /// Reads everything, at one moment.
    pub(crate) fn read(&self) -> Result<Stored, RegistryError> {
        match self {
            Self::File(store) => store.read(),
            Self::Etcd(store) => store.read(),
        }
    }

    /// Executes a change; false if another change came first, or if this one had succeeded before.
    pub(crate) fn change(&self, change: &Change<'_>) -> Result<bool, RegistryError> {
        match self {
            Self::File(store) => store.change(change),
            Self::Etcd(store) => store.change(change),
        }
    }

    /// Creates a hold for an entry.
    pub(crate) fn hold(&self) -> Result<Hold, RegistryError> {
        match self {
            Self::File(_) => Ok(Hold::File(FileHold::default())),
            Self::Etcd(store) => Ok(Hold::Etcd(store.hold()?)),
        }
    }

    /// Releases the hold; its entry is then dead.
    pub(crate) fn release(&self, hold: &Hold) {
        match (self, hold) {
            (Self::File(_), Hold::File(hold)) => hold.release(),
            (Self::Etcd(store), Hold::Etcd(hold)) => store.release(hold),
            _ => unreachable!("a hold is of its store"),
        }
    }

    /// Renews the lease.
    pub(crate) fn renew(&self, hold: &Hold, member: &Member) -> Result<Renewal, RegistryError> {
        match (self, hold) {
            (Self::File(store), Hold::File(hold)) => store.renew(hold, &member.entry()),
            (Self::Etcd(store), Hold::Etcd(hold)) => store.renew(hold, &member.entry()),
            _ => unreachable!("a hold is of its store"),
        }
    }

    /// Returns how long to wait between two polls.
    pub(crate) fn poll(&self) -> Duration {
        match self {
            Self::File(_) => Duration::from_millis(10),
            Self::Etcd(_) => Duration::from_millis(50),
        }
    }

    /// Returns how long a member that watches for deaths waits between two polls. The
    /// failure detector wakes it sooner; with files the kernel shows the end of a process, too.
    pub(crate) fn watch_pause(&self) -> Duration {
        match self {
            Self::File(_) => Duration::from_millis(50),
            Self::Etcd(_) => Duration::from_millis(200),
        }
    }

    /// Its location, as messages name it.
    pub(crate) fn place(&self) -> &str {
        match self {
            Self::File(store) => store.place(),
            Self::Etcd(store) => store.place(),
        }
    }
}
