//! Executes joins. The outer side delivers few rows first if few may suffice, and more and more
//! after that.

use super::state::{InnerState, JoinState, State};
use super::{ALL, BATCH_ROWS, GROWTH, NodeContext, Run, left};
use crate::error::Result;
use crate::plan::{Join, Node, Operator};
use crate::rows::Rows;
use crate::scope::Outer;
use fabric::Env;
use procedure::node::JoinKind;
use sql_value::Value;
use txn::RowId;

/// Number of inner rows that a loop reads first if one of them may decide.
const DECIDING_ROWS: usize = 256;

/// The place of a join in its plan, and what the node above needs.
#[derive(Clone, Copy)]
pub(super) struct JoinContext<'j> {
    pub join: &'j Join,
    pub node: &'j Node,
    pub under: NodeContext<'j>,
    /// The numbers of rows that are ever needed, and that are enough before a pause.
    pub most: usize,
    pub enough: usize,
}

impl JoinContext<'_> {
    /// Whether a match decides about an outer row.
    pub fn is_decided_by_one(&self) -> bool {
        matches!(self.join.kind, JoinKind::Semi | JoinKind::Anti)
    }

    pub fn keeps_outer(&self) -> bool {
        matches!(self.join.kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti)
    }

    pub fn keeps_inner(&self) -> bool {
        matches!(self.join.kind, JoinKind::Right | JoinKind::Full)
    }
}

impl<E: Env> Run<'_, '_, E> {
    pub(super) async fn join(
        &mut self,
        join: &Join,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        if matches!(state, State::New) {
            let first = under.first_rows();
            let keyed_size = under.wanted.clamp(1, BATCH_ROWS);
            let mut begun = JoinState { size: first, keyed_size, ..JoinState::default() };
            begun.rows = self.frame.scratch.input(join.outer.width);
            *state = State::Join(Box::new(begun));
        }
        let State::Join(joining) = state else { return Ok(false) };
        let (most, enough) = under.ends(rows);
        let context = JoinContext { join, node, under, most, enough };
        let has_more = match (&join.equal, &join.keyed) {
            (None, Some(keyed)) => self.keyed_join(context, keyed, joining, rows).await?,
            (None, None) => self.nested_loop(context, joining, rows).await?,
            (Some(lists), _) => self.equal_join(context, lists, joining, rows).await?,
        };
        let has_more = has_more && rows.len() < most;
        if !has_more {
            self.frame.scratch.give_back(std::mem::take(&mut joining.rows));
            *state = State::Done;
        }
        Ok(has_more)
    }

    /// Makes sure that there is a next outer row; returns false if there is none.
    pub(super) async fn next_outer(
        &mut self,
        context: JoinContext<'_>,
        joining: &mut JoinState,
    ) -> Result<bool> {
        let outer = &context.join.outer;
        while joining.at == joining.rows.len() {
            if joining.has_ended {
                return Ok(false);
            }
            joining.rows.reset(outer.width);
            joining.at = 0;
            let asked = context.under.batches(joining.size);
            let has_more = self.pull(outer, &mut joining.outer, asked, &mut joining.rows).await?;
            joining.has_ended = !has_more;
            joining.size = (joining.size * GROWTH).min(BATCH_ROWS);
        }
        Ok(true)
    }

    /// Executes the inner input for each outer row.
    async fn nested_loop(
        &mut self,
        context: JoinContext<'_>,
        joining: &mut JoinState,
        rows: &mut Rows,
    ) -> Result<bool> {
        let join = context.join;
        let mut spare = self.frame.scratch.input(join.inner.width);
        while rows.len() < context.enough {
            if !self.next_outer(context, joining).await? {
                self.frame.scratch.give_back(spare);
                return Ok(false);
            }
            let mut inner = match joining.inner.take() {
                Some(inner) => inner,
                None => InnerState { rows: std::mem::take(&mut spare), ..InnerState::default() },
            };
            let outer = (joining.rows.row(joining.at), joining.rows.id(joining.at));
            if self.loop_inside(context, outer, &mut inner, rows).await? {
                joining.at += 1;
                spare = inner.rows;
            } else {
                joining.inner = Some(inner);
            }
        }
        self.frame.scratch.give_back(spare);
        Ok(true)
    }

