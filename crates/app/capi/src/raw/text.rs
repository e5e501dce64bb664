//! Reads texts and arrays of programs.

use crate::failure::Failure;
use std::ffi::{CStr, c_char};

/// Reads a text that ends with a NUL. `what` is its name in messages.
///
/// # Safety
/// Rule 1.
pub unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure(format!("the {what} is null")));
    }
    // SAFETY: rule 1.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().map_err(|_| Failure(format!("the {what} is not valid UTF-8")))
}

/// Reads an array of `count` elements; if `count` is 0, `pointer` is not accessed.
///
/// # Safety
/// Rule 1.
pub unsafe fn array<'a, T>(
    pointer: *const T,
    count: usize,
    what: &str,
) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Failure(format!("the {what} is null, and should have {count} elements")));
    }
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Failure(format!("the {what} cannot have {count} elements")));
    }
    // SAFETY: rule 1.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Writes a result. `what` is its name in messages.
///
/// # Safety
/// Rule 1.
pub unsafe fn put<T>(pointer: *mut T, value: T, what: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure(format!("the output pointer for the {what} is null")));
    }
    // SAFETY: rule 1.
    unsafe { pointer.write(value) };
    Ok(())
}
