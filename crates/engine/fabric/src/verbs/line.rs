//! One end of a connection with its posted and waiting requests and received messages.
//!
//! Decision: docs/decisions/0085-one-completion-for-each-wave-and-server.md

use super::message::Assembly;
use super::{
    Action, CompletionQueue, Connect, Endpoint, Piece, Place, QueuePair, QueueSizes, Registered,
    Request, VerbsError,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// Limit on the posted requests of an end.
const SENDS_MAX: u32 = 128;
/// Every n-th request yields a completion even if nothing waits for it: otherwise posted requests
/// are never retired.
const SIGNAL_EVERY: u32 = SENDS_MAX / 4;
/// Posted receives of an end. The card delays further messages until there is room.
const RECEIVES: u32 = 16;
/// Completions of an end at a time. Requests share completions, but the queue has room for one
/// each.
pub(super) const COMPLETIONS_OF_LINE: u32 = SENDS_MAX + RECEIVES;
/// Bytes of a message; longer ones are sent in several.
pub(super) const MESSAGE_BYTES: u32 = 4096;
/// Requests of at most this many bytes are sent inline instead of being fetched by the card.
const INLINE_BYTES: u32 = 128;
/// Concurrent reads and atomics; further ones wait in the card.
const READS_MAX: u8 = 16;

/// Numbers of an end's memories: the first receives messages, staging memories follow.
const INBOX: u32 = 0;
pub(super) const FIRST_STAGING: u32 = 1;

/// Retransmission of the card: time-out code 17 is 0.54 s, and after `RETRY_COUNT` of them without
/// an answer the connection is lost. The end of a process is noticed earlier, by its control
/// connection.
const TIMEOUT: u8 = 17;
const RETRY_COUNT: u8 = 5;

/// Bit of a request's number: it is a receive.
const RECEIVE: u64 = 1 << 31;
/// Request number without a waiting operation.
const NO_TOKEN: u64 = RECEIVE - 1;

/// The meaning of a completion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Signal {
    /// All requests up to the one that was posted with this token.
    Sent(u32),
    /// Requests without a waiting operation.
    Nothing,
    /// A message arrived in this slot.
    Arrived(u32),
}

/// One end of a connection.
pub(super) struct Line {
    pair: QueuePair,
    /// Identifies this end among all others of its queue, closed ones included.
    serial: u32,
    place: Place,
    /// The peer expects it as the first packet's number.
    sequence: u32,
    waiting: VecDeque<Request>,
    batch: Vec<Request>,
    /// Requests posted and not known to be complete.
    posted: u32,
    /// Requests posted since the last one that yields a completion.
    quiet: u32,
    /// Number of requests per pending completion.
    groups: VecDeque<u32>,
    assembly: Assembly,
    /// Whether slots of received messages stay occupied.
    is_held: bool,
    /// Slots that stayed occupied.
    held: Vec<u32>,
}

impl Line {
    /// An unconnected end.
    pub(super) fn new(
        place: &Place,
        queue: &Arc<CompletionQueue>,
        serial: u32,
        allows_verbs: bool,
    ) -> Result<Self, VerbsError> {
        let inbox_bytes = u64::from(RECEIVES * MESSAGE_BYTES);
        let inbox = Registered::map("namdb-inbox", inbox_bytes, &place.device, false)?;
        let sizes = QueueSizes { sends: SENDS_MAX, receives: RECEIVES, inline_bytes: INLINE_BYTES };
        let pair = QueuePair::new(Arc::new(inbox), queue.clone(), sizes)?;
        // 24 unpredictable bits: packets of an earlier connection, whose number the card reuses, do
        // not match.
        let drawn =
            crate::identity::draw().map_err(|error| VerbsError::system("draw a number", error))?;
        let sequence = drawn as u32 & 0xff_ffff;
        let mut line = Self {
            pair,
            serial,
            place: place.clone(),
            sequence,
            waiting: VecDeque::new(),
            batch: Vec::new(),
            posted: 0,
            quiet: 0,
            groups: VecDeque::new(),
            assembly: Assembly::default(),
            is_held: false,
            held: Vec::new(),
        };
        line.pair.initialize(&line.settings(allows_verbs, place.state.transfer_unit))?;
        for slot in 0..RECEIVES {
            line.receive(slot)?;
        }
        Ok(line)
    }

    fn settings(&self, allows_verbs: bool, transfer_unit: u8) -> Connect {
        Connect {
            port: self.place.port,
            gid_index: self.place.gid_index,
            sequence: self.sequence,
            reads_started: self.place.limits.reads_started.min(READS_MAX),
            reads_served: self.place.limits.reads_served.min(READS_MAX),
            transfer_unit,
            allows_verbs,
            timeout: TIMEOUT,
            retry_count: RETRY_COUNT,
        }
    }

