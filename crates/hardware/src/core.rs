//! A core: what one thread pays for each thing it does on the data path.

use crate::sheet::Sheet;

/// What cores are able to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Core {
    /// Cores of a machine.
    pub cores: u64,
    /// Picoseconds to post a verb or a message.
    pub post_ps: u64,
    /// Picoseconds to post one more verb in the list of another one, to the same queue pair with one doorbell.
    pub post_more_ps: u64,
    /// Picoseconds to notice that a batch is complete.
    pub poll_ps: u64,
    /// Picoseconds to take a message and answer it, without what it asks for.
    pub serve_message_ps: u64,
    /// Picoseconds to give something to a thread on another core, or to take it: a cache line that the other has
    /// written last.
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
