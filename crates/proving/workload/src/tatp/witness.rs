//! Recorded runs for the judge of histories: the columns that transactions change, as registers.
//!
//! A column of a few bits cannot identify its writer. A recorded run therefore writes unique
//! numbers, larger than all numbers of the load; a read of a number of the load is a read before
//! any write.

use super::input::{Input, Kind};
use super::population::{LOADED_MAX, TYPES};
use super::terminal::Terminal;
use crate::error::WorkloadError;
use crate::recording::version;
use fabric::Env;
use txn::Transaction;

const REGISTERS: u64 = 2 + TYPES as u64;

/// The register of a subscriber's VLR_LOCATION.
pub fn location(s_id: i32) -> u64 {
    s_id as u64 * REGISTERS
}

/// The register of a subscriber's BIT_1.
pub fn bit_1(s_id: i32) -> u64 {
    location(s_id) + 1
}

/// The register of DATA_A of a special facility.
pub fn data_a(s_id: i32, sf_type: i16) -> u64 {
    bit_1(s_id) + sf_type as u64
}

/// The value of a register for the judge: `None` before any write.
pub fn held(value: i64) -> Option<i64> {
    (value > LOADED_MAX).then_some(value)
}

impl Terminal {
    /// Replaces the input's values by unique numbers: every attempt writes others.
    pub(super) fn numbered(&self, input: &Input) -> Result<Input, WorkloadError> {
        let mut input = *input;
        let Some(session) = &self.session else { return Ok(input) };
        let number = || {
            let number = LOADED_MAX + session.value();
            i16::try_from(number).map_err(|_| {
                let sentence = format!("a recorded run of TATP writes at most {} times", i16::MAX);
                WorkloadError::Configuration(sentence)
            })
        };
        match input.kind {
            Kind::UpdateLocation => input.location = i32::from(number()?),
            Kind::UpdateSubscriberData => (input.bit, input.data) = (number()?, number()?),
            _ => {}
        }
        Ok(input)
    }

    /// Records that a register was read.
    #[inline]
    pub(super) fn saw(&mut self, register: impl FnOnce() -> u64, value: impl FnOnce() -> i64) {
        if let Some(session) = &mut self.session {
            session.read_value(register(), held(value()));
        }
    }

    /// Records that registers are about to be written.
    #[inline]
    pub(super) fn will_write<E: Env, const N: usize>(
        &mut self,
        transaction: &Transaction<'_, E>,
        writes: [(u64, i64); N],
    ) {
        if let Some(session) = &mut self.session {
            session.version(version(transaction));
            for (register, value) in writes {
                session.write(register, value);
            }
        }
    }
}
