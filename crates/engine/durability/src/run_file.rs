//! The number of the last run of a database for which a memory server has begun to serve, in the
//! file `run`: eight bytes, little-endian. An image without the same number may be old, although
//! nobody has said so.

use crate::error::{DurabilityError, Result};
use crate::region_image::has;
use storage::{Directory, Disk};

/// The name of the file.
pub const RUN_NAME: &str = "run";
/// Its name until it is complete.
const NEW_NAME: &str = "run-new";

/// Notes the number of a run durably.
///
/// # Errors
/// The disk refuses it.
pub async fn note_run<D: Disk>(directory: &Directory<D>, run: u64) -> Result<()> {
    if has(directory, NEW_NAME).await? {
        directory.remove(NEW_NAME).await?;
    }
    let file = directory.create(NEW_NAME).await?;
    file.write_at(0, &run.to_le_bytes()).await?;
    file.sync().await?;
    directory.rename(NEW_NAME, RUN_NAME).await?;
    Ok(directory.sync().await?)
}

/// The number that was noted last, if there is one.
///
/// # Errors
/// The disk refuses it, or the file is damaged.
pub async fn noted_run<D: Disk>(directory: &Directory<D>) -> Result<Option<u64>> {
    if !has(directory, RUN_NAME).await? {
        return Ok(None);
    }
    let file = directory.open_file(RUN_NAME).await?;
    let mut bytes = [0; 8];
    if file.read_at(0, &mut bytes).await? < bytes.len() {
        let what = "the number of a run has eight bytes";
        return Err(DurabilityError::Damaged { path: file.path(), offset: 0, what });
    }
    Ok(Some(u64::from_le_bytes(bytes)))
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
            for run in [7, 1 << 40] {
                // One that did not come to its end.
                drop(directory.create(NEW_NAME).await.expect("a new file"));
                note_run(&directory, run).await.expect("there is room");
                assert_eq!(noted_run(&directory).await.expect("no error"), Some(run));
            }
            std::fs::write(path.join(RUN_NAME), [1, 2, 3]).expect("it is ours");
            let refused = noted_run(&directory).await.expect_err("it is damaged");
            assert!(refused.to_string().contains("eight bytes"), "{refused}");
        });
        std::fs::remove_dir_all(&path).expect("it is ours");
    }
}
