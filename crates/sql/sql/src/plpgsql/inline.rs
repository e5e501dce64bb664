//! Calls of routines: the body of the called routine is compiled in the place of the call, as a
//! block in front of the statement with the call. It has variables and statements of its own in the
//! calling routine.
//!
//! Decision: docs/decisions/0363-calls-of-routines-are-replaced-by-their-bodies.md

use super::{Assigned, Compiler, Enclosing};
use crate::error::{Error, ErrorKind, Result};
use crate::errors::Findings;
use crate::expression::{BinaryOperator, Expr, ExprKind, Test};
use crate::procedure::{
    Block, Called, Dynamic, DynamicInto, Formula, Into, Level, Over, Parameter, ParameterMode,
    Raise, Returns, RoutineKind, Sql, Statement, StatementKind, Target, Volatility,
};
use crate::query::{From, FromKind, InsertSource, OnConflict, Query, Select};
use crate::resolve::PendingCall;
use crate::resolve::names::Names;
use crate::routine::{Callee, body_tokens};
use crate::source::Source;
use crate::token::{Cursor, tokenize};
use crate::types::{Field, SqlType};
use crate::walk::{Scopes, visit_expr, visit_select};
use sqlparser::tokenizer::Span;
use std::collections::BTreeSet;
use std::mem::{replace, take};

/// Maximum number of calls inside of each other.
const DEPTH_MAX: usize = 16;
/// Maximum number of calls in a routine, with those inside of called ones.
const CALLS_MAX: usize = 200;
/// Maximum number of statements of a routine, with those of called ones.
const STATEMENTS_MAX: usize = 2_000;
/// The label of the block that `RETURN` of a called routine leaves. No name has this character.
const RETURN: &str = "\0return";

/// The state of calls in a routine.
#[derive(Default)]
pub(crate) struct Inlining {
    /// The routines that are being compiled, each with a call of the next one.
    names: Vec<String>,
    /// Number of calls so far.
    calls: usize,
    /// Number of statements so far that change or lock rows.
    pub(super) writes: usize,
    /// The variable `found`, which all bodies share.
    pub(crate) found: usize,
    /// The variables that the called routine returns into; `None` in the routine itself.
    pub(crate) results: Option<Vec<usize>>,
    /// Whether the routine is a function, or one calls it.
    pub(crate) is_function: bool,
    /// The parameters of the called routine.
    parameters: Vec<Parameter>,
}

impl Inlining {
    /// Begins the routine called `name`.
    pub(crate) fn begin(&mut self, name: &str) {
        *self = Self { names: vec![name.to_owned()], ..Self::default() };
    }
}

/// The parts of the compiler that belong to the calling routine.
struct Caller<'a> {
    source: &'a Source,
    cursor: Cursor<'a>,
    names: Names,
    procedure: String,
    returns: Returns,
    has_outputs: bool,
    assigned: Assigned,
    enclosing: Vec<Enclosing>,
    findings: Findings,
    lost: BTreeSet<String>,
    before: Vec<Statement>,
    results: Option<Vec<usize>>,
    is_function: bool,
    parameters: Vec<Parameter>,
}

impl<'a> Compiler<'a> {
    /// Puts the bodies of calls in front of the present statement. Returns whether one of them
    /// changes rows.
    pub(super) fn inline_all(&mut self, calls: Vec<PendingCall>) -> Result<bool> {
        let mut next = self.variables.len();
        for call in &calls {
            for sql_type in &call.results {
                self.add_variable("result", sql_type.clone(), call.span);
            }
        }
        let mut writes = false;
        for call in calls {
            let results: Vec<usize> = (next..next + call.results.len()).collect();
            next += results.len();
            let before = (self.inlining.writes, self.statements.len());
            let (routine, span) = (call.routine, call.span);
            let reads = call.arguments.iter().chain(&call.guard).any(Expr::has_subquery);
            self.check_reads(writes, reads, span)?;
            self.inline(call, &results)?;
            let callee = &self.callee(routine, span)?.signature;
            let is_stable = callee.volatility != Volatility::Volatile;
            if writes && is_stable && self.statements.len() > before.1 {
                // Its queries see the rows from before the statement.
                let what = "a call of a STABLE function behind one that changes rows";
                return Err(self.outside(span, what, "call it into a variable first"));
            }
            let has_written = self.inlining.writes > before.0;
            if is_stable && has_written {
                let name = &callee.name;
                let what = format!("a change of rows in `{name}`, which is not VOLATILE,");
                return Err(self.outside(span, &what, "declare the function VOLATILE"));
            }
            writes |= has_written;
        }
        Ok(writes)
    }

