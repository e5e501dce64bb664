//! Window functions: values computed over the rows around a row.

use crate::expression::{Aggregate, Expr};
use crate::query::Select;
use crate::types::SqlType;

/// A query and the window functions over its rows. Their expressions are over the query's outputs,
/// which are source 0.
#[derive(Clone, PartialEq, Debug)]
pub struct Windows {
    pub query: Select,
    pub calls: Vec<WindowCall>,
}

/// A window function with its window.
#[derive(Clone, PartialEq, Debug)]
pub struct WindowCall {
    pub function: WindowFunction,
    /// Converted to the types that the function works on.
    pub arguments: Vec<Expr>,
    /// `FILTER (WHERE ...)` of an aggregate.
    pub filter: Option<Expr>,
    pub window: Window,
    pub sql_type: SqlType,
}

/// Which rows a window function sees.
#[derive(Clone, PartialEq, Debug)]
pub struct Window {
    /// `PARTITION BY`: rows with equal values see each other.
    pub partition: Vec<Expr>,
    /// `ORDER BY`, most significant key first.
    pub order: Vec<WindowKey>,
    pub frame: Frame,
}

/// A key of the order of a window.
#[derive(Clone, PartialEq, Debug)]
pub struct WindowKey {
    pub value: Expr,
    pub descending: bool,
    pub nulls_first: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    /// The value of an earlier row: value, distance and default.
    Lag,
    /// The value of a later row: value, distance and default.
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    /// An aggregate over the frame; without an argument for `count(*)`.
    Aggregate(Aggregate),
}

/// The part of a partition that a function sees. Peers are rows that are equal in the window's
/// order.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    pub end: FrameBound,
}

/// The unit of a frame's distances.
#[derive(Clone, PartialEq, Debug)]
pub enum FrameUnit {
    Rows,
    /// Groups of peers.
    Groups,
    /// Differences of the only key of the order. The key and the values at both distances, in the
    /// type in which they are compared; `None` if the frame has no distances.
    Range(Option<Box<FrameRange>>),
}

/// The key of a frame of a range, and the first and last value of the frame.
#[derive(Clone, PartialEq, Debug)]
pub struct FrameRange {
    pub key: Expr,
    pub start: Option<Expr>,
    pub end: Option<Expr>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum FrameBound {
    UnboundedPreceding,
    /// This distance before the row.
    Preceding(Expr),
    CurrentRow,
    /// This distance after the row.
    Following(Expr),
    UnboundedFollowing,
}

impl WindowFunction {
    /// The function called `name`, unless it is an aggregate.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "row_number" => Self::RowNumber,
            "rank" => Self::Rank,
            "dense_rank" => Self::DenseRank,
            "percent_rank" => Self::PercentRank,
            "cume_dist" => Self::CumeDist,
            "ntile" => Self::Ntile,
            "lag" => Self::Lag,
            "lead" => Self::Lead,
            "first_value" => Self::FirstValue,
            "last_value" => Self::LastValue,
            "nth_value" => Self::NthValue,
            _ => return None,
        })
    }

    /// The name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::RowNumber => "row_number",
            Self::Rank => "rank",
            Self::DenseRank => "dense_rank",
            Self::PercentRank => "percent_rank",
            Self::CumeDist => "cume_dist",
            Self::Ntile => "ntile",
            Self::Lag => "lag",
            Self::Lead => "lead",
            Self::FirstValue => "first_value",
            Self::LastValue => "last_value",
            Self::NthValue => "nth_value",
            Self::Aggregate(aggregate) => aggregate.name(),
        }
    }
}

impl FrameBound {
    fn distance(&self) -> Option<&Expr> {
        match self {
            Self::Preceding(distance) | Self::Following(distance) => Some(distance),
            Self::UnboundedPreceding | Self::CurrentRow | Self::UnboundedFollowing => None,
        }
    }

    fn distance_mut(&mut self) -> Option<&mut Expr> {
        match self {
            Self::Preceding(distance) | Self::Following(distance) => Some(distance),
            Self::UnboundedPreceding | Self::CurrentRow | Self::UnboundedFollowing => None,
        }
    }
}

impl WindowCall {
    /// Calls `visit` with each operand, in text order.
    pub fn for_each_expr<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        self.arguments.iter().chain(&self.filter).for_each(&mut *visit);
        let Window { partition, order, frame } = &self.window;
        partition.iter().chain(order.iter().map(|key| &key.value)).for_each(&mut *visit);
        if let FrameUnit::Range(Some(range)) = &frame.unit {
            visit(&range.key);
            range.start.iter().chain(&range.end).for_each(&mut *visit);
        }
        [&frame.start, &frame.end].into_iter().filter_map(FrameBound::distance).for_each(visit);
    }

    /// As [`Self::for_each_expr`], with mutable operands.
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.arguments.iter_mut().chain(&mut self.filter).for_each(&mut *visit);
        self.window.for_each_expr_mut(visit);
    }
}

impl Window {
    /// Calls `visit` with each key and bound.
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        let Self { partition, order, frame } = self;
        partition
            .iter_mut()
            .chain(order.iter_mut().map(|key| &mut key.value))
            .for_each(&mut *visit);
        if let FrameUnit::Range(Some(range)) = &mut frame.unit {
            visit(&mut range.key);
            range.start.iter_mut().chain(&mut range.end).for_each(&mut *visit);
        }
        let bounds = [&mut frame.start, &mut frame.end];
        bounds.into_iter().filter_map(FrameBound::distance_mut).for_each(visit);
    }
}
