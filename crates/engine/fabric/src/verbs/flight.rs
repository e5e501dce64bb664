//! A batch in flight: its verbs as requests to cards, in waves.
//!
//! A wave contains the verbs that can be posted at once: those up to the next fence, or reads to
//! repeat because their words did not match. A fence waits for completions; the order of one
//! connection is not enough, since other servers have their own connections.
//!
//! Decisions:
//! - docs/decisions/0085-one-completion-for-each-wave-and-server.md
//! - docs/decisions/0086-a-fence-is-waited-for-not-flagged.md

use super::line::{FIRST_STAGING, Line};
use super::members::Owner;
use super::search::Look;
use super::staging::{Range, Staging};
use super::{Action, Piece, VerbsError};
use crate::address_map::AddressMap;
use crate::batch::Batch;
use crate::error::FabricError;
use crate::verb::{SlotRead, Verb};
use layout::row::{Cover, HEADER, LINK, VERSION, checksum};
use layout::{NodeId, WORD_BYTES};

/// A memory server's region, as requests address it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Region {
    /// Start address in its server's memory.
    pub(super) address: u64,
    /// The key of its registration.
    pub(super) key: u32,
    pub(super) bytes: u64,
}

/// The connections to all servers: first memory servers, by number of node and region, then called
/// compute servers.
pub(super) struct Ways {
    pub(super) addresses: AddressMap,
    pub(super) lines: Vec<Option<Line>>,
    pub(super) regions: Vec<Region>,
}

/// A verb of a wave, and its staging memory.
#[derive(Clone, Copy, Debug)]
struct Part {
    verb: u32,
    offset: u64,
}

pub(super) struct Flight {
    pub(super) owner: Owner,
    pub(super) batch: Batch,
    pub(super) since_ns: u64,
    /// Servers with pending completions of this wave.
    pub(super) waits_for: Vec<NodeId>,
    /// The first error; the batch ends when nothing is in flight any more.
    pub(super) failure: Option<FabricError>,
    /// The first verb that was not posted.
    next: usize,
    range: Range,
    parts: Vec<Part>,
    /// Reads to repeat, with their state.
    again: Vec<(u32, Look)>,
    scratch: Vec<u64>,
}

/// State of a batch when a wave has been posted, or has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    UnderWay,
    /// The batch is complete, or has failed.
    Ended,
}

impl Flight {
    pub(super) fn new(owner: Owner, batch: Batch, since_ns: u64) -> Self {
        Self {
            owner,
            batch,
            since_ns,
            waits_for: Vec::new(),
            failure: None,
            next: 0,
            range: Range::default(),
            parts: Vec::new(),
            again: Vec::new(),
            scratch: Vec::new(),
        }
    }

