//! Collects what a plan omits from its statement: numbers of `LIMIT`, rows of `VALUES`, locks,
//! column names, and how the rows of a sub-select are used.
//!
//! Decisions:
//! - docs/decisions/0166-what-a-plan-does-not-say-is-not-guessed.md
//! - docs/decisions/0179-sub-selects-of-a-plan-are-matched-by-their-tables.md

use super::scope::{ScopeRow, Visible};
use sql::Catalog;
use sql::expression::{Expr, ExprKind, SubqueryKind};
use sql::procedure::{Body, Formula, Over, Procedure, Sql, Statement, StatementKind, Target};
use sql::query::{From, FromKind, InsertSource, Query, RowLock, Select, SelectBody};

/// A statement that has a plan.
#[derive(Clone, Copy)]
pub(super) enum Planned<'a> {
    Query(&'a Query),
    /// An expression that contains sub-selects.
    Formula(&'a Expr),
}

/// A sub-select in an expression.
#[derive(Clone, Copy)]
pub(super) struct Subselect<'a> {
    pub(super) kind: &'a SubqueryKind,
    pub(super) query: &'a Select,
}

/// A list of `VALUES` with more than one row, which gets a node of its own.
pub(super) struct ValueList<'a> {
    pub(super) rows: Vec<Vec<ListValue<'a>>>,
}

/// A value in such a list.
#[derive(Clone, Copy)]
pub(super) enum ListValue<'a> {
    Written(&'a Expr),
    /// The default of a column: positions of table and column.
    Default(usize, usize),
}

#[derive(Default)]
pub(super) struct StatementFacts<'a> {
    /// The query whose rows are the result, or are inserted.
    pub(super) main: Option<&'a Select>,
    /// All other queries of the statement.
    pub(super) others: Vec<&'a Select>,
    /// All `FROM` items of the statement.
    pub(super) sources: Vec<&'a From>,
    main_sources: &'a [From],
    pub(super) subselects: Vec<Subselect<'a>>,
    pub(super) lists: Vec<ValueList<'a>>,
    /// Whether the statement has a `min` or `max`, which PostgreSQL may read from an index.
    pub(super) has_extreme: bool,
    /// The tables that the statement locks: alias, and position in the catalog.
    pub(super) locked: Vec<(String, usize)>,
    pub(super) lock: Option<RowLock>,
}

impl<'a> StatementFacts<'a> {
    pub(super) fn of(planned: Planned<'a>) -> Self {
        let mut facts = StatementFacts::default();
        match planned {
            Planned::Formula(expr) => facts.expr(expr),
            Planned::Query(Query::Select(select)) => {
                facts.main(select);
            }
            Planned::Query(Query::Insert(insert)) => {
                match &insert.source {
                    InsertSource::Values(rows) => facts.insert_values(insert.table, insert, rows),
                    InsertSource::Select(select, _) => {
                        facts.main(select);
                    }
                }
                insert.returning.iter().for_each(|output| facts.expr(&output.expr));
            }
            Planned::Query(Query::Update(update)) => {
                facts.main_sources = &update.sources;
                facts.froms(&update.sources, &update.joins);
                update
                    .assignments
                    .iter()
                    .filter_map(|(_, value)| value.as_ref())
                    .for_each(|value| facts.expr(value));
                update.filter.iter().for_each(|filter| facts.expr(filter));
                update.returning.iter().for_each(|output| facts.expr(&output.expr));
            }
            Planned::Query(Query::Delete(delete)) => {
                facts.main_sources = &delete.sources;
                facts.froms(&delete.sources, &delete.joins);
                delete.filter.iter().for_each(|filter| facts.expr(filter));
                delete.returning.iter().for_each(|output| facts.expr(&output.expr));
            }
        }
        facts
    }