    fn callee(&self, at: usize, span: Span) -> Result<&'a Callee> {
        let called = self.called.map(|called| called.get(at));
        called.ok_or_else(|| self.outside(span, "a call of a routine", "write its statements"))
    }

    fn inline(&mut self, call: PendingCall, results: &[usize]) -> Result<()> {
        let callee = self.callee(call.routine, call.span)?;
        let name = callee.signature.name.clone();
        self.check_room(&name, call.span)?;
        let line = self.line(call.span);
        let caller = self.enter(callee, results)?;
        let read = self.called_block(call.arguments, results);
        let found = self.leave_routine(caller);
        let block = match (found, read) {
            (Some(error), _) | (None, Err(error)) => {
                return Err(self.of_callee(error, &name, call.span));
            }
            (None, Ok(block)) => block,
        };
        let kind = StatementKind::Called(Called { routine: name, block });
        let called = Statement { line, kind };
        match call.guard {
            None => self.before.push(called),
            Some(guard) => {
                let condition = self.numbered(guard, line)?;
                for &result in results {
                    let null = Expr::new(ExprKind::Null, self.variables[result].sql_type.clone());
                    let kind = assign(result, null);
                    self.before.push(Statement { line, kind });
                }
                let branches = vec![(condition, vec![called])];
                let kind = StatementKind::If { branches, otherwise: Vec::new() };
                self.before.push(Statement { line, kind });
            }
        }
        Ok(())
    }

    /// Refuses a call if its routine would become too long.
    fn check_room(&mut self, name: &str, span: Span) -> Result<()> {
        self.inlining.calls += 1;
        let what = if self.inlining.names.len() > DEPTH_MAX {
            format!("more than {DEPTH_MAX} calls inside of each other, such as that of `{name}`,")
        } else if self.inlining.calls > CALLS_MAX {
            format!("more than {CALLS_MAX} calls, with those in called routines,")
        } else if self.statements.len() > STATEMENTS_MAX {
            format!("more than {STATEMENTS_MAX} statements, with those of called routines,")
        } else {
            return Ok(());
        };
        Err(self.outside(span, &what, "divide the work between several calls of the client"))
    }

    /// Begins to compile a called routine.
    fn enter(&mut self, callee: &'a Callee, results: &[usize]) -> Result<Caller<'a>> {
        let source = &callee.source;
        let tokens = tokenize(source, 0, source.text())?;
        let cursor = Cursor::new(source, tokens, source.text().len());
        self.inlining.names.push(callee.signature.name.clone());
        let mut names = Names::in_file(self.inlining.names.clone().into());
        names.has_own_plans = true;
        Ok(Caller {
            source: replace(&mut self.source, source),
            cursor: replace(&mut self.cursor, cursor),
            names: replace(&mut self.names, names),
            procedure: take(&mut self.procedure),
            returns: replace(&mut self.returns, Returns::Nothing),
            has_outputs: self.has_outputs,
            assigned: replace(&mut self.assigned, Assigned::initial()),
            enclosing: take(&mut self.enclosing),
            findings: take(&mut self.findings),
            lost: take(&mut self.lost),
            before: take(&mut self.before),
            results: self.inlining.results.replace(results.to_vec()),
            is_function: self.inlining.is_function,
            parameters: take(&mut self.inlining.parameters),
        })
    }

    /// Continues with the calling routine. Returns the first error of the called one.
    fn leave_routine(&mut self, caller: Caller<'a>) -> Option<Error> {
        self.inlining.names.pop();
        self.source = caller.source;
        self.cursor = caller.cursor;
        self.names = caller.names;
        self.procedure = caller.procedure;
        self.returns = caller.returns;
        self.has_outputs = caller.has_outputs;
        self.assigned = caller.assigned;
        self.enclosing = caller.enclosing;
        self.lost = caller.lost;
        self.before = caller.before;
        self.inlining.results = caller.results;
        self.inlining.is_function = caller.is_function;
        self.inlining.parameters = caller.parameters;
        let findings = replace(&mut self.findings, caller.findings);
        findings.into_result(()).err().map(|errors| errors.first().clone())
    }

    /// The error of a called routine, at the call.
    fn of_callee(&self, error: Error, name: &str, span: Span) -> Error {
        let sentence = format!("in the routine `{name}`, line {}: {}", error.line, error.sentence);
        let mut own = Error::at(self.source, span, error.kind, sentence).advise(error.advice);
        if own.kind == ErrorKind::Syntax {
            // The place and piece of a syntax error would be those of the call.
            own.kind = ErrorKind::Outside;
        }
        own.is_late = error.is_late || matches!(own.kind, ErrorKind::Name | ErrorKind::Type);
        own.postgres = error.postgres;
        if let Some(postgres) = &mut own.postgres
            && postgres.detail.is_empty()
        {
            postgres.detail = format!("The error is in the routine \"{name}\".");
        }
        own
    }

    /// The block of a call: the parameters with the arguments, then the body.
    fn called_block(&mut self, arguments: Vec<Expr>, results: &[usize]) -> Result<Block> {
        let line = self.line(self.cursor.span());
        let header = self.header()?;
        self.procedure = header.name.clone();
        self.returns = header.returns.clone();
        self.has_outputs = header.has_outputs;
        self.inlining.is_function |= header.kind == RoutineKind::Function;
        self.inlining.parameters.clone_from(&header.parameters);
        let mut declarations = Vec::new();
        let mut arguments = arguments.into_iter();
        for parameter in &header.parameters {
            let value = match parameter.mode {
                ParameterMode::Out => None,
                ParameterMode::In | ParameterMode::InOut => arguments.next(),
            };
            let value = value.map(|value| self.numbered(value, line)).transpose()?;
            declarations.push((parameter.variable, value));
        }
        for &result in results {
            let empty = match &self.returns {
                Returns::Rows(_) => ExprKind::Array(Vec::new()),
                _ => ExprKind::Null,
            };
            let expr = Expr::new(empty, self.variables[result].sql_type.clone());
            declarations.push((result, Some(Formula { expr, number: None })));
        }
        let (tokens, end) = body_tokens(self.source, &header.body)?;
        self.cursor = Cursor::new(self.source, tokens, end);
        let mut statements = match header.is_sql() {
            true => self.sql_statements()?,
            false => self.called_body(results, line)?,
        };
        let is_null = header.parameters.iter().filter(|one| one.mode != ParameterMode::Out);
        let is_null = is_null.map(|one| self.is_null(one.variable)).reduce(or);
        if let Some(is_null) = is_null.filter(|_| header.is_strict) {
            let branches = vec![(Formula { expr: is_null, number: None }, Vec::new())];
            let kind = StatementKind::If { branches, otherwise: statements };
            statements = vec![Statement { line, kind }];
        }
        Ok(Block { label: None, declarations, statements })
    }

    /// A body in `plpgsql`.
    fn called_body(&mut self, results: &[usize], line: u32) -> Result<Vec<Statement>> {
        self.names.declare("found", self.inlining.found);
        let block = self.body()?;
        let mut statements = vec![Statement { line, kind: StatementKind::Block(block) }];
        if !self.has_outputs && matches!(self.returns, Returns::Value(_) | Returns::Row(_)) {
            statements.push(Statement { line, kind: no_return() });
        }
        let block = Block { label: Some(RETURN.to_owned()), declarations: Vec::new(), statements };
        let mut all = vec![Statement { line, kind: StatementKind::Block(block) }];
        if self.has_outputs
            && let [result] = results[..]
            && !matches!(self.returns, Returns::Rows(_))
        {
            let mut outputs = self.outputs_of(&self.inlining.parameters);
            let value = match &self.returns {
                Returns::Value(_) => outputs.remove(0),
                _ => Expr::new(ExprKind::Row(outputs), self.variables[result].sql_type.clone()),
            };
            all.push(Statement { line, kind: assign(result, value) });
        }
        Ok(all)
    }

    /// The values of the output parameters.
    fn outputs_of(&self, parameters: &[Parameter]) -> Vec<Expr> {
        let outputs = parameters.iter().filter(|one| one.mode != ParameterMode::In);
        outputs.map(|one| self.value_of(one.variable)).collect()
    }

    fn value_of(&self, variable: usize) -> Expr {
        Expr::new(ExprKind::Variable(variable), self.variables[variable].sql_type.clone())
    }

    fn is_null(&self, variable: usize) -> Expr {
        let operand = Box::new(self.value_of(variable));
        Expr::boolean(ExprKind::Is { operand, test: Test::Null, negated: false })
    }

    /// A formula of an expression that is no text of its own.
    pub(super) fn numbered(&mut self, expr: Expr, line: u32) -> Result<Formula> {
        let number = match expr.has_subquery() {
            true => Some(self.embed("SELECT", &[], &[])?),
            false => None,
        };
        if let Some(last) = self.statements.last_mut().filter(|_| number.is_some()) {
            last.line = line;
        }
        Ok(Formula { expr, number })
    }

    /// `RETURN` with or without a value.
    pub(super) fn return_from(&mut self, value: Option<Formula>, span: Span) -> StatementKind {
        let Some(results) = &self.inlining.results else { return StatementKind::Return(value) };
        let line = self.line(span);
        let mut statements = Vec::new();
        if let (Some(value), [result]) = (value, &results[..]) {
            let kind = StatementKind::Assign { target: Target::Variable(*result), value };
            statements.push(Statement { line, kind });
        }
        let label = Some(RETURN.to_owned());
        let kind = StatementKind::Leave { label, continues: false, when: None };
        statements.push(Statement { line, kind });
        self.assigned = Assigned::unreachable();
        StatementKind::Block(Block { label: None, declarations: Vec::new(), statements })
    }

    /// `RETURN NEXT`: a called routine collects the columns of its rows in arrays.
    pub(super) fn next_row(
        &mut self,
        value: Option<(Formula, SqlType)>,
        span: Span,
    ) -> StatementKind {
        let Some(results) = self.inlining.results.clone() else {
            return StatementKind::ReturnNext(value.map(|(value, _)| value));
        };
        let line = self.line(span);
        let mut statements = Vec::new();
        let values = match value {
            None => self.outputs_of(&self.inlining.parameters),
            Some((value, sql_type)) => {
                let row = self.add_variable("row", sql_type.clone(), span);
                let target = Target::Variable(row);
                let kind = StatementKind::Assign { target, value };
                statements.push(Statement { line, kind });
                match sql_type {
                    SqlType::Record(fields) => {
                        let field = |(at, of): (usize, Field)| {
                            Expr::new(ExprKind::Field { variable: row, field: at }, of.sql_type)
                        };
                        fields.into_iter().enumerate().map(field).collect()
                    }
                    _ => vec![self.value_of(row)],
                }
            }
        };
        statements.extend(self.appended(&results, values, line));
        StatementKind::Block(Block { label: None, declarations: Vec::new(), statements })
    }

    /// `RETURN QUERY`, and the last statement of a function in `sql` that returns rows.
    pub(crate) fn query_rows(&mut self, sql: Sql, columns: Vec<Expr>, span: Span) -> StatementKind {
        let Some(results) = self.inlining.results.clone() else {
            return StatementKind::ReturnQuery(sql, columns);
        };
        let line = self.line(span);
        let (mut targets, mut values) = (Vec::new(), Vec::new());
        for column in columns {
            let variable = self.add_variable("column", column.sql_type.clone(), span);
            targets.push((Target::Variable(variable), column));
            values.push(self.value_of(variable));
        }
        let body = self.appended(&results, values, line);
        let over = Over::Rows { into: Into { is_strict: false, targets }, sql };
        StatementKind::Loop { label: None, over, body }
    }

    /// `RETURN QUERY EXECUTE`
    pub(super) fn dynamic_rows(
        &mut self,
        dynamic: Dynamic,
        types: Vec<SqlType>,
        span: Span,
    ) -> StatementKind {
        let Some(results) = self.inlining.results.clone() else {
            return StatementKind::ReturnExecute(dynamic, types);
        };
        let line = self.line(span);
        let (mut targets, mut values) = (Vec::new(), Vec::new());
        for sql_type in types {
            let variable = self.add_variable("column", sql_type.clone(), span);
            targets.push((Target::Variable(variable), sql_type));
            values.push(self.value_of(variable));
        }
        let body = self.appended(&results, values, line);
        let over = Over::Dynamic(dynamic, DynamicInto { is_strict: false, targets });
        StatementKind::Loop { label: None, over, body }
    }

    /// Adds values to the columns of the rows that the called routine returns.
    pub(super) fn appended(
        &self,
        results: &[usize],
        values: Vec<Expr>,
        line: u32,
    ) -> Vec<Statement> {
        let append = |(&result, value): (&usize, Expr)| {
            let rows = self.value_of(result);
            let sql_type = rows.sql_type.clone();
            let function = crate::function::Function::ArrayAppend;
            let arguments = vec![rows, value];
            let expr = Expr::new(ExprKind::Function { function, arguments }, sql_type);
            Statement { line, kind: assign(result, expr) }
        };
        results.iter().zip(values).map(append).collect()
    }

    /// Refuses a statement with a call that changes rows, if it also reads rows: those from before
    /// the call.
    pub(super) fn check_reads(&self, writes: bool, reads: bool, span: Span) -> Result<()> {
        if !writes || !reads {
            return Ok(());
        }
        let what = "a sub-select beside a call that changes rows";
        Err(self.outside(span, what, "call it into a variable first"))
    }
}

