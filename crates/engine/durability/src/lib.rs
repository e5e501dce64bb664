//! A database with a directory: what a restart finds is what was acknowledged.
//!
//! ```text
//! lanes --entries--> redo log --group, sync--> acknowledgement --> sessions
//! rows  --chunks---> checkpoint files
//! tables ----------> control file, which names the newest checkpoint
//!
//! restart: control file, then checkpoint, then log behind it
//! ```
//!
//! Read [`open`] first, then [`control`] and [`catalog`] (which tables there are), [`flusher`] and
//! [`acknowledgement`] (from a commit to its report), [`checkpoint`] with its files, and
//! [`restore`] with `tail` (from files to rows). Files are used through [`storage::Directory`], so
//! that all of this runs on the simulated disk too.
#![forbid(unsafe_code)]

pub mod acknowledgement;
pub mod backup;
pub mod catalog;
pub mod checkpoint;
mod checkpoint_file;
pub mod control;
pub mod error;
pub mod flusher;
mod loss;
pub mod open;
pub mod region_image;
pub mod restore;
pub mod run_file;
mod tail;

pub use acknowledgement::{Acknowledgements, Durable, Refusal, Ticket, Work};
pub use backup::{Copied, control_of, copy_directory, survey_of};
pub use checkpoint::{CheckpointStart, remove_obsolete, write_checkpoint};
pub use control::Control;
pub use error::{DurabilityError, Result};
pub use flusher::{FlushStatistics, Flusher};
pub use loss::AcceptedLoss;
pub use open::{OpenOptions, Opened, open_directory, read_directory};
pub use restore::{Phase, Restore};

#[cfg(test)]
mod tests {
    const DOCUMENT: &str = include_str!("../../../../docs/durability.md");

    /// The byte tables in the documentation of a file.
    fn tables(source: &str) -> Vec<String> {
        let lines = source.lines().map(str::trim_start);
        let comments =
            lines.filter_map(|line| line.strip_prefix("//!").or_else(|| line.strip_prefix("///")));
        let text: Vec<&str> = comments.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        let text = text.join("\n");
        let blocks = text.split("```text\n").skip(1).filter_map(|rest| rest.split_once("```"));
        let blocks = blocks.map(|(block, _)| block.to_owned());
        blocks.filter(|block| block.contains("byte |")).collect()
    }

    #[test]
    fn the_document_has_the_byte_tables_of_the_code() {
        let sources = [
            include_str!("control.rs"),
            include_str!("checkpoint_file.rs"),
            include_str!("region_image.rs"),
            include_str!("../../redo_log/src/segment.rs"),
            include_str!("../../redo_log/src/marker.rs"),
            include_str!("../../redo_log/src/block.rs"),
            include_str!("../../redo_log/src/group.rs"),
            include_str!("../../redo_log/src/entry.rs"),
        ];
        let tables: Vec<String> = sources.into_iter().flat_map(tables).collect();
        assert!(tables.len() >= 9, "{} tables", tables.len());
        for table in tables {
            assert!(DOCUMENT.contains(&table), "docs/durability.md lacks this:\n{table}");
        }
    }
}