    /// Returns the `FROM` items of the main query, in text order.
    pub(super) fn main_sources(&self) -> &'a [From] {
        self.main_sources
    }

    /// Returns the columns of all `FROM` items, named with and without the alias.
    pub(super) fn rows(&self) -> Vec<ScopeRow> {
        let row = |source: &&From| {
            let named = source.columns.iter().flat_map(|field| {
                [Some(source.alias.clone()), None].map(|relation| Visible {
                    shown: postgres_plan::Expression::Column {
                        relation,
                        column: field.name.clone(),
                    },
                    sql_type: field.sql_type.clone(),
                })
            });
            named.collect()
        };
        self.sources.iter().map(row).collect()
    }

    /// Whether any query except the main one has an `ORDER BY`.
    pub(super) fn has_inner_order(&self) -> bool {
        self.others.iter().any(|select| !select.order.is_empty())
    }

    fn main(&mut self, select: &'a Select) {
        self.main = Some(select);
        if let SelectBody::Plain(plain) = &select.body {
            self.main_sources = &plain.sources;
        }
        self.select(select);
    }

    fn insert_values(
        &mut self,
        table: usize,
        insert: &'a sql::query::Insert,
        rows: &'a [Vec<Option<Expr>>],
    ) {
        rows.iter().flatten().flatten().for_each(|value| self.expr(value));
        if rows.len() < 2 {
            return;
        }
        let value = |(value, &column): (&'a Option<Expr>, &usize)| match value {
            Some(value) => ListValue::Written(value),
            None => ListValue::Default(table, column),
        };
        let row = |row: &'a Vec<Option<Expr>>| row.iter().zip(&insert.columns).map(value).collect();
        self.lists.push(ValueList { rows: rows.iter().map(row).collect() });
    }

    fn other(&mut self, select: &'a Select) {
        self.others.push(select);
        self.select(select);
    }

    fn select(&mut self, select: &'a Select) {
        match &select.body {
            SelectBody::Plain(plain) => {
                self.froms(&plain.sources, &plain.joins);
                let outputs = plain.outputs.iter().map(|output| &output.expr);
                let parts =
                    plain.filter.iter().chain(&plain.group).chain(&plain.having).chain(outputs);
                parts.for_each(|expr| self.expr(expr));
                if let Some(lock) = select.lock {
                    let before = self.lock.unwrap_or(lock);
                    let strength = before.strength.max(lock.strength);
                    self.lock = Some(RowLock { strength, ..lock });
                    self.lock_sources(&plain.sources);
                }
            }
            SelectBody::Values { rows, .. } => {
                rows.iter().flatten().for_each(|value| self.expr(value));
                if rows.len() > 1 {
                    let row = |row: &'a Vec<Expr>| row.iter().map(ListValue::Written).collect();
                    self.lists.push(ValueList { rows: rows.iter().map(row).collect() });
                }
            }
            SelectBody::Set { left, right, .. } => {
                self.other(left);
                self.other(right);
            }
        }
        for key in &select.order {
            if let sql::query::OrderBy::Expr(expr) = &key.by {
                self.expr(expr);
            }
        }
        select.limit.iter().chain(&select.offset).for_each(|expr| self.expr(expr));
    }

    fn lock_sources(&mut self, sources: &'a [From]) {
        for source in sources {
            match &source.kind {
                FromKind::Table(table) => self.locked.push((source.alias.clone(), *table)),
                FromKind::Query(select) => {
                    if let SelectBody::Plain(plain) = &select.body {
                        self.lock_sources(&plain.sources);
                    }
                }
                FromKind::Lateral(_)
                | FromKind::Windows(_)
                | FromKind::Unnest(_)
                | FromKind::Series(_)
                | FromKind::Call(_)
                | FromKind::Recursive(_)
                | FromKind::WorkTable(_) => {}
            }
        }
    }

    fn froms(&mut self, sources: &'a [From], joins: &'a [sql::query::Join]) {
        for source in sources {
            self.sources.push(source);
            match &source.kind {
                FromKind::Table(_) | FromKind::WorkTable(_) => {}
                FromKind::Recursive(recursion) => {
                    self.other(&recursion.first);
                    self.other(&recursion.step);
                }
                FromKind::Query(select) | FromKind::Lateral(select) => self.other(select),
                FromKind::Windows(windows) => self.other(&windows.query),
                FromKind::Unnest(values) | FromKind::Series(values) => {
                    values.iter().for_each(|value| self.expr(value));
                }
                FromKind::Call(call) => {
                    call.arguments.iter().for_each(|value| self.expr(value));
                }
            }
        }
        joins.iter().for_each(|join| self.join(join));
    }

    fn join(&mut self, join: &'a sql::query::Join) {
        if let sql::query::Join::Pair { left, right, condition, .. } = join {
            condition.iter().for_each(|condition| self.expr(condition));
            self.join(left);
            self.join(right);
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        expr.visit(&mut |part| match &part.kind {
            ExprKind::Subquery { kind, query } => {
                self.subselects.push(Subselect { kind, query });
                self.other(query);
            }
            ExprKind::Aggregate {
                aggregate: sql::expression::Aggregate::Min | sql::expression::Aggregate::Max,
                ..
            } => {
                self.has_extreme = true;
            }
            _ => {}
        });
    }
}

/// Returns the sorted names of the tables that a query reads, sub-selects included.
pub(super) fn tables_of(select: &Select, catalog: &Catalog) -> Vec<String> {
    let mut facts = StatementFacts::default();
    facts.select(select);
    let name = |source: &&From| match source.kind {
        FromKind::Table(table) => Some(catalog.tables[table].name.clone()),
        _ => None,
    };
    let mut names: Vec<String> = facts.sources.iter().filter_map(name).collect();
    names.sort();
    names
}

/// Returns statement `number` of a procedure.
pub(super) fn planned(procedure: &Procedure, number: u32) -> Option<Planned<'_>> {
    let mut finder = Finder { number, found: None };
    match &procedure.body {
        Body::Block(block) => finder.block(block),
        Body::Statements { statements, .. } => statements.iter().for_each(|sql| finder.sql(sql)),
    }
    finder.found
}

