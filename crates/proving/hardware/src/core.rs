//! A core: the time one thread spends on each operation of the data path.

use crate::sheet::Sheet;

/// The capabilities of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Core {
    /// Cores per machine.
    pub cores: u64,
    /// Picoseconds to post a verb or a message.
    pub post_ps: u64,
    /// Picoseconds to post one more verb of a list to the same queue pair, under the same doorbell.
    pub post_more_ps: u64,
    /// Picoseconds to notice that a batch is complete.
    pub poll_ps: u64,
    /// Picoseconds to receive a message and to respond to it, without executing the request.
    pub serve_message_ps: u64,
    /// Picoseconds to pass something to a thread on another core, or to receive it: one transfer of
    /// a cache line that the other core has written last.
    pub hand_over_ps: u64,
    /// Picoseconds to read or write one row of a transaction, without verbs.
    pub execute_row_ps: u64,
}

impl Core {
    pub(crate) fn read(sheet: &mut Sheet<'_>) -> Self {
        Self {
            cores: sheet.whole("cores", 1),
            post_ps: sheet.picoseconds("post_ns"),
            post_more_ps: sheet.picoseconds("post_more_ns"),
            poll_ps: sheet.picoseconds("poll_ns"),
            serve_message_ps: sheet.picoseconds("serve_message_ns"),
            hand_over_ps: sheet.picoseconds("hand_over_ns"),
            execute_row_ps: sheet.picoseconds("execute_row_ns"),
        }
    }
}
