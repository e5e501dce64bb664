//! Compiles PL/pgSQL to a list of steps.

use super::{ahead, collect};
use crate::ahead::Ahead;
use crate::plan::{Execution, Output, Outputs, Statement};
use crate::program::{
    Conversion, CursorOpen, CursorStep, Dynamic, DynamicInto, Expression, Handler, Into,
    OpenedRows, Over, Program, Raise, Step, Target,
};
use sql::cursors::{self, CursorRows, CursorStatement};
use sql::expression::{ColumnRef, Expr, ExprKind};
use sql::procedure::{
    self, Block, Body, Formula, ParameterMode, Procedure, Returns, RoutineKind, StatementKind,
    Variable,
};
use sql::{Field, SqlType};
use sql_value::Formula as Compiled;

/// Compiles the body of a procedure; its statements are compiled already.
pub(super) fn compile(
    procedure: &Procedure,
    statements: Vec<Statement>,
    has_calls: bool,
) -> Program {
    let mut compiler = Compiler::default();
    let outputs = procedure.parameters.iter();
    let outputs = outputs.filter(|parameter| parameter.mode != ParameterMode::In);
    let outputs: Vec<usize> = outputs.map(|parameter| parameter.variable).collect();
    let width = match &procedure.returns {
        Returns::Nothing => 0,
        Returns::Value(_) => 1,
        Returns::Row(fields) | Returns::Rows(fields) => fields.len(),
    };
    let mut found = None;
    match &procedure.body {
        Body::Block(block) => {
            found = Some(procedure.parameters.len());
            compiler.block(block);
            let may_end = !outputs.is_empty()
                || procedure.kind == RoutineKind::Procedure
                || matches!(procedure.returns, Returns::Nothing | Returns::Rows(_));
            compiler.steps.push(if may_end { Step::Return(None) } else { Step::NoReturn });
        }
        Body::Statements { statements, results } => compiler.sql_body(statements, results),
    }
    let has_handlers = compiler.steps.iter().any(|step| matches!(step, Step::Protect { .. }));
    for step in &mut compiler.steps {
        if let Step::Statement { number, into: Some(into) } = step {
            let statement = &statements[*number];
            let found = direct(statement, &procedure.variables, into);
            into.direct = found.filter(|_| !has_handlers || assigns_at_once(statement, into));
        }
    }
    let has_texts = compiler.steps.iter().any(has_text);
    let rolls_back = compiler.steps.iter().any(|step| matches!(step, Step::RollBack));
    let has_cursors = compiler.steps.iter().any(has_cursor);
    let mut program = Program {
        name: procedure.name.clone(),
        parameters: procedure.parameters.clone(),
        variables: procedure.variables.clone(),
        returns: procedure.returns.clone(),
        is_strict: procedure.is_strict,
        width,
        // A computed text may change anything.
        writes: has_texts || statements.iter().any(|statement| statement.writes),
        has_texts,
        statements,
        has_handlers,
        has_cursors,
        rolls_back,
        steps: compiler.steps,
        labels: compiler.labels,
        loops: compiler.loops,
        found,
        outputs,
        ahead: Ahead::default(),
        is_guarded: false,
    };
    if !has_texts && !has_calls && !has_cursors {
        ahead::note(&mut program);
    }
    program
}

/// Whether a step runs a statement with a computed text.
fn has_text(step: &Step) -> bool {
    let opened = match step {
        Step::Cursor(CursorStep::Open(open)) => Some(open),
        Step::Start { over: Over::Cursor(open), .. } => Some(&**open),
        _ => None,
    };
    matches!(
        step,
        Step::Execute(..) | Step::ReturnText(..) | Step::Start { over: Over::Text(..), .. }
    ) || opened.is_some_and(|open| matches!(open.rows, OpenedRows::Text(_)))
}

fn has_cursor(step: &Step) -> bool {
    matches!(step, Step::Cursor(_) | Step::Start { over: Over::Cursor(_), .. })
}

