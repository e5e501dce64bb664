//! Lanes append entries to buffers of their own; the flusher takes all buffers.

use crate::entry::{Row, append_begin, append_end};
use crate::position::Incarnation;
use layout::VersionWord;
use std::sync::{Arc, Mutex, MutexGuard};

/// A lane hands its bytes over when it has this many, so that a large transaction is flushed in
/// pieces while it is appended.
const PIECE_BYTES: usize = 256 * 1024;

/// The bytes that a lane has handed over, for the flusher.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    /// The version of the last entry that begins in the bytes.
    last: Option<VersionWord>,
    /// The lane is gone: no more bytes follow.
    is_closed: bool,
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
    pub(crate) lane: u32,
    pub(crate) bytes: Vec<u8>,
    /// The version of the last entry that begins in the bytes.
    pub(crate) last: Option<VersionWord>,
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
        Lane { shared, incarnation: self.0.incarnation, piece: Vec::new(), begun: None }
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
            if !buffer.bytes.is_empty() {
                let bytes = std::mem::take(&mut buffer.bytes);
                taken.push(Taken { lane: lane.number, bytes, last: buffer.last.take() });
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
}

impl Lane {
    /// Begins the entry of a transaction that can no longer abort, before it is published: a group
    /// whose snapshot covers `version` must find the whole entry. Without [`Entry::finish`] the
    /// entry counts for nothing.
    pub fn begin(&mut self, version: VersionWord) -> Entry<'_> {
        let version = version.timestamp();
        append_begin(&mut self.piece, self.incarnation, version);
        self.begun = Some(version);
        Entry { lane: self, rows: 0, is_finished: false }
    }

    fn hand_over(&mut self) {
        let buffer = &mut *self.shared.lock();
        match buffer.bytes.is_empty() {
            true => std::mem::swap(&mut buffer.bytes, &mut self.piece),
            false => buffer.bytes.extend_from_slice(&self.piece),
        }
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
        self.is_finished = true;
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            // Pieces that the flusher has end with the next entry's `begin`.
            self.lane.piece.clear();
            self.lane.begun = None;
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
        assert_eq!(taken.iter().map(|taken| taken.lane).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(taken[0].last, Some(VERSION));
        let mut bytes = &taken[0].bytes[..];
        let begin = Record::Begin { incarnation: Incarnation(3), version: VERSION };
        assert_eq!(Record::take(&mut bytes), Some(begin));
        assert_eq!(Record::take(&mut bytes), Some(Record::Row(row(b"v"))));
        assert_eq!(Record::take(&mut bytes), Some(Record::End { rows: 1 }));
        assert!(bytes.is_empty() && lanes.take().is_empty());
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
