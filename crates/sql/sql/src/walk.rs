//! Visits the statements and expressions of routines, and the parts of queries.

use crate::expression::{Expr, ExprKind};
use crate::procedure::{Block, Body, Formula, Over, Procedure, Sql, Statement, StatementKind};
use crate::query::{From, FromKind, Join, OrderBy, Plain, Query, Select, SelectBody};

/// Calls `visit` with each SQL statement of a routine.
pub fn for_each_sql(routine: &Procedure, visit: &mut dyn FnMut(&Query)) {
    let mut walk =
        Walk { sql: &mut |sql| visit(&sql.query), formula: &mut |_| {}, called: &mut |_| {} };
    walk.body(&routine.body);
}

/// Calls `visit` with each expression of a routine that is no SQL statement.
pub fn for_each_formula(routine: &Procedure, visit: &mut dyn FnMut(&Expr)) {
    let formula = &mut |formula: &Formula| visit(&formula.expr);
    let mut walk = Walk { sql: &mut |_| {}, formula, called: &mut |_| {} };
    walk.body(&routine.body);
}

/// Calls `visit` with the name of each routine whose body is in a routine, in the place of a call.
pub fn for_each_called(routine: &Procedure, visit: &mut dyn FnMut(&str)) {
    let mut walk = Walk { sql: &mut |_| {}, formula: &mut |_| {}, called: visit };
    walk.body(&routine.body);
}

/// Visits the parts of queries, each in the scope in which the resolver has numbered its columns.
pub trait Scopes {
    /// A source of `FROM`, in the scope around its query: a query there sees no sources beside it.
    /// [`visit_select`] goes into a query.
    fn source(&mut self, source: &From);

    /// The scope of a query with these sources begins.
    fn enter(&mut self, sources: &[From]);

    /// It ends.
    fn leave(&mut self);

    /// A query inside of an expression.
    fn subquery(&mut self, query: &Select);

    /// An expression, before its parts.
    fn expr(&mut self, expr: &Expr);
}

/// Visits a query.
pub fn visit_select(scopes: &mut impl Scopes, select: &Select) {
    match &select.body {
        SelectBody::Plain(plain) => {
            visit_plain(scopes, plain, select);
            return;
        }
        SelectBody::Values { rows, .. } => {
            scopes.enter(&[]);
            rows.iter().flatten().for_each(|value| visit_expr(scopes, value));
            scopes.leave();
        }
        SelectBody::Set { left, right, .. } => {
            visit_select(scopes, left);
            visit_select(scopes, right);
        }
    }
    scopes.enter(&[]);
    select.limit.iter().chain(&select.offset).for_each(|value| visit_expr(scopes, value));
    scopes.leave();
}

fn visit_plain(scopes: &mut impl Scopes, plain: &Plain, select: &Select) {
    plain.sources.iter().for_each(|source| scopes.source(source));
    scopes.enter(&plain.sources);
    visit_from(scopes, &plain.sources, &plain.joins);
    let outputs = plain.outputs.iter().map(|output| &output.expr);
    let conditions = plain.filter.iter().chain(&plain.group).chain(&plain.having);
    outputs.chain(conditions).for_each(|value| visit_expr(scopes, value));
    for key in &select.order {
        if let OrderBy::Expr(value) = &key.by {
            visit_expr(scopes, value);
        }
    }
    select.limit.iter().chain(&select.offset).for_each(|value| visit_expr(scopes, value));
    scopes.leave();
}

/// Visits what is evaluated in the scope of these sources: the conditions of joins, and the
/// arguments of functions, which may name columns of sources beside them.
pub fn visit_from(scopes: &mut impl Scopes, sources: &[From], joins: &[Join]) {
    for source in sources {
        match &source.kind {
            FromKind::Unnest(values) | FromKind::Series(values) => {
                values.iter().for_each(|value| visit_expr(scopes, value));
            }
            FromKind::Call(call) => {
                call.arguments.iter().for_each(|value| visit_expr(scopes, value));
            }
            FromKind::Lateral(query) => scopes.subquery(query),
            FromKind::Table(_)
            | FromKind::Query(_)
            | FromKind::Windows(_)
            | FromKind::Recursive(_)
            | FromKind::WorkTable(_) => {}
        }
    }
    joins.iter().for_each(|join| visit_join(scopes, join));
}

