//! Measures the nodes of a statement, for `EXPLAIN ANALYZE`. The numbers of a node include those of
//! its inputs.

use super::{NodeContext, NodeFuture, Run, State};
use crate::plan::Node;
use crate::rows::Rows;
use fabric::{Counts, Env};

/// The measurements of a node.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Meter {
    /// Number of executions.
    pub loops: u64,
    /// Rows of all executions.
    pub rows: u64,
    /// Time until the first row of the first execution.
    pub first_ns: u64,
    pub total_ns: u64,
    pub counts: Counts,
    /// The largest memory that an execution has held, in bytes.
    pub memory: usize,
}

impl<E: Env> Run<'_, '_, E> {
    /// As [`Self::pull`], measured.
    pub(super) fn pull_measured<'s>(
        &'s mut self,
        node: &'s Node,
        state: &'s mut State,
        under: NodeContext<'s>,
        rows: &'s mut Rows,
    ) -> NodeFuture<'s> {
        Box::pin(async move {
            let loops = u64::from(matches!(state, State::New));
            let begun = self.begin_meter();
            let before = rows.len();
            let has_more = self.pull_node(node, state, under, rows).await?;
            self.end_meter(node, begun, (loops, (rows.len() - before) as u64));
            Ok(has_more)
        })
    }

    pub(super) fn begin_meter(&self) -> Option<(u64, Counts)> {
        let env = self.txn.env();
        self.frame.meters.as_ref().map(|_| (env.now_ns(), env.counters().counts()))
    }

    pub(super) fn end_meter(
        &mut self,
        node: &Node,
        begun: Option<(u64, Counts)>,
        counts: (u64, u64),
    ) {
        self.end_meter_of(node.number, begun, counts);
    }

    /// As [`Self::end_meter`], for the node with this number.
    pub(super) fn end_meter_of(
        &mut self,
        number: usize,
        begun: Option<(u64, Counts)>,
        (loops, rows): (u64, u64),
    ) {
        let env = self.txn.env();
        let (Some((begin_ns, before)), Some(meters)) = (begun, &mut self.frame.meters) else {
            return;
        };
        if meters.len() <= number {
            meters.resize(number + 1, Meter::default());
        }
        let meter = &mut meters[number];
        let took_ns = env.now_ns() - begin_ns;
        if meter.rows == 0 {
            meter.first_ns = meter.total_ns + took_ns;
        }
        meter.loops += loops;
        meter.rows += rows;
        meter.total_ns += took_ns;
        meter.counts += env.counters().counts() - before;
    }

    /// Notes the memory that a node holds.
    pub(super) fn meter_memory(&mut self, node: &Node, bytes: impl FnOnce() -> usize) {
        if let Some(meters) = &mut self.frame.meters {
            let bytes = bytes();
            if meters.len() <= node.number {
                meters.resize(node.number + 1, Meter::default());
            }
            let memory = &mut meters[node.number].memory;
            *memory = bytes.max(*memory);
        }
    }
}
