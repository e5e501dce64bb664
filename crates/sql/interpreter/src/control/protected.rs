//! Blocks with `EXCEPTION`: what an error undoes, and which handler goes on.
//!
//! A block keeps where it began in a [`Guard`]. An error takes the innermost one, undoes the
//! changes of rows and the locks since then, and goes on at the block's handlers; variables keep
//! their values. A conflict has ended the engine's transaction, and a statement that waits for a
//! row runs again: no handler sees them.
//!
//! Decision: docs/decisions/0364-a-block-with-exception-is-a-savepoint.md

use super::{Interpreter, stopped};
use crate::error::{Failure, Result, plain};
use crate::frame::Frame;
use crate::program::{Conversion, Handler, Step, Target};
use crate::row_lock::HeldLocker;
use crate::run::check_locked_late;
use fabric::Env;
use sql::namespace::{own_name, without_schemas};
use sql::procedure::{Condition, Diagnostic};
use sql_value::error::without_key;
use sql_value::{Error, Value};
use txn::Savepoint;

/// The state of a call at the begin of a block with handlers.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The step of its handlers.
    handlers: usize,
    /// `None` if the call changes no rows.
    savepoint: Option<Savepoint>,
    locks: usize,
    callers: usize,
    caught: usize,
    inserted: usize,
    locked_late: usize,
    cursors: u64,
}

/// Where a call has begun that rolls its transaction back.
#[derive(Debug)]
pub(crate) struct Begin {
    savepoint: Savepoint,
    locks: usize,
}

/// The routine around the body of a called one.
#[derive(Debug)]
pub(crate) struct Caller {
    pub found: bool,
    pub processed: u64,
    /// [`Blocks::base`].
    pub base: usize,
}

/// The blocks with handlers that are running.
#[derive(Default, Debug)]
pub(crate) struct Blocks {
    /// Those whose statements are running, innermost last.
    guards: Vec<Guard>,
    /// The errors that running handlers have caught, innermost last.
    caught: Vec<Error>,
    /// Number of errors that handlers of the callers have caught: the routine does not see them.
    pub base: usize,
}

impl Blocks {
    pub fn clear(&mut self) {
        self.guards.clear();
        self.caught.clear();
        self.base = 0;
    }

    /// Number of errors that running handlers have caught.
    pub fn depth(&self) -> usize {
        self.caught.len()
    }

    /// The error that the routine's running handler has caught.
    fn current(&self) -> Option<&Error> {
        self.caught[self.base..].last()
    }
}

impl Frame {
    /// Whether an error has a handler, perhaps.
    pub fn is_protected(&self) -> bool {
        !self.blocks.guards.is_empty()
    }
}

impl<E: Env> Interpreter<'_, '_, E> {
    /// Begins a handler, or ends one. Returns the label to go to if the handler does not catch the
    /// error.
    pub(super) fn step_of_handlers(&mut self, step: &Step) -> Result<Option<usize>> {
        match step {
            Step::Catch { handler, next } => {
                let handles = self.handles(handler)?;
                return Ok((!handles).then_some(*next));
            }
            _ => drop(self.frame.blocks.caught.pop()),
        }
        Ok(None)
    }

    /// Begins the statements of a block with handlers. Rows that were locked before it are checked
    /// before: their errors are not for its handlers.
    pub(super) async fn protect(&mut self, handlers: usize) -> Result<()> {
        if !self.frame.locked_late.is_empty() {
            check_locked_late(self.txn, self.frame).await?;
        }
        let frame = &mut *self.frame;
        let guard = Guard {
            handlers,
            savepoint: self.program.writes.then(|| self.txn.savepoint()),
            locks: frame.locker.as_ref().map_or(0, |HeldLocker(locker)| locker.mark()),
            callers: frame.callers.len(),
            caught: frame.blocks.caught.len(),
            inserted: frame.inserted.len(),
            locked_late: frame.locked_late.len(),
            cursors: frame.cursors.opened(),
        };
        frame.blocks.guards.push(guard);
        Ok(())
    }