    pub(super) fn outcome(self) -> Result<Batch, FabricError> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.batch),
        }
    }

    /// Posts waves until one has pending completions, which carry `token`.
    pub(super) fn advance(
        &mut self,
        token: u32,
        ways: &mut Ways,
        staging: &mut Staging,
    ) -> Progress {
        assert!(self.waits_for.is_empty(), "the wave before has ended");
        while self.failure.is_none() && (!self.again.is_empty() || self.choose()) {
            if let Err(failure) = self.post_wave(token, ways, staging) {
                self.failure = Some(failure);
            }
            if !self.waits_for.is_empty() {
                return Progress::UnderWay;
            }
            self.end_wave(staging);
        }
        Progress::Ended
    }

    /// Selects the verbs up to the next fence. Returns `false` if none are left.
    fn choose(&mut self) -> bool {
        let verbs = self.batch.verbs();
        if self.next == verbs.len() {
            return false;
        }
        let end = verbs[self.next..].iter().position(|verb| *verb == Verb::Fence);
        let end = end.map_or(verbs.len(), |length| self.next + length);
        self.again.extend((self.next..end).map(|verb| (verb as u32, Look::default())));
        self.next = (end + 1).min(verbs.len());
        true
    }

    /// Posts the selected verbs, or nothing if a server is lost or an address is wrong.
    fn post_wave(
        &mut self,
        token: u32,
        ways: &mut Ways,
        staging: &mut Staging,
    ) -> Result<(), FabricError> {
        let (verbs, arena) = self.batch.parts_mut();
        let mut bytes = 0;
        self.parts.clear();
        for &(verb, _) in &self.again {
            self.parts.push(Part { verb, offset: bytes });
            let verb = &verbs[verb as usize];
            ways.check(verb)?;
            bytes += u64::from(verb.target_words()) * WORD_BYTES;
        }
        self.range = staging.take(bytes).map_err(|_: VerbsError| FabricError::NoRoom { bytes })?;
        for (number, part) in self.parts.iter().enumerate() {
            let verb = &verbs[part.verb as usize];
            let before = number.checked_sub(1).map(|before| self.parts[before].verb + 1);
            if verb.requests() == 0 && before == Some(part.verb) {
                // Reads that are fetched together are also adjacent in staging memory.
                continue;
            }
            let also = self.parts[number + 1..].iter().zip(part.verb + 1..);
            let also = also.map_while(|(part, next)| {
                let verb = &verbs[part.verb as usize];
                (part.verb == next && verb.requests() == 0).then(|| verb.target_words())
            });
            let further = also.sum();
            let node = ways.addresses.primary(verb.target().region());
            let region = ways.regions[usize::from(verb.target().region().0)];
            let line = ways.lines[usize::from(node.0)].as_mut().expect("it was checked above");
            line.know(staging.memories());
            let mut poster =
                Poster { line, region, staging, range: self.range, offset: part.offset };
            poster.post(verb, further, arena);
            if !self.waits_for.contains(&node) && verb.target_words() > 0 {
                self.waits_for.push(node);
            }
        }
        for node in &self.waits_for {
            let line = ways.lines[usize::from(node.0)].as_mut().expect("it was used above");
            line.signal_last(token);
        }
        Ok(())
    }

    /// Ends a wave after all its completions, or after a failure: takes the results, and frees the
    /// staging memory. Reads to repeat stay selected.
    pub(super) fn end_wave(&mut self, staging: &mut Staging) {
        let mut chosen = std::mem::take(&mut self.again);
        if self.failure.is_some() {
            chosen.clear();
        }
        let mut part = 0;
        chosen.retain_mut(|(verb, look)| {
            let offset = self.parts[part].offset;
            part += 1;
            !self.deliver(*verb, look, offset, staging)
        });
        self.again = chosen;
        staging.give_back(std::mem::take(&mut self.range));
    }

    /// Takes the result of a verb. Returns whether the verb is complete.
    fn deliver(&mut self, verb: u32, look: &mut Look, offset: u64, staging: &Staging) -> bool {
        let (verbs, arena) = self.batch.parts_mut();
        let mut take = |at: u32, words: u32| {
            let to = &mut arena[at as usize..][..words as usize];
            staging.get(self.range, offset, to);
        };
        match verbs[verb as usize] {
            Verb::Read { at, words, .. } => take(at, words),
            Verb::CompareAndSwap { at, .. } | Verb::FetchAndAdd { at, .. } => take(at, 1),
            Verb::ReadRow { at, words, cover, .. } => {
                take(at, words);
                return look.row(&mut arena[at as usize..][..words as usize], cover);
            }
            Verb::FindSlot { geometry, key, at, .. } => {
                self.scratch.resize(geometry.words() as usize, 0);
                staging.get(self.range, offset, &mut self.scratch);
                let (before, result) = arena.split_at_mut(at as usize);
                let key = &before[key as usize..][..usize::from(geometry.key_words)];
                let length = SlotRead::SLOT as usize + usize::from(geometry.slot_words);
                return look.bucket(&mut self.scratch, &geometry, key, &mut result[..length]);
            }
            _ => {}
        }
        true
    }
}

