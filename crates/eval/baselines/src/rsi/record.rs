//! Records in memory servers.
//!
//! Decision: docs/decisions/0133-rsi-exists-with-the-records-as-printed-and-with-untorn-ones.md

use fabric::{Batch, Span};
use layout::row::{Cover, KEY, RowLayout, VERSION};
use layout::{GlobalPtr, VersionWord};

/// The bit of a header that locks the record for a commit.
const LOCK: u64 = 1;

/// The ways to read and install records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Records {
    /// As printed: one read, judged by its version alone; one write of header and content, header
    /// first [ZB17 listing 1, lines 5 and 19-20].
    ///
    /// ```text
    /// word | field   | written by
    ///    0 | header  | compare-and-swap sets the lock bit; the record's write clears it
    ///    1 | content | that same write
    /// ```
    AsPublished,
    /// Reads are untorn and return the version beside the content; the header is written last. A
    /// lock hides nothing.
    ///
    /// ```text
    /// word | field    | written by
    ///    0 | header   | compare-and-swap sets the lock bit; a write after the content clears it
    ///    1 | version  | install_row
    ///    2 | unused   |
    ///    3 | content  | install_row
    ///  end | checksum | install_row, where memory is not coherent
    /// ```
    Untorn,
}

/// The place of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Its header.
    pub at: GlobalPtr,
    /// Words of its content.
    pub words: u32,
}

/// The result of a read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    /// The version of the content.
    pub(super) version: u64,
    /// Whether it was torn in every attempt.
    pub(super) is_torn: bool,
    pub(super) content: Vec<u64>,
}

/// An unlocked header, or a version.
const fn unlocked(version: u64) -> u64 {
    version << 1
}

impl Records {
    /// Words from one record to the next, for both ways of reading.
    pub const fn words(content_words: u32) -> u32 {
        KEY + content_words + 1
    }

    fn layout(content_words: u32, is_coherent: bool) -> RowLayout {
        let (key_words, payload_words) = (0, content_words);
        RowLayout { key_words, payload_words, checksummed: !is_coherent }
    }

    /// Adds the read of a record to a batch.
    pub(super) fn read(self, batch: &mut Batch, record: Record, is_coherent: bool) -> Span {
        match self {
            Self::AsPublished => batch.read(record.at, 1 + record.words),
            Self::Untorn => {
                let words = Self::layout(record.words, is_coherent).words();
                batch.read_row(record.at, words, Cover::AllButLink)
            }
        }
    }

    /// The result of a completed read.
    pub(super) fn found(self, batch: &Batch, span: Span, record: Record) -> Found {
        let words = batch.words(span);
        let content = |first: u32| words[first as usize..][..record.words as usize].to_vec();
        match self {
            Self::AsPublished => {
                Found { version: words[0] >> 1, is_torn: false, content: content(1) }
            }
            Self::Untorn => Found {
                version: words[VERSION as usize] >> 1,
                is_torn: words[VERSION as usize] == VersionWord::TORN.word(),
                content: content(KEY),
            },
        }
    }

    /// Adds the installation of a record to a batch: its content, its version, and no lock.
    pub(super) fn install(
        self,
        batch: &mut Batch,
        record: Record,
        version: u64,
        content: &[u64],
        is_coherent: bool,
    ) {
        assert_eq!(content.len(), record.words as usize, "records have one length");
        let header = unlocked(version);
        match self {
            Self::AsPublished => {
                let span = batch.reserve(1 + record.words);
                batch.words_mut(span)[0] = header;
                batch.words_mut(span)[1..].copy_from_slice(content);
                batch.write(record.at, span);
            }
            Self::Untorn => {
                let layout = Self::layout(record.words, is_coherent);
                let span = batch.reserve(layout.words());
                let words = batch.words_mut(span);
                words.fill(0);
                (words[0], words[VERSION as usize]) = (header, header);
                words[KEY as usize..][..content.len()].copy_from_slice(content);
                batch.install_row(record.at, span, KEY, Cover::AllButLink);
            }
        }
    }
}

/// The header while no transaction commits, and while one does.
pub(super) const fn headers(version: u64) -> (u64, u64) {
    (unlocked(version), unlocked(version) | LOCK)
}
