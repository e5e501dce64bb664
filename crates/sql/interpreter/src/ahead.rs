//! Read-ahead: before a call's statements run, it reads the rows whose keys follow from its
//! arguments, in one round trip instead of one per statement. The statements find the rows in the
//! transaction's access set.
//!
//! Read-ahead is a hint. If no row has a key, or an expression fails, the statement itself finds
//! out.
//!
//! Decision: docs/decisions/0233-the-executor-of-plans-reads-ahead.md

use crate::bind::BoundTable;
use crate::control::Interpreter;
use crate::error::Result;
use crate::frame::AheadRows;
use crate::program::{Expression, Over, Program, Step};
use crate::run::{key_in, scan_by_key};
use fabric::Env;
use layout::Key;
use sql::expression::ColumnRef;
use sql::procedure::{Parameter, ParameterMode};
use sql_value::{Scope, Value};
use txn::{Lane, TableId};

/// Maximum number of rows read together; a loop may have any number of iterations.
const ROWS_MAX: usize = 1024;

/// The statements whose keys are known after the declarations.
#[derive(Default, Debug)]
pub(crate) struct Ahead {
    /// Statements outside of loops.
    pub singles: Vec<usize>,
    pub rounds: Vec<Round>,
}

/// A loop over a range or an array.
#[derive(Debug)]
pub(crate) struct Round {
    /// The step that starts it.
    pub start: usize,
    /// Its loop variable.
    pub variable: usize,
    /// Statements executed once per iteration.
    pub statements: Vec<usize>,
}

impl Program {
    /// Returns the table and the key of the row that a statement reads.
    fn row_of(
        &self,
        tables: &[BoundTable],
        statement: usize,
        scope: &impl Scope,
    ) -> Option<(TableId, Key)> {
        let (scan, terms) = scan_by_key(&self.statements[statement].root)?;
        let table = &tables[scan.table];
        let key = key_in(table, terms, scope).ok().flatten()?;
        Some((table.id, key))
    }

    /// Prefetches the rows whose keys follow from the arguments.
    pub fn prefetch<E: Env>(&self, tables: &[BoundTable], lane: &Lane<E>, arguments: &[Value]) {
        let given = Given { parameters: &self.parameters, arguments };
        for &statement in &self.ahead.singles {
            if let Some(row) = self.row_of(tables, statement, &given) {
                lane.prefetch(&[row]);
            }
        }
    }
}

impl<E: Env> Interpreter<'_, '_, E> {
    /// Reads the rows whose keys are known now, and notes where each statement finds its row.
    pub async fn read_ahead(&mut self) -> Result<()> {
        let mut reads = std::mem::take(&mut self.frame.scratch.reads);
        reads.clear();
        self.frame.places.clear();
        let ahead = &self.program.ahead;
        for &statement in &ahead.singles {
            let next = reads.len();
            reads.extend(self.row_of(statement));
            self.frame.places.push(AheadRows { next, stride: 0, end: reads.len() });
        }
        for round in &ahead.rounds {
            let begin = reads.len();
            let held = std::mem::replace(&mut self.frame.variables[round.variable], Value::Null);
            self.add_round(round, &mut reads);
            self.frame.variables[round.variable] = held;
            let stride = round.statements.len();
            let place = |at| AheadRows { next: begin + at, stride, end: reads.len() };
            self.frame.places.extend((0..stride).map(place));
        }
        let mut known = std::mem::take(&mut self.frame.known);
        let outcome = self.txn.read_many(&reads, &mut known).await;
        self.frame.scratch.reads = reads;
        self.frame.known = known;
        Ok(outcome?)
    }

    fn row_of(&self, statement: usize) -> Option<(TableId, Key)> {
        self.program.row_of(self.tables, statement, &self.view(&[]))
    }

    /// Adds the rows of a loop's iterations, up to the first iteration that cannot be read ahead.
    fn add_round(&mut self, round: &Round, reads: &mut Vec<(TableId, Key)>) {
        let Step::Start { over, .. } = &self.program.steps[round.start] else { return };
        match over {
            Over::Range { from, to, .. } => {
                let (Some(Value::Int(from)), Some(Value::Int(to))) =
                    (self.known(from), self.known(to))
                else {
                    return;
                };
                let mut numbers = from..=to;
                while let Some(number) = numbers.next()
                    && self.add_rows_of(round, Value::Int(number), reads)
                {}
            }
            Over::Elements(array) => {
                let Some(Value::Array(elements)) = self.known(array) else { return };
                let mut elements = elements.iter();
                while let Some(element) = elements.next()
                    && self.add_rows_of(round, element.clone(), reads)
                {}
            }
            Over::Rows(_) | Over::Text(..) | Over::Cursor(_) => {}
        }
    }

    /// Adds all rows of one iteration, or none; returns whether it did.
    fn add_rows_of(
        &mut self,
        round: &Round,
        value: Value,
        reads: &mut Vec<(TableId, Key)>,
    ) -> bool {
        let before = reads.len();
        self.frame.variables[round.variable] = value;
        for &statement in &round.statements {
            match self.row_of(statement) {
                Some(row) if reads.len() < ROWS_MAX => reads.push(row),
                _ => {
                    reads.truncate(before);
                    return false;
                }
            }
        }
        true
    }

    fn known(&self, expression: &Expression) -> Option<Value> {
        match expression {
            Expression::Formula(formula) => formula.evaluate(&self.view(&[])).ok(),
            Expression::Statement(_) => None,
        }
    }
}

/// The scope of expressions before the call begins: arguments, and null for everything else.
/// Arguments are not cast to the parameters' types: a hint may be wrong.
struct Given<'a> {
    parameters: &'a [Parameter],
    arguments: &'a [Value],
}

impl Scope for Given<'_> {
    fn variable(&self, variable: usize) -> &Value {
        let inputs = self.parameters.iter().filter(|of| of.mode != ParameterMode::Out);
        let place = inputs.zip(self.arguments).find(|(of, _)| of.variable == variable);
        place.map_or(&Value::Null, |(_, value)| value)
    }

    fn column(&self, _column: ColumnRef) -> sql_value::Result<Value> {
        Ok(Value::Null)
    }

    fn element(&self) -> &Value {
        &Value::Null
    }

    fn sub_plan(&self, _plan: usize) -> Option<&[Value]> {
        None
    }

    fn aggregate(&self, _aggregate: usize) -> &Value {
        &Value::Null
    }

    fn now(&self) -> i64 {
        0
    }

    fn clock(&self) -> i64 {
        0
    }

    fn random(&self) -> f64 {
        0.0
    }
}
