//! The requests of managers to owners and to the keeper of the timestamps.

use super::partition::{Range, Write};
use crate::message::{Malformed, Reader, Writer};
use crate::row_key::RowKey;

/// A request of a manager to an owner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum OwnerRequest {
    Read {
        read_timestamp: u64,
        keys: Vec<RowKey>,
    },
    /// A range of rows of a snapshot.
    Scan {
        read_timestamp: u64,
        range: Range,
    },
    /// The numbers that an index has under a name.
    Named {
        partition: u32,
        table: u32,
        name: Vec<u8>,
    },
    /// First phase.
    Prepare {
        transaction: u64,
        read_timestamp: u64,
        writes: Vec<Write>,
    },
    /// Second phase.
    Commit {
        transaction: u64,
        timestamp: u64,
    },
    /// Second phase of a transaction that an owner refused.
    Abort {
        transaction: u64,
    },
}

impl OwnerRequest {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut to = Writer::new();
        match self {
            Self::Read { read_timestamp, keys } => {
                to.u8(0);
                to.u64(*read_timestamp);
                to.u32(keys.len() as u32);
                keys.iter().for_each(|key| key.write(&mut to));
            }
            Self::Scan { read_timestamp, range } => {
                to.u8(1);
                to.u64(*read_timestamp);
                range.first.write(&mut to);
                to.u64(range.last);
                to.u32(range.limit);
                to.u8(u8::from(range.is_reverse));
            }
            Self::Named { partition, table, name } => {
                to.u8(2);
                to.u32(*partition);
                to.u32(*table);
                to.string(name);
            }
            Self::Prepare { transaction, read_timestamp, writes } => {
                to.u8(3);
                to.u64(*transaction);
                to.u64(*read_timestamp);
                to.u32(writes.len() as u32);
                for (key, content) in writes {
                    key.write(&mut to);
                    to.optional(content.as_deref());
                }
            }
            Self::Commit { transaction, timestamp } => {
                to.u8(4);
                to.u64(*transaction);
                to.u64(*timestamp);
            }
            Self::Abort { transaction } => {
                to.u8(5);
                to.u64(*transaction);
            }
        }
        to.finish()
    }

    pub(crate) fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let from = &mut Reader::new(message);
        let request = match from.u8()? {
            0 => {
                let (read_timestamp, count) = (from.u64()?, from.u32()?);
                let keys = (0..count).map(|_| RowKey::read(from)).collect::<Result<_, _>>()?;
                Self::Read { read_timestamp, keys }
            }
            1 => {
                let read_timestamp = from.u64()?;
                let (first, last, limit) = (RowKey::read(from)?, from.u64()?, from.u32()?);
                let range = Range { first, last, limit, is_reverse: from.u8()? == 1 };
                Self::Scan { read_timestamp, range }
            }
            2 => {
                let (partition, table) = (from.u32()?, from.u32()?);
                Self::Named { partition, table, name: from.string()?.to_vec() }
            }
            3 => {
                let (transaction, read_timestamp) = (from.u64()?, from.u64()?);
                let count = from.u32()?;
                let write = |_| Ok((RowKey::read(from)?, from.optional()?.map(<[u8]>::to_vec)));
                let writes = (0..count).map(write).collect::<Result<_, Malformed>>()?;
                Self::Prepare { transaction, read_timestamp, writes }
            }
            4 => Self::Commit { transaction: from.u64()?, timestamp: from.u64()? },
            5 => Self::Abort { transaction: from.u64()? },
            _ => return Err(Malformed),
        };
        if from.is_empty() { Ok(request) } else { Err(Malformed) }
    }
}

/// A request of a manager to the keeper of the timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimestampRequest {
    Read,
    /// A commit timestamp.
    Draw,
    /// The transaction with this commit timestamp has ended.
    Ended(u64),
}

impl TimestampRequest {
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut to = Writer::new();
        match self {
            Self::Read => to.u8(0),
            Self::Draw => to.u8(1),
            Self::Ended(timestamp) => {
                to.u8(2);
                to.u64(timestamp);
            }
        }
        to.finish()
    }

    pub(crate) fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let from = &mut Reader::new(message);
        match from.u8()? {
            0 => Ok(Self::Read),
            1 => Ok(Self::Draw),
            2 => Ok(Self::Ended(from.u64()?)),
            _ => Err(Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_arrive_as_they_were_sent() {
        let key = RowKey::new(3, 1, 4);
        let range = Range { first: key, last: 15, limit: 9, is_reverse: true };
        let requests = [
            OwnerRequest::Read { read_timestamp: 2, keys: vec![key, key] },
            OwnerRequest::Scan { read_timestamp: 2, range },
            OwnerRequest::Named { partition: 6, table: 5, name: b"BAR".to_vec() },
            OwnerRequest::Prepare {
                transaction: 3,
                read_timestamp: 5,
                writes: vec![(key, None), (key, Some(vec![8, 9]))],
            },
            OwnerRequest::Commit { transaction: 7, timestamp: 9 },
            OwnerRequest::Abort { transaction: 3 },
        ];
        for request in requests {
            let message = request.encode();
            assert_eq!(OwnerRequest::decode(&message), Ok(request));
            assert_eq!(OwnerRequest::decode(&message[..message.len() - 1]), Err(Malformed));
        }
    }
}
