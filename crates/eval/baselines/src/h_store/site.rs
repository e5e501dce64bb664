//! A site: the rows of some partitions, and the turns of its thread.

use super::turns::Turns;
use crate::row_key::RowKey;
use crate::trad_si::Range;
use crate::trad_si::partition::Write;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// A partition with its single thread. Rows have one version: only the transaction that has the
/// turn reads them.
#[derive(Debug, Default)]
pub struct Site {
    pub(super) turns: Turns,
    rows: Mutex<BTreeMap<RowKey, Vec<u8>>>,
}

impl Site {
    fn rows(&self) -> MutexGuard<'_, BTreeMap<RowKey, Vec<u8>>> {
        self.rows.lock().expect("no holder panics")
    }

    /// Adds a row before any transaction.
    pub fn load(&self, key: RowKey, content: Vec<u8>) {
        self.rows().insert(key, content);
    }

    /// The rows of a range, with their numbers, while no transaction runs.
    pub fn range(&self, range: Range) -> Vec<(u64, Vec<u8>)> {
        let rows = self.rows();
        let found = rows.range(range.first..=RowKey { number: range.last, ..range.first });
        let found = found.map(|(key, content)| (key.number, content.clone()));
        found.take(range.limit as usize).collect()
    }

    pub(super) fn read(&self, keys: &[RowKey]) -> Vec<Option<Vec<u8>>> {
        let rows = self.rows();
        keys.iter().map(|key| rows.get(key).cloned()).collect()
    }

    pub(super) fn write(&self, writes: Vec<Write>) {
        let mut rows = self.rows();
        for (key, content) in writes {
            match content {
                Some(content) => rows.insert(key, content),
                None => rows.remove(&key),
            };
        }
    }
}
