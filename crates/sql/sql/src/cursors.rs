//! The cursors of PL/pgSQL: `OPEN`, `FETCH`, `MOVE`, `CLOSE`, and loops over cursors.
//!
//! Decision: docs/decisions/0347-cursors-of-routines-hold-their-rows.md

use crate::procedure::{Dynamic, DynamicInto, Formula, Sql, Target};

/// A statement about a cursor. The cursor has a variable, which holds its name.
#[derive(Clone, PartialEq, Debug)]
pub enum CursorStatement {
    /// `OPEN`
    Open(CursorOpen),
    /// `FETCH`, and `MOVE` without targets.
    Fetch { cursor: usize, movement: Movement, into: Option<DynamicInto> },
    /// `CLOSE`
    Close(usize),
    /// Assigns the key of the row on which a cursor is, for `WHERE CURRENT OF`.
    Locate {
        cursor: usize,
        /// The table whose row it must be, by position in the catalog.
        table: usize,
        /// A variable for each column of its primary key.
        key: Vec<usize>,
    },
}

/// Opens a cursor.
#[derive(Clone, PartialEq, Debug)]
pub struct CursorOpen {
    pub cursor: usize,
    pub rows: CursorRows,
    /// Whether it moves forward only.
    pub only_forward: bool,
}

/// The rows of a cursor.
#[derive(Clone, PartialEq, Debug)]
pub enum CursorRows {
    /// Those of a query. If they are rows of a table, the last columns of the query are the table's
    /// primary key, and no part of them.
    Query(Sql, Option<KeyColumns>),
    /// Those of a computed text.
    Text(Dynamic),
}

/// The columns behind those of a cursor's rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyColumns {
    /// By position in the catalog.
    pub table: usize,
    pub count: usize,
}

/// The direction in which a cursor moves.
#[derive(Clone, PartialEq, Debug)]
pub struct Movement {
    pub kind: MovementKind,
    /// `None` for all rows.
    pub count: Option<Formula>,
}

/// The meaning of a movement's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MovementKind {
    /// Rows forward.
    Forward,
    /// Rows backward.
    Backward,
    /// The number of the row, from the end if it is negative.
    Absolute,
    /// The distance from the present row.
    Relative,
}

impl CursorOpen {
    /// Its query, if it has a text of its own.
    pub fn sql(&self) -> Option<&Sql> {
        match &self.rows {
            CursorRows::Query(sql, _) => Some(sql),
            CursorRows::Text(_) => None,
        }
    }

    /// Its expressions.
    pub fn formulas(&self) -> impl Iterator<Item = &Formula> {
        let dynamic = match &self.rows {
            CursorRows::Query(..) => None,
            CursorRows::Text(dynamic) => Some(dynamic),
        };
        dynamic.into_iter().flat_map(Dynamic::formulas)
    }
}

impl CursorStatement {
    /// The query that it opens.
    pub fn sql(&self) -> Option<&Sql> {
        self.open().and_then(CursorOpen::sql)
    }

    fn open(&self) -> Option<&CursorOpen> {
        match self {
            Self::Open(open) => Some(open),
            _ => None,
        }
    }

    /// Its expressions.
    pub fn formulas(&self) -> impl Iterator<Item = &Formula> {
        let count = match self {
            Self::Fetch { movement, .. } => movement.count.as_ref(),
            _ => None,
        };
        self.open().into_iter().flat_map(CursorOpen::formulas).chain(count)
    }

    /// The targets of the row that it fetches.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let into = match self {
            Self::Fetch { into, .. } => into.as_ref(),
            _ => None,
        };
        into.into_iter().flat_map(|into| &into.targets).map(|(target, _)| target)
    }

    /// The other variables that it may assign.
    pub fn assigned(&self) -> Vec<usize> {
        match self {
            Self::Open(open) => vec![open.cursor],
            Self::Locate { key, .. } => key.clone(),
            Self::Fetch { .. } | Self::Close(_) => Vec::new(),
        }
    }
}
