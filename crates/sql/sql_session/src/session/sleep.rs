//! Runs `pg_sleep`.

use super::SqlSession;
use crate::command::{SleepCall, SleepTime, sleep_seconds};
use crate::error::SqlError;
use crate::host::Host;
use crate::outcome::{Outcome, RowSet};
use crate::waiting::Waiter;
use fabric::Env;
use sql_value::Value;
use std::time::Duration;

/// Interval at which a sleeping session looks whether its statement should end.
const LOOK: Duration = Duration::from_millis(20);

impl<H: Host> SqlSession<H> {
    /// Sleeps without a lane, until the time has passed or the statement should end.
    pub(super) async fn sleep(
        &mut self,
        call: &SleepCall,
        parameters: &[Value],
    ) -> Result<Outcome, SqlError> {
        let time = match call.time {
            SleepTime::Constant(time) => Some(time),
            SleepTime::Parameter(at) => match parameters.get(at) {
                Some(Value::Float(seconds)) => Some(sleep_seconds(*seconds)),
                _ => None,
            },
        };
        // The function is strict.
        let result = match time {
            Some(time) => {
                self.sleep_for(time).await?;
                Value::text("")
            }
            None => Value::Null,
        };
        let mut rows = RowSet::new(1);
        rows.push([result]);
        Ok(Outcome::Rows { rows, tag: "SELECT 1".to_owned() })
    }

    async fn sleep_for(&mut self, time: Duration) -> Result<(), SqlError> {
        if time > LOOK {
            self.park().await;
        }
        let begun_ns = self.now_ns();
        loop {
            self.check()?;
            let slept = Duration::from_nanos(self.now_ns() - begun_ns);
            let Some(rest) = time.checked_sub(slept).filter(|rest| !rest.is_zero()) else {
                return Ok(());
            };
            self.env.sleep_ns(rest.min(LOOK).as_nanos() as u64).await;
        }
    }
}
