//! Calls: parameters, execution and outcome.

use super::handle::{ERROR, Handle, OK};
use super::text::text;
use crate::called::{Called, Outcome, position};
use crate::failure::Failure;
use std::ffi::{c_char, c_int};
use std::time::Duration;

/// A call, owned by one thread.
pub type CCall = Handle<Called>;
pub(super) const CALL: &str = "call";

/// `namdb_parameter_count` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_parameter_count(call: *const CCall) -> i32 {
    let count = |called: &mut Called| Ok(position(called.call().signature().parameters.len()));
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, 0, count) }
}

/// `namdb_parameter` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_parameter(call: *const CCall, name: *const c_char) -> i32 {
    let find = |called: &mut Called| {
        // SAFETY: rule 1.
        let name = unsafe { text(name, "name of the parameter") }?;
        Ok(position(called.call().signature().parameter(name)?))
    };
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, -1, find) }
}

/// `namdb_set_deadline_ms` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_set_deadline_ms(call: *const CCall, milliseconds: u64) -> c_int {
    let set = |called: &mut Called| {
        called.call().within(Duration::from_millis(milliseconds));
        Ok(OK)
    };
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, ERROR, set) }
}

/// `namdb_set_retries` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_set_retries(call: *const CCall, retries: u32) -> c_int {
    let set = |called: &mut Called| {
        called.call().retry(retries);
        Ok(OK)
    };
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, ERROR, set) }
}

/// `namdb_execute` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_execute(call: *const CCall) -> i32 {
    // SAFETY: rule 1.
    unsafe { Handle::forget(call, CALL) };
    // SAFETY: rule 1.
    let made = unsafe { Handle::with(call, CALL, ERROR, |called| called.execute().map(|()| OK)) };
    if made == OK {
        return Outcome::Committed as i32;
    }
    // SAFETY: rule 1.
    let outcome = unsafe { Handle::look(call, CALL, Called::outcome) };
    outcome.unwrap_or(Outcome::NotMade) as i32
}

/// `namdb_call_outcome` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_call_outcome(call: *const CCall) -> i32 {
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, 0, |called| Ok(called.outcome() as i32)) }
}

/// `namdb_sqlstate` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_sqlstate(call: *const CCall) -> *const c_char {
    let read = |called: &mut Called| Ok::<_, Failure>(called.sqlstate().as_ptr());
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, c"".as_ptr(), read) }
}

/// `namdb_abort_reason` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_abort_reason(call: *const CCall) -> *const c_char {
    let read = |called: &mut Called| Ok::<_, Failure>(called.reason().as_ptr());
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, c"".as_ptr(), read) }
}

/// `namdb_is_contention` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_is_contention(call: *const CCall) -> c_int {
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, 0, |called| Ok(called.is_contention().into())) }
}

/// `namdb_retries` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_retries(call: *const CCall) -> u32 {
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, 0, |called| Ok(called.retries())) }
}

/// `namdb_call_error` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_call_error(call: *const CCall) -> *const c_char {
    // SAFETY: rule 1.
    unsafe { Handle::error(call, CALL) }
}

/// `namdb_call_close` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_call_close(call: *mut CCall) -> c_int {
    // SAFETY: rule 1.
    unsafe { Handle::close(call, CALL) }
}
