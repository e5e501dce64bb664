//! The handshake: the first message of a caller that has proven the cluster's secret (see
//! [`crate::proof`]), and its answer.
//!
//! A caller names the server that it expects; the server answers with a welcome or with a refusal
//! that says which field does not match. This detects restarted servers, programs of another
//! version and other clusters on the same network before any verb is executed.
//!
//! All numbers are little-endian. Both messages have a fixed size, so that readers need no length
//! check.

use crate::secret::{Secret, random};
use layout::NodeId;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

const HELLO_MAGIC: u64 = u64::from_le_bytes(*b"namdbWHO");
const WELCOME_MAGIC: u64 = u64::from_le_bytes(*b"namdbWLC");
const REFUSAL_MAGIC: u64 = u64::from_le_bytes(*b"namdbREF");

/// Raised with every change of the messages on a connection; peers with different versions refuse
/// each other.
pub const WIRE_VERSION: u32 = 3;
pub const HELLO_BYTES: usize = 128;
/// Bytes of the answer, either a [`Welcome`] or a [`Refusal`].
pub const ANSWER_BYTES: usize = 256;
/// Most bytes of a program's version.
pub const PROGRAM_BYTES_MAX: usize = 48;
/// Most bytes of a refusal's sentence.
const SENTENCE_BYTES_MAX: usize = ANSWER_BYTES - SENTENCE;

/// First byte of the program's version in a [`Hello`].
const PROGRAM: usize = 80;
/// First byte of the sentence in a [`Refusal`].
const SENTENCE: usize = 16;
const _: () = assert!(PROGRAM + PROGRAM_BYTES_MAX == HELLO_BYTES);
const _: () = assert!(SENTENCE < ANSWER_BYTES && ANSWER_BYTES.is_multiple_of(8));

/// Draws an unpredictable number for identities and keys, which no other server, caller or region
/// has.
pub fn draw() -> std::io::Result<u64> {
    random().map(u64::from_le_bytes)
}

/// The first message of a caller.
///
/// ```text
/// byte | field    | bytes | meaning
///    0 | magic    |     8 | "namdbWHO"
///    8 | wire     |     4 | WIRE_VERSION of the caller
///   12 | node     |     2 | the intended server
///   14 | reserved |     2 | 0
///   16 | format   |     8 | layout::region::FORMAT_VERSION of the caller
///   24 | cluster  |     8 | the cluster of both
///   32 | epoch    |     8 | the caller's epoch
///   40 | server   |     8 | identity of the intended server, new at each start
///   48 | key      |     8 | key of its region, new at each start; without a region its identity
///   56 | caller   |     8 | identity of the caller, new at each start
///   64 | endpoint |     8 | number of the caller's connection to this server
///   72 | process  |     4 | process number of the caller, 0 if it has none
///   76 | length   |     4 | bytes of the program's version
///   80 | program  |    48 | the program's version as text, padded with zeros
/// ```
///
/// `caller` and `endpoint` name a connection. A second connection with the same name replaces the
/// first: once the second is welcome, no verb of the first happens any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hello {
    /// The intended server: a memory server, or a compute server that offers services.
    pub node: NodeId,
    /// The cluster of caller and server.
    pub cluster: u64,
    pub epoch: u64,
    /// Identity of the intended server.
    pub server: u64,
    /// Key of that server's region; the server's identity if it has no region.
    pub key: u64,
    pub caller: u64,
    /// Which of the caller's connections to this server this is.
    pub endpoint: u64,
    /// Process number of the caller, 0 if it has none.
    pub process: u32,
    /// Version of the caller's program, at most [`PROGRAM_BYTES_MAX`] bytes.
    pub program: String,
}

impl Hello {
    /// Encodes the message. A version that is too long is cut, so a server with a longer one
    /// refuses it.
    pub fn encode(&self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        let program = &self.program.as_bytes()[..self.program.len().min(PROGRAM_BYTES_MAX)];
        put(&mut bytes, 0, &HELLO_MAGIC.to_le_bytes());
        put(&mut bytes, 8, &WIRE_VERSION.to_le_bytes());
        put(&mut bytes, 12, &self.node.0.to_le_bytes());
        put(&mut bytes, 16, &layout::region::FORMAT_VERSION.to_le_bytes());
        let numbers = [self.cluster, self.epoch, self.server, self.key, self.caller, self.endpoint];
        for (index, number) in numbers.iter().enumerate() {
            put(&mut bytes, 24 + 8 * index, &number.to_le_bytes());
        }
        put(&mut bytes, 72, &self.process.to_le_bytes());
        put(&mut bytes, 76, &(program.len() as u32).to_le_bytes());
        put(&mut bytes, PROGRAM, program);
        bytes
    }

