//! Reads result values.
//!
//! Decision: docs/decisions/0223-result-rows-are-copied-once-and-addressed-by-place.md

use super::call::{CALL, CCall};
use super::handle::{ERROR, Handle, NULL, OK};
use super::text::{put, text};
use crate::called::{Called, column_position, position};
use crate::failure::Failure;
use std::ffi::{CStr, c_char, c_int};

/// `namdb_row_count` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_row_count(call: *const CCall) -> usize {
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, 0, |called| Ok(called.rows().len())) }
}

/// `namdb_column_count` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_column_count(call: *const CCall) -> i32 {
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, 0, |called| Ok(position(called.rows().columns().len()))) }
}

/// `namdb_column` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_column(call: *const CCall, name: *const c_char) -> i32 {
    let find = |called: &mut Called| {
        // SAFETY: rule 1.
        let name = unsafe { text(name, "name of the column") }?;
        Ok(position(called.call().signature().column(name)?))
    };
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, -1, find) }
}

/// `namdb_column_name` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_column_name(call: *const CCall, column: i32) -> *const c_char {
    // SAFETY: rule 1.
    unsafe { of_column(call, column, Called::column_name) }
}

/// `namdb_column_type` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_column_type(call: *const CCall, column: i32) -> *const c_char {
    // SAFETY: rule 1.
    unsafe { of_column(call, column, Called::column_type) }
}

/// Returns a text about a column.
///
/// # Safety
/// Rule 1.
unsafe fn of_column(
    call: *const CCall,
    column: i32,
    text: fn(&Called, i32) -> Option<&CStr>,
) -> *const c_char {
    let read = |called: &mut Called| {
        let count = called.rows().columns().len();
        let found = text(called, column).map(CStr::as_ptr);
        found.ok_or_else(|| Failure(format!("there is no column {column}: the call has {count}")))
    };
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, std::ptr::null(), read) }
}

/// Writes a value to the program's memory; nothing if it is null.
///
/// # Safety
/// Rule 1.
unsafe fn get<T>(
    call: *const CCall,
    column: i32,
    value: *mut T,
    read: impl FnOnce(&mut Called, usize) -> Result<Option<T>, Failure>,
) -> c_int {
    let get = |called: &mut Called| match read(called, column_position(column)?)? {
        None => Ok(NULL),
        Some(read) => {
            // SAFETY: rule 1.
            unsafe { put(value, read, "value") }?;
            Ok(OK)
        }
    };
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, ERROR, get) }
}

/// `namdb_get_int64` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_get_int64(
    call: *const CCall,
    row: usize,
    column: i32,
    value: *mut i64,
) -> c_int {
    // SAFETY: rule 1.
    unsafe { get(call, column, value, |called, column| Ok(called.rows().int(row, column)?)) }
}

/// `namdb_get_bool` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_get_bool(
    call: *const CCall,
    row: usize,
    column: i32,
    value: *mut c_int,
) -> c_int {
    let read = |called: &mut Called, column| Ok(called.rows().bool(row, column)?.map(c_int::from));
    // SAFETY: rule 1.
    unsafe { get(call, column, value, read) }
}

/// `namdb_get_double` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_get_double(
    call: *const CCall,
    row: usize,
    column: i32,
    value: *mut f64,
) -> c_int {
    // SAFETY: rule 1.
    unsafe { get(call, column, value, |called, column| Ok(called.rows().float(row, column)?)) }
}

/// `namdb_get_decimal` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_get_decimal(
    call: *const CCall,
    row: usize,
    column: i32,
    units: *mut i64,
    scale: *mut u8,
) -> c_int {
    let read = |called: &mut Called, column| {
        let Some(decimal) = called.rows().decimal(row, column)? else { return Ok(None) };
        // SAFETY: rule 1.
        unsafe { put(scale, decimal.scale, "scale") }?;
        Ok(Some(decimal.units))
    };
    // SAFETY: rule 1.
    unsafe { get(call, column, units, read) }
}

/// `namdb_get_text` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_get_text(
    call: *const CCall,
    row: usize,
    column: i32,
    value: *mut *const c_char,
) -> c_int {
    let read = |called: &mut Called, _| Ok(called.text(row, column)?.map(CStr::as_ptr));
    // SAFETY: rule 1.
    unsafe { get(call, column, value, read) }
}

/// `namdb_is_null` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_is_null(call: *const CCall, row: usize, column: i32) -> c_int {
    let read =
        |called: &mut Called| Ok(called.rows().is_null(row, column_position(column)?)?.into());
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, -1, read) }
}
