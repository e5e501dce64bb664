//! Builds the nodes above a block's joins: conditions on all rows, groups, distinct rows, order,
//! locks and limit.

use crate::block::{Block, Body, By, OrderItem, Plain};
use crate::build::{Builder, Wanted, passing, whole};
use crate::error::{Result, refuse};
use crate::expression::{all, as_column, is_volatile};
use crate::path::{Conditions, Path};
use crate::place::{Columns, Frame, passed};
use crate::query::{BlockKind, BlockPlan};
use procedure::node::{Node, Operator, SortKey};
use sql::SqlType;
use sql::expression::Expr;
use sql::query::{RowLock, SetOperation};

/// The joins of a block, as its plan chose them.
pub(crate) struct Joined<'j> {
    pub path: &'j Path,
    pub gates: &'j Conditions,
    pub volatile: &'j Conditions,
    /// Whether the rows come in the order of the groups, or of the query.
    pub is_sorted: bool,
}

impl Builder<'_, '_> {
    /// Builds a block; the node's outputs are its columns.
    pub fn block(&mut self, number: usize, around: Option<&Frame<'_>>) -> Result<Node> {
        let planner = self.planner;
        let block = &planner.logical.blocks[number];
        let plan = planner.plan(number);
        let mut node = match (&block.body, &plan.kind) {
            (Body::Plain(plain), BlockKind::Plain { path, gates, volatile, is_sorted }) => {
                let joined = Joined { path, gates, volatile, is_sorted: *is_sorted };
                self.plain((block, plain), &joined, &plan, around)?
            }
            (Body::Plain(plain), BlockKind::Extreme) => {
                let outputs = plain.extreme.as_deref().unwrap_or_default();
                let operator = Operator::Project { condition: None, filter: None, input: None };
                let outputs = self.place_all(&Frame::new(&[], around), outputs)?;
                Node { operator, outputs, rows: 1 }
            }
            (Body::Values(rows), _) => {
                let frame = Frame::new(&[], around);
                let placed = rows.iter().map(|row| self.place_all(&frame, row));
                let rows = placed.collect::<Result<Vec<_>>>()?;
                let count = rows.len() as u64;
                let operator = Operator::Values { rows, filter: None };
                let node = Node { operator, outputs: passed(&block.types), rows: count };
                self.sorted_by_outputs(block, node)?
            }
            (Body::Set { operation, all, inputs }, _) => {
                let rows = whole(plan.rows);
                let node = match operation {
                    SetOperation::Union => self.union(block, *all, inputs, rows, around)?,
                    operation => {
                        let left = Box::new(self.block(inputs[0], around)?);
                        let right = Box::new(self.block(inputs[1], around)?);
                        let (operation, all) = (*operation, *all);
                        let operator = Operator::SetOperation { operation, all, left, right };
                        Node { operator, outputs: passed(&block.types), rows }
                    }
                };
                self.sorted_by_outputs(block, node)?
            }
            (Body::Plain(_), _) => return refuse("no plan was found for a query"),
        };
        if let Some(strength) = block.lock {
            node = self.locked(block, strength, node);
        }
        node = self.limited(block, node, around)?;
        node.rows = whole(plan.rows);
        node.outputs.truncate(block.types.len());
        Ok(node)
    }

    fn limited(&mut self, block: &Block, input: Node, around: Option<&Frame<'_>>) -> Result<Node> {
        if block.limit.is_none() && block.offset.is_none() {
            return Ok(input);
        }
        let frame = Frame::new(&[], around);
        let limit = block.limit.as_ref().map(|limit| self.place(&frame, limit)).transpose()?;
        let offset = block.offset.as_ref().map(|offset| self.place(&frame, offset)).transpose()?;
        Ok(passing(|input| Operator::Limit { limit, offset, input }, input))
    }

