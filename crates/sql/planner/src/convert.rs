//! From a resolved statement to blocks.
//!
//! Relations are numbered in the whole statement. A sub-select in `FROM` that only joins, filters
//! and computes columns is merged into its query, so that all relations are joined in one order.

mod computed;
mod from;

use computed::Computed;

use crate::block::{
    Block, Body, By, Item, List, Logical, OrderItem, Plain, Relation, RelationKind,
};
use crate::error::{Result, refuse};
use crate::expression::{column, conjuncts, relabelled};
use crate::set::{RELATIONS_MAX, RelationSet};
use sql::expression::{Expr, ExprKind, SubqueryKind};
use sql::query::{self, IfLocked, OrderBy, RowLock, Select, SelectBody};
use sql::{SqlType, typing};

/// The columns of a source.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    Relation(usize),
    /// The source was merged; these are its columns.
    Exprs(Vec<Expr>),
}

/// Converts a statement.
#[derive(Default)]
pub(crate) struct Converter {
    pub logical: Logical,
    /// The sources of the enclosing queries, innermost last.
    scopes: Vec<Vec<Meaning>>,
    computed: Computed,
}

impl Converter {
    /// Converts within a query level that has these sources.
    pub fn within<T>(
        &mut self,
        sources: Vec<Meaning>,
        convert: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.scopes.push(sources);
        let converted = convert(self);
        self.scopes.pop();
        converted
    }

    /// Adds a relation and returns its number.
    pub fn relation(&mut self, kind: RelationKind, types: Vec<SqlType>) -> Result<usize> {
        let number = self.logical.relations.len();
        if number == RELATIONS_MAX {
            return refuse(format!(
                "a statement has at most {RELATIONS_MAX} tables and sub-selects; split it"
            ));
        }
        self.logical.relations.push(Relation { kind, types, is_for_change: false, lock: None });
        Ok(number)
    }

    fn block(&mut self, block: Block) -> usize {
        self.logical.blocks.push(block);
        self.logical.blocks.len() - 1
    }

    /// Converts a query and returns the number of its block.
    pub fn select(&mut self, select: &Select) -> Result<usize> {
        let types: Vec<SqlType> = select.fields().into_iter().map(|field| field.sql_type).collect();
        let (body, order) = match &select.body {
            SelectBody::Plain(plain) => self.plain(plain, select)?,
            SelectBody::Values { rows, .. } => {
                let rows = self.within(Vec::new(), |converter| {
                    let row = |row: &Vec<Expr>| converter.exprs(row);
                    rows.iter().map(row).collect::<Result<Vec<_>>>()
                })?;
                (Body::Values(rows), self.order(&select.order)?)
            }
            SelectBody::Set { operation, all, left, right, columns } => {
                let inputs = [self.select(left)?, self.select(right)?];
                let common: Vec<SqlType> =
                    columns.iter().map(|field| field.sql_type.clone()).collect();
                let inputs = [self.united(inputs[0], &common)?, self.united(inputs[1], &common)?];
                let body = Body::Set { operation: *operation, all: *all, inputs };
                (body, self.order(&select.order)?)
            }
        };
        let (limit, offset) = self.within(Vec::new(), |converter| {
            Ok((converter.optional(&select.limit)?, converter.optional(&select.offset)?))
        })?;
        let lock = select.lock;
        Ok(self.block(Block { body, order, limit, offset, lock, types }))
    }

    /// Casts the columns of an input of `UNION` and others to the types common to both.
    pub(super) fn united(&mut self, input: usize, common: &[SqlType]) -> Result<usize> {
        let found = self.logical.blocks[input].types.clone();
        if found.iter().zip(common).all(|(found, common)| found.base() == common.base()) {
            return Ok(input);
        }
        let relation = self.relation(RelationKind::Query(input), found.clone())?;
        let mut outputs = Vec::with_capacity(found.len());
        for (at, (found, common)) in found.iter().zip(common).enumerate() {
            let own = column(relation, at, found);
            let Some(cast) = typing::convert(own, common, typing::Conversion::Operand) else {
                return refuse(format!(
                    "column {} of UNION, INTERSECT or EXCEPT has incompatible types; convert them with CAST",
                    at + 1
                ));
            };
            outputs.push(cast);
        }
        let from = List { items: vec![Item::Relation(relation)], filter: Vec::new() };
        let plain = Plain {
            from,
            group: Vec::new(),
            is_grouped: false,
            having: Vec::new(),
            distinct: false,
            outputs,
            extreme: None,
        };
        Ok(self.block(Block {
            body: Body::Plain(plain),
            order: Vec::new(),
            limit: None,
            offset: None,
            lock: None,
            types: common.to_vec(),
        }))
    }

