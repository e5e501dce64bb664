//! Lanes append entries to buffers of their own; the flusher takes all buffers.

use crate::entry::{Row, append_begin, append_end};
use crate::position::Incarnation;
use layout::VersionWord;
use std::sync::{Arc, Mutex, MutexGuard};

/// A lane hands its bytes over when it has this many, so that a large transaction is flushed in
/// pieces while it is appended.
const PIECE_BYTES: usize = 256 * 1024;
/// Memory of a buffer that is kept for the next group.
const SPARE_BYTES_MAX: usize = 4 * PIECE_BYTES;

/// The bytes that a lane has handed over, for the flusher.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    /// Memory that the flusher gave back.
    spare: Vec<u8>,
    /// The version of the last entry that begins in the bytes.
    last: Option<VersionWord>,
    /// An entry without an end, and the one before it, since the last look of the flusher.
    given_up: Option<GivenUp>,
    /// The lane is gone: no more bytes follow.
    is_closed: bool,
}

/// An entry that was given up after parts of it were handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GivenUp {
    pub(crate) version: VersionWord,
    /// The lane's last entry before it.
    pub(crate) before: Option<VersionWord>,
}

struct Shared {
    number: u32,
    buffer: Mutex<Buffer>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().expect("no holder panics")
    }
}

struct Registry {
    incarnation: Incarnation,
    lanes: Mutex<(u32, Vec<Arc<Shared>>)>,
}

/// The bytes of a lane since they were taken last.
pub(crate) struct Taken {
    shared: Arc<Shared>,
    pub(crate) bytes: Vec<u8>,
    /// The version of the last entry that begins in the bytes.
    pub(crate) last: Option<VersionWord>,
    pub(crate) given_up: Option<GivenUp>,
}

impl Taken {
    pub(crate) fn lane(&self) -> u32 {
        self.shared.number
    }

    /// Returns the memory to the lane, so that its next entries need none.
    pub(crate) fn give_back(mut self) {
        if self.bytes.capacity() <= SPARE_BYTES_MAX {
            self.bytes.clear();
            self.shared.lock().spare = self.bytes;
        }
    }
}

/// All lanes of an incarnation; clones share them.
#[derive(Clone)]
pub struct Lanes(Arc<Registry>);

impl Lanes {
    pub(crate) fn new(incarnation: Incarnation) -> Self {
        Self(Arc::new(Registry { incarnation, lanes: Mutex::default() }))
    }

    /// A new lane. Its buffer is flushed after it was dropped, too.
    pub fn add(&self) -> Lane {
        let lanes = &mut *self.0.lanes.lock().expect("no holder panics");
        let shared = Arc::new(Shared { number: lanes.0, buffer: Mutex::default() });
        lanes.0 += 1;
        lanes.1.push(shared.clone());
        let incarnation = self.0.incarnation;
        Lane { shared, incarnation, piece: Vec::new(), begun: None, finished: None }
    }

    /// Bytes that wait for the flusher.
    pub fn waiting_bytes(&self) -> usize {
        let lanes = self.0.lanes.lock().expect("no holder panics");
        lanes.1.iter().map(|lane| lane.lock().bytes.len()).sum()
    }

    /// Takes the bytes of all lanes that have some.
    pub(crate) fn take(&self) -> Vec<Taken> {
        let mut lanes = self.0.lanes.lock().expect("no holder panics");
        let mut taken = Vec::new();
        lanes.1.retain(|lane| {
            let buffer = &mut *lane.lock();
            if !buffer.bytes.is_empty() || buffer.given_up.is_some() {
                let spare = std::mem::take(&mut buffer.spare);
                let bytes = std::mem::replace(&mut buffer.bytes, spare);
                let (last, given_up) = (buffer.last.take(), buffer.given_up.take());
                taken.push(Taken { shared: lane.clone(), bytes, last, given_up });
            }
            !buffer.is_closed
        });
        taken
    }
}

/// Appends the entries of one transaction after the other.
pub struct Lane {
    shared: Arc<Shared>,
    incarnation: Incarnation,
    /// Bytes that are not yet handed over.
    piece: Vec<u8>,
    /// The version of an entry whose `begin` is in the piece.
    begun: Option<VersionWord>,
    /// The version of the last entry that has its end.
    finished: Option<VersionWord>,
}

impl Lane {
    /// Begins the entry of a transaction that can no longer abort, before it is published: a group
    /// whose snapshot covers `version` must find the whole entry. Without [`Entry::finish`] the
    /// entry counts for nothing.
    pub fn begin(&mut self, version: VersionWord) -> Entry<'_> {
        let version = version.timestamp();
        append_begin(&mut self.piece, self.incarnation, version);
        self.begun = Some(version);
        Entry { lane: self, version, rows: 0, is_finished: false }
    }

    fn hand_over(&mut self) {
        let buffer = &mut *self.shared.lock();
        buffer.bytes.extend_from_slice(&self.piece);
        self.piece.clear();
        if let Some(version) = self.begun.take() {
            buffer.last = Some(version);
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
    }
}

