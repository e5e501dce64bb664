//! Where the execution of a node has paused.

use crate::memory::Reservation;
use crate::rows::Rows;
use layout::Key;
use sql_value::{Accumulator, GroupKey, Value};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use txn::{RowId, ScanSteps, VisitSteps};

/// The state of a node's execution.
#[derive(Default, Debug)]
pub(crate) enum State {
    /// It has not begun.
    #[default]
    New,
    Found(FoundRows),
    Range(Box<RangeState>),
    Visit(Box<VisitState>),
    Join(Box<JoinState>),
    /// Rows that were collected and are being delivered.
    Held(Box<HeldRows>),
    Limit(Box<LimitState>),
    Groups(Box<GroupState>),
    /// A node that passes on the rows of its input.
    Input(Box<Self>),
    Unique(Box<UniqueState>),
    /// The number of the input that is being read, and its state.
    Append(usize, Box<Self>),
    Merge(Vec<MergeInput>),
    Set(Box<super::set_operation::SetState>),
    Window(Box<super::window::WindowState>),
    /// The next row of `VALUES`, or of rows that several nodes read.
    Position(usize),
    Unnest(Vec<Option<Arc<[Value]>>>, usize),
    Series(super::single::Series),
    Recursive(Box<super::recursive::RecursiveState>),
    /// The rows of a routine or of the last step of a recursion, and the next one.
    Called(Arc<HeldRows>, usize),
    /// There are no more rows.
    Done,
}

/// Rows that were found together.
#[derive(Debug)]
pub(crate) struct FoundRows {
    pub ids: Vec<RowId>,
    /// The next one.
    pub at: usize,
}

/// A scan of a range.
#[derive(Debug)]
pub(crate) struct RangeState {
    pub steps: ScanSteps,
    /// Whether a step may find more rows.
    pub has_more: bool,
    /// The rows of the last step.
    pub found: FoundRows,
    /// Minimum number of rows of the next step.
    pub chunk: usize,
    /// The position behind the delivered rows, if the last step has found more.
    pub after: Option<After>,
    /// Rows behind them that may be tied with those of the next step, see [`super::ties`].
    pub open: Vec<RowId>,
    /// The entry before the rows of the last step, and how many of these were delivered before.
    pub before: Option<Key>,
    pub skipped: usize,
}

/// A position in a range: behind an entry, `None` for the range's begin, and some rows after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct After {
    pub entry: Option<Key>,
    pub skipped: usize,
}

/// A visit of a whole table.
#[derive(Debug)]
pub(crate) struct VisitState {
    pub steps: VisitSteps,
    /// Copies of the rows of the last step, if sub plans look at them.
    pub copies: Rows,
}

/// A join.
#[derive(Default, Debug)]
pub(crate) struct JoinState {
    pub outer: State,
    /// The last rows of the outer input, and the next one.
    pub rows: Rows,
    pub at: usize,
    pub has_ended: bool,
    /// Number of outer rows to read next.
    pub size: usize,
    /// Maximum number of inner rows that are read by key together.
    pub keyed_size: usize,
    /// The inner rows of the outer row.
    pub inner: Option<InnerState>,
    pub table: Option<Box<JoinTable>>,
}

/// The inner rows of an outer row.
#[derive(Default, Debug)]
pub(crate) struct InnerState {
    pub state: State,
    /// Those of the last pull, for a loop.
    pub rows: Rows,
    pub has_ended: bool,
    /// The places that are still to be looked at, in `rows` or in [`JoinTable::keys`].
    pub places: Range<usize>,
    pub has_partner: bool,
}

/// The inner rows of an equal join, sorted by key.
#[derive(Default, Debug)]
pub(crate) struct JoinTable {
    pub rows: Rows,
    /// Keys, and the positions of their rows.
    pub keys: Vec<(Vec<Value>, usize)>,
    pub is_paired: Vec<bool>,
    /// The next row to deliver without a partner.
    pub unpaired: usize,
    pub memory: Reservation,
}

/// Rows that were collected.
#[derive(Default, Debug)]
pub(crate) struct HeldRows {
    pub rows: Rows,
    pub at: usize,
    pub memory: Reservation,
}

/// The number of rows that a limit lets pass.
#[derive(Default, Debug)]
pub(crate) struct LimitState {
    pub input: State,
    pub skipped: usize,
    pub left: usize,
}

/// Groups.
#[derive(Default, Debug)]
pub(crate) struct GroupState {
    pub input: State,
    /// The last rows of the input, and the next one.
    pub rows: Rows,
    pub at: usize,
    pub has_ended: bool,
    /// Groups, the next one last; of sorted rows only the current one.
    pub groups: Vec<Group>,
    /// The key of the current group of sorted rows.
    pub key: Vec<Value>,
    /// Where the group of a key is.
    pub places: HashMap<GroupKey, usize>,
    pub memory: Reservation,
}

/// A group.
#[derive(Debug)]
pub(crate) struct Group {
    /// Its first row, if it has one.
    pub first: Option<Vec<Value>>,
    pub accumulators: Vec<Accumulator>,
}

/// Removes equal neighbours.
#[derive(Default, Debug)]
pub(crate) struct UniqueState {
    pub input: State,
    pub last: Option<Vec<Value>>,
}

/// An input that is merged with others.
#[derive(Default, Debug)]
pub(crate) struct MergeInput {
    pub state: State,
    pub rows: Rows,
    /// The sort keys of the rows.
    pub keys: Rows,
    pub at: usize,
    pub has_ended: bool,
}
