//! The last run of a database for which a memory server has begun to serve, in the file `run`: the
//! number of the run and the identity of the database, eight bytes each, little-endian. An image
//! of another run may be old, although nobody has said so.

use crate::error::{DurabilityError, Result};
use crate::region_image::has;
use storage::{Directory, Disk};

/// The name of the file.
pub const RUN_NAME: &str = "run";
/// Its name until it is complete.
const NEW_NAME: &str = "run-new";

/// A run of a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The database's identity.
    pub database: u64,
    pub number: u64,
}

/// Bytes of the file.
const BYTES: usize = 16;

/// Notes a run durably.
///
/// # Errors
/// The disk refuses it.
pub async fn note_run<D: Disk>(directory: &Directory<D>, run: Run) -> Result<()> {
    if has(directory, NEW_NAME).await? {
        directory.remove(NEW_NAME).await?;
    }
    let file = directory.create(NEW_NAME).await?;
    let words = [run.number.to_le_bytes(), run.database.to_le_bytes()];
    file.write_at(0, &words.concat()).await?;
    file.sync().await?;
    directory.rename(NEW_NAME, RUN_NAME).await?;
    Ok(directory.sync().await?)
}

/// The run that was noted last, if there is one.
///
/// # Errors
/// The disk refuses it, or the file is damaged.
pub async fn noted_run<D: Disk>(directory: &Directory<D>) -> Result<Option<Run>> {
    if !has(directory, RUN_NAME).await? {
        return Ok(None);
    }
    let file = directory.open_file(RUN_NAME).await?;
    let mut bytes = [0; BYTES];
    if file.read_at(0, &mut bytes).await? < bytes.len() {
        let what = "it has sixteen bytes";
        return Err(DurabilityError::Damaged { path: file.path(), offset: 0, what });
    }
    let words = bytes.map(u64::from);
    let word = |at: usize| words[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | byte);
    Ok(Some(Run { number: word(0), database: word(8) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::run_now;
    use storage::RealDisk;

    #[test]
    fn the_last_run_is_found_and_half_a_number_is_refused() {
        let path = std::env::temp_dir().join(format!("namdb-run-{}", std::process::id()));
        std::fs::create_dir(&path).expect("a new folder");
        run_now(async {
            let disk = RealDisk::open(&path).expect("it is there");
            let directory = Directory::open(disk).await.expect("nobody else has it open");
            assert_eq!(noted_run(&directory).await.expect("no error"), None);
            for number in [7, 1 << 40] {
                let run = Run { database: u64::MAX - number, number };
                // One that did not come to its end.
                drop(directory.create(NEW_NAME).await.expect("a new file"));
                note_run(&directory, run).await.expect("there is room");
                assert_eq!(noted_run(&directory).await.expect("no error"), Some(run));
            }
            std::fs::write(path.join(RUN_NAME), [1, 2, 3]).expect("it is ours");
            let refused = noted_run(&directory).await.expect_err("it is damaged");
            assert!(refused.to_string().contains("sixteen bytes"), "{refused}");
        });
        std::fs::remove_dir_all(&path).expect("it is ours");
    }
}
