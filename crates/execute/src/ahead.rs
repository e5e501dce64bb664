//! Rows that the arguments name, which are read together before the statements that ask for them: one round trip, where
//! those one after another would take one each. The statements find them among what the transaction has read.
//!
//! Reading early is a hint. A key that no row has, or an expression that fails, is left to the statement.

use crate::bind::BoundTable;
use crate::control::Machine;
use crate::error::Result;
use crate::frame::Place;
use crate::program::{Ask, Over, Program, Step};
use crate::run::{key_in, scan_by_key};
use fabric::Env;
use layout::Key;
use sql::expression::ColumnRef;
use sql::procedure::{Parameter, ParameterMode};
use txn::{Lane, TableId};
use value::{Scope, Value};

/// Most rows that are read together; a loop may go on for as long as it likes.
const ROWS_MAX: usize = 1024;

/// Statements whose rows are known behind the declarations.
#[derive(Default, Debug)]
pub(crate) struct Ahead {
    /// Statements that are carried out once.
    pub singles: Vec<usize>,
    pub rounds: Vec<Round>,
}

/// A loop over a range or an array.
#[derive(Debug)]
pub(crate) struct Round {
    /// The step that begins it.
    pub start: usize,
    /// What it counts with.
    pub variable: usize,
    /// Statements that are carried out in each round.
    pub statements: Vec<usize>,
}

impl Program {
    /// The table of the row that a statement asks for, and its key.
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

    /// Asks for the rows that arguments name.
    pub fn prefetch<E: Env>(&self, tables: &[BoundTable], lane: &Lane<E>, arguments: &[Value]) {
        let given = Given { parameters: &self.parameters, arguments };
        for &statement in &self.ahead.singles {
            if let Some(row) = self.row_of(tables, statement, &given) {
                lane.prefetch(&[row]);
            }
        }
    }
}

impl<E: Env> Machine<'_, '_, E> {
    /// Reads what is known by now, and notes where the statements find it.
    pub async fn read_ahead(&mut self) -> Result<()> {
        let mut reads = std::mem::take(&mut self.frame.scratch.reads);
        reads.clear();
        self.frame.places.clear();
        let ahead = &self.program.ahead;
        for &statement in &ahead.singles {
            let next = reads.len();
            reads.extend(self.row_of(statement));
            self.frame.places.push(Place { next, stride: 0, end: reads.len() });
        }
        for round in &ahead.rounds {
            let begin = reads.len();
            let held = std::mem::replace(&mut self.frame.variables[round.variable], Value::Null);
            self.add_round(round, &mut reads);
            self.frame.variables[round.variable] = held;
            let stride = round.statements.len();
            let place = |at| Place { next: begin + at, stride, end: reads.len() };
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

    /// Adds the rows that a loop asks for, round after round, up to the first one that cannot be read ahead.
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
            Over::Rows(_) => {}
        }
    }

    /// Adds the rows of one round, all or none; answers whether it did.
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

    fn known(&self, ask: &Ask) -> Option<Value> {
        match ask {
            Ask::Formula(formula) => formula.evaluate(&self.view(&[])).ok(),
            Ask::Statement(_) => None,
        }
    }
}

/// What expressions see of a call that has not begun: arguments, and null for everything else. Those stand for the values
/// that the call makes of them: what is made of a hint may be wrong.
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

    fn column(&self, _column: ColumnRef) -> value::Result<Value> {
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
