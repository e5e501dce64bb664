//! Binds values to parameters.

use super::call::{CALL, CCall};
use super::handle::{ERROR, Handle, OK};
use super::text::{array, text};
use crate::called::Called;
use crate::failure::Failure;
use namdb::procedures::{Argument, Decimal, Texts};
use std::ffi::{c_char, c_int};

/// Binds the result of `value`.
///
/// # Safety
/// Rule 1.
unsafe fn bind(
    call: *const CCall,
    position: i32,
    value: impl FnOnce() -> Result<Argument, Failure>,
) -> c_int {
    let bind = |called: &mut Called| called.bind(position, value()?).map(|()| OK);
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, ERROR, bind) }
}

/// `namdb_bind_null` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_bind_null(call: *const CCall, position: i32) -> c_int {
    // SAFETY: rule 1.
    unsafe { bind(call, position, || Ok(Argument::Null)) }
}

/// `namdb_bind_int64` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_bind_int64(call: *const CCall, position: i32, value: i64) -> c_int {
    // SAFETY: rule 1.
    unsafe { bind(call, position, || Ok(Argument::Int(value))) }
}

/// `namdb_bind_uint64` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_bind_uint64(call: *const CCall, position: i32, value: u64) -> c_int {
    let fitting = || match i64::try_from(value) {
        Ok(value) => Ok(Argument::Int(value)),
        Err(_) => Err(Failure(format!(
            "{value} is beyond {}, the largest number that a bigint takes",
            i64::MAX
        ))),
    };
    // SAFETY: rule 1.
    unsafe { bind(call, position, fitting) }
}

/// `namdb_bind_bool` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_bind_bool(call: *const CCall, position: i32, value: c_int) -> c_int {
    // SAFETY: rule 1.
    unsafe { bind(call, position, || Ok(Argument::Bool(value != 0))) }
}

/// `namdb_bind_double` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_bind_double(call: *const CCall, position: i32, value: f64) -> c_int {
    // SAFETY: rule 1.
    unsafe { bind(call, position, || Ok(Argument::Float(value))) }
}

/// `namdb_bind_decimal` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_bind_decimal(
    call: *const CCall,
    position: i32,
    units: i64,
    scale: u8,
) -> c_int {
    // SAFETY: rule 1.
    unsafe { bind(call, position, || Ok(Argument::Decimal(Decimal { units, scale }))) }
}

/// `namdb_bind_date` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_bind_date(call: *const CCall, position: i32, days: i32) -> c_int {
    // SAFETY: rule 1.
    unsafe { bind(call, position, || Ok(Argument::Date(days))) }
}

/// `namdb_bind_timestamp` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_bind_timestamp(
    call: *const CCall,
    position: i32,
    microseconds: i64,
) -> c_int {
    // SAFETY: rule 1.
    unsafe { bind(call, position, || Ok(Argument::Timestamp(microseconds))) }
}

/// `namdb_bind_text` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_bind_text(
    call: *const CCall,
    position: i32,
    value: *const c_char,
) -> c_int {
    let value = || {
        // SAFETY: rule 1.
        let value = unsafe { text(value, "text; namdb_bind_null binds none, and it") }?;
        Ok(Argument::Text(value.to_owned()))
    };
    // SAFETY: rule 1.
    unsafe { bind(call, position, value) }
}

/// `namdb_bind_text_bytes` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_bind_text_bytes(
    call: *const CCall,
    position: i32,
    value: *const c_char,
    bytes: usize,
) -> c_int {
    let value = || {
        // SAFETY: rule 1.
        let bytes = unsafe { array(value.cast::<u8>(), bytes, "text") }?;
        let value =
            str::from_utf8(bytes).map_err(|_| Failure::new("the text is not valid UTF-8"))?;
        if value.contains('\0') {
            return Err(Failure::new("the text contains a NUL, which SQL text cannot"));
        }
        Ok(Argument::Text(value.to_owned()))
    };
    // SAFETY: rule 1.
    unsafe { bind(call, position, value) }
}

/// `namdb_bind_int64_array` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_bind_int64_array(
    call: *const CCall,
    position: i32,
    values: *const i64,
    count: usize,
) -> c_int {
    let value = || {
        // SAFETY: rule 1.
        let values = unsafe { array(values, count, "array") }?;
        Ok(Argument::Ints(values.to_vec()))
    };
    // SAFETY: rule 1.
    unsafe { bind(call, position, value) }
}

/// `namdb_bind_bool_array` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_bind_bool_array(
    call: *const CCall,
    position: i32,
    values: *const c_int,
    count: usize,
) -> c_int {
    let value = || {
        // SAFETY: rule 1.
        let values = unsafe { array(values, count, "array") }?;
        Ok(Argument::Bools(values.iter().map(|&value| value != 0).collect()))
    };
    // SAFETY: rule 1.
    unsafe { bind(call, position, value) }
}

/// `namdb_bind_text_array` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_bind_text_array(
    call: *const CCall,
    position: i32,
    values: *const *const c_char,
    count: usize,
) -> c_int {
    let value = || {
        // SAFETY: rule 1.
        let values = unsafe { array(values, count, "array") }?;
        // SAFETY: rule 1.
        let texts = values.iter().map(|&value| unsafe { text(value, "text in the array") });
        let texts: Result<Vec<String>, Failure> = texts.map(|text| Ok(text?.to_owned())).collect();
        Ok(Argument::Texts(Texts(texts?)))
    };
    // SAFETY: rule 1.
    unsafe { bind(call, position, value) }
}

/// `namdb_unbind` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_unbind(call: *const CCall) -> c_int {
    let unbind = |called: &mut Called| {
        called.call().unbind();
        Ok(OK)
    };
    // SAFETY: rule 1.
    unsafe { Handle::with(call, CALL, ERROR, unbind) }
}
