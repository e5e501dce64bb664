//! The disk itself: 512 bytes written and synced, one after the other, into room that was written
//! before. No database with one sync per commit and one session is faster.

use crate::engine::{Engine, Turn};
use anyhow::Result;
use namdb::host::Moment;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

const WRITE_BYTES: u64 = 512;
const FILE_BYTES: u64 = 16 << 20;

pub struct Disk {
    file: File,
    end: u64,
}

impl Disk {
    pub fn open(directory: &Path) -> Result<Self> {
        std::fs::create_dir_all(directory)?;
        let file = File::create(directory.join("file"))?;
        file.write_all_at(&vec![0; FILE_BYTES as usize], 0)?;
        file.sync_all()?;
        Ok(Self { file, end: 0 })
    }
}

impl Engine for Disk {
    fn name(&self) -> &'static str {
        "the disk"
    }

    fn way(&self, _sessions: usize) -> String {
        format!("{WRITE_BYTES} bytes and fdatasync, 1 thread")
    }

    fn run(&mut self, _sessions: usize, time: Duration) -> Result<Turn> {
        let (start, mut syncs) = (Moment::now(), 0);
        while start.elapsed_s() < time.as_secs_f64() {
            self.file.write_all_at(&[1; WRITE_BYTES as usize], self.end)?;
            self.file.sync_data()?;
            self.end = (self.end + WRITE_BYTES) % FILE_BYTES;
            syncs += 1;
        }
        Ok(Turn { commits: syncs, seconds: start.elapsed_s(), syncs: Some(syncs) })
    }
}
