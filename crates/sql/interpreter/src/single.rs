//! Single statements, executed in transactions that the caller begins and ends.
//!
//! A [`Runner`] keeps the state of one transaction between its statements.

use crate::argument;
use crate::bind::{BoundTable, bind};
use crate::call::changes_references;
use crate::compile::{compile, compile_single};
use crate::control::{Cursors, Interpreter, Notice};
use crate::effects::{Effects, locks};
use crate::error::{Failure, OpenError};
use crate::frame::{Frame, HeldCallees, HeldPlanner, HeldSequences};
use crate::interrupt::{Deadline, Interrupt};
use crate::plan::{Operator, Statement};
use crate::program::Program;
use crate::row_lock::{HeldLocker, RowLocker};
use crate::rows::Rows;
use crate::run::{ALL, Run, check_locked_late, draw_hidden_key};
use crate::scope::{NOTHING, View, microseconds};
use fabric::Env;
use procedure::Procedure;
use sql::expression::Expr;
use sql::function::Function;
use sql::procedure::Returns;
use sql::{Catalog, Field, SqlType};
use sql_value::{Error, Formula, Stop, Value};
use std::sync::Arc;
use txn::{Database, Transaction, TxnError};

/// The tables of a catalog, bound to those of a database.
#[derive(Debug)]
pub struct Tables {
    pub(crate) bound: Vec<BoundTable>,
}

impl Tables {
    /// Binds the tables of a catalog.
    ///
    /// # Errors
    ///
    /// A table or index is missing.
    pub fn bind<E: Env>(database: &Database<E>, catalog: &Catalog) -> Result<Self, OpenError> {
        let mut bound = bind(database, catalog)?;
        // Any later statement of a transaction may scan any table.
        bound.iter_mut().for_each(|table| table.is_read_whole = true);
        Ok(Self { bound })
    }

    /// The number of leading columns that a range of the primary key, and of each index, must fix
    /// by equality; `None` for hash tables.
    pub fn named_by_ranges(&self, table: usize) -> Vec<Option<usize>> {
        let table = &self.bound[table];
        let indexes = table.indexes.iter().map(|index| index.named);
        std::iter::once(table.named).chain(indexes).collect()
    }
}

/// A statement, ready to run. Its parameters are variables.
#[derive(Debug)]
pub struct SingleStatement {
    pub(crate) statement: Statement,
    /// The tables that it changes.
    changed: Vec<usize>,
    locks: bool,
    /// With those of the routines that it calls, once they are added.
    effects: Effects,
}

impl SingleStatement {
    /// Compiles a planned statement.
    ///
    /// # Errors
    ///
    /// The physical design of a table does not support it.
    pub fn compile(
        statement: &procedure::node::Statement,
        tables: &Tables,
    ) -> Result<Self, OpenError> {
        let compiled = compile_single(statement, &tables.bound)?;
        let effects = Effects::of_statement(statement, &tables.bound, compiled.writes);
        Ok(Self {
            statement: compiled,
            changed: effects.changed().collect(),
            locks: locks(statement),
            effects,
        })
    }

    /// Whether it, or a routine that it calls, changes or locks rows.
    pub fn writes(&self) -> bool {
        self.effects.writes()
    }

    /// Whether it locks rows, as `FOR UPDATE` does.
    pub fn locks(&self) -> bool {
        self.locks
    }

    /// The tables whose rows it changes itself, by position in the catalog.
    pub fn changed(&self) -> &[usize] {
        &self.changed
    }

    /// Its effects, with those of the routines that it calls.
    pub fn effects(&self) -> &Effects {
        &self.effects
    }

    /// Adds the effects of the routines that it calls.
    pub fn add_effects(&mut self, of_callees: &Effects) {
        self.effects.add(of_callees);
    }

    /// Whether its transaction must be serializable, because it changes rows that reference others
    /// or are referenced.
    pub fn is_guarded(&self) -> bool {
        self.effects.is_guarded()
    }

    /// Whether its rows are those that it has changed, and not those of a query.
    pub fn is_change(&self) -> bool {
        matches!(
            self.statement.root.operator,
            Operator::Insert(_) | Operator::Update(_) | Operator::Delete(_)
        )
    }
}

/// A function or procedure, ready to be called.
#[derive(Debug)]
pub struct Routine {
    pub(crate) program: Program,
    /// With those of the routines that it calls while it runs, once they are added.
    effects: Effects,
}

impl Routine {
    /// Compiles a procedure whose statements have plans.
    ///
    /// # Errors
    ///
    /// The physical design of a table does not support a statement.
    pub fn compile(procedure: &Procedure, tables: &Tables) -> Result<Self, OpenError> {
        let (mut program, _) = compile(procedure, &tables.bound)?;
        program.is_guarded = changes_references(procedure, &tables.bound);
        let effects = Effects::of_routine(procedure, &tables.bound, &program);
        Ok(Self { program, effects })
    }

    /// Its effects, with those of the routines that it calls while it runs.
    pub fn effects(&self) -> &Effects {
        &self.effects
    }

