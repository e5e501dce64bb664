//! The interpreter of a procedure's steps.
//!
//! Decision: docs/decisions/0184-a-procedure-is-a-list-of-steps-with-jumps-and-a-plan-node.md

use crate::bind::BoundTable;
use crate::error::{Failure, Result, plain};
use crate::frame::Frame;
use crate::program::{Ask, Conversion, Into, Over, Program, Raise, Step, Target};
use crate::rows::Rows;
use crate::run::{ALL, Run, add_waiting};
use crate::scope::{NOTHING, Source, View};
use fabric::Env;
use sql::procedure::{Level, Returns};
use sql_value::{Error, Stop, Value};
use std::borrow::Cow;
use std::sync::Arc;
use txn::Transaction;

/// A message raised by a procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    pub level: Level,
    pub message: String,
}

/// The state of a loop.
#[derive(Debug)]
enum Loop {
    Idle,
    Range { next: Option<i64>, last: i64, step: i64, entered: bool },
    Rows { rows: Rows, at: usize },
    Elements { elements: Arc<[Value]>, at: usize },
}

impl Loop {
    /// Whether at least one iteration has begun.
    fn was_entered(&self) -> bool {
        match self {
            Self::Range { entered, .. } => *entered,
            Self::Rows { at, .. } | Self::Elements { at, .. } => *at > 0,
            Self::Idle => false,
        }
    }
}

/// A running call.
pub(crate) struct Machine<'m, 'l, E: Env> {
    pub txn: &'m mut Transaction<'l, E>,
    pub tables: &'m [BoundTable],
    pub program: &'m Program,
    pub frame: &'m mut Frame,
    /// The result of the call.
    pub answer: &'m mut Rows,
    pub notices: &'m mut Vec<Notice>,
    /// Rows of the current statement.
    pub rows: &'m mut Rows,
}

impl<E: Env> Machine<'_, '_, E> {
    pub async fn run(&mut self) -> Result<()> {
        let ended = self.take_steps().await;
        if self.frame.later.keys.is_empty() || matches!(ended, Err(Failure::Txn(_))) {
            return ended;
        }
        add_waiting(self.txn, self.tables, self.frame).await?;
        ended
    }

    async fn take_steps(&mut self) -> Result<()> {
        let program = self.program;
        let mut loops: Vec<Loop> = Vec::new();
        loops.resize_with(program.loops, || Loop::Idle);
        let mut at = 0;
        while let Some(step) = program.steps.get(at) {
            at += 1;
            match step {
                Step::Assign { target: Target::Variable(variable), value } => {
                    let value = match value {
                        Ask::Formula(formula) => {
                            formula.evaluate(&self.view(&[])).map_err(stopped)?
                        }
                        ask => self.ask(ask).await?,
                    };
                    self.store_variable(*variable, value)?;
                }
                Step::Assign { target, value } => {
                    let value = self.ask(value).await?;
                    self.store(target, value).await?;
                }
                Step::Declare { variable, value } => {
                    let value = match value {
                        Some(value) => self.ask(value).await?,
                        None => Value::Null,
                    };
                    self.store_variable(*variable, value)?;
                }
                Step::Statement {
                    number,
                    into: Some(Into { is_strict, direct: Some(to), .. }),
                } => {
                    self.fetch(*number, *is_strict, to).await?;
                }
                Step::Statement { number, into } => {
                    let wanted = self.wanted(*number, into.as_ref());
                    self.carry_out(*number, wanted).await?;
                    self.take_rows(*number, into.as_ref())?;
                }
                Step::Jump(label) => at = program.labels[*label],
                Step::Unless(condition, label) => {
                    let holds = match condition {
                        Ask::Formula(formula) => formula.condition(&self.view(&[])),
                        ask => Ok(self.ask(ask).await? == Value::Bool(true)),
                    };
                    if !holds.map_err(stopped)? {
                        at = program.labels[*label];
                    }
                }
                Step::Start { place, over } => loops[*place] = self.start(over).await?,
                Step::Next { place, into, end } => {
                    if !self.next(&mut loops[*place], into)? {
                        at = program.labels[*end];
                    }
                }
                Step::End(place) => self.end(&mut loops[*place]),
                Step::Return(value) => return self.give_back(value.as_ref()).await,
                Step::ReturnNext(None) => self.add_outputs(),
                Step::ReadAhead => self.read_ahead().await?,
                rare => Box::pin(self.rare_step(rare)).await?,
            }
        }
        Ok(())
    }