    /// Decodes the message of a caller with the same wire version and format.
    pub fn decode(bytes: &[u8; HELLO_BYTES]) -> Result<Self, Refusal> {
        if long(bytes, 0) != HELLO_MAGIC {
            return Err(Refusal::new(
                "this is a namdb server, but the caller does not speak its protocol",
            ));
        }
        let (wire, format) = (int(bytes, 8), long(bytes, 16));
        if wire != WIRE_VERSION {
            return Err(Refusal::new(format!(
                "the caller uses version {wire} of the protocol, this server {WIRE_VERSION}; use the same program everywhere"
            )));
        }
        if format != layout::region::FORMAT_VERSION {
            return Err(Refusal::new(format!(
                "the caller reads format {format}, this server has {}; use the same program everywhere",
                layout::region::FORMAT_VERSION
            )));
        }
        let program = bytes.get(PROGRAM..PROGRAM + int(bytes, 76) as usize);
        let program = program.and_then(|text| std::str::from_utf8(text).ok());
        let program = program.ok_or_else(|| Refusal::new("the caller's version is not text"))?;
        Ok(Self {
            node: NodeId(u16::from_le_bytes([bytes[12], bytes[13]])),
            cluster: long(bytes, 24),
            epoch: long(bytes, 32),
            server: long(bytes, 40),
            key: long(bytes, 48),
            caller: long(bytes, 56),
            endpoint: long(bytes, 64),
            process: int(bytes, 72),
            program: program.to_owned(),
        })
    }
}

/// A server's answer to a caller that it accepts.
///
/// ```text
/// byte | field        | bytes | meaning
///    0 | magic        |     8 | "namdbWLC"
///    8 | node         |     2 | number of the server
///   10 | reserved     |     2 | 0
///   12 | process      |     4 | process number of the server
///   16 | region bytes |     8 | size of its region
///   24 | epoch        |     8 | the server's epoch
///   32 | reserved     |   224 | 0
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Welcome {
    pub node: NodeId,
    /// Process number of the server.
    pub process: u32,
    pub region_bytes: u64,
    pub epoch: u64,
}

impl Welcome {
    pub fn encode(&self) -> [u8; ANSWER_BYTES] {
        let mut bytes = [0; ANSWER_BYTES];
        put(&mut bytes, 0, &WELCOME_MAGIC.to_le_bytes());
        put(&mut bytes, 8, &self.node.0.to_le_bytes());
        put(&mut bytes, 12, &self.process.to_le_bytes());
        put(&mut bytes, 16, &self.region_bytes.to_le_bytes());
        put(&mut bytes, 24, &self.epoch.to_le_bytes());
        bytes
    }

    /// Decodes a server's answer, either a welcome or a refusal.
    pub fn decode(bytes: &[u8; ANSWER_BYTES]) -> Result<Self, Refusal> {
        if long(bytes, 0) != WELCOME_MAGIC {
            return Err(Refusal::decode(bytes));
        }
        Ok(Self {
            node: NodeId(u16::from_le_bytes([bytes[8], bytes[9]])),
            process: int(bytes, 12),
            region_bytes: long(bytes, 16),
            epoch: long(bytes, 24),
        })
    }
}

/// A server's answer to a caller that it rejects: one sentence with the reason.
///
/// ```text
/// byte | field    | bytes | meaning
///    0 | magic    |     8 | "namdbREF"
///    8 | length   |     4 | bytes of the sentence
///   12 | reserved |     4 | 0
///   16 | sentence |   240 | UTF-8, padded with zeros
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{sentence}")]
pub struct Refusal {
    sentence: String,
}

impl Refusal {
    /// A refusal with the reason `sentence`, which is cut to the length of a message.
    pub fn new(sentence: impl fmt::Display) -> Self {
        let mut sentence = sentence.to_string();
        let end = (0..=SENTENCE_BYTES_MAX).rev().find(|&end| sentence.is_char_boundary(end));
        sentence.truncate(end.unwrap_or_default());
        Self { sentence }
    }

    pub fn encode(&self) -> [u8; ANSWER_BYTES] {
        let mut bytes = [0; ANSWER_BYTES];
        put(&mut bytes, 0, &REFUSAL_MAGIC.to_le_bytes());
        put(&mut bytes, 8, &(self.sentence.len() as u32).to_le_bytes());
        put(&mut bytes, SENTENCE, self.sentence.as_bytes());
        bytes
    }

    fn decode(bytes: &[u8; ANSWER_BYTES]) -> Self {
        let sentence = bytes.get(SENTENCE..SENTENCE + int(bytes, 8) as usize);
        match sentence.and_then(|text| std::str::from_utf8(text).ok()) {
            Some(sentence) if long(bytes, 0) == REFUSAL_MAGIC => Self::new(sentence),
            _ => Self::foreign(),
        }
    }