/// Whether a row that is read directly into variables changes all of them, or none: a handler of
/// errors sees their values.
fn assigns_at_once(statement: &Statement, into: &Into) -> bool {
    let Outputs::List(list) = &statement.root.outputs else { return false };
    let is_column = |output: &Output| matches!(output, Output::Column(_) | Output::Unused);
    !into.is_strict && (into.targets.len() < 2 || list.outputs.iter().all(is_column))
}

/// Returns the variables into which a statement's row can be read directly, with their columns.
fn direct(
    statement: &Statement,
    variables: &[Variable],
    into: &Into,
) -> Option<Vec<(usize, usize)>> {
    let Outputs::List(list) = &statement.root.outputs else { return None };
    if statement.execution != Execution::Keyed {
        return None;
    }
    let pair = |(target, conversion): &(Target, Conversion)| match (target, conversion) {
        (Target::Variable(variable), Conversion::Same(column))
            if *column < list.outputs.len()
                && !variables[*variable].is_not_null
                && !statement.looked_at.contains(variable) =>
        {
            Some((*variable, *column))
        }
        _ => None,
    };
    into.targets.iter().map(pair).collect()
}

/// A target of `EXIT` and `CONTINUE`.
struct Enclosing {
    label: Option<String>,
    /// The label of the next iteration; `None` for blocks.
    next: Option<usize>,
    end: usize,
    /// The step that ends it when control leaves it, if it has a state.
    leaving: Option<Leaving>,
}

/// The state that ends when control leaves loops and blocks.
#[derive(Clone, Copy)]
enum Leaving {
    Loop(usize),
    /// The statements of a block with handlers.
    Protected,
    Handler,
}

impl Leaving {
    fn step(self) -> Step {
        match self {
            Self::Loop(place) => Step::End(place),
            Self::Protected => Step::Unprotect,
            Self::Handler => Step::EndHandler,
        }
    }
}

#[derive(Default)]
struct Compiler {
    steps: Vec<Step>,
    labels: Vec<usize>,
    loops: usize,
    enclosing: Vec<Enclosing>,
}

impl Compiler {
    fn sql_body(&mut self, statements: &[procedure::Sql], results: &[Expr]) {
        let Some((last, before)) = statements.split_last() else { return };
        for sql in before {
            self.steps.push(Step::Statement { number: at(sql), into: None });
        }
        let conversions = results.iter().map(conversion).collect();
        self.steps.push(Step::Deliver { number: at(last), conversions });
    }

    /// Creates a label without a position.
    fn label(&mut self) -> usize {
        self.labels.push(usize::MAX);
        self.labels.len() - 1
    }

    /// Places the label before the next step.
    fn set(&mut self, label: usize) {
        self.labels[label] = self.steps.len();
    }

    fn block(&mut self, block: &Block) {
        for (variable, value) in &block.declarations {
            let value = value.as_ref().map(expression);
            self.steps.push(Step::Declare { variable: *variable, value });
        }
        let end = self.label();
        let label = block.label.clone();
        self.enclosing.push(Enclosing { label, next: None, end, leaving: None });
        self.statements(&block.statements);
        self.enclosing.pop();
        self.set(end);
    }

    /// The body of a called routine, whose declarations are its parameters.
    fn called(&mut self, block: &Block) {
        for (variable, value) in &block.declarations {
            let value = value.as_ref().map(expression);
            self.steps.push(Step::Declare { variable: *variable, value });
        }
        self.steps.push(Step::Enter);
        self.statements(&block.statements);
        self.steps.push(Step::Leave);
    }

    fn statements(&mut self, statements: &[procedure::Statement]) {
        statements.iter().for_each(|statement| self.statement(&statement.kind));
    }

