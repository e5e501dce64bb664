//! The second pass of a restart: reads the entries, a segment at a time, on as many threads as the
//! caller has.

use crate::block::BlockKind;
use crate::entry::Row;
use crate::error::{Damage, LogError};
use crate::position::{DatabaseId, Incarnation, Position, file_name};
use crate::scan::{Bad, Loaded, load};
use crate::segment::BLOCKS;
use crate::survey::Survey;
use crate::walk::Event;
use layout::VersionWord;
use storage::{Directory, Disk};

/// A row of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplayedRow<'a> {
    /// The slot and number of its transaction.
    pub version: VersionWord,
    pub incarnation: Incarnation,
    /// Whether its transaction counts. Rows of others must not be applied.
    pub is_covered: bool,
    pub row: Row<'a>,
}

/// An error of the visitor, or of the log.
enum Stop<E> {
    Visitor(E),
    Malformed(&'static str),
}

impl<E> From<&'static str> for Stop<E> {
    fn from(what: &'static str) -> Self {
        Self::Malformed(what)
    }
}

impl Survey {
    /// Visits the rows of segment `index` that are at or behind the start of replay, in the order
    /// in which lanes appended them.
    ///
    /// Rows of one transaction may be in several segments; whether it counts is known at each of
    /// them, so that no row must be kept until its entry ends.
    ///
    /// # Panics
    /// If there is no such segment.
    pub async fn replay<D: Disk, E: From<LogError>>(
        &self,
        directory: &Directory<D>,
        database: DatabaseId,
        index: usize,
        mut visit: impl FnMut(ReplayedRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let number = self.segments[index].header.segment;
        let bad = match load(directory, number, database).await? {
            Ok(loaded) => match self.visit(&loaded, index, &mut visit)? {
                None => return Ok(()),
                Some(bad) => bad,
            },
            Err(bad) => bad,
        };
        // The first pass has read the same bytes, so the disk has changed them since.
        let last_group = self.segments[index].header.previous_group;
        let damage = Damage {
            path: directory.path(&file_name(number)),
            offset: bad.offset,
            until: bad.offset,
            last_group,
            newest_group: self.last_group().map_or(last_group, |group| group.number),
            needed_group: 0,
            later_segments: (self.segments.len() - 1 - index) as u64,
            what: bad.what.to_owned(),
        };
        Err(LogError::Damaged(damage).into())
    }

    /// Visits the rows; returns a place that cannot be read.
    fn visit<E>(
        &self,
        loaded: &Loaded,
        index: usize,
        visit: &mut impl FnMut(ReplayedRow<'_>) -> Result<(), E>,
    ) -> Result<Option<Bad>, E> {
        let surveyed = &self.segments[index];
        let incarnation = surveyed.header.incarnation;
        let mut walker = surveyed.walker.clone();
        // The row's transaction seldom changes, and finding out whether it counts takes a search.
        let mut known: Option<(VersionWord, bool)> = None;
        let mut offset = BLOCKS;
        while offset < surveyed.end {
            let at = Position { segment: surveyed.header.segment, offset };
            let Some(block) = loaded.block(offset) else {
                return Ok(Some(Bad { offset, what: "a block is not what was written" }));
            };
            offset = block.end();
            let BlockKind::Entries { lane } = block.kind else { continue };
            let is_before = self.is_before_start(at);
            let result = walker.block(lane, incarnation, block.content, is_before, |event| {
                let Event::Row(version, row) = event else { return Ok(()) };
                if is_before {
                    return Ok(());
                }
                let is_covered = match known {
                    Some((of, is_covered)) if of == version => is_covered,
                    _ => self.is_covered(incarnation, version),
                };
                known = Some((version, is_covered));
                let row = ReplayedRow { version, incarnation, is_covered, row };
                visit(row).map_err(Stop::Visitor)
            });
            match result {
                Ok(()) => {}
                Err(Stop::Visitor(error)) => return Err(error),
                Err(Stop::Malformed(what)) => return Ok(Some(Bad { offset: at.offset, what })),
            }
        }
        Ok(None)
    }
}
