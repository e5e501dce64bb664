//! The success of a task that needs hardware or a tool.

/// Whether the task ran. An error is neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    Ran,
    /// This host lacks something, and the task has printed what.
    Skipped,
}