    fn statement(&mut self, kind: &StatementKind) {
        let step = match kind {
            StatementKind::Block(block) => return self.block(block),
            StatementKind::Called(called) => return self.called(&called.block),
            StatementKind::If { branches, otherwise } => {
                return self.branches(branches, Some(otherwise));
            }
            StatementKind::Case { operand, branches, otherwise } => {
                if let Some((variable, value)) = operand {
                    let target = Target::Variable(*variable);
                    self.steps.push(Step::Assign { target, value: expression(value) });
                }
                return self.branches(branches, otherwise.as_deref());
            }
            StatementKind::Loop { label, over, body } => {
                match collect::arrays(over, body) {
                    Some(arrays) => self.collect(over, arrays),
                    None => self.loop_statement(label.as_deref(), over, body),
                }
                return;
            }
            StatementKind::Leave { label, continues, when } => {
                return self.leave(label.as_deref(), *continues, when.as_ref());
            }
            StatementKind::Nothing => return,
            StatementKind::Assign { target: to, value } => {
                Step::Assign { target: target(to), value: expression(value) }
            }
            StatementKind::Sql { sql, into: row } => {
                Step::Statement { number: at(sql), into: row.as_ref().map(into) }
            }
            StatementKind::Perform(sql) => Step::Statement { number: at(sql), into: None },
            StatementKind::Return(value) => Step::Return(value.as_ref().map(expression)),
            StatementKind::ReturnNext(value) => Step::ReturnNext(value.as_ref().map(expression)),
            StatementKind::ReturnQuery(sql, columns) => {
                let conversions = columns.iter().map(conversion).collect();
                Step::ReturnQuery { number: at(sql), conversions }
            }
            StatementKind::Raise(raise) => Step::Raise(Raise {
                level: raise.level,
                sqlstate: raise.sqlstate.clone(),
                code: raise.code.as_ref().map(expression),
                message: raise.message.clone(),
                values: raise.values.iter().map(expression).collect(),
                detail: raise.detail.as_ref().map(expression),
                hint: raise.hint.as_ref().map(expression),
            }),
            StatementKind::Execute(text, targets) => {
                Step::Execute(dynamic(text), targets.as_ref().map(dynamic_into))
            }
            StatementKind::ReturnExecute(text, types) => {
                Step::ReturnText(dynamic(text), types.clone())
            }
            StatementKind::Cursor(statement) => Step::Cursor(cursor_step(statement)),
            StatementKind::Protected(protected) => return self.protected(protected),
            StatementKind::Reraise => Step::RaiseAgain,
            StatementKind::RollBack => Step::RollBack,
            StatementKind::GetDiagnostics(parts) => {
                let part = |(part, to, value): &(_, _, _)| (*part, target(to), conversion(value));
                Step::Diagnose(parts.iter().map(part).collect())
            }
            StatementKind::GetRowCount(targets) => {
                let pair = |(to, value): &(_, _)| (target(to), conversion(value));
                Step::RowCount(targets.iter().map(pair).collect())
            }
        };
        self.steps.push(step);
    }

    fn collect(&mut self, over: &procedure::Over, arrays: Vec<(usize, usize)>) {
        if let procedure::Over::Rows { into: row, sql } = over {
            self.steps.push(Step::Collect { number: at(sql), into: into(row), arrays });
        }
    }

    /// Statements with handlers of their errors.
    fn protected(&mut self, protected: &procedure::Protected) {
        let (handlers, end) = (self.label(), self.label());
        self.steps.push(Step::Protect { handlers, end });
        self.inside(Leaving::Protected, &protected.body);
        self.steps.push(Step::Jump(end));
        self.set(handlers);
        for handler in &protected.handlers {
            let next = self.label();
            let (sqlstate, sqlerrm) = (protected.sqlstate, protected.sqlerrm);
            let conditions = handler.conditions.clone();
            let caught = Handler { conditions, sqlstate, sqlerrm };
            self.steps.push(Step::Catch { handler: caught, next });
            self.inside(Leaving::Handler, &handler.statements);
            self.steps.push(Step::Jump(end));
            self.set(next);
        }
        self.steps.push(Step::Uncaught);
        self.set(end);
    }

    /// Statements with a state that ends behind them, and when control leaves them.
    fn inside(&mut self, leaving: Leaving, statements: &[procedure::Statement]) {
        let end = self.label();
        let leaves = Some(leaving);
        self.enclosing.push(Enclosing { label: None, next: None, end, leaving: leaves });
        self.statements(statements);
        self.enclosing.pop();
        self.set(end);
        self.steps.push(leaving.step());
    }