    fn locked(&self, block: &Block, strength: RowLock, input: Node) -> Node {
        let Body::Plain(plain) = &block.body else { return input };
        let relations = plain.from.relations();
        let of_block = self.planner.logical.relations.iter().enumerate();
        let mut tables: Vec<usize> = of_block
            .filter(|(at, relation)| {
                relations.contains(*at) && relation.is_for_change && relation.lock.is_none()
            })
            .filter_map(|(_, relation)| match relation.kind {
                crate::block::RelationKind::Table(table) => Some(table),
                _ => None,
            })
            .collect();
        tables.sort_unstable();
        tables.dedup();
        tables.into_iter().fold(input, |input, table| {
            passing(|input| Operator::Lock { table, strength, input }, input)
        })
    }

    fn union(
        &mut self,
        block: &Block,
        all: bool,
        inputs: &[usize; 2],
        rows: u64,
        around: Option<&Frame<'_>>,
    ) -> Result<Node> {
        let mut nodes = Vec::new();
        for &input in inputs {
            let node = self.block(input, around)?;
            match node.operator {
                // Appended rows may be appended again.
                Operator::Append { inputs: inner } => nodes.extend(inner),
                operator => nodes.push(Node { operator, ..node }),
            }
        }
        let operator = Operator::Append { inputs: nodes };
        let node = Node { operator, outputs: passed(&block.types), rows };
        Ok(if all { node } else { distinct(node) })
    }

    fn plain(
        &mut self,
        (block, plain): (&Block, &Plain),
        joined: &Joined<'_>,
        plan: &BlockPlan,
        around: Option<&Frame<'_>>,
    ) -> Result<Node> {
        let is_ordered = joined.is_sorted;
        let has_order = is_ordered && !plain.is_grouped;
        let (exprs, places) = outputs_with_keys(block, plain, has_order);
        let node = match plain.is_grouped {
            true => self.grouped((plain, &exprs), joined, plan, around)?,
            false => self.joined(joined, around, Wanted::Exprs(&exprs), is_ordered)?.0,
        };
        if plain.distinct {
            return self.distinct_sorted(block, node);
        }
        if block.order.is_empty() || has_order {
            return Ok(node);
        }
        let is_limited = block.limit.is_some() || block.offset.is_some();
        if is_limited && plain.outputs.iter().any(|output| self.planner.logical.has_effects(output))
        {
            return refuse(
                "a volatile function of the catalog in the outputs of ORDER BY with LIMIT or OFFSET would run for all rows; \
                 write the rows with ORDER BY and LIMIT as a sub-select in FROM, and call it outside",
            );
        }
        Ok(sorted(&block.order, &places, node))
    }

    /// Builds the joins of a block, with the conditions on all rows.
    pub(crate) fn joined(
        &mut self,
        joined: &Joined<'_>,
        around: Option<&Frame<'_>>,
        wanted: Wanted<'_>,
        is_ordered: bool,
    ) -> Result<(Node, Columns)> {
        if joined.gates.is_empty() && joined.volatile.is_empty() {
            return self.path(joined.path, around, wanted, is_ordered);
        }
        let (below, columns) = self.path(joined.path, around, Wanted::Columns, is_ordered)?;
        let gates = joined.gates.iter().map(|gate| &gate.expr);
        let condition = all(self.place_all(&Frame::new(&[], around), gates)?);
        let rows = below.rows;
        let list = match &columns {
            Columns::List(list) => list.clone(),
            Columns::Whole(_) => Vec::new(),
        };
        let sources = [columns];
        let frame = Frame::new(&sources, around);
        let filter = self.filter(&frame, joined.volatile)?;
        let input = match below.operator {
            // A single row without columns.
            Operator::Project { condition: None, filter: None, input: None }
                if below.outputs.is_empty() =>
            {
                None
            }
            _ => Some(Box::new(below)),
        };
        let operator = Operator::Project { condition, filter, input };
        self.finish((operator, rows), &frame, wanted, list)
    }

