//! One end of a connection with its bookkeeping: what is posted, what waits for room, what has arrived.

use super::message::Assembly;
use super::{
    Action, CompletionQueue, Connect, Endpoint, Piece, Place, QueuePair, QueueSizes, Registered,
    Request, VerbsError,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// Requests that an end has posted at most at a time.
const SENDS_MAX: u32 = 128;
/// Requests after which one is told of, even if nobody waits for it: else their places stay taken.
const SIGNAL_EVERY: u32 = SENDS_MAX / 4;
/// Messages that an end waits for at a time. Whoever sends more is held up by the card until there is room.
const RECEIVES: u32 = 16;
/// Completions that an end has at a time: requests are told of in groups, but nobody counts on that.
pub(super) const COMPLETIONS_OF_LINE: u32 = SENDS_MAX + RECEIVES;
/// Bytes of a message; longer ones come in several.
pub(super) const MESSAGE_BYTES: u32 = 4096;
/// Bytes that are taken along with a request instead of being fetched later.
const INLINE_BYTES: u32 = 128;
/// Reads and atomics under way at a time; more wait at the card.
const READS_MAX: u8 = 16;

/// Numbers of an end's memories: what arrives comes to the first, staging memories follow.
const INBOX: u32 = 0;
pub(super) const FIRST_STAGING: u32 = 1;

/// How long the card tries: 17 stands for 0.54 s without an answer, of which it takes so many before it gives
/// the connection up. Processes that are gone are noticed earlier, by their control connection.
const TIMEOUT: u8 = 17;
const RETRY_COUNT: u8 = 5;

/// In a request's number: it waits for a message.
const RECEIVE: u64 = 1 << 31;
/// In a request's number: nobody waits for it.
const NOBODY: u64 = RECEIVE - 1;

/// What a completion's number says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told {
    /// All requests up to the one that was posted with this token.
    Sent(u32),
    /// Requests that nobody waits for.
    Nothing,
    /// A message arrived at this place.
    Arrived(u32),
}

/// One end of a connection.
pub(super) struct Line {
    pair: QueuePair,
    /// Tells this end apart from all others of its queue, those before it included.
    serial: u32,
    place: Place,
    /// Known to the other end as the first packet's number.
    sequence: u32,
    waiting: VecDeque<Request>,
    batch: Vec<Request>,
    /// Posted and not known to be complete.
    posted: u32,
    /// Posted since the last one that will be told of.
    quiet: u32,
    /// How many requests each completion to come tells of.
    groups: VecDeque<u32>,
    assembly: Assembly,
    /// What has arrived leaves its place taken.
    is_held: bool,
    /// Places that were left taken.
    held: Vec<u32>,
}

impl Line {
    /// An end that is connected to nobody yet, and where it is found.
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
        // 24 bits that nobody foresees: packets of a connection before, whose number the card uses again, do not fit.
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

    /// Where this end is found.
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

    /// Requests may use staging memory that was added since.
    pub(super) fn know(&mut self, memories: &[Arc<Registered>]) {
        let known = self.pair.memories().len() - FIRST_STAGING as usize;
        for memory in &memories[known..] {
            self.pair.add_memory(memory.clone());
        }
    }

    /// Takes a request to be posted by the next [`Line::flush`].
    pub(super) fn push(&mut self, action: Action, local: Piece) {
        let id = u64::from(self.serial) << 32 | NOBODY;
        self.waiting.push_back(Request { id, action, local, is_signaled: false });
    }

    /// The completion of what was pushed last will be told, by this token, and that of all before it with it.
    ///
    /// # Panics
    /// If it was posted already.
    pub(super) fn tell_last(&mut self, token: u32) {
        assert!(u64::from(token) < NOBODY, "there are not that many things under way");
        let last = self.waiting.back_mut().expect("it was not posted yet");
        last.id = u64::from(self.serial) << 32 | u64::from(token);
        last.is_signaled = true;
    }

    /// Takes no more messages than places wait for at the moment, until [`Line::release`]. The card holds up whoever
    /// sends more.
    pub(super) fn hold(&mut self) {
        self.is_held = true;
    }

    /// Takes messages again, from the next [`Line::flush`] on.
    pub(super) fn release(&mut self) {
        self.is_held = false;
    }

    pub(super) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Posts as many of the waiting requests as there is room for, all with one ring of the bell.
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

    /// What a completion of this end tells.
    pub(super) fn told(&mut self, id: u64) -> Told {
        let number = id & (RECEIVE | NOBODY);
        if number & RECEIVE != 0 {
            return Told::Arrived((number & NOBODY) as u32);
        }
        let count = self.groups.pop_front().expect("every completion was announced");
        self.posted -= count;
        if number == NOBODY { Told::Nothing } else { Told::Sent(number as u32) }
    }

    /// Takes a message of `bytes` bytes out of its place, which waits for the next one from here on unless the
    /// connection is held. Returns what has become whole by it.
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

/// The serial number of the end that a completion belongs to.
pub(super) fn serial_of(id: u64) -> u32 {
    (id >> 32) as u32
}