impl Ways {
    /// Refuses verbs that a card would reject, which would close the connection.
    fn check(&self, verb: &Verb) -> Result<(), FabricError> {
        let (at, words) = (verb.target(), verb.target_words());
        let Some(region) = self.regions.get(usize::from(at.region().0)) else {
            return Err(FabricError::OutOfRange { at, words });
        };
        let node = self.addresses.primary(at.region());
        if self.lines[usize::from(node.0)].is_none() {
            return Err(FabricError::Unreachable(node));
        }
        let end = at.offset() + u64::from(words) * WORD_BYTES;
        if end > region.bytes || !at.offset().is_multiple_of(WORD_BYTES) {
            return Err(FabricError::OutOfRange { at, words });
        }
        Ok(())
    }
}

/// Translates verbs into requests of one connection.
struct Poster<'a> {
    line: &'a mut Line,
    region: Region,
    staging: &'a Staging,
    range: Range,
    offset: u64,
}

impl Poster<'_> {
    /// Posts `verb`, together with the `further` reads that continue it.
    fn post(&mut self, verb: &Verb, further: u32, arena: &mut [u64]) {
        let first = self.region.address + verb.target().offset();
        let key = self.region.key;
        match *verb {
            Verb::Read { words, .. } => self.read(first, words),
            Verb::ReadRow { words, .. } => self.read(first, words + further),
            Verb::FindSlot { geometry, .. } => self.read(first, geometry.words()),
            Verb::Write { at, words, .. } => {
                self.stage(&arena[at as usize..][..words as usize]);
                self.write(first, 0, words);
            }
            Verb::WriteWord { value, .. } => {
                self.stage(&[value]);
                self.write(first, 0, 1);
            }
            Verb::CompareAndSwap { expected, desired, .. } => {
                let action = Action::CompareAndSwap { remote: first, key, expected, desired };
                self.push(action, 0, 1);
            }
            Verb::FetchAndAdd { add, .. } => {
                self.push(Action::FetchAndAdd { remote: first, key, add }, 0, 1);
            }
            Verb::WriteRow { at, words, cover, .. } => {
                self.stage_image(arena, at, words, cover);
                if cover == Cover::AllButLink {
                    self.write(first, VERSION, 1);
                    self.write(first, LINK + 1, words - LINK - 1);
                } else {
                    self.write(first, VERSION, words - VERSION);
                }
            }
            Verb::InstallRow { at, words, cover, at_once: true, .. } => {
                self.stage_image(arena, at, words, cover);
                self.write(first, HEADER, words);
            }
            Verb::InstallRow { at, words, cover, .. } => {
                self.stage_image(arena, at, words, cover);
                if cover == Cover::AllButLink {
                    self.write(first, LINK, 1);
                }
                // This writes the link once more, unchanged.
                self.write(first, VERSION, words - VERSION);
                self.write(first, HEADER, 1);
            }
            Verb::Fence => unreachable!("waves end at fences"),
        }
    }

    fn stage(&self, words: &[u64]) {
        self.staging.put(self.range, self.offset, words);
    }

    /// Sets the checksum of the image in the arena, and copies the image to staging memory.
    fn stage_image(&self, arena: &mut [u64], at: u32, words: u32, cover: Cover) {
        let row = &mut arena[at as usize..][..words as usize];
        let last = row.len() - 1;
        row[last] = checksum(&row[VERSION as usize..last], cover);
        self.stage(row);
    }

    fn read(&mut self, remote: u64, words: u32) {
        self.push(Action::Read { remote, key: self.region.key }, 0, words);
    }

    /// Writes words `first..first + words` of the staged image to the same words of the target.
    fn write(&mut self, target: u64, first: u32, words: u32) {
        let remote = target + u64::from(first) * WORD_BYTES;
        self.push(Action::Write { remote, key: self.region.key }, first, words);
    }

    fn push(&mut self, action: Action, first: u32, words: u32) {
        if words == 0 {
            return;
        }
        let offset = self.range.offset + self.offset + u64::from(first) * WORD_BYTES;
        let memory = FIRST_STAGING + self.range.memory;
        let bytes = words * WORD_BYTES as u32;
        self.line.push(action, Piece { memory, offset, bytes });
    }
}