    /// Keeps where the call has begun.
    pub(super) fn keep_begin(&mut self) {
        let locks = self.frame.locker.as_ref().map_or(0, |HeldLocker(locker)| locker.mark());
        self.frame.undo = Some(Begin { savepoint: self.txn.savepoint(), locks });
    }

    /// `ROLLBACK` in a procedure: undoes what the call has changed, and releases its locks. The
    /// transaction of the engine goes on.
    pub(super) fn roll_back(&mut self) -> Result<()> {
        let frame = &mut *self.frame;
        let Some(begin) = &frame.undo else {
            return Err(plain("2D000", "invalid transaction termination"));
        };
        if frame.is_protected() {
            let message = "cannot roll back while a subtransaction is active";
            return Err(plain("2D000", message));
        }
        self.txn.roll_back_to(&begin.savepoint).map_err(txn::TxnError::from)?;
        if let Some(HeldLocker(locker)) = &frame.locker {
            locker.release_to(begin.locks);
        }
        frame.pending_inserts.clear();
        frame.inserted.clear();
        frame.locked_late.clear();
        frame.looked_up = None;
        frame.cursors.close_all();
        Ok(())
    }

    /// Ends them without an error.
    pub(super) async fn unprotect(&mut self) -> Result<()> {
        self.check_locks_now().await?;
        let guard = self.frame.blocks.guards.pop();
        if let Some(savepoint) = guard.and_then(|guard| guard.savepoint) {
            self.txn.release(&savepoint);
        }
        Ok(())
    }

    /// Finds rows that have changed before they were locked, while a handler may still see it.
    pub(super) async fn check_locks_now(&mut self) -> Result<()> {
        if self.frame.is_protected() && !self.frame.locked_late.is_empty() {
            return check_locked_late(self.txn, self.frame).await;
        }
        Ok(())
    }

    /// Goes on behind an error: undoes the innermost block, and returns the step of its handlers.
    ///
    /// # Errors
    ///
    /// The error itself if no block has handlers, or nobody may catch it. That of the engine if its
    /// transaction has ended.
    #[cold]
    pub(super) fn catch(&mut self, failure: Failure) -> Result<usize> {
        let error = match failure {
            Failure::Sql(error) if error.sqlstate != FATAL => error,
            other => return Err(other),
        };
        let frame = &mut *self.frame;
        let Some(guard) = frame.blocks.guards.pop() else { return Err(Failure::Sql(error)) };
        if let Some(savepoint) = &guard.savepoint {
            self.txn.roll_back_to(savepoint).map_err(txn::TxnError::from)?;
            self.txn.release(savepoint);
        }
        if let Some(HeldLocker(locker)) = &frame.locker {
            locker.release_to(guard.locks);
        }
        frame.inserted.truncate(guard.inserted);
        frame.locked_late.truncate(guard.locked_late);
        frame.cursors.close_behind(guard.cursors);
        frame.looked_up = None;
        let ended = frame.callers.drain(guard.callers..).next();
        frame.blocks.caught.truncate(guard.caught);
        frame.blocks.caught.push(*error);
        if let Some(Caller { found, processed, base }) = ended {
            (frame.processed, frame.blocks.base) = (processed, base);
            self.set_found(found);
        }
        Ok(self.program.labels[guard.handlers])
    }

    /// Begins a handler if one of its conditions holds.
    fn handles(&mut self, handler: &Handler) -> Result<bool> {
        let Some(error) = self.frame.blocks.caught.last() else { return Ok(false) };
        let holds = |condition: &Condition| condition.holds(&error.sqlstate);
        if !handler.conditions.iter().any(holds) {
            return Ok(false);
        }
        if error.sqlstate == CANCELED {
            self.frame.watch.forget();
        }
        let message = Value::text(&without_schemas(&error.message));
        let sqlstate = Value::text(&error.sqlstate);
        self.store_variable(handler.sqlstate, sqlstate)?;
        self.store_variable(handler.sqlerrm, message)?;
        Ok(true)
    }

