//! Requests of compute servers to the tree service, and its answers.

use crate::damage::{Damage, Flaw};
use fabric::{CallError, ServiceId};
use layout::{GlobalPtr, Key, LeafLayout};
use memory::Label;
use memory::message::{Reader, Writer};

use super::root::{pack_layout, unpack_layout};

/// The service for the inner nodes of trees.
pub const TREE_SERVICE: ServiceId = ServiceId(2);

const CREATE: u64 = 1;
const FIND: u64 = 2;
const SETTLE: u64 = 3;
const FORGET: u64 = 4;
const REBUILD: u64 = 5;
/// Follows a null pointer, in place of the number of a flaw.
const FULL: u64 = u64::MAX;
const NAME: &str = "the tree service";
const ANSWER: &str = "an answer of the tree service";

/// A request to the tree service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Request {
    /// Creates root block and top node of a tree whose first leaf was written already.
    Create { layout: LeafLayout, first_leaf: GlobalPtr, label: Label },
    /// Finds the leaf for `key`.
    Find { root: GlobalPtr, key: Key },
    /// The leaves between `low` and `high` changed: update the inner nodes above them.
    Settle { root: GlobalPtr, low: Key, high: Option<Key> },
    /// The trees with this label in a region were dropped; the address is any one there.
    Forget { place: GlobalPtr, label: Label },
    /// Handlers of a server that has died may have left half-done changes.
    Rebuild { root: GlobalPtr },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// The root block of the new tree, the leaf for the key, or null.
    Found(GlobalPtr),
    /// All retries failed.
    Contended,
    /// A node or root on the way is damaged.
    Damaged(Damage),
    /// There is no memory for an inner node; with the reason.
    Full(String),
}

impl Request {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Create { layout, first_leaf, label } => {
                let writer = Writer::new().number(CREATE).number(first_leaf.word());
                writer.number(pack_layout(*layout)).number(label.0).finish()
            }
            Self::Rebuild { root } => Writer::new().number(REBUILD).number(root.word()).finish(),
            Self::Forget { place, label } => {
                Writer::new().number(FORGET).number(place.word()).number(label.0).finish()
            }
            Self::Find { root, key } => {
                Writer::new().number(FIND).number(root.word()).words(key.words()).finish()
            }
            Self::Settle { root, low, high } => {
                let writer = Writer::new().number(SETTLE).number(root.word()).words(low.words());
                writer.words(high.as_ref().map_or(&[], Key::words)).finish()
            }
        }
    }

    pub fn decode(message: &[u8]) -> Result<Self, CallError> {
        let mut reader = Reader::new(message, NAME);
        let request = match reader.number()? {
            CREATE => {
                let first_leaf = GlobalPtr::from_word(reader.number()?);
                let layout = unpack_layout(reader.number()?).ok_or(CallError::Malformed(NAME))?;
                Self::Create { layout, first_leaf, label: Label(reader.number()?) }
            }
            REBUILD => Self::Rebuild { root: GlobalPtr::from_word(reader.number()?) },
            FORGET => {
                let place = GlobalPtr::from_word(reader.number()?);
                Self::Forget { place, label: Label(reader.number()?) }
            }
            FIND => {
                Self::Find { root: GlobalPtr::from_word(reader.number()?), key: key(&mut reader)? }
            }
            SETTLE => {
                let root = GlobalPtr::from_word(reader.number()?);
                let low = key(&mut reader)?;
                let high = Some(key(&mut reader)?).filter(|high| !high.words().is_empty());
                if high.is_some_and(|high| high.words().len() != low.words().len()) {
                    return Err(CallError::Malformed(NAME));
                }
                Self::Settle { root, low, high }
            }
            _ => return Err(CallError::Malformed(NAME)),
        };
        if reader.is_empty() { Ok(request) } else { Err(CallError::Malformed(NAME)) }
    }
}