    /// The refusal of an answer that no server gives.
    pub(crate) fn foreign() -> Self {
        Self::new("the program at this address is not a namdb server")
    }
}

/// How messages name a node of a cluster.
pub fn named(node: NodeId) -> String {
    match node.compute_server() {
        Some(number) => format!("compute server {number}"),
        None => format!("memory server {}", node.0),
    }
}

/// Decides which callers a server accepts. Shared with the membership service, which raises the
/// epoch.
#[derive(Debug)]
pub struct Admission {
    /// The server: a memory server, or a compute server that offers services.
    pub node: NodeId,
    pub cluster: u64,
    /// The cluster's secret, which callers prove before anything else.
    pub secret: Secret,
    /// The server's identity, new at each start.
    pub server: u64,
    /// The key of its region, new at each start; the server's identity if it has no region.
    pub key: u64,
    /// Bytes of its region; 0 if it has none.
    pub region_bytes: u64,
    /// Version of the server's program.
    pub program: String,
    /// Callers with an earlier epoch are refused unless they are `members`. Never lowered.
    pub epoch: AtomicU64,
    /// Members of that epoch, whether or not they know it already.
    pub members: Members,
}

/// The members of an epoch, and who wants to know when one loses a connection.
#[derive(Default)]
pub struct Members {
    known: Mutex<BTreeSet<u64>>,
    listener: OnceLock<Listener>,
}

/// Gets the identity of a caller.
type Listener = Box<dyn Fn(u64) + Send + Sync>;

impl Members {
    /// Calls `listener` with the identity of each caller whose connection ends: a dead process
    /// causes that, but a thread that ends, too. Only the first listener counts.
    pub fn on_lost_connection(&self, listener: impl Fn(u64) + Send + Sync + 'static) {
        let _ = self.listener.set(Box::new(listener));
    }

    #[cold]
    pub(crate) fn lost_connection(&self, caller: u64) {
        if let Some(listener) = self.listener.get() {
            listener(caller);
        }
    }

    #[cold]
    fn has(&self, caller: u64) -> bool {
        self.known.lock().expect("no holder panics").contains(&caller)
    }
}

impl fmt::Debug for Members {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Members").field(&self.known).finish()
    }
}

impl Admission {
    /// Starts `epoch`, in which some caller has lost its membership. From now on the server refuses
    /// callers that are not in `members` and know only an earlier epoch.
    pub fn advance(&self, epoch: u64, members: BTreeSet<u64>) {
        let mut known = self.members.known.lock().expect("no holder panics");
        if epoch > self.epoch.load(Ordering::Acquire) {
            // Members first: a member must not be refused in between.
            *known = members;
            self.epoch.store(epoch, Ordering::Release);
        }
    }

    pub fn admit(&self, bytes: &[u8; HELLO_BYTES]) -> Result<(Hello, Welcome), Refusal> {
        let hello = Hello::decode(bytes)?;
        self.check(&hello)?;
        let epoch = self.epoch.load(Ordering::Acquire);
        let (node, region_bytes) = (self.node, self.region_bytes);
        Ok((hello, Welcome { node, process: std::process::id(), region_bytes, epoch }))
    }

    /// Compares the caller's fields with the server's. Messages never reveal keys or identities.
    fn check(&self, hello: &Hello) -> Result<(), Refusal> {
        let refuse = |sentence: String| Err(Refusal::new(sentence));
        if hello.program != self.program {
            return refuse(format!(
                "the caller is namdb {}, this server namdb {}; use the same program everywhere",
                hello.program, self.program
            ));
        }
        if hello.cluster != self.cluster {
            return refuse(format!(
                "the caller belongs to cluster {:#x}, this server to {:#x}; check the addresses of the servers",
                hello.cluster, self.cluster
            ));
        }
        if hello.node != self.node {
            return refuse(format!(
                "the caller wants {}, this is {}; check the addresses of the servers",
                named(hello.node),
                named(self.node)
            ));
        }
        if hello.server != self.server || hello.key != self.key {
            return refuse(format!(
                "{} was started again since the caller learned of it; read the configuration again",
                named(self.node)
            ));
        }
        let epoch = self.epoch.load(Ordering::Acquire);
        if hello.epoch < epoch && !self.members.has(hello.caller) {
            return refuse(format!(
                "the caller is of epoch {}, {} of epoch {epoch}, in which it is not a member; read the configuration again",
                hello.epoch,
                named(self.node)
            ));
        }
        Ok(())
    }

    /// Whether to execute a message of `caller` with this epoch and key.
    #[inline]
    pub fn is_current(&self, epoch: u64, key: u64, caller: u64) -> bool {
        let is_known = epoch >= self.epoch.load(Ordering::Acquire);
        key == self.key && (is_known || self.members.has(caller))
    }
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..at + what.len()].copy_from_slice(what);
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes were taken"))
}