    pub(super) fn serial(&self) -> u32 {
        self.serial
    }

    /// The address of this end.
    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint {
            number: self.pair.number(),
            local_identifier: self.place.state.local_identifier,
            gid: self.place.gid,
            sequence: self.sequence,
            transfer_unit: self.place.state.transfer_unit,
            reads_served: self.place.limits.reads_served.min(READS_MAX),
        }
    }

    /// Connects this end to `peer`.
    pub(super) fn connect(&mut self, peer: &Endpoint) -> Result<(), VerbsError> {
        let transfer_unit = self.place.state.transfer_unit.min(peer.transfer_unit);
        let settings = self.settings(false, transfer_unit);
        self.pair.connect(&settings, peer)
    }

    /// Allows requests to use staging memory that was added meanwhile.
    pub(super) fn know(&mut self, memories: &[Arc<Registered>]) {
        let known = self.pair.memories().len() - FIRST_STAGING as usize;
        for memory in &memories[known..] {
            self.pair.add_memory(memory.clone());
        }
    }

    /// Adds a request, which the next [`Line::flush`] posts.
    pub(super) fn push(&mut self, action: Action, local: Piece) {
        let id = u64::from(self.serial) << 32 | NO_TOKEN;
        self.waiting.push_back(Request { id, action, local, is_signaled: false });
    }

    /// Requests a completion with `token` for the last pushed request, which covers all earlier
    /// ones too.
    ///
    /// # Panics
    /// If it was posted already.
    pub(super) fn signal_last(&mut self, token: u32) {
        assert!(u64::from(token) < NO_TOKEN, "there are not that many things under way");
        let last = self.waiting.back_mut().expect("it was not posted yet");
        last.id = u64::from(self.serial) << 32 | u64::from(token);
        last.is_signaled = true;
    }

    /// Stops posting receives until [`Line::release`]. Once the posted ones are used up, the card
    /// delays further messages.
    pub(super) fn hold(&mut self) {
        self.is_held = true;
    }

    /// Resumes posting receives, with the next [`Line::flush`].
    pub(super) fn release(&mut self) {
        self.is_held = false;
    }

    pub(super) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Posts as many waiting requests as there is room for, all at once.
    pub(super) fn flush(&mut self) -> Result<(), VerbsError> {
        if !self.is_held {
            while let Some(slot) = self.held.pop() {
                self.receive(slot)?;
            }
        }
        self.batch.clear();
        while self.posted < SENDS_MAX
            && let Some(mut request) = self.waiting.pop_front()
        {
            self.posted += 1;
            self.quiet += 1;
            request.is_signaled |= self.quiet >= SIGNAL_EVERY;
            if request.is_signaled {
                self.groups.push_back(std::mem::take(&mut self.quiet));
            }
            self.batch.push(request);
        }
        self.pair.post(&self.batch)
    }

    /// Decodes a completion of this end.
    pub(super) fn decode(&mut self, id: u64) -> Signal {
        let number = id & (RECEIVE | NO_TOKEN);
        if number & RECEIVE != 0 {
            return Signal::Arrived((number & NO_TOKEN) as u32);
        }
        let count = self.groups.pop_front().expect("every completion was announced");
        self.posted -= count;
        if number == NO_TOKEN { Signal::Nothing } else { Signal::Sent(number as u32) }
    }

    /// Takes a message of `bytes` bytes from its slot, and posts the slot for the next one unless
    /// receives are stopped. Returns the whole message if this was its last piece.
    pub(super) fn arrived(
        &mut self,
        slot: u32,
        bytes: u32,
    ) -> Result<Option<super::message::Message>, VerbsError> {
        let words = u64::from(bytes.min(MESSAGE_BYTES)).div_ceil(layout::WORD_BYTES);
        let inbox = &self.pair.memories()[INBOX as usize];
        let from = inbox.words(u64::from(slot * MESSAGE_BYTES), words);
        let whole = self.assembly.add(from.expect("places lie in the inbox"));
        if self.is_held {
            self.held.push(slot);
        } else {
            self.receive(slot)?;
        }
        whole
    }

    fn receive(&mut self, slot: u32) -> Result<(), VerbsError> {
        let offset = u64::from(slot * MESSAGE_BYTES);
        let piece = Piece { memory: INBOX, offset, bytes: MESSAGE_BYTES };
        self.pair.post_receive(u64::from(self.serial) << 32 | RECEIVE | u64::from(slot), piece)
    }
}

/// The serial number of a completion's end.
pub(super) fn serial_of(id: u64) -> u32 {
    (id >> 32) as u32
}
