//! A number by which two workloads are told apart.

use crate::node::Workload;
use std::fmt::{self, Write};

impl Workload {
    /// A number that another workload hardly has: the checksum of all that is known of tables, procedures and plans. It may
    /// differ between versions of this program, and so do the things themselves.
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
