//! The plans that end in one table: its rows, perhaps sorted, bounded, locked and computed with.

use procedure::node::{Access, Node, Operator, Scan, SortKey};
use sql::expression::Expr;

/// A scan with what stands above it.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    /// How rows are found.
    pub scan: &'a Scan,
    /// What nodes deliver, each over the one before, the scan first.
    pub outputs: Vec<&'a [Expr]>,
    /// The order, and over which of the outputs.
    pub sort: Option<(&'a [SortKey], usize)>,
    /// Most rows.
    pub limit: Option<&'a Expr>,
    /// Rows left out.
    pub offset: Option<&'a Expr>,
    /// Whether rows are locked.
    pub is_locked: bool,
}

impl<'a> Chain<'a> {
    /// `node` as a chain, if it is one.
    pub fn of(node: &'a Node) -> Option<Self> {
        let mut chain = match &node.operator {
            Operator::Scan(scan) => {
                let outputs = vec![node.outputs.as_slice()];
                return Some(Self {
                    scan,
                    outputs,
                    sort: None,
                    limit: None,
                    offset: None,
                    is_locked: false,
                });
            }
            Operator::Sort { input, .. }
            | Operator::Limit { input, .. }
            | Operator::Lock { input, .. }
            | Operator::Project { condition: None, filter: None, input: Some(input) } => {
                Self::of(input)?
            }
            _ => return None,
        };
        match &node.operator {
            // What is bounded stays as it is, and a second order would undo the first.
            Operator::Sort { .. } | Operator::Limit { .. }
                if chain.limit.is_some() || chain.offset.is_some() =>
            {
                return None;
            }
            Operator::Sort { keys, .. } => chain.sort = Some((keys, chain.outputs.len())),
            Operator::Limit { limit, offset, .. } => {
                (chain.limit, chain.offset) = (limit.as_ref(), offset.as_ref());
            }
            Operator::Lock { .. } => chain.is_locked = true,
            _ => {}
        }
        chain.outputs.push(&node.outputs);
        Some(chain)
    }

    /// The filter that is left to whoever goes through the rows: rows that are sorted or bounded have passed it before.
    pub fn filter_behind(&self) -> Option<&'a Expr> {
        let is_sieved = self.sort.is_some() || self.limit.is_some() || self.offset.is_some();
        self.scan.filter.as_ref().filter(|_| !is_sieved)
    }

    /// Whether at most one row comes, found by its primary key.
    pub fn is_single(&self) -> bool {
        matches!(self.scan.access, Access::Key(_)) && self.offset.is_none() && self.limit.is_none()
    }
}
