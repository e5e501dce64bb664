//! Runs the functions of advisory locks.

use super::SqlSession;
use crate::advisory::AdvisoryKey;
use crate::command::{AdvisoryCall, AdvisoryFunction, Argument};
use crate::error::{Severity, SqlError};
use crate::host::Host;
use crate::outcome::{Outcome, RowSet};
use crate::waiting::Waiter;
use sql_value::Value;

impl<H: Host> SqlSession<H> {
    pub(super) fn call_advisory(
        &mut self,
        call: &AdvisoryCall,
        parameters: &[Value],
    ) -> Result<Outcome, SqlError> {
        let value = |argument: &Argument| match argument {
            Argument::Constant(number) => Some(*number),
            Argument::Parameter(at) => parameters.get(*at).and_then(Value::as_int),
        };
        let numbers: Option<Vec<i64>> = call.arguments.iter().map(value).collect();
        let result = match numbers {
            // The functions are strict.
            None => Value::Null,
            Some(numbers) => self.advisory(call.function, &numbers)?,
        };
        if self.block.is_none() {
            self.advisory.release_all(self.database.advisory_locks(), true);
        }
        let mut rows = RowSet::new(1);
        rows.push([result]);
        Ok(Outcome::Rows { rows, tag: "SELECT 1".to_owned() })
    }

    fn advisory(&mut self, function: AdvisoryFunction, numbers: &[i64]) -> Result<Value, SqlError> {
        let database = self.database.clone();
        let locks = database.advisory_locks();
        let key = || {
            let half = |number: i64| {
                let message = format!("value \"{number}\" is out of range for type integer");
                i32::try_from(number).map_err(|_| SqlError::new("22003", message))
            };
            Ok::<_, SqlError>(match *numbers {
                [first, second] => AdvisoryKey::Two(half(first)?, half(second)?),
                _ => AdvisoryKey::One(numbers.first().copied().unwrap_or_default()),
            })
        };
        Ok(match function {
            AdvisoryFunction::Lock { is_shared, waits, is_of_transaction } => {
                let key = key()?;
                let waiter: Option<&dyn Waiter> = if waits { Some(&*self) } else { None };
                let is_taken = self.advisory.take(locks, key, is_shared, waiter)?;
                if is_taken {
                    self.advisory.add(key, is_shared, is_of_transaction);
                }
                if waits { Value::text("") } else { Value::Bool(is_taken) }
            }
            AdvisoryFunction::Unlock { is_shared } => {
                let is_held = self.advisory.release(locks, key()?, is_shared);
                if !is_held {
                    let kind = if is_shared { "ShareLock" } else { "ExclusiveLock" };
                    let message = format!("you don't own a lock of type {kind}");
                    self.notice(Severity::Warning, "01000", message);
                }
                Value::Bool(is_held)
            }
            AdvisoryFunction::UnlockAll => {
                self.advisory.release_all(locks, false);
                Value::text("")
            }
        })
    }
}