    /// The error that no handler of its block has caught.
    #[cold]
    pub(super) fn uncaught(&mut self) -> Failure {
        match self.frame.blocks.caught.pop() {
            Some(error) => Failure::Sql(Box::new(error)),
            None => Error::internal("handlers without an error").into(),
        }
    }

    /// `RAISE` without arguments.
    #[cold]
    pub(super) fn raise_again(&self) -> Failure {
        match self.frame.blocks.current() {
            Some(error) => Failure::Sql(Box::new(error.clone())),
            None => outside_of_handler("RAISE without parameters"),
        }
    }

    /// `GET STACKED DIAGNOSTICS`
    pub(super) async fn diagnose(
        &mut self,
        parts: &[(Diagnostic, Target, Conversion)],
    ) -> Result<()> {
        let Some(error) = self.frame.blocks.current() else {
            return Err(outside_of_handler("GET STACKED DIAGNOSTICS"));
        };
        let error = error.clone();
        for (part, target, conversion) in parts {
            let value = Value::text(&self.part_of(&error, *part));
            let value = match conversion {
                Conversion::Same(_) => value,
                Conversion::Formula(formula) | Conversion::Record(formula, _) => {
                    formula.evaluate(&self.view(&[value])).map_err(stopped)?
                }
            };
            self.store(target, value).await?;
        }
        Ok(())
    }

    /// A part of an error; empty if it has none.
    fn part_of(&self, error: &Error, part: Diagnostic) -> String {
        let named = |name: Option<String>| name.unwrap_or_default();
        match part {
            Diagnostic::Sqlstate => error.sqlstate.to_string(),
            Diagnostic::Message => without_schemas(&error.message).into_owned(),
            Diagnostic::Detail => {
                named(self.shown_detail(error).map(|one| without_schemas(&one).into_owned()))
            }
            Diagnostic::Hint => named(error.hint.clone()),
            Diagnostic::Constraint => {
                named(error.names().constraint.map(|name| own_name(&name).to_owned()))
            }
            Diagnostic::Column => named(error.names().column),
            Diagnostic::Table => named(self.table_of(error).map(|name| own_name(&name).to_owned())),
            Diagnostic::Schema => {
                let table = self.table_of(error);
                let of = self.tables.iter().find(|of| Some(&of.name) == table.as_ref());
                of.map_or(String::new(), |of| of.namespace.clone())
            }
            Diagnostic::Context | Diagnostic::Datatype => String::new(),
        }
    }

    /// The detail, without the values of rows that the caller may not read.
    fn shown_detail(&self, error: &Error) -> Option<String> {
        let detail = error.detail.as_ref()?;
        let hidden = &self.frame.hidden;
        let is_of_row = error.sqlstate.starts_with("23") && !hidden.is_empty();
        let table = self.table_of(error).filter(|_| is_of_row);
        let of_row = table.and_then(|name| self.tables.iter().position(|one| one.name == name));
        match of_row.is_some_and(|table| hidden.contains(&table)) {
            true => without_key(detail),
            false => Some(detail.clone()),
        }
    }

    /// The table of an error, or of the unique key that it names.
    fn table_of(&self, error: &Error) -> Option<String> {
        let names = error.names();
        names.table.or_else(|| {
            let key = names.constraint?;
            let has_it = |index: &crate::bind::BoundIndex| index.name == key;
            let mut tables = self.tables.iter();
            let table = tables.find(|of| of.key_name == key || of.indexes.iter().any(has_it))?;
            Some(table.name.clone())
        })
    }
}

/// The statement that fails so may be caught by name only.
const CANCELED: &str = "57014";
/// The connection ends.
const FATAL: &str = "25P04";

#[cold]
fn outside_of_handler(what: &str) -> Failure {
    plain("0Z002", format!("{what} cannot be used outside an exception handler"))
}