fn visit_join(scopes: &mut impl Scopes, join: &Join) {
    if let Join::Pair { left, right, condition, .. } = join {
        visit_join(scopes, left);
        visit_join(scopes, right);
        condition.iter().for_each(|value| visit_expr(scopes, value));
    }
}

/// Visits an expression of the present scope.
pub fn visit_expr(scopes: &mut impl Scopes, expr: &Expr) {
    scopes.expr(expr);
    if let ExprKind::Subquery { query, .. } = &expr.kind {
        scopes.subquery(query);
    }
    expr.for_each_child(&mut |child| visit_expr(scopes, child));
}

struct Walk<'v> {
    sql: &'v mut dyn FnMut(&Sql),
    formula: &'v mut dyn FnMut(&Formula),
    called: &'v mut dyn FnMut(&str),
}

impl Walk<'_> {
    fn body(&mut self, body: &Body) {
        match body {
            Body::Block(block) => self.block(block),
            Body::Statements { statements, .. } => statements.iter().for_each(&mut *self.sql),
        }
    }

    fn block(&mut self, block: &Block) {
        block
            .declarations
            .iter()
            .filter_map(|(_, value)| value.as_ref())
            .for_each(&mut *self.formula);
        self.statements(&block.statements);
    }

    fn statements(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.statement(&statement.kind));
    }

    fn statement(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::Block(block) => self.block(block),
            StatementKind::Called(called) => {
                (self.called)(&called.routine);
                self.block(&called.block);
            }
            StatementKind::Assign { value, .. } => (self.formula)(value),
            StatementKind::Sql { sql, .. }
            | StatementKind::Perform(sql)
            | StatementKind::ReturnQuery(sql, _) => (self.sql)(sql),
            StatementKind::If { branches, otherwise } => {
                self.branches(branches);
                self.statements(otherwise);
            }
            StatementKind::Case { operand, branches, otherwise } => {
                operand.iter().for_each(|(_, value)| (self.formula)(value));
                self.branches(branches);
                otherwise.iter().for_each(|statements| self.statements(statements));
            }
            StatementKind::Loop { over, body, .. } => {
                self.over(over);
                self.statements(body);
            }
            StatementKind::Leave { when: value, .. }
            | StatementKind::Return(value)
            | StatementKind::ReturnNext(value) => value.iter().for_each(&mut *self.formula),
            StatementKind::Raise(raise) => {
                let more = raise.detail.iter().chain(&raise.hint).chain(&raise.code);
                raise.values.iter().chain(more).for_each(&mut *self.formula);
            }
            StatementKind::Execute(dynamic, _) | StatementKind::ReturnExecute(dynamic, _) => {
                dynamic.formulas().for_each(&mut *self.formula);
            }
            StatementKind::Cursor(cursor) => {
                cursor.sql().into_iter().for_each(&mut *self.sql);
                cursor.formulas().for_each(&mut *self.formula);
            }
            StatementKind::Protected(protected) => {
                protected.parts().for_each(|statements| self.statements(statements));
            }
            StatementKind::GetRowCount(_)
            | StatementKind::GetDiagnostics(_)
            | StatementKind::Reraise
            | StatementKind::RollBack
            | StatementKind::Nothing => {}
        }
    }

    fn branches(&mut self, branches: &[(Formula, Vec<Statement>)]) {
        for (condition, statements) in branches {
            (self.formula)(condition);
            self.statements(statements);
        }
    }

    fn over(&mut self, over: &Over) {
        match over {
            Over::Forever => {}
            Over::While(condition) => (self.formula)(condition),
            Over::Range { from, to, by, .. } => {
                [from, to].into_iter().chain(by).for_each(&mut *self.formula);
            }
            Over::Rows { sql, .. } => (self.sql)(sql),
            Over::Dynamic(dynamic, _) => dynamic.formulas().for_each(&mut *self.formula),
            Over::Cursor(open, _) => {
                open.sql().into_iter().for_each(&mut *self.sql);
                open.formulas().for_each(&mut *self.formula);
            }
            Over::Elements { array, .. } => (self.formula)(array),
        }
    }
}
