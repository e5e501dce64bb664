//! Plans over a single table: its rows, optionally sorted, limited, locked and projected.

use procedure::node::{Access, Node, Operator, Scan, SortKey};
use sql::expression::Expr;

/// A scan with the nodes above it.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    pub scan: &'a Scan,
    /// Outputs of the nodes, each over the one before; the scan comes first.
    pub outputs: Vec<&'a [Expr]>,
    /// The sort keys, and the position in `outputs` that they are over.
    pub sort: Option<(&'a [SortKey], usize)>,
    pub limit: Option<&'a Expr>,
    pub offset: Option<&'a Expr>,
    pub is_locked: bool,
}

impl<'a> Chain<'a> {
    /// Returns `node` as a chain, if it is one.
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
            // A limited result must not be sorted again, and a second sort would undo the first.
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

    /// Returns the filter that the loop over the rows must apply; sorted or limited rows are
    /// filtered before.
    pub fn filter_behind(&self) -> Option<&'a Expr> {
        let is_filtered = self.sort.is_some() || self.limit.is_some() || self.offset.is_some();
        self.scan.filter.as_ref().filter(|_| !is_filtered)
    }

    /// Whether at most one row comes, found by its primary key.
    pub fn is_single(&self) -> bool {
        matches!(self.scan.access, Access::Key(_)) && self.offset.is_none() && self.limit.is_none()
    }
}
