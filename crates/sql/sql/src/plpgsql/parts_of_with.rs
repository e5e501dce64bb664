//! The parts of a statement with changes in `WITH`: the queries that they share, and the tables
//! that they use.

use crate::catalog::{Catalog, ReferentialAction};
use crate::expression::Expr;
use crate::query::{From, FromKind, InsertSource, Join, OnConflict, Query, Select};
use crate::resolve::ident_name;
use crate::walk::{Scopes, visit_expr, visit_from, visit_select};
use sqlparser::ast::{self, SetExpr, Visit};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Whether a query of `WITH` changes rows.
pub(super) fn changes_rows(named: &ast::Cte) -> bool {
    matches!(&*named.query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_))
}

/// Whether the `WITH` of a statement changes rows.
pub(crate) fn has_changes(statement: &ast::Statement) -> bool {
    let ast::Statement::Query(query) = statement else { return false };
    query.with.iter().any(|with| with.cte_tables.iter().any(changes_rows))
}

/// The uses of a query of `WITH`.
#[derive(Clone, Copy, Default)]
pub(super) struct Uses {
    /// Whether another part of the statement names it.
    pub is_named: bool,
    /// Whether it reads rows for a change and for another part of the statement. It must not run
    /// twice: it may draw values, and changes come in between.
    pub is_held: bool,
}

/// The uses of each query of the `WITH` of a statement.
pub(super) fn uses_of_queries(query: &ast::Query) -> Vec<Uses> {
    let all = query.with.as_ref().map_or(&[][..], |with| &with.cte_tables);
    let names: Vec<String> = all.iter().map(|one| ident_name(&one.alias.name)).collect();
    let uses = |part: &dyn Fn(&mut BTreeSet<String>), before: usize| {
        let mut found = BTreeSet::new();
        part(&mut found);
        Vec::from_iter((0..before).filter(|&at| found.contains(&names[at])))
    };
    let direct: Vec<Vec<usize>> = all
        .iter()
        .enumerate()
        .map(|(at, named)| uses(&|found| add_relations(&*named.query, found), at))
        .collect();
    let whole = uses(
        &|found| {
            add_relations(&*query.body, found);
            query.order_by.iter().for_each(|order| add_relations(order, found));
            query.limit_clause.iter().for_each(|limit| add_relations(limit, found));
        },
        all.len(),
    );
    let mut found = vec![Uses::default(); all.len()];
    direct.iter().chain([&whole]).flatten().for_each(|&at| found[at].is_named = true);
    let mut users = vec![(0, false); all.len()];
    let parts = (0..all.len()).filter(|&at| changes_rows(&all[at]));
    for (first, is_change) in parts.map(|at| (&direct[at], true)).chain([(&whole, false)]) {
        let (mut reached, mut waiting) = (BTreeSet::new(), first.clone());
        while let Some(at) = waiting.pop() {
            if !changes_rows(&all[at]) && reached.insert(at) {
                waiting.extend(&direct[at]);
            }
        }
        for at in reached {
            users[at] = (users[at].0 + 1, users[at].1 | is_change);
        }
    }
    for (uses, (count, has_change)) in found.iter_mut().zip(users) {
        uses.is_held = count > 1 && has_change;
    }
    found
}

/// Adds the names of the tables and queries in a part of a statement.
fn add_relations(part: &impl Visit, found: &mut BTreeSet<String>) {
    let _: ControlFlow<()> = ast::visit_relations(part, |name| {
        if let [ast::ObjectNamePart::Identifier(own)] = &name.0[..] {
            found.insert(ident_name(own));
        }
        ControlFlow::Continue(())
    });
}

/// A change of the rows of a table.
#[derive(Clone, PartialEq, Eq)]
enum Change {
    Insert,
    /// Of these columns.
    Update(Vec<usize>),
    Delete,
}

/// The tables whose rows a query changes, with those that foreign keys change then.
pub(super) fn changed_tables(catalog: &Catalog, query: &Query) -> BTreeSet<usize> {
    let columns = |assignments: &[(usize, Option<Expr>)]| {
        Change::Update(assignments.iter().map(|(column, _)| *column).collect())
    };
    let first = match query {
        Query::Select(_) => return BTreeSet::new(),
        Query::Insert(insert) => match &insert.on_conflict {
            Some(OnConflict::DoUpdate(update)) => (insert.table, columns(&update.assignments)),
            _ => (insert.table, Change::Insert),
        },
        Query::Update(update) => (update.table, columns(&update.assignments)),
        Query::Delete(delete) => (delete.table, Change::Delete),
    };
    let (mut all, mut at) = (vec![first], 0);
    while let Some((table, change)) = all.get(at).cloned() {
        for next in referrers_changed(catalog, table, &change) {
            if !all.contains(&next) {
                all.push(next);
            }
        }
        at += 1;
    }
    all.into_iter().map(|(table, _)| table).collect()
}

