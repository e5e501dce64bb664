//! Joins the blocks of lanes to entries.

use crate::entry::{Record, Row};
use crate::position::Incarnation;
use layout::VersionWord;
use std::collections::BTreeMap;

/// A step of an entry.
pub(crate) enum Event<'a> {
    Begin(VersionWord),
    Row(VersionWord, Row<'a>),
    End,
    /// The entry has no end: it counts for nothing.
    GivenUp(VersionWord),
}

#[derive(Clone, Copy)]
struct Unfinished {
    version: VersionWord,
    rows: u32,
}

/// The entries that are not at their end, by lane.
#[derive(Clone, Default)]
pub(crate) struct Walker {
    unfinished: BTreeMap<u32, Unfinished>,
}

impl Walker {
    /// Reports the records of a lane's next block. `may_lack_begin` permits rows of an entry whose
    /// begin is in a deleted segment; they are passed over.
    pub(crate) fn block<E: From<&'static str>>(
        &mut self,
        lane: u32,
        incarnation: Incarnation,
        mut content: &[u8],
        may_lack_begin: bool,
        mut report: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        while !content.is_empty() {
            let record = Record::take(&mut content).ok_or("a record of a lane is malformed")?;
            let unfinished = self.unfinished.get_mut(&lane);
            match (record, unfinished) {
                (Record::Begin { incarnation: of, version }, before) => {
                    if of != incarnation {
                        return Err("an entry belongs to another start of the database".into());
                    }
                    if let Some(before) = before {
                        report(Event::GivenUp(before.version))?;
                    }
                    self.unfinished.insert(lane, Unfinished { version, rows: 0 });
                    report(Event::Begin(version))?;
                }
                (Record::Row(row), Some(entry)) => {
                    entry.rows += 1;
                    report(Event::Row(entry.version, row))?;
                }
                (Record::End { rows }, Some(&mut entry)) => {
                    if rows != entry.rows {
                        return Err("an entry lacks some of its rows".into());
                    }
                    self.unfinished.remove(&lane);
                    report(Event::End)?;
                }
                (_, None) if may_lack_begin => {}
                (_, None) => return Err("an entry has no begin".into()),
            }
        }
        Ok(())
    }

    /// Ends the incarnation: entries that are not at their end are given up.
    pub(crate) fn end_incarnation(&mut self) -> Vec<VersionWord> {
        let unfinished = std::mem::take(&mut self.unfinished);
        unfinished.into_values().map(|entry| entry.version).collect()
    }
}
