//! A machine's own memory, for comparison with memory that is reached over a network.

use crate::card::bytes_ps;
use crate::sheet::Sheet;

/// Memory of one processor socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Memory channels per socket.
    pub channels: u64,
    /// Bytes per second of one channel, reads and writes together.
    pub channel_bytes_per_s: u64,
    /// Picoseconds until one core has read 1,024 bytes.
    pub kilobyte_read_ps: u64,
}

impl Memory {
    pub(crate) fn read(sheet: &mut Sheet<'_>) -> Self {
        Self {
            channels: sheet.whole("channels", 1),
            channel_bytes_per_s: sheet.whole("channel_bytes_per_s", 1),
            kilobyte_read_ps: sheet.picoseconds("kilobyte_read_ns"),
        }
    }

    /// Bytes per second of all channels of a socket, reads and writes together.
    pub fn bytes_per_s(&self) -> u64 {
        self.channels * self.channel_bytes_per_s
    }

    /// Picoseconds until one core has read `bytes` bytes: the first kilobyte at the measured
    /// latency, the rest at the rate of one channel.
    pub fn read_ps(&self, bytes: u64) -> u64 {
        match bytes.checked_sub(1024) {
            Some(rest) => self.kilobyte_read_ps + bytes_ps(rest, self.channel_bytes_per_s),
            None => self.kilobyte_read_ps * bytes / 1024,
        }
    }
}