    /// Goes on with the inner input of an outer row; returns whether the outer row is done.
    async fn loop_inside(
        &mut self,
        context: JoinContext<'_>,
        (outer, id): (&[Value], Option<RowId>),
        inner: &mut InnerState,
        rows: &mut Rows,
    ) -> Result<bool> {
        let JoinContext { join, under, .. } = context;
        let around = Outer { sources: [outer, &[]], next: under.outer };
        self.check_interrupt()?;
        loop {
            for at in inner.places.by_ref() {
                let pair = [outer, inner.rows.row(at)];
                let id = id.or(inner.rows.id(at));
                if self.pair_up(context, pair, id, rows).await? {
                    inner.has_partner = true;
                    if context.is_decided_by_one() {
                        return Ok(true);
                    }
                }
                if rows.len() >= context.enough {
                    return Ok(false);
                }
            }
            if inner.has_ended {
                self.pair_with_none(context, (outer, id), inner.has_partner, rows).await?;
                return Ok(true);
            }
            let asked = inner_context(context, Some(&around), rows);
            inner.rows.reset(join.inner.width);
            inner.has_ended = !match &join.inner.operator {
                Operator::Scan(scan) if self.frame.meters.is_none() => {
                    let state = &mut inner.state;
                    self.scan(scan, &join.inner, state, asked, &mut inner.rows).await?
                }
                _ => self.pull(&join.inner, &mut inner.state, asked, &mut inner.rows).await?,
            };
            inner.places = 0..inner.rows.len();
        }
    }

    /// Delivers the result for an outer and an inner row if they match.
    pub(super) async fn pair_up(
        &mut self,
        context: JoinContext<'_>,
        pair: [&[Value]; 2],
        id: Option<RowId>,
        rows: &mut Rows,
    ) -> Result<bool> {
        let JoinContext { join, node, under, .. } = context;
        self.check_interrupt()?;
        self.forget(node);
        if !self.holds(join.join_filter.as_ref(), pair, under.outer).await? {
            return Ok(false);
        }
        if join.kind != JoinKind::Anti {
            self.deliver((node, join.filter.as_ref()), pair, id, under.outer, rows).await?;
        }
        Ok(true)
    }

    /// Delivers the result for an outer row when all inner rows were looked at.
    pub(super) async fn pair_with_none(
        &mut self,
        context: JoinContext<'_>,
        (outer, id): (&[Value], Option<RowId>),
        has_partner: bool,
        rows: &mut Rows,
    ) -> Result<()> {
        let JoinContext { join, node, under, .. } = context;
        if has_partner || !context.keeps_outer() {
            return Ok(());
        }
        let nulls = vec![Value::Null; join.inner.width];
        self.deliver((node, join.filter.as_ref()), [outer, &nulls], id, under.outer, rows).await
    }
}

/// The rows that a loop needs of its inner input.
fn inner_context<'v>(
    context: JoinContext<'_>,
    outer: Option<&'v Outer<'v>>,
    rows: &Rows,
) -> NodeContext<'v> {
    let JoinContext { join, most, enough, .. } = context;
    match (context.is_decided_by_one(), join.join_filter.is_none()) {
        // A single candidate is enough, unless the join filter rejects it.
        (true, true) => NodeContext::most(outer, 1),
        (true, false) => NodeContext { outer, wanted: ALL, batch: DECIDING_ROWS },
        (false, true) if join.filter.is_none() && enough != ALL => {
            NodeContext { outer, wanted: left(most, rows.len()), batch: enough - rows.len() }
        }
        (false, _) if most != ALL => NodeContext { outer, wanted: ALL, batch: DECIDING_ROWS },
        (false, _) if enough != ALL => NodeContext { outer, wanted: ALL, batch: BATCH_ROWS },
        (false, _) => NodeContext::all(outer),
    }
}