    /// Adds the effects of the routines that it calls.
    pub fn add_effects(&mut self, of_callees: &Effects) {
        self.program.writes |= of_callees.writes();
        self.effects.add(of_callees);
    }
}

/// Why a statement has failed.
#[derive(Debug)]
pub enum StatementError {
    /// An SQL error, as in PostgreSQL.
    Sql(Box<Error>),
    /// An error of the engine; an abort ends the transaction.
    Engine(Box<TxnError>),
    /// The statement must run again, when the lock for which it waits is granted, or on a newer
    /// snapshot. Its changes are part of the transaction: roll them back.
    Again,
}

impl From<Failure> for StatementError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Sql(error) => Self::Sql(error),
            Failure::Txn(error) => Self::Engine(error),
            Failure::Again => Self::Again,
        }
    }
}

/// Sequences, which are no part of a transaction.
pub trait Sequences: Send + Sync {
    /// Calls a function of sequences, such as `nextval`.
    ///
    /// # Errors
    ///
    /// That of PostgreSQL.
    fn call(&self, function: Function, arguments: &[Value]) -> sql_value::Result<Value>;
}

/// The routines of a catalog, which statements call while they run.
pub trait Callees: Send + Sync {
    /// The routine called `name`.
    ///
    /// # Errors
    ///
    /// It cannot be called, because a table of it was dropped.
    fn routine(&self, name: &str) -> sql_value::Result<&Routine>;
}

/// Plans the texts of `EXECUTE`.
pub trait Planner: Send + Sync {
    /// Plans a statement whose parameters have these types. The columns of its rows are cast to
    /// the types of targets, if there are any. `is_result` says that they must have those types.
    ///
    /// # Errors
    ///
    /// Those of the text, of the privileges of the caller, and of columns that do not fit.
    fn plan(
        &self,
        text: &str,
        types: &[SqlType],
        wanted: Option<&[SqlType]>,
        is_result: bool,
    ) -> sql_value::Result<Arc<DynamicStatement>>;
}

/// A planned text of `EXECUTE`.
#[derive(Debug)]
pub struct DynamicStatement {
    pub statement: SingleStatement,
    /// The columns of its rows.
    pub columns: Vec<Field>,
    /// The values of the targets.
    pub casts: Vec<Formula>,
}

/// The stack of a thread of the standard library.
const STACK_BYTES: usize = 2 << 20;
/// The stack for a node that waits for the end of a routine: twice what was measured.
const NODE_BYTES: usize = 6 << 10;

/// Runs statements, one transaction after the other.
#[derive(Debug)]
pub struct Runner {
    pub(crate) frame: Frame,
}

impl Runner {
    /// `sql_time_us` is the current time, in microseconds since 2000-01-01 UTC.
    pub fn new<E: Env>(env: &E, sql_time_us: i64) -> Self {
        let clock_us = sql_time_us - microseconds(env);
        let hidden_key = draw_hidden_key(env);
        let height_max = STACK_BYTES / NODE_BYTES;
        Self { frame: Frame { hidden_key, clock_us, height_max, ..Frame::default() } }
    }

    /// Gives statements sequences.
    pub fn set_sequences(&mut self, sequences: Arc<dyn Sequences>) {
        self.frame.sequences = Some(HeldSequences(sequences));
    }

    /// Gives routines someone who plans the texts of `EXECUTE`.
    pub fn set_planner(&mut self, planner: Arc<dyn Planner>) {
        self.frame.planner = Some(HeldPlanner(planner));
    }

    /// Gives statements the routines that they call.
    pub fn set_callees(&mut self, callees: Arc<dyn Callees>) {
        self.frame.callees = Some(HeldCallees(callees));
    }

    /// The stack of the thread, which limits how deep routines call each other.
    pub fn set_stack_bytes(&mut self, bytes: usize) {
        self.frame.height_max = bytes / NODE_BYTES;
    }

    /// Says whether the next call is a whole transaction, which a procedure may roll back.
    pub fn set_may_roll_back(&mut self, may_roll_back: bool) {
        self.frame.may_roll_back = may_roll_back;
    }

    /// Exchanges the open cursors with those of another transaction, or of a statement that runs
    /// again.
    pub fn replace_cursors(&mut self, cursors: Cursors) -> Cursors {
        std::mem::replace(&mut self.frame.cursors, cursors)
    }