fn int(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes were taken"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission() -> Admission {
        Admission {
            node: NodeId(2),
            cluster: 7,
            secret: Secret::new([7; 32]),
            server: 11,
            key: 13,
            region_bytes: 1 << 20,
            program: "1.2.3".to_owned(),
            epoch: 5.into(),
            members: Members::default(),
        }
    }

    fn hello() -> Hello {
        Hello {
            node: NodeId(2),
            cluster: 7,
            epoch: 5,
            server: 11,
            key: 13,
            caller: 17,
            endpoint: 3,
            process: 4711,
            program: "1.2.3".to_owned(),
        }
    }

    #[test]
    fn who_fits_is_welcome() {
        let (decoded, welcome) = admission().admit(&hello().encode()).expect("everything fits");
        assert_eq!(decoded, hello());
        assert_eq!((welcome.node, welcome.region_bytes, welcome.epoch), (NodeId(2), 1 << 20, 5));
        assert_eq!(Welcome::decode(&welcome.encode()), Ok(welcome));
        let newer = Hello { epoch: 6, ..hello() };
        admission().admit(&newer.encode()).expect("the server has not heard of the epoch yet");
    }

    #[test]
    fn who_does_not_fit_is_told_why() {
        let cases = [
            (
                Hello { node: NodeId(1), ..hello() },
                "wants memory server 1, this is memory server 2",
            ),
            (Hello { cluster: 8, ..hello() }, "belongs to cluster 0x8, this server to 0x7"),
            (Hello { server: 12, ..hello() }, "was started again"),
            (Hello { key: 12, ..hello() }, "was started again"),
            (Hello { epoch: 4, ..hello() }, "is of epoch 4, memory server 2 of epoch 5"),
            (
                Hello { program: "1.2.4".to_owned(), ..hello() },
                "is namdb 1.2.4, this server namdb 1.2.3",
            ),
        ];
        for (wrong, expected) in cases {
            let refusal = admission().admit(&wrong.encode()).expect_err("it does not fit");
            assert!(refusal.to_string().contains(expected), "{refusal}");
            assert_eq!(Welcome::decode(&refusal.encode()), Err(refusal));
        }
    }

    #[test]
    fn other_programs_and_versions_of_the_protocol_are_refused() {
        let changed = |at: usize| {
            let mut bytes = hello().encode();
            bytes[at] ^= 0x40;
            admission().admit(&bytes).expect_err("it does not fit").to_string()
        };
        assert!(changed(0).contains("the caller does not speak its protocol"));
        assert!(changed(8).contains("uses version 67 of the protocol"));
        assert!(changed(16).contains("reads format"));
        assert!(changed(76).contains("is not text"));
        let answer = Welcome::decode(&[0; ANSWER_BYTES]).expect_err("nothing stands there");
        assert!(answer.to_string().contains("not a namdb server"));
    }

    #[test]
    fn every_message_is_held_to_epoch_and_key() {
        let admission = admission();
        assert!(admission.is_current(5, 13, 17) && admission.is_current(6, 13, 17));
        assert!(!admission.is_current(5, 12, 17));
        admission.epoch.store(6, Ordering::Release);
        assert!(!admission.is_current(5, 13, 17));
    }

    /// A member need not read the map in time because another caller has been removed.
    #[test]
    fn members_may_lag_behind_and_nobody_else() {
        let admission = admission();
        admission.advance(8, BTreeSet::from([17]));
        assert!(admission.is_current(5, 13, 17) && !admission.is_current(5, 12, 17));
        admission.admit(&hello().encode()).expect("it is a member");
        let gone = Hello { caller: 18, ..hello() };
        let refusal = admission.admit(&gone.encode()).expect_err("it is none").to_string();
        assert!(refusal.contains("of epoch 8, in which it is not a member"), "{refusal}");
        assert!(!admission.is_current(7, 13, 18));
        let newer = Hello { epoch: 8, ..gone };
        admission.admit(&newer.encode()).expect("it has joined since, or looks on");
        assert!(admission.is_current(8, 13, 18));
        admission.advance(7, BTreeSet::new());
        assert!(admission.is_current(5, 13, 17), "what is older says nothing");
    }

    #[test]
    fn a_sentence_that_is_too_long_is_cut_between_characters() {
        let refusal = Refusal::new("\u{e9}".repeat(200));
        assert_eq!(refusal.to_string().len(), SENTENCE_BYTES_MAX);
        assert_eq!(Welcome::decode(&refusal.encode()), Err(refusal));
    }

    #[test]
    fn drawn_numbers_differ() {
        let (one, other) = (draw().expect("the system has some"), draw().expect("more"));
        assert_ne!(one, other);
    }
}
