//! Interrupts of statements: by a request of another thread, or at a deadline.
//!
//! Statements look between rows, and routines between steps. An interrupted statement fails; its
//! changes are part of the transaction, as after other errors.

use crate::error::{Result, plain};
use fabric::Env;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Rows between two looks at the request and the clock.
const ROWS: u32 = 64;

/// A request to end the running statement, which any thread may make.
#[derive(Default, Debug)]
pub struct Interrupt {
    is_requested: AtomicBool,
}

impl Interrupt {
    /// Ends the running statement; if none is running, the next one.
    pub fn request(&self) {
        self.is_requested.store(true, Relaxed);
    }

    /// Forgets a request.
    pub fn clear(&self) {
        self.is_requested.store(false, Relaxed);
    }

    pub fn is_requested(&self) -> bool {
        self.is_requested.load(Relaxed)
    }
}

/// The time at which a statement ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deadline {
    /// On the clock of the environment.
    pub at_ns: u64,
    /// Whether it is that of the whole transaction.
    pub is_of_transaction: bool,
}

/// The reasons to end a statement.
#[derive(Default, Debug)]
pub(crate) struct Watch {
    pub interrupt: Arc<Interrupt>,
    /// The first one.
    pub deadline: Option<Deadline>,
    pub of_transaction: Option<Deadline>,
    rows_left: Cell<u32>,
}

impl Watch {
    /// Fails if the statement should end. Cheap enough for each row.
    #[inline]
    pub fn check<E: Env>(&self, env: &E) -> Result<()> {
        match self.rows_left.get() {
            0 => self.look(env),
            left => {
                self.rows_left.set(left - 1);
                Ok(())
            }
        }
    }

    /// A handler has caught the end of the statement: it goes on.
    #[cold]
    pub fn forget(&mut self) {
        self.interrupt.clear();
        self.deadline = self.of_transaction;
    }

    /// As [`Watch::check`], in any case.
    #[cold]
    pub fn look<E: Env>(&self, env: &E) -> Result<()> {
        self.rows_left.set(ROWS);
        if self.interrupt.is_requested() {
            return Err(plain("57014", "canceling statement due to user request"));
        }
        let passed = self.deadline.filter(|deadline| env.now_ns() >= deadline.at_ns);
        match passed.map(|deadline| deadline.is_of_transaction) {
            None => Ok(()),
            Some(false) => Err(plain("57014", "canceling statement due to statement timeout")),
            Some(true) => Err(plain("25P04", "terminating connection due to transaction timeout")),
        }
    }
}
