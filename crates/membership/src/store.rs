//! The two places where a cluster's state may be: files of one host, or etcd.

use crate::clock::Moment;
use crate::error::RegistryError;
use crate::etcd_store::{EtcdHold, EtcdStore};
use crate::file_store::{FileHold, FileStore};
use crate::member::Member;
use crate::record::Stored;
use std::time::Duration;

/// Where the state is. Both do the same three things: read all of it at one moment, change it if nobody else
/// has, and keep entries only for as long as their owner lives.
pub(crate) enum Store {
    File(FileStore),
    Etcd(EtcdStore),
}

/// What keeps an entry alive.
pub(crate) enum Hold {
    File(FileHold),
    Etcd(EtcdHold),
}

/// A new record, and what goes with it.
pub(crate) struct Change<'a> {
    /// The record's text as it was read: if it is another one by now, nothing is changed.
    pub(crate) seen: Option<&'a str>,
    pub(crate) record: &'a str,
    pub(crate) entry: EntryChange<'a>,
}

/// What happens to an entry.
pub(crate) enum EntryChange<'a> {
    None,
    Put { name: &'a str, text: &'a str, hold: &'a Hold },
    Remove { name: &'a str },
}

/// Whether a lease holds.
pub(crate) enum Renewal {
    /// For whoever reads this before then; none if only the process's end ends it.
    Until(Option<Moment>),
    /// The entry is gone.
    Gone,
}

impl Store {
    /// Everything, at one moment.
    pub(crate) fn read(&self) -> Result<Stored, RegistryError> {
        match self {
            Self::File(store) => store.read(),
            Self::Etcd(store) => store.read(),
        }
    }

    /// Carries a change out; false if others were faster, or if it had happened before.
    pub(crate) fn change(&self, change: &Change<'_>) -> Result<bool, RegistryError> {
        match self {
            Self::File(store) => store.change(change),
            Self::Etcd(store) => store.change(change),
        }
    }

    /// Something to keep an entry alive with.
    pub(crate) fn hold(&self) -> Result<Hold, RegistryError> {
        match self {
            Self::File(_) => Ok(Hold::File(FileHold::default())),
            Self::Etcd(store) => Ok(Hold::Etcd(store.hold()?)),
        }
    }

    /// Gives it back, after which an entry of its own is nobody's.
    pub(crate) fn release(&self, hold: &Hold) {
        match (self, hold) {
            (Self::File(_), Hold::File(hold)) => hold.release(),
            (Self::Etcd(store), Hold::Etcd(hold)) => store.release(hold),
            _ => unreachable!("a hold is of its store"),
        }
    }

    /// Makes the lease last longer.
    pub(crate) fn renew(&self, hold: &Hold, member: &Member) -> Result<Renewal, RegistryError> {
        match (self, hold) {
            (Self::File(store), Hold::File(hold)) => store.renew(hold, &member.entry()),
            (Self::Etcd(store), Hold::Etcd(hold)) => store.renew(hold, &member.entry()),
            _ => unreachable!("a hold is of its store"),
        }
    }

    /// How long to wait before looking again for a change.
    pub(crate) fn poll(&self) -> Duration {
        match self {
            Self::File(_) => Duration::from_millis(10),
            Self::Etcd(_) => Duration::from_millis(50),
        }
    }

    /// As messages name it.
    pub(crate) fn place(&self) -> &str {
        match self {
            Self::File(store) => store.place(),
            Self::Etcd(store) => store.place(),
        }
    }
}