    /// Executes a statement that reads its row directly into variables.
    #[inline]
    async fn fetch(
        &mut self,
        number: usize,
        is_strict: bool,
        targets: &[(usize, usize)],
    ) -> Result<()> {
        let statement = &self.program.statements[number];
        let Self { txn, tables, frame, .. } = self;
        let is_there = Run { txn, tables, frame, statement }.keyed_into(targets).await?;
        if is_strict && !is_there {
            return Err(no_row());
        }
        self.set_found(is_there);
        Ok(())
    }

    /// Executes a step that runs once per call, or for which a heap-allocated future matters
    /// little.
    async fn rare_step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::ReturnNext(Some(value)) => {
                let value = self.ask(value).await?;
                self.add_value(value);
            }
            Step::ReturnQuery { number, conversions } => {
                self.add_rows(*number, conversions, ALL).await?;
                self.set_found(self.frame.processed > 0);
            }
            Step::Deliver { number, conversions } => self.deliver(*number, conversions).await?,
            Step::Raise(raise) => self.raise(raise).await?,
            Step::RowCount(targets) => self.row_count(targets).await?,
            Step::NoCase => return Err(no_case()),
            Step::NoReturn => {
                let message = "control reached end of function without RETURN";
                return Err(plain("2F005", message));
            }
            _ => unreachable!("the machine takes all other steps itself"),
        }
        Ok(())
    }

    /// Evaluates an expression.
    #[inline]
    async fn ask(&mut self, ask: &Ask) -> Result<Value> {
        match ask {
            Ask::Formula(formula) => formula.evaluate(&self.view(&[])).map_err(stopped),
            // Boxed: expressions are evaluated often, and the future of this function should stay
            // small.
            Ask::Statement(number) => Box::pin(self.ask_statement(*number)).await,
        }
    }

    async fn ask_statement(&mut self, number: usize) -> Result<Value> {
        self.carry_out(number, 1).await?;
        let row = if self.rows.is_empty() { &[] } else { self.rows.row(0) };
        Ok(row.first().cloned().unwrap_or(Value::Null))
    }

    /// Returns the scope of expressions over a row, or over none.
    #[inline]
    pub(crate) fn view<'v>(&'v self, row: &'v [Value]) -> View<'v, E> {
        View {
            frame: self.frame,
            env: self.txn.env(),
            sources: [Source::Values(row), NOTHING],
            outer: None,
            element: &Value::Null,
        }
    }

    /// Executes a statement; its rows are then in `rows`.
    #[inline]
    async fn carry_out(&mut self, number: usize, wanted: usize) -> Result<()> {
        let statement = &self.program.statements[number];
        let Self { txn, tables, frame, rows, .. } = self;
        Run { txn, tables, frame, statement }.statement(wanted, rows).await
    }

    /// Returns how many rows of a statement are needed.
    #[inline]
    fn wanted(&self, number: usize, into: Option<&Into>) -> usize {
        match into {
            // A statement that changes rows changes all of them, however many are needed.
            Some(into) if !self.program.statements[number].writes => {
                1 + usize::from(into.is_strict)
            }
            _ => ALL,
        }
    }

    /// Assigns the row of an executed statement, and sets `FOUND`.
    #[inline]
    fn take_rows(&mut self, number: usize, into: Option<&Into>) -> Result<()> {
        let writes = self.program.statements[number].writes;
        let Some(into) = into else {
            self.set_found(self.frame.processed > 0);
            return Ok(());
        };
        let count = self.rows.len();
        if into.is_strict && count == 0 {
            return Err(no_row());
        }
        if (into.is_strict || writes) && count > 1 {
            let error = Error::new("P0003", "query returned more than one row");
            let hint = "Make sure the query returns a single row, or use LIMIT 1.";
            return Err(error.hint(hint).into());
        }
        if !writes {
            self.frame.processed = u64::from(count > 0);
        }
        let mut rows = std::mem::take(self.rows);
        let stored = match count {
            0 => self.store_nothing(into),
            _ => self.store_row(into, rows.row_mut(0)),
        };
        *self.rows = rows;
        stored?;
        self.set_found(count > 0);
        Ok(())
    }

    #[inline]
    fn set_found(&mut self, found: bool) {
        if let Some(variable) = self.program.found {
            match &mut self.frame.variables[variable] {
                Value::Bool(known) => *known = found,
                other => *other = Value::Bool(found),
            }
        }
    }

    /// Assigns the columns of a row, taking its values.
    #[inline]
    fn store_row(&mut self, into: &Into, row: &mut [Value]) -> Result<()> {
        for (target, conversion) in &into.targets {
            let value = match conversion {
                Conversion::Same(column) => std::mem::replace(&mut row[*column], Value::Null),
                Conversion::Formula(formula) | Conversion::Record(formula, _) => {
                    formula.evaluate(&self.view(row)).map_err(stopped)?
                }
            };
            self.store_now(target, value)?;
        }
        Ok(())
    }

    /// As [`Self::store_row`], for a row of one column.
    #[inline]
    fn store_only(&mut self, into: &Into, value: Value) -> Result<()> {
        match into.targets[..] {
            [(Target::Variable(variable), Conversion::Same(_))] => {
                self.store_variable(variable, value)
            }
            _ => self.store_row(into, &mut [value]),
        }
    }

    /// Assigns nulls if there is no row. A record still gets the columns of the row.
    fn store_nothing(&mut self, into: &Into) -> Result<()> {
        for (target, conversion) in &into.targets {
            let value = match conversion {
                Conversion::Record(_, width) => Value::Row(vec![Value::Null; *width].into()),
                Conversion::Same(_) | Conversion::Formula(_) => Value::Null,
            };
            self.store_now(target, value)?;
        }
        Ok(())
    }

    async fn store(&mut self, target: &Target, value: Value) -> Result<()> {
        let Target::Element { variable, index } = target else {
            return self.store_now(target, value);
        };
        let index = match self.ask(index).await? {
            Value::Int(index) => index,
            _ => {
                let message = "array subscript in assignment must not be null";
                return Err(plain("22004", message));
            }
        };
        let is_empty = match &self.frame.variables[*variable] {
            Value::Array(elements) => elements.is_empty(),
            _ => true,
        };
        // PostgreSQL would start an empty array at this subscript; our arrays start at 1.
        let most = if is_empty { 1 } else { ELEMENTS_MAX };
        let Some(place) = usize::try_from(index - 1).ok().filter(|&at| at < most) else {
            return Err(plain("2202E", format!("array subscript {index} is out of range here")));
        };
        let held = std::mem::replace(&mut self.frame.variables[*variable], Value::Null);
        let mut elements = match held {
            Value::Array(elements) => elements,
            _ => Arc::new([]),
        };
        if place < elements.len() {
            Arc::make_mut(&mut elements)[place] = value;
        } else {
            let mut grown = elements.to_vec();
            grown.resize(place, Value::Null);
            grown.push(value);
            elements = grown.into();
        }
        self.frame.variables[*variable] = Value::Array(elements);
        Ok(())
    }

    #[inline]
    fn store_now(&mut self, target: &Target, value: Value) -> Result<()> {
        match target {
            Target::Variable(variable) => self.store_variable(*variable, value),
            Target::Field { variable, field } => self.store_field(*variable, *field, value),
            Target::Element { .. } => {
                Err(Error::internal("INTO has an array element as its target").into())
            }
        }
    }

    #[inline]
    fn store_variable(&mut self, variable: usize, value: Value) -> Result<()> {
        if value.is_null() && self.program.variables[variable].is_not_null {
            return Err(refused_null(&self.program.variables[variable].name));
        }
        self.frame.variables[variable].put(value);
        Ok(())
    }

    fn store_field(&mut self, variable: usize, field: usize, value: Value) -> Result<()> {
        let known = &self.program.variables[variable];
        let sql::SqlType::Record(fields) = &known.sql_type else {
            return Err(Error::internal("a field of a value that is not a record").into());
        };
        let held = &mut self.frame.variables[variable];
        if !matches!(held, Value::Row(_)) {
            *held = Value::Row(vec![Value::Null; fields.len()].into());
        }
        if let Value::Row(row) = held {
            Arc::make_mut(row)[field] = value;
        }
        Ok(())
    }

    async fn start_rows(&mut self, number: usize) -> Result<Loop> {
        // The rows of a loop do not count as those of a statement: `ROW_COUNT` keeps its value.
        let processed = self.frame.processed;
        self.carry_out(number, ALL).await?;
        self.frame.processed = processed;
        let others = self.frame.scratch.input(0);
        Ok(Loop::Rows { rows: std::mem::replace(self.rows, others), at: 0 })
    }

    async fn start(&mut self, over: &Over) -> Result<Loop> {
        match over {
            Over::Range { from, to, by, reverse } => {
                let from = self.bound(from, "lower bound").await?;
                let last = self.bound(to, "upper bound").await?;
                let step = match by {
                    Some(by) => self.bound(by, "BY value").await?,
                    None => 1,
                };
                if step <= 0 {
                    let message = "BY value of FOR loop must be greater than zero";
                    return Err(plain("22023", message));
                }
                let step = if *reverse { -step } else { step };
                Ok(Loop::Range { next: Some(from), last, step, entered: false })
            }
            // Boxed: other loops start without awaiting anything, and their futures should stay
            // small.
            Over::Rows(number) => Box::pin(self.start_rows(*number)).await,
            Over::Elements(array) => match self.ask(array).await? {
                Value::Array(elements) => Ok(Loop::Elements { elements, at: 0 }),
                _ => Err(plain("22004", "FOREACH expression must not be null")),
            },
        }
    }

    async fn bound(&mut self, ask: &Ask, what: &str) -> Result<i64> {
        match self.ask(ask).await? {
            Value::Int(bound) => Ok(bound),
            _ => Err(plain("22004", format!("{what} of FOR loop cannot be null"))),
        }
    }

    /// Assigns the next value of a loop; returns false at its end.
    fn next(&mut self, state: &mut Loop, into: &Into) -> Result<bool> {
        match state {
            Loop::Range { next, last, step, entered } => {
                let is_over = |number: &i64| if *step > 0 { number > last } else { number < last };
                let Some(number) = next.filter(|number| !is_over(number)) else {
                    return Ok(false);
                };
                *next = number.checked_add(*step);
                *entered = true;
                self.store_only(into, Value::Int(number))?;
            }
            Loop::Rows { rows, at } if *at < rows.len() => {
                *at += 1;
                self.store_row(into, rows.row_mut(*at - 1))?;
            }
            Loop::Rows { rows, at: 0 } if rows.is_empty() => self.store_nothing(into)?,
            Loop::Elements { elements, at } if *at < elements.len() => {
                *at += 1;
                self.store_only(into, elements[*at - 1].clone())?;
            }
            _ => return Ok(false),
        }
        Ok(!matches!(state, Loop::Rows { at: 0, .. }))
    }

    /// Ends a loop, and makes the memory of its rows reusable.
    fn end(&mut self, state: &mut Loop) {
        let ended = std::mem::replace(state, Loop::Idle);
        self.set_found(ended.was_entered());
        if let Loop::Rows { rows, .. } = ended {
            self.frame.scratch.give_back(rows);
        }
    }

    async fn give_back(&mut self, value: Option<&Ask>) -> Result<()> {
        match (&self.program.returns, value) {
            (_, Some(value)) => {
                let value = self.ask(value).await?;
                self.add_value(value);
            }
            (Returns::Value(_) | Returns::Row(_), None) => self.add_outputs(),
            (Returns::Nothing | Returns::Rows(_), None) => {}
        }
        Ok(())
    }

    /// Adds a row of the output parameters to the result.
    fn add_outputs(&mut self) {
        let Self { frame, program, answer, .. } = self;
        let outputs = program.outputs.iter().map(|&variable| frame.variables[variable].clone());
        answer.list().extend(outputs);
        answer.end_row(None);
    }

    /// Adds a row, or a value as the only column of one, to the result.
    fn add_value(&mut self, value: Value) {
        match value {
            Value::Row(row) if self.program.returns_rows() => self.answer.push_row(&row, None),
            Value::Null if self.program.returns_rows() => {
                (0..self.program.width).for_each(|_| self.answer.push(Value::Null));
                self.answer.end_row(None);
            }
            value => {
                self.answer.push(value);
                self.answer.end_row(None);
            }
        }
    }

    /// Adds the rows of a statement, with their columns cast, to the result.
    async fn add_rows(
        &mut self,
        number: usize,
        conversions: &[Conversion],
        wanted: usize,
    ) -> Result<()> {
        self.carry_out(number, wanted).await?;
        let mut rows = std::mem::take(self.rows);
        for at in 0..rows.len().min(wanted) {
            let row = rows.row_mut(at);
            for conversion in conversions {
                let value = match conversion {
                    Conversion::Same(column) => std::mem::replace(&mut row[*column], Value::Null),
                    Conversion::Formula(formula) | Conversion::Record(formula, _) => {
                        formula.evaluate(&self.view(row)).map_err(stopped)?
                    }
                };
                self.answer.push(value);
            }
            self.answer.end_row(None);
        }
        *self.rows = rows;
        Ok(())
    }

    /// Returns the rows of the last statement of a body in `sql`, or its first row.
    async fn deliver(&mut self, number: usize, conversions: &[Conversion]) -> Result<()> {
        match self.program.returns {
            Returns::Nothing => self.carry_out(number, ALL).await,
            Returns::Rows(_) => self.add_rows(number, conversions, ALL).await,
            Returns::Value(_) | Returns::Row(_) => {
                if self.program.statements[number].writes {
                    self.add_rows(number, conversions, ALL).await?;
                    self.answer.keep(0, 1);
                } else {
                    self.add_rows(number, conversions, 1).await?;
                }
                if self.answer.is_empty() {
                    (0..self.program.width).for_each(|_| self.answer.push(Value::Null));
                    self.answer.end_row(None);
                }
                Ok(())
            }
        }
    }

    async fn raise(&mut self, raise: &Raise) -> Result<()> {
        let mut message = String::new();
        for (at, piece) in raise.message.iter().enumerate() {
            message.push_str(piece);
            if let Some(value) = raise.values.get(at) {
                match self.ask(value).await? {
                    Value::Text(text) => message.push_str(&text),
                    _ => message.push_str("<NULL>"),
                }
            }
        }
        let detail = self.raised_option(raise.detail.as_ref()).await?;
        let hint = self.raised_option(raise.hint.as_ref()).await?;
        if raise.level != Level::Exception {
            self.notices.push(Notice { level: raise.level, message });
            return Ok(());
        }
        let sqlstate = Cow::Owned(raise.sqlstate.clone());
        Err(Failure::Sql(Box::new(Error { sqlstate, message, detail, hint })))
    }

    async fn raised_option(&mut self, ask: Option<&Ask>) -> Result<Option<String>> {
        let Some(ask) = ask else { return Ok(None) };
        match self.ask(ask).await? {
            Value::Text(text) => Ok(Some(text.to_string())),
            _ => Err(plain("22004", "RAISE statement option cannot be null")),
        }
    }

    async fn row_count(&mut self, targets: &[(Target, Conversion)]) -> Result<()> {
        let count = Value::Int(self.frame.processed as i64);
        for (target, conversion) in targets {
            let value = match conversion {
                Conversion::Same(_) => count.clone(),
                Conversion::Formula(formula) | Conversion::Record(formula, _) => {
                    formula.evaluate(&self.view(std::slice::from_ref(&count))).map_err(stopped)?
                }
            };
            self.store(target, value).await?;
        }
        Ok(())
    }
}

/// Maximum number of elements to which an assignment extends an array.
const ELEMENTS_MAX: usize = 1 << 24;

#[cold]
fn refused_null(variable: &str) -> Failure {
    let message =
        format!("null value cannot be assigned to variable \"{variable}\" declared NOT NULL");
    plain("22004", message)
}

#[cold]
fn no_row() -> Failure {
    plain("P0002", "query returned no rows")
}

#[cold]
fn no_case() -> Failure {
    Error::new("20000", "case not found").hint("CASE statement is missing ELSE part.").into()
}

#[cold]
fn stopped(stop: Stop) -> Failure {
    match stop {
        Stop::Error(error) => error.into(),
        Stop::Needs(_) => Error::internal("an unexpected sub plan").into(),
    }
}
