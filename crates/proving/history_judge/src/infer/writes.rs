//! Every write of a history, by key and value.

use super::NONE;
use crate::error::HistoryError;
use crate::history::{History, KeyId, TransactionId};

/// A write, and the version that it makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Write {
    pub value: i64,
    pub key: u32,
    pub transaction: u32,
    /// Its index among all operations of the history.
    pub operation: u32,
    /// Whether it is its transaction's last write of the key.
    pub is_last: bool,
}

/// All writes, sorted by key, then value. A version is an index in this order.
pub(crate) struct Writes {
    writes: Vec<Write>,
    /// The start of the writes of each key, and their end.
    starts: Vec<u32>,
    /// The versions of each key's longest list; [`NONE`] if no transaction wrote the element.
    trunks: Vec<u32>,
    /// The start of each key's longest list in `trunks`.
    trunk_starts: Vec<u32>,
    /// The position of each version in its key's longest list, from 1; 0 is none.
    positions: Vec<u32>,
}

impl Writes {
    pub(super) fn new(history: &History) -> Result<Self, HistoryError> {
        let mut writes = collect(history);
        writes.sort_unstable_by_key(|write| (write.key, write.value, write.operation));
        if let Some(pair) = writes
            .windows(2)
            .find(|pair| (pair[0].key, pair[0].value) == (pair[1].key, pair[1].value))
        {
            let line = |write: &Write| history.transaction(TransactionId(write.transaction)).line;
            let (first, second) = (line(&pair[0]), line(&pair[1]));
            return Err(HistoryError::ValueTwice {
                key: history.key_name(KeyId(pair[0].key)).to_owned(),
                value: pair[0].value,
                lines: (first.min(second), first.max(second)),
            });
        }
        let mut starts = vec![0; history.key_count() + 1];
        for write in &writes {
            starts[write.key as usize + 1] += 1;
        }
        for key in 0..history.key_count() {
            starts[key + 1] += starts[key];
        }
        let positions = vec![0; writes.len()];
        let mut all = Self { writes, starts, trunks: Vec::new(), trunk_starts: vec![0], positions };
        all.place_trunks(history);
        Ok(all)
    }

    fn place_trunks(&mut self, history: &History) {
        for key in 0..history.key_count() {
            let trunk = history.trunk(KeyId(key as u32));
            for (index, &value) in trunk.iter().enumerate() {
                let version = self.find(key, value).unwrap_or(NONE);
                if let Some(position) = self.positions.get_mut(version as usize)
                    && *position == 0
                {
                    *position = index as u32 + 1;
                }
                self.trunks.push(version);
            }
            self.trunk_starts.push(self.trunks.len() as u32);
        }
    }

    pub(crate) fn get(&self, version: u32) -> &Write {
        &self.writes[version as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.writes.len()
    }

    /// All versions of a key, by value.
    pub(crate) fn of_key(&self, key: usize) -> std::ops::Range<u32> {
        self.starts[key]..self.starts[key + 1]
    }

    /// The version with this value.
    pub(crate) fn find(&self, key: usize, value: i64) -> Option<u32> {
        let range = self.of_key(key);
        let writes = &self.writes[range.start as usize..range.end as usize];
        let place = writes.binary_search_by_key(&value, |write| write.value).ok()?;
        Some(range.start + place as u32)
    }

    /// The versions of a key's longest list.
    pub(crate) fn trunk(&self, key: usize) -> &[u32] {
        &self.trunks[self.trunk_starts[key] as usize..self.trunk_starts[key + 1] as usize]
    }

    /// A version's position in its key's longest list, from 1; 0 is none.
    pub(crate) fn position(&self, version: u32) -> u32 {
        self.positions[version as usize]
    }
}

fn collect(history: &History) -> Vec<Write> {
    let mut writes = Vec::new();
    // The last transaction, counted from 1, that was found to write a key.
    let mut last_writers = vec![0; history.key_count()];
    for id in history.ids() {
        let range = history.operation_range(id);
        let operations = history.operations(id);
        // Backwards, so that the first write found of a key is its last.
        for (operation, place) in operations.iter().zip(range).rev() {
            let Some(value) = operation.action.written() else {
                continue;
            };
            let key = operation.key.0;
            let is_last = std::mem::replace(&mut last_writers[key as usize], id.0 + 1) != id.0 + 1;
            writes.push(Write { value, key, transaction: id.0, operation: place as u32, is_last });
        }
    }
    writes
}