/// The entry of one transaction.
pub struct Entry<'a> {
    lane: &'a mut Lane,
    version: VersionWord,
    rows: u32,
    is_finished: bool,
}

impl Entry<'_> {
    /// Appends a row.
    ///
    /// # Panics
    /// If its key or image is too long, which schemas refuse, and beyond 2^32 rows.
    pub fn row(&mut self, row: &Row<'_>) {
        row.append(&mut self.lane.piece);
        self.rows = self.rows.checked_add(1).expect("memory has room for fewer rows");
        if self.lane.piece.len() >= PIECE_BYTES {
            self.lane.hand_over();
        }
    }

    /// Ends the entry and hands it to the flusher. The transaction may be published from now on.
    pub fn finish(mut self) {
        append_end(&mut self.lane.piece, self.rows);
        self.lane.hand_over();
        self.lane.finished = Some(self.version);
        self.is_finished = true;
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        self.lane.piece.clear();
        if self.lane.begun.take().is_none() {
            // Parts of it were handed over. Without an end they count for nothing.
            let (version, before) = (self.version, self.lane.finished);
            self.lane.shared.lock().given_up = Some(GivenUp { version, before });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Change, Image, Record};
    use layout::SlotId;

    const VERSION: VersionWord = VersionWord::new(SlotId(1), 7);

    fn row(image: &[u8]) -> Row<'_> {
        let image = Image::Whole(image);
        Row { table: 1, key: b"k", replaces: VersionWord::NONE, change: Change::Insert, image }
    }

    #[test]
    fn the_flusher_takes_whole_entries_once() {
        let lanes = Lanes::new(Incarnation(3));
        let (mut first, mut second) = (lanes.add(), lanes.add());
        let mut entry = first.begin(VERSION.deleted());
        entry.row(&row(b"v"));
        assert_eq!(lanes.waiting_bytes(), 0, "an entry that is not finished is not visible");
        entry.finish();
        second.begin(VersionWord::new(SlotId(2), 1)).finish();
        let taken = lanes.take();
        assert_eq!(taken.iter().map(Taken::lane).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(taken[0].last, Some(VERSION));
        let mut bytes = &taken[0].bytes[..];
        let begin = Record::Begin { incarnation: Incarnation(3), version: VERSION };
        assert_eq!(Record::take(&mut bytes), Some(begin));
        assert_eq!(Record::take(&mut bytes), Some(Record::Row(row(b"v"))));
        assert_eq!(Record::take(&mut bytes), Some(Record::End { rows: 1 }));
        assert!(bytes.is_empty() && lanes.take().is_empty());
    }

    #[test]
    fn buffers_keep_their_memory() {
        let lanes = Lanes::new(Incarnation(1));
        let mut lane = lanes.add();
        let mut places = Vec::new();
        for number in 1..6 {
            lane.begin(VersionWord::new(SlotId(1), number)).finish();
            let taken = lanes.take().pop().expect("the lane has an entry");
            assert_eq!(taken.bytes.len(), 24);
            places.push(taken.bytes.as_ptr());
            taken.give_back();
        }
        assert_eq!(places[1..3], places[3..5], "two buffers take turns");
    }

    #[test]
    fn an_entry_that_is_not_finished_is_given_up() {
        let lanes = Lanes::new(Incarnation(1));
        let mut lane = lanes.add();
        lane.begin(VERSION).row(&row(b"v"));
        assert!(lanes.take().is_empty());
        let image = vec![0; PIECE_BYTES];
        lane.begin(VERSION).row(&row(&image));
        let taken = lanes.take();
        assert_eq!(
            (taken.len(), taken[0].last),
            (1, Some(VERSION)),
            "a large one is there in part"
        );
        let given_up = Some(GivenUp { version: VERSION, before: None });
        assert_eq!(taken[0].given_up, given_up, "so that nothing waits for it");
        lane.begin(VersionWord::new(SlotId(1), 8)).finish();
        assert_eq!(lanes.take()[0].last, Some(VersionWord::new(SlotId(1), 8)));
    }

    #[test]
    fn a_dropped_lane_is_flushed_and_forgotten() {
        let lanes = Lanes::new(Incarnation(1));
        lanes.add().begin(VERSION).finish();
        assert_eq!(lanes.take().len(), 1);
        assert!(lanes.0.lanes.lock().expect("no holder panics").1.is_empty());
    }
}
