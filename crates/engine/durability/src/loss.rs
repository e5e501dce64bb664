//! An accepted loss: the commits that are gone, and the unique indexes that go with them.
//!
//! Rows from before the creation of a unique index may have the same key. If the loss takes the log
//! back behind the group that the index was filled from, the index is dropped.

use crate::control::Control;
use crate::error::Result;
use redo_log::Loss;
use std::fmt;
use storage::{Directory, Disk, PlantedBug};

/// The loss that the caller of an opening has accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AcceptedLoss {
    /// The end of the log that is gone.
    pub log: Loss,
    /// Unique indexes that were dropped, each as its table and its name.
    pub dropped_indexes: Vec<(String, String)>,
}

impl fmt::Display for AcceptedLoss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.log.fmt(formatter)?;
        for (table, index) in &self.dropped_indexes {
            write!(
                formatter,
                "; the unique index `{index}` of table {table} was created behind that group and \
                 is dropped: create it again"
            )?;
        }
        Ok(())
    }
}

/// Drops the unique indexes that were filled from commits behind the last group of the log.
pub(crate) async fn settle<D: Disk>(
    directory: &Directory<D>,
    control: &mut Control,
    log: Loss,
    last_group: u64,
) -> Result<AcceptedLoss> {
    let mut dropped_indexes = Vec::new();
    if directory.has_planted(PlantedBug::LaterIndexKept) {
        return Ok(AcceptedLoss { log, dropped_indexes });
    }
    for table in &mut control.tables {
        for index in table.unique_since.extract_if(.., |_, &mut group| group > last_group) {
            table.indexes.retain(|design| design.name != index.0);
            dropped_indexes.push((table.name.clone(), index.0));
        }
    }
    if !dropped_indexes.is_empty() {
        control.write(directory).await?;
    }
    Ok(AcceptedLoss { log, dropped_indexes })
}