    fn plain(&mut self, plain: &query::Plain, select: &Select) -> Result<(Body, Vec<OrderItem>)> {
        let (sources, mut from, read) = self.sources(&plain.sources, &plain.joins)?;
        if let Some(lock) = select.lock {
            let locked = select.locked.iter().map(|&source| read[source]);
            let locked = locked.fold(RelationSet::EMPTY, RelationSet::and);
            let is_limited = select.limit.is_some() || select.offset.is_some();
            self.mark_locked(locked, nullable(&from), (lock, is_limited))?;
        }
        self.within(sources, |converter| {
            converter.join_conditions(&mut from, &plain.joins)?;
            from.filter.extend(converter.conjuncts(plain.filter.as_ref())?);
            let group = converter.exprs(&plain.group)?;
            let having = converter.conjuncts(plain.having.as_ref())?;
            let outputs = plain.outputs.iter().map(|output| converter.expr(&output.expr));
            let outputs = outputs.collect::<Result<Vec<_>>>()?;
            let order = converter.order(&select.order)?;
            let (is_grouped, distinct) = (plain.is_grouped || !group.is_empty(), plain.distinct);
            let extreme = None;
            let plain = Plain { from, group, is_grouped, having, distinct, outputs, extreme };
            Ok((Body::Plain(plain), order))
        })
    }

    /// Marks the relations whose rows a query locks.
    fn mark_locked(
        &mut self,
        locked: RelationSet,
        nullable: RelationSet,
        (lock, is_limited): (RowLock, bool),
    ) -> Result<()> {
        if locked.meets(nullable) {
            return refuse("FOR UPDATE cannot be applied to the nullable side of an outer join");
        }
        let relations = self.logical.relations.iter_mut().enumerate();
        let mut relations: Vec<_> = relations.filter(|(at, _)| locked.contains(*at)).collect();
        let blocks = &self.logical.blocks;
        relations.retain(|(_, relation)| match relation.kind {
            RelationKind::Query(block) => !matches!(blocks[block].body, Body::Values(_)),
            _ => true,
        });
        let is_single = relations.len() == 1;
        if !is_single && is_limited && lock.if_locked == IfLocked::Skip {
            return refuse(
                "SKIP LOCKED with LIMIT over several tables is outside the supported SQL; name the table to lock, by FOR UPDATE OF",
            );
        }
        for (_, relation) in &mut relations {
            if !matches!(relation.kind, RelationKind::Table(_)) {
                return refuse(
                    "FOR UPDATE of a sub-select that is grouped, sorted or limited is outside the supported SQL; write it in the sub-select",
                );
            }
            relation.is_for_change = true;
            relation.lock = Some(lock).filter(|_| !is_single);
        }
        Ok(())
    }

    fn order(&mut self, order: &[query::OrderKey]) -> Result<Vec<OrderItem>> {
        let item = |key: &query::OrderKey| {
            let by = match &key.by {
                OrderBy::Output(output) => By::Output(*output),
                OrderBy::Expr(expr) => By::Expr(self.expr(expr)?),
            };
            Ok(OrderItem { by, descending: key.descending, nulls_first: key.nulls_first })
        };
        order.iter().map(item).collect()
    }

    pub fn exprs(&mut self, exprs: &[Expr]) -> Result<Vec<Expr>> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    fn optional(&mut self, expr: &Option<Expr>) -> Result<Option<Expr>> {
        expr.as_ref().map(|expr| self.expr(expr)).transpose()
    }

    /// Converts a condition and splits it.
    pub fn conjuncts(&mut self, condition: Option<&Expr>) -> Result<Vec<Expr>> {
        let mut parts = Vec::new();
        if let Some(condition) = condition {
            conjuncts(self.expr(condition)?, &mut parts);
        }
        Ok(parts)
    }

    /// Converts an expression of the innermost query.
    pub fn expr(&mut self, expr: &Expr) -> Result<Expr> {
        let mut expr = expr.clone();
        self.rewrite(&mut expr)?;
        Ok(expr)
    }

    fn rewrite(&mut self, expr: &mut Expr) -> Result<()> {
        let mut failed = Ok(());
        expr.for_each_child_mut(&mut |child| {
            if failed.is_ok() {
                failed = self.rewrite(child);
            }
        });
        failed?;
        match &mut expr.kind {
            ExprKind::Column(found) => {
                let level = self.scopes.len().checked_sub(1 + found.level as usize);
                let source = level.and_then(|level| self.scopes[level].get(found.source));
                let value = match source {
                    Some(Meaning::Relation(relation)) => {
                        column(*relation, found.column, &expr.sql_type)
                    }
                    Some(Meaning::Exprs(exprs)) if found.column < exprs.len() => {
                        relabelled(exprs[found.column].clone(), &expr.sql_type)
                    }
                    _ => return refuse("a column belongs to no source of the statement"),
                };
                *expr = value;
            }
            ExprKind::Subquery { kind, query } => {
                let plan = self.select(query)?;
                let kind = std::mem::replace(kind, SubqueryKind::Scalar);
                expr.kind = ExprKind::SubPlan { kind, plan };
            }
            _ => {}
        }
        if let Some(value) = self.stored(expr) {
            *expr = value;
        }
        Ok(())
    }
}

/// The relations whose columns are null where an outer join has found no row.
fn nullable(list: &List) -> RelationSet {
    list.items.iter().fold(RelationSet::EMPTY, |set, item| set.and(nullable_of(item)))
}

fn nullable_of(item: &Item) -> RelationSet {
    match item {
        Item::List(list) => nullable(list),
        Item::Left { left, right, .. } => nullable_of(left).and(right.relations()),
        Item::Full { left, right, .. } => left.relations().and(right.relations()),
        Item::Relation(_) | Item::Match { .. } => RelationSet::EMPTY,
    }
}