    fn grouped(
        &mut self,
        (plain, exprs): (&Plain, &[Expr]),
        joined: &Joined<'_>,
        plan: &BlockPlan,
        around: Option<&Frame<'_>>,
    ) -> Result<Node> {
        if plain.group.iter().any(is_volatile) {
            return refuse(
                "GROUP BY with a volatile function is outside the supported SQL; compute it in a sub-select",
            );
        }
        let is_sorted = joined.is_sorted && !plain.group.is_empty();
        let (input, columns) = self.joined(joined, around, Wanted::Columns, is_sorted)?;
        let sources = [columns];
        let frame = Frame::new(&sources, around);
        let keys = self.place_all(&frame, &plain.group)?;
        let filter = all(self.place_all(&frame, &plain.having)?);
        let outputs = self.place_all(&frame, exprs)?;
        let input = Box::new(input);
        let operator = Operator::Aggregate { keys, is_sorted, filter, input };
        Ok(Node { operator, outputs, rows: whole(plan.rows) })
    }

    /// Drops duplicates, in the block's order.
    fn distinct_sorted(&mut self, block: &Block, node: Node) -> Result<Node> {
        if block.order.is_empty() {
            return Ok(distinct(node));
        }
        let mut keys = output_keys(&block.order, &node)?;
        let width = node.outputs.len();
        for at in 0..width {
            let value = column_of(&node, at);
            if !keys.iter().any(|key| key.value == value) {
                keys.push(SortKey { value, descending: false, nulls_first: false });
            }
        }
        let sorted = passing(|input| Operator::Sort { keys, input }, node);
        Ok(passing(|input| Operator::Unique { input }, sorted))
    }

    fn sorted_by_outputs(&mut self, block: &Block, node: Node) -> Result<Node> {
        if block.order.is_empty() {
            return Ok(node);
        }
        let keys = output_keys(&block.order, &node)?;
        Ok(passing(|input| Operator::Sort { keys, input }, node))
    }
}

/// Groups by all columns.
fn distinct(input: Node) -> Node {
    let types: Vec<SqlType> = input.outputs.iter().map(|output| output.sql_type.clone()).collect();
    let keys = passed(&types);
    passing(|input| Operator::Aggregate { keys, is_sorted: false, filter: None, input }, input)
}

fn column_of(node: &Node, at: usize) -> Expr {
    crate::expression::column(0, at, &node.outputs[at].sql_type)
}

fn output_keys(order: &[OrderItem], node: &Node) -> Result<Vec<SortKey>> {
    let key = |item: &OrderItem| match item.by {
        By::Output(at) if at < node.outputs.len() => {
            let (descending, nulls_first) = (item.descending, item.nulls_first);
            Ok(SortKey { value: column_of(node, at), descending, nulls_first })
        }
        _ => refuse("ORDER BY of distinct rows or of sets may only contain output columns"),
    };
    order.iter().map(key).collect()
}

/// The outputs of a block, followed by the sort keys that are not among them, and the place of each
/// key. If the rows are sorted already, the keys are not needed.
fn outputs_with_keys(block: &Block, plain: &Plain, is_sorted: bool) -> (Vec<Expr>, Vec<usize>) {
    let mut exprs = plain.outputs.clone();
    let mut places = Vec::new();
    if is_sorted {
        return (exprs, places);
    }
    for item in &block.order {
        match &item.by {
            By::Output(at) => places.push(*at),
            By::Expr(expr) => {
                let known =
                    exprs.iter().position(|known| known == expr && as_column(known).is_some());
                places.push(known.unwrap_or_else(|| {
                    exprs.push(expr.clone());
                    exprs.len() - 1
                }));
            }
        }
    }
    (exprs, places)
}

fn sorted(order: &[OrderItem], places: &[usize], node: Node) -> Node {
    let key = |(item, &at): (&OrderItem, &usize)| SortKey {
        value: column_of(&node, at),
        descending: item.descending,
        nulls_first: item.nulls_first,
    };
    let keys = order.iter().zip(places).map(key).collect();
    passing(|input| Operator::Sort { keys, input }, node)
}