/// The tables whose foreign keys change their rows after a change of this one.
fn referrers_changed(catalog: &Catalog, changed: usize, change: &Change) -> Vec<(usize, Change)> {
    let mut found = Vec::new();
    for (at, table) in catalog.tables.iter().enumerate() {
        for key in table.foreign_keys.iter().filter(|key| key.table == changed) {
            let action = match change {
                Change::Delete => &key.on_delete,
                Change::Update(columns) if key.references.iter().any(|of| columns.contains(of)) => {
                    &key.on_update
                }
                Change::Insert | Change::Update(_) => continue,
            };
            found.extend(match action {
                ReferentialAction::NoAction | ReferentialAction::Restrict => None,
                ReferentialAction::Cascade if *change == Change::Delete => {
                    Some((at, Change::Delete))
                }
                ReferentialAction::Cascade => Some((at, Change::Update(key.columns.clone()))),
                ReferentialAction::SetNull(columns) | ReferentialAction::SetDefault(columns) => {
                    Some((at, Change::Update(columns.clone())))
                }
            });
        }
    }
    found
}

/// The tables whose rows a query reads or changes.
pub(super) fn used_tables(catalog: &Catalog, query: &Query) -> BTreeSet<usize> {
    let mut tables = Tables(changed_tables(catalog, query));
    tables.visit(query);
    tables.0
}

/// The tables whose rows a query reads.
struct Tables(BTreeSet<usize>);

impl Tables {
    fn visit(&mut self, query: &Query) {
        match query {
            Query::Select(select) => visit_select(self, select),
            Query::Insert(insert) => {
                match &insert.source {
                    InsertSource::Values(rows) => self.exprs(rows.iter().flatten().flatten()),
                    InsertSource::Select(select, _) => visit_select(self, select),
                }
                if let Some(OnConflict::DoUpdate(update)) = &insert.on_conflict {
                    self.assigned(&update.assignments);
                    self.exprs(&update.filter);
                }
                self.exprs(insert.returning.iter().map(|one| &one.expr));
            }
            Query::Update(update) => {
                self.beside(&update.sources, &update.joins);
                self.assigned(&update.assignments);
                self.exprs(&update.filter);
                self.exprs(update.returning.iter().map(|one| &one.expr));
            }
            Query::Delete(delete) => {
                self.beside(&delete.sources, &delete.joins);
                self.exprs(&delete.filter);
                self.exprs(delete.returning.iter().map(|one| &one.expr));
            }
        }
    }

    /// The sources beside the changed table, which is the first one.
    fn beside(&mut self, sources: &[From], joins: &[Join]) {
        sources[1..].iter().for_each(|source| self.source(source));
        visit_from(self, sources, joins);
    }

    fn assigned(&mut self, assignments: &[(usize, Option<Expr>)]) {
        self.exprs(assignments.iter().filter_map(|(_, value)| value.as_ref()));
    }

    fn exprs<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        exprs.into_iter().for_each(|expr| visit_expr(self, expr));
    }
}

impl Scopes for Tables {
    fn source(&mut self, source: &From) {
        match &source.kind {
            FromKind::Table(table) => drop(self.0.insert(*table)),
            FromKind::Query(query) => visit_select(self, query),
            FromKind::Windows(windows) => visit_select(self, &windows.query),
            FromKind::Recursive(recursion) => {
                visit_select(self, &recursion.first);
                visit_select(self, &recursion.step);
            }
            // It is visited in the scope that it sees.
            FromKind::Lateral(_)
            | FromKind::Call(_)
            | FromKind::Unnest(_)
            | FromKind::Series(_)
            | FromKind::WorkTable(_) => {}
        }
    }

    fn enter(&mut self, _: &[From]) {}

    fn leave(&mut self) {}

    fn subquery(&mut self, query: &Select) {
        visit_select(self, query);
    }

    fn expr(&mut self, _: &Expr) {}
}