fn key(reader: &mut Reader<'_>) -> Result<Key, CallError> {
    let words = reader.words()?;
    if words.len() > layout::KEY_WORDS_MAX {
        return Err(CallError::Malformed(NAME));
    }
    Ok(Key::from_words(&words))
}

impl Answer {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Found(ptr) => Writer::new().number(ptr.word()).finish(),
            Self::Contended => Writer::new().number(GlobalPtr::NULL.word()).finish(),
            Self::Damaged(Damage { flaw, at }) => {
                let writer = Writer::new().number(GlobalPtr::NULL.word());
                writer.number(*flaw as u64).number(at.word()).finish()
            }
            Self::Full(sentence) => {
                let writer = Writer::new().number(GlobalPtr::NULL.word());
                writer.number(FULL).bytes(sentence.as_bytes()).finish()
            }
        }
    }

    pub fn decode(message: &[u8]) -> Result<Self, CallError> {
        let mut reader = Reader::new(message, ANSWER);
        let ptr = GlobalPtr::from_word(reader.number()?);
        let answer = if !ptr.is_null() {
            Self::Found(ptr)
        } else if reader.is_empty() {
            Self::Contended
        } else {
            match reader.number()? {
                FULL => Self::Full(String::from_utf8_lossy(reader.bytes()?).into_owned()),
                flaw => {
                    let flaw = Flaw::ALL.into_iter().nth(flaw as usize);
                    let at = GlobalPtr::from_word(reader.number()?);
                    Self::Damaged(flaw.ok_or(CallError::Malformed(ANSWER))?.at(at))
                }
            }
        };
        if reader.is_empty() { Ok(answer) } else { Err(CallError::Malformed(ANSWER)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::RegionId;

    #[test]
    fn requests_and_answers_come_back() {
        let root = GlobalPtr::new(RegionId(3), 4096);
        let (low, high) = (Key::from_words(&[1, 2]), Key::from_words(&[3, 4]));
        let layout = LeafLayout::within(512, 2, 1, false);
        for request in [
            Request::Create { layout, first_leaf: root, label: Label(9) },
            Request::Forget { place: GlobalPtr::new(RegionId(3), 0), label: Label(9) },
            Request::Find { root, key: low },
            Request::Settle { root, low, high: Some(high) },
            Request::Settle { root, low, high: None },
        ] {
            assert_eq!(Request::decode(&request.encode()), Ok(request));
        }
        let damaged = Flaw::ALL.map(|flaw| Answer::Damaged(flaw.at(root)));
        let full = Answer::Full("memory servers are full".to_owned());
        for answer in [Answer::Found(root), Answer::Contended, full].into_iter().chain(damaged) {
            assert_eq!(Answer::decode(&answer.encode()), Ok(answer));
        }
        let unknown = Writer::new().number(0).number(99).number(root.word()).finish();
        assert_eq!(Answer::decode(&unknown), Err(CallError::Malformed(ANSWER)));
    }

    #[test]
    fn every_cut_or_longer_message_is_malformed() {
        let root = GlobalPtr::new(RegionId(3), 4096);
        let (low, high) = (Key::from_words(&[1, 2]), Some(Key::from_words(&[3, 4])));
        let mut message = Request::Settle { root, low, high }.encode();
        for length in 0..message.len() {
            assert_eq!(Request::decode(&message[..length]), Err(CallError::Malformed(NAME)));
        }
        message.push(0);
        assert_eq!(Request::decode(&message), Err(CallError::Malformed(NAME)));
        let unequal = Request::Settle { root, low, high: Some(Key::from_words(&[9])) };
        assert!(Request::decode(&unequal.encode()).is_err());
        assert!(Request::decode(&Writer::new().number(99).finish()).is_err());
        let long = Writer::new().number(FIND).number(8).words(&[0; 9]).finish();
        assert!(Request::decode(&long).is_err());
        assert!(Answer::decode(&[1, 2, 3]).is_err());
    }
}
