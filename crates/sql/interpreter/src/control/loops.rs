//! Starts, advances and ends the loops over ranges, rows and arrays.

use super::Interpreter;
use crate::error::{Result, plain};
use crate::memory::Reservation;
use crate::program::{DynamicInto, Expression, Into, Over, Step};
use crate::rows::Rows;
use fabric::Env;
use sql_value::Value;
use std::sync::Arc;

/// The state of a loop.
#[derive(Debug)]
pub(super) enum Loop {
    Idle,
    Range {
        next: Option<i64>,
        last: i64,
        step: i64,
        entered: bool,
    },
    Rows {
        rows: Rows,
        at: usize,
        _memory: Reservation,
    },
    Elements {
        elements: Arc<[Value]>,
        at: usize,
    },
    /// The name and number of the cursor, and whether it has had a row.
    Cursor {
        name: String,
        number: u64,
        entered: bool,
    },
}

impl Loop {
    /// Whether at least one iteration has begun.
    fn was_entered(&self) -> bool {
        match self {
            Self::Range { entered, .. } | Self::Cursor { entered, .. } => *entered,
            Self::Rows { at, .. } | Self::Elements { at, .. } => *at > 0,
            Self::Idle => false,
        }
    }
}

impl<E: Env> Interpreter<'_, '_, E> {
    pub(super) async fn start(&mut self, over: &Over) -> Result<Loop> {
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
            Over::Text(dynamic, types) => {
                let (rows, _memory) = Box::pin(self.start_text(dynamic, types)).await?;
                Ok(Loop::Rows { rows, at: 0, _memory })
            }
            Over::Cursor(open) => {
                let (name, number) = Box::pin(self.open_cursor(open, true)).await?;
                Ok(Loop::Cursor { name, number, entered: false })
            }
            Over::Elements(array) => match self.evaluate(array).await? {
                Value::Array(elements) => Ok(Loop::Elements { elements, at: 0 }),
                _ => Err(plain("22004", "FOREACH expression must not be null")),
            },
        }
    }

    async fn start_rows(&mut self, number: usize) -> Result<Loop> {
        // The rows of a loop do not count as those of a statement: `ROW_COUNT` keeps its value.
        let processed = self.frame.processed;
        let mut memory = Reservation::default();
        self.execute_held(number, &mut memory, "loop").await?;
        self.frame.processed = processed;
        let others = self.frame.scratch.input(0);
        let rows = std::mem::replace(self.rows, others);
        Ok(Loop::Rows { rows, at: 0, _memory: memory })
    }

    async fn bound(&mut self, expression: &Expression, what: &str) -> Result<i64> {
        match self.evaluate(expression).await? {
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
            Loop::Rows { rows, at, .. } if *at < rows.len() => {
                *at += 1;
                self.store_row(into, rows.row_mut(*at - 1))?;
            }
            Loop::Rows { rows, at: 0, .. } if rows.is_empty() => self.store_nothing(into)?,
            Loop::Elements { elements, at } if *at < elements.len() => {
                *at += 1;
                self.store_only(into, elements[*at - 1].clone())?;
            }
            _ => return Ok(false),
        }
        Ok(!matches!(state, Loop::Rows { at: 0, .. }))
    }

    /// Assigns the next value of a loop; returns the label of its end if there is none.
    #[inline]
    pub(super) fn step_of_loop(
        &mut self,
        step: &Step,
        loops: &mut [Loop],
    ) -> Result<Option<usize>> {
        match step {
            Step::Next { place, into, end } => {
                Ok((!self.next(&mut loops[*place], into)?).then_some(*end))
            }
            Step::NextRow { place, into, end } => {
                Ok((!self.next_row(&mut loops[*place], into)?).then_some(*end))
            }
            _ => Ok(None),
        }
    }

    /// Assigns the next row of a loop over a cursor; returns false at its end.
    fn next_row(&mut self, state: &mut Loop, into: &DynamicInto) -> Result<bool> {
        let Loop::Cursor { name, entered, .. } = state else { return Ok(false) };
        let has_row = self.next_of_cursor(name, into)?;
        *entered |= has_row;
        Ok(has_row)
    }

    /// Closes the cursor of a loop.
    pub(super) fn close_loop(&mut self, state: &Loop) {
        if let Loop::Cursor { name, number, .. } = state {
            self.frame.cursors.close_numbered(name, *number);
        }
    }

    /// Ends a loop, and makes the memory of its rows reusable.
    pub(super) fn end(&mut self, state: &mut Loop) {
        let ended = std::mem::replace(state, Loop::Idle);
        self.close_loop(&ended);
        self.set_found(ended.was_entered());
        if let Loop::Rows { rows, .. } = ended {
            self.frame.scratch.give_back(rows);
        }
    }
}