    /// Runs the first branch whose condition holds. If none does and there is no `ELSE`, a `CASE`
    /// fails with `case not found`.
    fn branches(
        &mut self,
        branches: &[(Formula, Vec<procedure::Statement>)],
        otherwise: Option<&[procedure::Statement]>,
    ) {
        let end = self.label();
        for (condition, statements) in branches {
            let next = self.label();
            self.steps.push(Step::Unless(expression(condition), next));
            self.statements(statements);
            self.steps.push(Step::Jump(end));
            self.set(next);
        }
        match otherwise {
            Some(statements) => self.statements(statements),
            None => self.steps.push(Step::NoCase),
        }
        self.set(end);
    }

    fn loop_statement(
        &mut self,
        label: Option<&str>,
        over: &procedure::Over,
        body: &[procedure::Statement],
    ) {
        let (next, end) = (self.label(), self.label());
        let place = self.start(over);
        self.set(next);
        match (over, place) {
            (procedure::Over::While(condition), _) => {
                self.steps.push(Step::Unless(expression(condition), end));
            }
            (procedure::Over::Cursor(_, targets), Some(place)) => {
                self.steps.push(Step::NextRow { place, into: dynamic_into(targets), end });
            }
            (over, Some(place)) => {
                self.steps.push(Step::Next { place, into: loop_into(over), end });
            }
            (_, None) => {}
        }
        let label = label.map(str::to_owned);
        let leaving = place.map(Leaving::Loop);
        self.enclosing.push(Enclosing { label, next: Some(next), end, leaving });
        self.statements(body);
        self.enclosing.pop();
        self.steps.push(Step::Jump(next));
        self.set(end);
        if let Some(place) = place {
            self.steps.push(Step::End(place));
        }
    }

    /// Starts a loop over rows, a range or an array; returns its number.
    fn start(&mut self, over: &procedure::Over) -> Option<usize> {
        let over = match over {
            procedure::Over::Forever | procedure::Over::While(_) => return None,
            procedure::Over::Range { from, to, by, reverse, .. } => Over::Range {
                from: expression(from),
                to: expression(to),
                by: by.as_ref().map(expression),
                reverse: *reverse,
            },
            procedure::Over::Rows { sql, .. } => Over::Rows(at(sql)),
            procedure::Over::Dynamic(text, targets) => {
                Over::Text(dynamic(text), dynamic_into(targets).types)
            }
            procedure::Over::Cursor(open, _) => Over::Cursor(Box::new(cursor_open(open))),
            procedure::Over::Elements { array, .. } => Over::Elements(expression(array)),
        };
        let place = self.loops;
        self.loops += 1;
        self.steps.push(Step::Start { place, over });
        Some(place)
    }

    fn leave(&mut self, label: Option<&str>, continues: bool, when: Option<&Formula>) {
        let after = self.label();
        if let Some(condition) = when {
            self.steps.push(Step::Unless(expression(condition), after));
        }
        let is_meant = |enclosing: &Enclosing| match label {
            Some(label) => enclosing.label.as_deref() == Some(label),
            None => enclosing.next.is_some(),
        };
        let mut steps = Vec::new();
        for enclosing in self.enclosing.iter().rev() {
            if is_meant(enclosing) {
                let next = enclosing.next.filter(|_| continues);
                steps.push(Step::Jump(next.unwrap_or(enclosing.end)));
                break;
            }
            steps.extend(enclosing.leaving.map(Leaving::step));
        }
        self.steps.append(&mut steps);
        self.set(after);
    }
}

/// Returns the position of a statement in the list of all statements.
fn at(sql: &procedure::Sql) -> usize {
    sql.number as usize - 1
}

fn expression(formula: &Formula) -> Expression {
    match formula.number {
        Some(number) => Expression::Statement(number as usize - 1),
        None => Expression::Formula(Compiled::compile(&formula.expr)),
    }
}

fn target(target: &procedure::Target) -> Target {
    match target {
        procedure::Target::Variable(variable) => Target::Variable(*variable),
        procedure::Target::Field { variable, field } => {
            Target::Field { variable: *variable, field: *field }
        }
        procedure::Target::Element { variable, index } => {
            Target::Element { variable: *variable, index: expression(index) }
        }
    }
}