/// Finds a statement by its number.
struct Finder<'a> {
    number: u32,
    found: Option<Planned<'a>>,
}

impl<'a> Finder<'a> {
    fn sql(&mut self, sql: &'a Sql) {
        if sql.number == self.number {
            self.found = Some(Planned::Query(&sql.query));
        }
    }

    fn formula(&mut self, formula: &'a Formula) {
        if formula.number == Some(self.number) {
            self.found = Some(Planned::Formula(&formula.expr));
        }
    }

    fn target(&mut self, target: &'a Target) {
        if let Target::Element { index, .. } = target {
            self.formula(index);
        }
    }

    fn block(&mut self, block: &'a sql::procedure::Block) {
        block
            .declarations
            .iter()
            .filter_map(|(_, value)| value.as_ref())
            .for_each(|value| self.formula(value));
        self.statements(&block.statements);
    }

    fn statements(&mut self, statements: &'a [Statement]) {
        statements.iter().for_each(|statement| self.statement(&statement.kind));
    }

    fn statement(&mut self, kind: &'a StatementKind) {
        match kind {
            StatementKind::Block(block) => self.block(block),
            StatementKind::Called(called) => self.block(&called.block),
            StatementKind::Assign { target, value } => {
                self.target(target);
                self.formula(value);
            }
            StatementKind::Sql { sql, into } => {
                self.sql(sql);
                into.iter()
                    .flat_map(|into| &into.targets)
                    .for_each(|(target, _)| self.target(target));
            }
            StatementKind::Perform(sql) | StatementKind::ReturnQuery(sql, _) => self.sql(sql),
            StatementKind::If { branches, otherwise } => {
                self.branches(branches);
                self.statements(otherwise);
            }
            StatementKind::Case { operand, branches, otherwise } => {
                operand.iter().for_each(|(_, value)| self.formula(value));
                self.branches(branches);
                otherwise.iter().for_each(|statements| self.statements(statements));
            }
            StatementKind::Loop { over, body, .. } => {
                self.over(over);
                self.statements(body);
            }
            StatementKind::Leave { when, .. } => when.iter().for_each(|when| self.formula(when)),
            StatementKind::Return(value) | StatementKind::ReturnNext(value) => {
                value.iter().for_each(|value| self.formula(value));
            }
            StatementKind::Raise(raise) => {
                let parts = raise.values.iter().chain(&raise.detail).chain(&raise.hint);
                parts.chain(&raise.code).for_each(|value| self.formula(value));
            }
            StatementKind::GetRowCount(targets) => {
                targets.iter().for_each(|(target, _)| self.target(target));
            }
            StatementKind::Execute(dynamic, into) => {
                dynamic.formulas().for_each(|value| self.formula(value));
                let targets = into.iter().flat_map(|into| &into.targets);
                targets.for_each(|(target, _)| self.target(target));
            }
            StatementKind::ReturnExecute(dynamic, _) => {
                dynamic.formulas().for_each(|value| self.formula(value));
            }
            StatementKind::Cursor(cursor) => {
                cursor.sql().into_iter().for_each(|sql| self.sql(sql));
                cursor.formulas().for_each(|value| self.formula(value));
                cursor.targets().for_each(|target| self.target(target));
            }
            StatementKind::GetDiagnostics(parts) => {
                parts.iter().for_each(|(_, target, _)| self.target(target));
            }
            StatementKind::Protected(protected) => {
                protected.parts().for_each(|statements| self.statements(statements));
            }
            StatementKind::Reraise | StatementKind::RollBack | StatementKind::Nothing => {}
        }
    }

    fn branches(&mut self, branches: &'a [(Formula, Vec<Statement>)]) {
        for (condition, statements) in branches {
            self.formula(condition);
            self.statements(statements);
        }
    }

    fn over(&mut self, over: &'a Over) {
        match over {
            Over::Forever => {}
            Over::While(condition) => self.formula(condition),
            Over::Range { from, to, by, .. } => {
                [from, to].into_iter().chain(by).for_each(|bound| self.formula(bound));
            }
            Over::Rows { into, sql } => {
                self.sql(sql);
                into.targets.iter().for_each(|(target, _)| self.target(target));
            }
            Over::Dynamic(dynamic, into) => {
                dynamic.formulas().for_each(|value| self.formula(value));
                into.targets.iter().for_each(|(target, _)| self.target(target));
            }
            Over::Cursor(open, into) => {
                open.sql().into_iter().for_each(|sql| self.sql(sql));
                open.formulas().for_each(|value| self.formula(value));
                into.targets.iter().for_each(|(target, _)| self.target(target));
            }
            Over::Elements { target, array, .. } => {
                self.target(target);
                self.formula(array);
            }
        }
    }
}
