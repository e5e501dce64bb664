//! Ordered indexes: range-partitioned over the data servers, whose processors search and update
//! them on request by messages [ZB17 5.2]. They have no versions: an entry's record determines
//! whether it is in a snapshot.

use crate::Work;
use crate::message::{Malformed, Reader, Writer};
use crate::row_key::RowKey;
use crate::trad_si::Range;
use fabric::{Env, Reply, Service, ServiceId};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

/// The service of a data server's indexes.
pub(super) const INDEX: ServiceId = ServiceId(221);

/// The indexes of a data server. An entry is a key whose table is the index's number.
#[derive(Debug, Default)]
pub struct OrderedIndex {
    entries: Mutex<BTreeSet<RowKey>>,
}

/// A request to an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexRequest {
    /// Enters a key.
    Insert(RowKey),
    Delete(RowKey),
    /// Finds the numbers of the keys in a range.
    Find(Range),
}

impl OrderedIndex {
    /// All entries, for loading, and for checks while no transactions run.
    pub fn entries(&self) -> MutexGuard<'_, BTreeSet<RowKey>> {
        self.entries.lock().expect("no holder panics")
    }

    /// Executes requests atomically. Returns the result of each, and the number of entries touched.
    pub(super) fn carry_out(&self, requests: &[IndexRequest]) -> (Vec<Vec<u64>>, u64) {
        let mut entries = self.entries();
        let mut carry_out = |request: &IndexRequest| match *request {
            IndexRequest::Insert(key) => {
                entries.insert(key);
                Vec::new()
            }
            IndexRequest::Delete(key) => {
                entries.remove(&key);
                Vec::new()
            }
            IndexRequest::Find(range) => find(&entries, range),
        };
        let found: Vec<Vec<u64>> = requests.iter().map(&mut carry_out).collect();
        let touched = found.iter().map(|found| found.len().max(1) as u64).sum();
        (found, touched)
    }
}

fn find(entries: &BTreeSet<RowKey>, range: Range) -> Vec<u64> {
    let Range { first, last, limit, is_reverse } = range;
    if first.number > last {
        return Vec::new();
    }
    let keys = entries.range(first..=RowKey { number: last, ..first });
    let numbers = keys.map(|key| key.number);
    match is_reverse {
        true => numbers.rev().take(limit as usize).collect(),
        false => numbers.take(limit as usize).collect(),
    }
}

pub(super) fn encode(requests: &[IndexRequest]) -> Vec<u8> {
    let mut to = Writer::new();
    for request in requests {
        match *request {
            IndexRequest::Insert(key) => {
                to.u8(0);
                key.write(&mut to);
            }
            IndexRequest::Delete(key) => {
                to.u8(1);
                key.write(&mut to);
            }
            IndexRequest::Find(Range { first, last, limit, is_reverse }) => {
                to.u8(2 + u8::from(is_reverse));
                first.write(&mut to);
                to.u64(last);
                to.u32(limit);
            }
        }
    }
    to.finish()
}

fn decode(message: &[u8]) -> Result<Vec<IndexRequest>, Malformed> {
    let from = &mut Reader::new(message);
    let mut requests = Vec::new();
    while !from.is_empty() {
        let kind = from.u8()?;
        let key = RowKey::read(from)?;
        requests.push(match kind {
            0 => IndexRequest::Insert(key),
            1 => IndexRequest::Delete(key),
            2 | 3 => {
                let (last, limit) = (from.u64()?, from.u32()?);
                IndexRequest::Find(Range { first: key, last, limit, is_reverse: kind == 3 })
            }
            _ => return Err(Malformed),
        });
    }
    Ok(requests)
}

/// Decodes an answer to this many requests.
pub(super) fn decode_found(answer: &[u8], requests: usize) -> Result<Vec<Vec<u64>>, Malformed> {
    let mut from = Reader::new(answer);
    let mut numbers = |_| {
        let count = from.u32()?;
        (0..count).map(|_| from.u64()).collect()
    };
    (0..requests).map(&mut numbers).collect()
}

pub(super) struct IndexService<E> {
    pub(super) index: Arc<OrderedIndex>,
    pub(super) work: Work<E>,
}

impl<E: Env> Service<E> for IndexService<E> {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let (found, touched) = self.index.carry_out(&decode(request)?);
            (self.work)(env, touched);
            let mut answer = Writer::new();
            for numbers in found {
                answer.u32(numbers.len() as u32);
                numbers.into_iter().for_each(|number| answer.u64(number));
            }
            Ok(answer.finish())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(number: u64) -> RowKey {
        RowKey::new(1, 2, number)
    }

    #[test]
    fn requests_arrive_as_they_were_sent() {
        let range = Range { first: key(1), last: 9, limit: 2, is_reverse: true };
        let find = IndexRequest::Find(range);
        let requests = [IndexRequest::Insert(key(3)), find, IndexRequest::Delete(key(3))];
        let message = encode(&requests);
        assert_eq!(decode(&message), Ok(requests.to_vec()));
        assert_eq!(decode(&message[1..]), Err(Malformed));
    }

    #[test]
    fn ranges_end_at_their_index_and_at_their_limit() {
        let index = OrderedIndex::default();
        let inserts: Vec<_> = [5, 3, 8].map(|number| IndexRequest::Insert(key(number))).into();
        assert_eq!(index.carry_out(&inserts), (vec![Vec::new(); 3], 3));
        index.entries().insert(RowKey::new(1, 3, 4));
        let find = |first, last, limit, is_reverse| {
            let range = Range { first: key(first), last, limit, is_reverse };
            index.carry_out(&[IndexRequest::Find(range)]).0.remove(0)
        };
        assert_eq!(find(0, u64::MAX, 9, false), [3, 5, 8]);
        assert_eq!(find(4, 8, 1, true), [8]);
        assert!(find(6, 5, 1, false).is_empty());
        index.carry_out(&[IndexRequest::Delete(key(5))]);
        assert!(find(4, 7, 9, false).is_empty());
    }
}