fn conversion(expr: &Expr) -> Conversion {
    match expr.kind {
        ExprKind::Column(ColumnRef { level: 0, source: 0, column }) => Conversion::Same(column),
        ExprKind::Row(ref fields) => Conversion::Record(Compiled::compile(expr), fields.len()),
        _ => Conversion::Formula(Compiled::compile(expr)),
    }
}

fn into(into: &procedure::Into) -> Into {
    let pair = |(to, value): &(_, _)| (target(to), conversion(value));
    let targets = into.targets.iter().map(pair).collect();
    Into { is_strict: into.is_strict, targets, direct: None }
}

fn dynamic(dynamic: &procedure::Dynamic) -> Dynamic {
    Dynamic {
        text: expression(&dynamic.text),
        values: dynamic.values.iter().map(expression).collect(),
        types: dynamic.values.iter().map(|value| value.expr.sql_type.clone()).collect(),
        is_result: dynamic.is_result,
    }
}

fn cursor_step(statement: &CursorStatement) -> CursorStep {
    match statement {
        CursorStatement::Open(open) => CursorStep::Open(cursor_open(open)),
        CursorStatement::Fetch { cursor, movement, into } => CursorStep::Fetch {
            cursor: *cursor,
            kind: movement.kind,
            count: movement.count.as_ref().map(expression),
            into: into.as_ref().map(dynamic_into),
        },
        CursorStatement::Close(cursor) => CursorStep::Close(*cursor),
        CursorStatement::Locate { cursor, table, key } => {
            CursorStep::Locate { cursor: *cursor, table: *table, key: key.clone() }
        }
    }
}

fn cursor_open(open: &cursors::CursorOpen) -> CursorOpen {
    let rows = match &open.rows {
        CursorRows::Query(sql, key) => {
            let mut fields: Vec<Field> = sql.query.outputs();
            fields.truncate(fields.len() - key.map_or(0, |key| key.count));
            OpenedRows::Query { number: at(sql), fields, table: key.map(|key| key.table) }
        }
        CursorRows::Text(text) => OpenedRows::Text(dynamic(text)),
    };
    CursorOpen { cursor: open.cursor, rows, only_forward: open.only_forward }
}

/// Returns the types of the columns, and where they go: a record takes one for each field.
fn dynamic_into(given: &procedure::DynamicInto) -> DynamicInto {
    let column = |column: usize, sql_type: &SqlType| {
        let kind = ExprKind::Column(ColumnRef { level: 0, source: 0, column });
        Expr { kind, sql_type: sql_type.clone() }
    };
    let is_strict = given.is_strict;
    if let [(to, SqlType::Record(fields))] = &given.targets[..] {
        let types: Vec<SqlType> = fields.iter().map(|field| field.sql_type.clone()).collect();
        let row = types.iter().enumerate().map(|(at, of)| column(at, of)).collect();
        let kind = ExprKind::Row(row);
        let row = Expr { kind, sql_type: SqlType::Record(fields.clone()) };
        let targets = vec![(target(to), conversion(&row))];
        return DynamicInto { types, into: Into { is_strict, targets, direct: None } };
    }
    let pair =
        |(at, (to, _)): (usize, &(procedure::Target, SqlType))| (target(to), Conversion::Same(at));
    let targets = given.targets.iter().enumerate().map(pair).collect();
    let types = given.targets.iter().map(|(_, sql_type)| sql_type.clone()).collect();
    DynamicInto { types, into: Into { is_strict, targets, direct: None } }
}

/// Returns the targets of a loop's values.
fn loop_into(over: &procedure::Over) -> Into {
    let targets = match over {
        procedure::Over::Range { variable, .. } => {
            vec![(Target::Variable(*variable), Conversion::Same(0))]
        }
        procedure::Over::Elements { target: to, element, .. } => {
            vec![(target(to), conversion(element))]
        }
        procedure::Over::Rows { into: row, .. } => return into(row),
        procedure::Over::Dynamic(_, targets) => return dynamic_into(targets).into,
        procedure::Over::Forever | procedure::Over::While(_) | procedure::Over::Cursor(..) => {
            Vec::new()
        }
    };
    Into { is_strict: false, targets, direct: None }
}
