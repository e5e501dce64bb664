//! `FROM`: sources, joins, and the sub-selects that are merged into their query.

use super::{Converter, Meaning};
use crate::block::{Body, Item, List, RelationKind};
use crate::error::Result;
use crate::expression::{as_column, has_sub_plan, is_volatile};
use crate::set::RelationSet;
use crate::window::order_of;
use sql::SqlType;
use sql::query::{From, FromKind, Join, JoinKind, RoutineCall};
use std::collections::BTreeSet;

impl Converter {
    /// Converts the sources of a query; also returns the relations of each. The conditions of its
    /// joins are added by [`Self::join_conditions`], once the sources are visible.
    pub(super) fn sources(
        &mut self,
        sources: &[From],
        joins: &[Join],
    ) -> Result<(Vec<Meaning>, List, Vec<RelationSet>)> {
        let mut nullable = BTreeSet::new();
        joins.iter().for_each(|join| note_nullable(join, false, &mut nullable));
        let mut read = Vec::with_capacity(sources.len());
        let mut meanings = Vec::with_capacity(sources.len());
        let mut items = Vec::with_capacity(sources.len());
        for (at, source) in sources.iter().enumerate() {
            let (meaning, item) = self.source(source, nullable.contains(&at), &meanings)?;
            read.push(item.relations());
            meanings.push(meaning);
            items.push(Some(item));
        }
        let trees = joins.iter().map(|join| tree(join, &mut items)).collect();
        Ok((meanings, List { items: trees, filter: Vec::new() }, read))
    }

    /// As [`Self::sources`], for a statement that changes source 0, which the caller has converted.
    pub(crate) fn changed_sources(
        &mut self,
        sources: &[From],
        joins: &[Join],
    ) -> Result<(Vec<Meaning>, List)> {
        let mut nullable = BTreeSet::new();
        joins.iter().for_each(|join| note_nullable(join, false, &mut nullable));
        let mut meanings = vec![Meaning::Exprs(Vec::new())];
        let mut items = vec![None];
        for (at, source) in sources.iter().enumerate().skip(1) {
            let (meaning, item) = self.source(source, nullable.contains(&at), &meanings)?;
            meanings.push(meaning);
            items.push(Some(item));
        }
        let trees = joins.iter().map(|join| tree(join, &mut items)).collect();
        Ok((meanings, List { items: trees, filter: Vec::new() }))
    }

    /// Converts a source. Functions and `LATERAL` sub-selects see the sources `before` them; other
    /// sub-selects see the columns of enclosing queries only.
    fn source(
        &mut self,
        source: &From,
        is_nullable: bool,
        before: &[Meaning],
    ) -> Result<(Meaning, Item)> {
        let mut types: Vec<SqlType> =
            source.columns.iter().map(|field| field.sql_type.clone()).collect();
        let kind = match &source.kind {
            FromKind::Table(table) => {
                self.add_hidden(*table, &mut types);
                RelationKind::Table(*table)
            }
            FromKind::Query(select) => {
                let block = self.select(select)?;
                if let Some((outputs, from)) = self.merged(block, is_nullable) {
                    if is_nullable {
                        self.note_nullable(from.relations());
                    }
                    return Ok((Meaning::Exprs(outputs), Item::List(from)));
                }
                RelationKind::Query(block)
            }
            FromKind::Lateral(select) => {
                let block = self.within(before.to_vec(), |converter| converter.select(select))?;
                // Below an outer join, and with joins or sub-selects of its own, parts of it would
                // not see the sources before it.
                let merged = self.merged(block, false).filter(|(_, from)| {
                    let is_relation = |item: &Item| matches!(item, Item::Relation(_));
                    from.items.iter().all(is_relation) && !from.filter.iter().any(has_sub_plan)
                });
                if let Some((outputs, from)) = merged.filter(|_| !is_nullable) {
                    return Ok((Meaning::Exprs(outputs), Item::List(from)));
                }
                RelationKind::Query(block)
            }
            FromKind::Windows(windows) => {
                let block = self.select(&windows.query)?;
                if let Some(first) = windows.calls.first() {
                    self.logical.blocks[block].order = order_of(&first.window);
                }
                RelationKind::Windows(block, windows.calls.clone())
            }
            FromKind::Unnest(arrays) => {
                let arrays = self.within(before.to_vec(), |converter| converter.exprs(arrays))?;
                RelationKind::Unnest(arrays)
            }
            FromKind::Series(bounds) => {
                let bounds = self.within(before.to_vec(), |converter| converter.exprs(bounds))?;
                RelationKind::Series(bounds)
            }
            FromKind::Recursive(recursion) => {
                let (first, step) = (self.select(&recursion.first)?, self.select(&recursion.step)?);
                let (first, step) = (self.united(first, &types)?, self.united(step, &types)?);
                let (number, keeps_all) = (recursion.number, recursion.keeps_all);
                RelationKind::Recursive { number, first, step, keeps_all }
            }
            FromKind::WorkTable(number) => RelationKind::WorkTable(*number),
            FromKind::Call(call) => {
                let exprs = &call.arguments;
                let arguments = self.within(before.to_vec(), |converter| converter.exprs(exprs))?;
                RelationKind::Call(RoutineCall { arguments, ..RoutineCall::clone(call) })
            }
        };
        let relation = self.relation(kind, types)?;
        if is_nullable {
            self.note_nullable(RelationSet::of(relation));
        }
        Ok((Meaning::Relation(relation), Item::Relation(relation)))
    }