    /// The messages that routines have raised, except exceptions.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.frame.notices)
    }

    /// Gives statements someone who grants locks of rows.
    pub fn set_row_locker(&mut self, locker: Arc<dyn RowLocker>) {
        self.frame.locker = Some(HeldLocker(locker));
    }

    /// Handlers of errors do not show the rows of these tables.
    pub fn hide_rows_of(&mut self, tables: Vec<usize>) {
        self.frame.hidden = tables;
    }

    /// The transaction has taken a newer snapshot: ids of rows are no longer valid.
    pub fn note_new_snapshot(&mut self) {
        self.frame.looked_up = None;
    }

    /// Gives statements a request that ends them.
    pub fn set_interrupt(&mut self, interrupt: Arc<Interrupt>) {
        self.frame.watch.interrupt = interrupt;
    }

    /// Sets the time at which statements end.
    pub fn set_deadlines(
        &mut self,
        of_statement: Option<Deadline>,
        of_transaction: Option<Deadline>,
    ) {
        let both = of_statement.into_iter().chain(of_transaction);
        let watch = &mut self.frame.watch;
        watch.deadline = both.min_by_key(|deadline| deadline.at_ns);
        watch.of_transaction = of_transaction;
    }

    /// Fails if the running statement should end; for work between its parts.
    ///
    /// # Errors
    ///
    /// The reason.
    pub fn check<E: Env>(&self, env: &E) -> Result<(), StatementError> {
        Ok(self.frame.watch.look(env)?)
    }

    /// As [`Runner::check`], cheap enough for each of many rows.
    ///
    /// # Errors
    ///
    /// The reason.
    #[inline]
    pub fn check_sometimes<E: Env>(&self, env: &E) -> Result<(), StatementError> {
        Ok(self.frame.watch.check(env)?)
    }

    /// Begins a transaction: forgets the last one.
    pub fn begin<E: Env>(&mut self, env: &E) {
        let now_us = self.now_us(env);
        self.frame.begin(0, now_us);
    }

    /// As [`Runner::begin`], at an earlier time: the transaction repeats one that began then.
    pub fn begin_at(&mut self, began_us: i64) {
        self.frame.begin(0, began_us);
    }

    /// When the transaction began, in microseconds since 2000-01-01 UTC.
    pub fn began_us(&self) -> i64 {
        self.frame.began_us
    }

    /// Microseconds since 2000-01-01 UTC.
    pub fn now_us<E: Env>(&self, env: &E) -> i64 {
        self.frame.clock_us + microseconds(env)
    }

    /// Runs a statement and replaces `rows` by its rows; returns the number of rows that it has
    /// changed or found. `only_looks` says that the transaction changes nothing and is not
    /// validated, so that its reads need not be kept.
    ///
    /// # Errors
    ///
    /// See [`StatementError`]. Changes of the statement are then part of the transaction: roll it
    /// back.
    pub async fn run<E: Env>(
        &mut self,
        transaction: &mut Transaction<'_, E>,
        tables: &Tables,
        statement: &SingleStatement,
        parameters: &[Value],
        only_looks: bool,
        rows: &mut Rows,
    ) -> Result<u64, StatementError> {
        let frame = &mut self.frame;
        frame.variables.clear();
        frame.variables.extend_from_slice(parameters);
        frame.only_looks = only_looks;
        frame.processed = 0;
        frame.locked_late.clear();
        let (tables, statement) = (&tables.bound[..], &statement.statement);
        let mut run = Run { txn: transaction, tables, frame, statement };
        run.statement(ALL, rows).await?;
        check_locked_late(transaction, &mut self.frame).await?;
        Ok(self.frame.processed)
    }
}

impl Runner {
    /// Calls a routine; replaces `rows` by its result.
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    pub async fn call<E: Env>(
        &mut self,
        transaction: &mut Transaction<'_, E>,
        tables: &Tables,
        routine: &Routine,
        arguments: &[Value],
        rows: &mut Rows,
    ) -> Result<(), StatementError> {
        let (frame, program) = (&mut self.frame, &routine.program);
        rows.reset(program.width);
        let count = program.variables.len();
        frame.variables.clear();
        frame.variables.resize(count, Value::Null);
        frame.only_looks = false;
        frame.processed = 0;
        frame.locked_late.clear();
        argument::assign(program, arguments, frame.began_us, &mut frame.variables)
            .map_err(StatementError::Sql)?;
        if let Some(found) = program.found {
            frame.variables[found] = Value::Bool(false);
        }
        if program.is_strict && arguments.iter().any(Value::is_null) {
            if !matches!(program.returns, Returns::Rows(_) | Returns::Nothing) {
                rows.push_row(&vec![Value::Null; program.width], None);
            }
            return Ok(());
        }
        let mut scratch = Rows::default();
        let mut machine = Interpreter {
            txn: transaction,
            tables: &tables.bound,
            program,
            frame,
            result: rows,
            rows: &mut scratch,
        };
        machine.run().await?;
        check_locked_late(transaction, &mut self.frame).await?;
        Ok(())
    }

    /// Evaluates expressions over parameters only.
    ///
    /// # Errors
    ///
    /// That of an expression.
    pub fn evaluate<E: Env>(
        &mut self,
        env: &E,
        exprs: &[Expr],
        parameters: &[Value],
    ) -> Result<Vec<Value>, Box<Error>> {
        self.frame.variables.clear();
        self.frame.variables.extend_from_slice(parameters);
        let sources = [NOTHING, NOTHING];
        let view = View { frame: &self.frame, env, sources, outer: None, element: &Value::Null };
        let value = |expr: &Expr| match Formula::compile(expr).evaluate(&view) {
            Ok(value) => Ok(value),
            Err(Stop::Error(error)) => Err(error),
            Err(Stop::Needs(_)) => {
                Err(Error::new("0A000", "a sub-select is not supported as an argument of a call"))
            }
        };
        exprs.iter().map(value).collect()
    }
}

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Tables>();
    is_shared::<SingleStatement>();
    is_shared::<Routine>();
};