/// Whether a query reads rows, beside those that its calls return.
pub(super) fn reads_rows(query: &Query) -> bool {
    let mut reads = Reads(false);
    match query {
        Query::Select(select) => visit_select(&mut reads, select),
        Query::Insert(insert) => {
            match &insert.source {
                InsertSource::Values(rows) => {
                    rows.iter().flatten().flatten().for_each(|value| visit_expr(&mut reads, value));
                }
                InsertSource::Select(select, _) => visit_select(&mut reads, select),
            }
            if let Some(OnConflict::DoUpdate(update)) = &insert.on_conflict {
                let values = update.assignments.iter().filter_map(|(_, value)| value.as_ref());
                values.chain(&update.filter).for_each(|value| visit_expr(&mut reads, value));
            }
            insert.returning.iter().for_each(|output| visit_expr(&mut reads, &output.expr));
        }
        Query::Update(_) | Query::Delete(_) => return true,
    }
    reads.0
}

/// Whether a source or a sub-select was found.
struct Reads(bool);

impl Scopes for Reads {
    fn source(&mut self, source: &From) {
        self.0 |= match &source.kind {
            FromKind::Table(_)
            | FromKind::Query(_)
            | FromKind::Lateral(_)
            | FromKind::Windows(_)
            | FromKind::Call(_)
            | FromKind::Recursive(_)
            | FromKind::WorkTable(_) => true,
            FromKind::Unnest(_) | FromKind::Series(_) => false,
        };
    }

    fn enter(&mut self, _: &[From]) {}

    fn leave(&mut self) {}

    fn subquery(&mut self, _: &Select) {
        self.0 = true;
    }

    fn expr(&mut self, _: &Expr) {}
}

/// `variable := expr`
pub(super) fn assign(variable: usize, expr: Expr) -> StatementKind {
    let value = Formula { expr, number: None };
    StatementKind::Assign { target: Target::Variable(variable), value }
}

fn or(left: Expr, right: Expr) -> Expr {
    binary(BinaryOperator::Or, left, right)
}

/// A condition on two values.
pub(super) fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    let (left, right) = (Box::new(left), Box::new(right));
    Expr::new(ExprKind::Binary { operator, left, right }, SqlType::Bool)
}

/// The error at the end of a function without `RETURN`.
fn no_return() -> StatementKind {
    failing("2F005", "control reached end of function without RETURN")
}

/// A statement that fails.
pub(super) fn failing(sqlstate: &str, message: &str) -> StatementKind {
    StatementKind::Raise(Raise {
        level: Level::Exception,
        sqlstate: sqlstate.to_owned(),
        code: None,
        message: vec![message.to_owned()],
        values: Vec::new(),
        detail: None,
        hint: None,
    })
}