    /// Returns outputs and relations of a sub-select that can be merged into its query. Under an
    /// outer join its columns must be plain, because they become null without a match.
    fn merged(
        &mut self,
        block: usize,
        is_nullable: bool,
    ) -> Option<(Vec<sql::expression::Expr>, List)> {
        let block = &self.logical.blocks[block];
        let Body::Plain(plain) = &block.body else { return None };
        let is_bare = block.order.is_empty()
            && block.limit.is_none()
            && block.offset.is_none()
            && block.lock.is_none();
        let is_simple = !plain.is_grouped && !plain.distinct && !plain.from.items.is_empty();
        let own = plain.from.relations();
        let is_plain = plain.outputs.iter().all(|output| match is_nullable {
            true => as_column(output).is_some_and(|(source, _)| own.contains(source)),
            false => !is_volatile(output) && !has_sub_plan(output),
        });
        (is_bare && is_simple && is_plain).then(|| (plain.outputs.clone(), plain.from.clone()))
    }

    /// Adds the conditions of joins to their tree.
    pub(crate) fn join_conditions(&mut self, from: &mut List, joins: &[Join]) -> Result<()> {
        for (item, join) in from.items.iter_mut().zip(joins) {
            self.conditions(item, join)?;
        }
        Ok(())
    }

    fn conditions(&mut self, item: &mut Item, join: &Join) -> Result<()> {
        let Join::Pair { left, right, kind, condition } = join else { return Ok(()) };
        let added = self.conjuncts(condition.as_ref())?;
        match item {
            Item::List(list) if *kind == JoinKind::Inner => {
                list.filter.extend(added);
                if let [one, other] = &mut list.items[..] {
                    self.conditions(one, left)?;
                    self.conditions(other, right)?;
                }
            }
            Item::Left { left: one, right: other, on } => {
                on.extend(added);
                let (first, second) =
                    if *kind == JoinKind::Right { (right, left) } else { (left, right) };
                self.conditions(one, first)?;
                self.conditions(other, second)?;
            }
            Item::Full { left: one, right: other, on } => {
                on.extend(added);
                self.conditions(one, left)?;
                self.conditions(other, right)?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Notes the sources whose columns an outer join may replace by nulls.
fn note_nullable(join: &Join, is_nullable: bool, nullable: &mut BTreeSet<usize>) {
    match join {
        Join::Source(source) => {
            if is_nullable {
                nullable.insert(*source);
            }
        }
        Join::Pair { left, right, kind, .. } => {
            let of_left = matches!(kind, JoinKind::Right | JoinKind::Full);
            let of_right = matches!(kind, JoinKind::Left | JoinKind::Full);
            note_nullable(left, is_nullable || of_left, nullable);
            note_nullable(right, is_nullable || of_right, nullable);
        }
    }
}

/// Builds the tree of a join, without conditions. A right join becomes a left join.
fn tree(join: &Join, items: &mut [Option<Item>]) -> Item {
    match join {
        Join::Source(source) => {
            items.get_mut(*source).and_then(Option::take).unwrap_or(Item::List(List::default()))
        }
        Join::Pair { left, right, kind, .. } => {
            let (left, right) = (tree(left, items), tree(right, items));
            let on = Vec::new();
            match kind {
                JoinKind::Inner => Item::List(List { items: vec![left, right], filter: on }),
                JoinKind::Left => Item::Left { left: Box::new(left), right: Box::new(right), on },
                JoinKind::Right => Item::Left { left: Box::new(right), right: Box::new(left), on },
                JoinKind::Full => Item::Full { left: Box::new(left), right: Box::new(right), on },
            }
        }
    }
}
