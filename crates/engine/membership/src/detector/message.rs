//! The datagrams of the failure detector.
//!
//! ```text
//! byte | field    | meaning
//!    0 | version  | begins with a mark of ours; changes with this table
//!    8 | kind     | heartbeat 1, answer 2, probe 3, evicted 4
//!   16 | cluster  | id of the cluster
//!   24 | from     | identity of the sender
//!   32 | to       | identity of the receiver
//!   40 | sequence | higher than in all earlier datagrams of the sender
//!   48 | epoch    | the latest that the sender knows
//!   56 | code     | HMAC of the bytes before it, with the cluster's secret
//! ```
//! Numbers are little-endian. A datagram contains no secret. One that was recorded is of no use
//! later: receivers take rising sequences only, and an identity belongs to one process for ever.

use fabric::Secret;
use fabric::secret::MAC_BYTES;

const VERSION: u64 = u64::from_le_bytes(*b"namdbHB1");
const CONTENT_BYTES: usize = 56;
pub(super) const MESSAGE_BYTES: usize = CONTENT_BYTES + MAC_BYTES;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// The sender lives.
    Heartbeat,
    /// The same, in response to a heartbeat or a probe.
    Answer,
    /// The sender wants an answer.
    Probe,
    /// The receiver is no longer a member.
    Evicted,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Message {
    pub kind: Kind,
    pub cluster: u64,
    pub from: u64,
    pub to: u64,
    pub sequence: u64,
    pub epoch: u64,
}

impl Message {
    pub fn encode(&self, secret: &Secret) -> [u8; MESSAGE_BYTES] {
        let kind = match self.kind {
            Kind::Heartbeat => 1,
            Kind::Answer => 2,
            Kind::Probe => 3,
            Kind::Evicted => 4,
        };
        let words = [VERSION, kind, self.cluster, self.from, self.to, self.sequence, self.epoch];
        let mut bytes = [0; MESSAGE_BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let (content, code) = bytes.split_at_mut(CONTENT_BYTES);
        code.copy_from_slice(&secret.datagram_code(content));
        bytes
    }

    /// Reads a datagram; `None` if it is not from a member or client of this cluster.
    pub fn decode(bytes: &[u8], secret: &Secret, cluster: u64) -> Option<Self> {
        let (content, code) = bytes.split_at_checked(CONTENT_BYTES)?;
        let word = |at: usize| {
            u64::from_le_bytes(content[8 * at..8 * at + 8].try_into().expect("8 bytes"))
        };
        if word(0) != VERSION || word(2) != cluster {
            return None;
        }
        if !secret.is_datagram_code(content, code.try_into().ok()?) {
            return None;
        }
        let kind = match word(1) {
            1 => Kind::Heartbeat,
            2 => Kind::Answer,
            3 => Kind::Probe,
            4 => Kind::Evicted,
            _ => return None,
        };
        let (from, to, sequence, epoch) = (word(3), word(4), word(5), word(6));
        Some(Self { kind, cluster, from, to, sequence, epoch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_read_back_and_any_other_one_is_dropped() {
        let [secret, other] = [1, 2].map(|byte| Secret::new([byte; 32]));
        for kind in [Kind::Heartbeat, Kind::Answer, Kind::Probe, Kind::Evicted] {
            let message = Message { kind, cluster: 5, from: 6, to: 7, sequence: 8, epoch: 9 };
            let bytes = message.encode(&secret);
            assert_eq!(Message::decode(&bytes, &secret, 5), Some(message));
            assert_eq!(Message::decode(&bytes, &secret, 6), None);
            assert_eq!(Message::decode(&bytes, &other, 5), None);
            for length in 0..MESSAGE_BYTES {
                assert_eq!(Message::decode(&bytes[..length], &secret, 5), None);
            }
            assert_eq!(Message::decode(&[bytes.as_slice(), &[0]].concat(), &secret, 5), None);
            for bit in 0..8 * MESSAGE_BYTES {
                let mut wrong = bytes;
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Message::decode(&wrong, &secret, 5), None, "bit {bit}");
            }
        }
    }
}
