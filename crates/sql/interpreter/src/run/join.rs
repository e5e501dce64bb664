//! Executes joins.

use super::{ALL, NodeContext, Run};
use crate::error::Result;
use crate::plan::{Join, List, Node};
use crate::rows::Rows;
use crate::scope::Outer;
use fabric::Env;
use procedure::node::JoinKind;
use sql_value::Value;

/// Candidates among the inner rows for an outer row.
enum Candidates<'p> {
    /// All rows of the inner input, executed for this outer row.
    All(usize),
    /// The rows at these positions.
    These(&'p [usize]),
}

impl<E: Env> Run<'_, '_, E> {
    pub(super) async fn join(
        &mut self,
        join: &Join,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let outer = self.rows_of(&join.outer, NodeContext { wanted: ALL, ..under }).await?;
        match &join.equal {
            None => match &join.keyed {
                Some(keyed) => {
                    self.keyed_join((join, keyed), &outer, node, under, rows).await?;
                    self.frame.scratch.give_back(outer);
                    Ok(())
                }
                None => self.nested_loop(join, outer, node, under, rows).await,
            },
            Some((outer_list, inner_list)) => {
                // Without outer rows PostgreSQL does not execute the inner input either.
                if outer.is_empty() && !keeps_inner(join.kind) {
                    return Ok(());
                }
                let inner = self.rows_of(&join.inner, NodeContext { wanted: ALL, ..under }).await?;
                let lists = (outer_list, inner_list);
                self.equal_join(join, lists, (outer, inner), node, under, rows).await
            }
        }
    }

    async fn nested_loop(
        &mut self,
        join: &Join,
        outer: Rows,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let most = rows.len().saturating_add(under.wanted);
        let mut inner = Rows::new(join.inner.width);
        for at in 0..outer.len() {
            if rows.len() >= most {
                break;
            }
            self.check_interrupt()?;
            let around = Outer { sources: [outer.row(at), &[]], next: under.outer };
            // A single candidate is enough, unless the join filter rejects it.
            let is_decided = matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
            let wanted = if is_decided && join.join_filter.is_none() { 1 } else { ALL };
            inner.reset(join.inner.width);
            let inside = NodeContext { outer: Some(&around), wanted };
            match &join.inner.operator {
                crate::plan::Operator::Scan(scan) => {
                    self.scan(scan, &join.inner, inside, &mut inner).await?;
                }
                _ => self.execute(&join.inner, inside, &mut inner).await?,
            }
            let partners = Candidates::All(inner.len());
            let pair = ((&outer, at), (&inner, partners));
            self.pair_up(join, pair, node, (under, most), rows, &mut |_| ()).await?;
        }
        Ok(())
    }

    /// Finds matches by sorting the inner rows.
    async fn equal_join(
        &mut self,
        join: &Join,
        (outer_list, inner_list): (&List, &List),
        (outer, inner): (Rows, Rows),
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let most = rows.len().saturating_add(under.wanted);
        let mut keys: Vec<(Vec<Value>, usize)> = Vec::with_capacity(inner.len());
        for at in 0..inner.len() {
            self.check_interrupt()?;
            let key = self.list_values(inner_list, [&[], inner.row(at)], under.outer).await?;
            if !key.iter().any(Value::is_null) {
                keys.push((key, at));
            }
        }
        keys.sort_by(|one, other| sql_value::order::order_all(&one.0, &other.0));
        let places: Vec<usize> = keys.iter().map(|(_, at)| *at).collect();
        let mut is_paired = vec![false; inner.len()];
        for at in 0..outer.len() {
            if rows.len() >= most {
                return Ok(());
            }
            self.check_interrupt()?;
            let key = self.list_values(outer_list, [outer.row(at), &[]], under.outer).await?;
            let range = match key.iter().any(Value::is_null) {
                true => 0..0,
                false => {
                    let from =
                        keys.partition_point(|(k, _)| sql_value::order::order_all(k, &key).is_lt());
                    let to =
                        keys.partition_point(|(k, _)| sql_value::order::order_all(k, &key).is_le());
                    from..to
                }
            };
            let pair = ((&outer, at), (&inner, Candidates::These(&places[range])));
            let mut note = |partner: usize| is_paired[partner] = true;
            self.pair_up(join, pair, node, (under, most), rows, &mut note).await?;
        }
        if !keeps_inner(join.kind) {
            return Ok(());
        }
        let nulls = vec![Value::Null; join.outer.width];
        for at in (0..inner.len()).filter(|&at| !is_paired[at]) {
            if rows.len() >= most {
                break;
            }
            let filtered = (node, join.filter.as_ref());
            self.deliver(filtered, [&nulls, inner.row(at)], inner.id(at), under.outer, rows)
                .await?;
        }
        Ok(())
    }

    /// Delivers the results for one outer row; calls `note` for each of its matches.
    async fn pair_up(
        &mut self,
        join: &Join,
        ((outer, at), (inner, partners)): ((&Rows, usize), (&Rows, Candidates<'_>)),
        node: &Node,
        (under, most): (NodeContext<'_>, usize),
        rows: &mut Rows,
        note: &mut impl FnMut(usize),
    ) -> Result<()> {
        let row = outer.row(at);
        let filtered = (node, join.filter.as_ref());
        let count = match partners {
            Candidates::All(count) => count,
            Candidates::These(places) => places.len(),
        };
        let mut has_partner = false;
        for number in 0..count {
            let partner = match partners {
                Candidates::All(_) => number,
                Candidates::These(places) => places[number],
            };
            let pair = [row, inner.row(partner)];
            self.check_interrupt()?;
            self.forget(node);
            if !self.holds(join.join_filter.as_ref(), pair, under.outer).await? {
                continue;
            }
            has_partner = true;
            note(partner);
            match join.kind {
                JoinKind::Anti => return Ok(()),
                JoinKind::Semi => {
                    return self.deliver(filtered, pair, outer.id(at), under.outer, rows).await;
                }
                _ if rows.len() >= most => return Ok(()),
                _ => {
                    let id = outer.id(at).or(inner.id(partner));
                    self.deliver(filtered, pair, id, under.outer, rows).await?;
                }
            }
        }
        let keeps_outer = matches!(join.kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti);
        if has_partner || !keeps_outer {
            return Ok(());
        }
        let nulls = vec![Value::Null; join.inner.width];
        self.deliver(filtered, [row, &nulls], outer.id(at), under.outer, rows).await
    }
}

fn keeps_inner(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Right | JoinKind::Full)
}
