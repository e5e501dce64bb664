//! A fingerprint that distinguishes workloads.

use crate::node::Workload;
use std::fmt::{self, Write};

impl Workload {
    /// Returns a checksum over tables, procedures and plans; two different workloads are unlikely
    /// to have the same. It may change with the version of this program, because what it covers
    /// changes.
    pub fn fingerprint(&self) -> u32 {
        let mut checksum = Checksum(crc32fast::Hasher::new());
        write!(checksum, "{self:?}").expect("a checksum takes everything");
        checksum.0.finalize()
    }
}

struct Checksum(crc32fast::Hasher);

impl Write for Checksum {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}
