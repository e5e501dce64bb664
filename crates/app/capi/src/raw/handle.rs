//! Handles: pointers that programs hold, and safe access to what they point to.
//!
//! Decision: docs/decisions/0222-c-handles-know-their-thread.md

use crate::failure::{Failure, c_text, last, note, of_panic};
use std::cell::UnsafeCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::ThreadId;

/// Success.
pub const OK: c_int = 0;
/// The value is null.
pub const NULL: c_int = 1;
/// The request failed; the error message says why.
pub const ERROR: c_int = 2;

/// A value owned by one thread.
pub struct Handle<T> {
    owner: ThreadId,
    content: UnsafeCell<Content<T>>,
}

struct Content<T> {
    value: T,
    error: CString,
}

impl<T> Handle<T> {
    /// Creates a handle owned by the calling thread; the program must close it.
    pub fn give(value: T) -> *mut Self {
        let content = UnsafeCell::new(Content { value, error: CString::default() });
        Box::into_raw(Box::new(Self { owner: std::thread::current().id(), content }))
    }

    /// Dereferences a handle if this thread owns it. `what` is its name in messages.
    ///
    /// # Safety
    /// Rule 1.
    unsafe fn own<'a>(pointer: *const Self, what: &str) -> Result<&'a Self, Failure> {
        // SAFETY: rule 1. If another thread owns the handle, only `owner` is read, which never
        // changes.
        let handle = unsafe { pointer.as_ref() };
        let handle = handle.ok_or_else(|| Failure(format!("the {what} is null")))?;
        if handle.owner != std::thread::current().id() {
            return Err(Failure(format!(
                "the {what} belongs to the thread that opened its session; open a session in this thread"
            )));
        }
        Ok(handle)
    }

    /// Runs a function on the content; stores an error in the handle and for the thread.
    ///
    /// # Safety
    /// Rule 1, and `body` must not use the same handle.
    pub unsafe fn with<R: Copy>(
        pointer: *const Self,
        what: &str,
        otherwise: R,
        body: impl FnOnce(&mut T) -> Result<R, Failure>,
    ) -> R {
        guarded(otherwise, || {
            // SAFETY: rule 1.
            let handle = unsafe { Self::own(pointer, what) }?;
            // SAFETY: this thread owns it, and no other reference lives: rule 3.
            let Content { value, error } = unsafe { &mut *handle.content.get() };
            let ended = catch_unwind(AssertUnwindSafe(|| body(value)));
            let ended = ended.unwrap_or_else(|panic| Err(of_panic(&*panic)));
            ended.inspect_err(|failure| *error = c_text(&failure.0))
        })
    }

    /// Clears the handle's error.
    ///
    /// # Safety
    /// As [`Handle::with`].
    pub unsafe fn forget(pointer: *const Self, what: &str) {
        // SAFETY: rule 1.
        let Ok(handle) = (unsafe { Self::own(pointer, what) }) else { return };
        // SAFETY: this thread owns it, and no other reference lives: rule 3.
        unsafe { &mut *handle.content.get() }.error = CString::default();
    }

    /// Reads the content without touching the errors; `None` if the handle is null or another
    /// thread's.
    ///
    /// # Safety
    /// As [`Handle::with`].
    pub unsafe fn look<R>(pointer: *const Self, what: &str, look: fn(&T) -> R) -> Option<R> {
        // SAFETY: rule 1.
        let handle = unsafe { Self::own(pointer, what) }.ok()?;
        // SAFETY: this thread owns it, and no other reference lives: rule 3.
        Some(look(&unsafe { &*handle.content.get() }.value))
    }

    /// Returns the last error of the handle; if it is null or another thread's, that of this
    /// thread.
    ///
    /// # Safety
    /// Rule 1.
    pub unsafe fn error(pointer: *const Self, what: &str) -> *const c_char {
        // SAFETY: rule 1.
        match unsafe { Self::own(pointer, what) } {
            // SAFETY: this thread owns it, and no other reference lives: rule 3.
            Ok(handle) => unsafe { &*handle.content.get() }.error.as_ptr(),
            Err(_) => last(),
        }
    }

    /// Closes the handle; null is ignored.
    ///
    /// # Safety
    /// Rule 1.
    pub unsafe fn close(pointer: *mut Self, what: &str) -> c_int {
        guarded(ERROR, || {
            if pointer.is_null() {
                return Ok(OK);
            }
            // SAFETY: rule 1.
            unsafe { Self::own(pointer, what) }?;
            // SAFETY: `give` created it, and by rule 1 nobody uses it any more.
            drop(unsafe { Box::from_raw(pointer) });
            Ok(OK)
        })
    }
}

/// Runs a function, turns a panic into an error, and stores an error for the thread.
pub fn guarded<R: Copy>(otherwise: R, body: impl FnOnce() -> Result<R, Failure>) -> R {
    let ended = catch_unwind(AssertUnwindSafe(body));
    let ended = ended.unwrap_or_else(|panic| Err(of_panic(&*panic)));
    ended.unwrap_or_else(|failure| {
        note(&failure);
        otherwise
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn said(text: *const c_char) -> String {
        // SAFETY: this crate's texts end with a NUL.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    #[test]
    fn no_panic_leaves_and_the_sentence_stays_with_the_handle() {
        let handle = Handle::give(7);
        // SAFETY: it was just created.
        let ended = unsafe { Handle::with(handle, "handle", ERROR, |_| panic!("lost the thread")) };
        assert_eq!(ended, ERROR);
        // SAFETY: as above.
        let sentence = said(unsafe { Handle::error(handle, "handle") });
        assert!(sentence.contains("lost the thread") && sentence.contains("close"), "{sentence}");
        // SAFETY: as above.
        let ended = unsafe {
            Handle::with(handle, "handle", ERROR, |value| {
                *value += 1;
                Ok(*value)
            })
        };
        assert_eq!(ended, 8);
        // SAFETY: as above, and it is not used any more.
        assert_eq!(unsafe { Handle::close(handle, "handle") }, OK);
    }

    #[test]
    fn null_and_the_handles_of_other_threads_are_refused() {
        // SAFETY: null is checked.
        let ended = unsafe { Handle::<i32>::with(std::ptr::null(), "call", ERROR, |_| Ok(OK)) };
        assert_eq!((ended, said(last()).as_str()), (ERROR, "the call is null"));
        // SAFETY: null is checked.
        assert_eq!(unsafe { Handle::<i32>::close(std::ptr::null_mut(), "call") }, OK);
        let handle = Handle::give(7) as usize;
        let elsewhere = move || {
            let handle = handle as *mut Handle<i32>;
            // SAFETY: it lives as long as the test.
            let ended = unsafe { Handle::with(handle, "call", ERROR, |_| Ok(OK)) };
            // SAFETY: as above.
            (ended, unsafe { Handle::close(handle, "call") }, said(last()))
        };
        let (used, closed, sentence) =
            std::thread::scope(|scope| scope.spawn(elsewhere).join()).expect("nothing panics");
        assert_eq!((used, closed), (ERROR, ERROR));
        assert!(sentence.contains("belongs to the thread"), "{sentence}");
        // SAFETY: it is not used any more.
        assert_eq!(unsafe { Handle::close(handle as *mut Handle<i32>, "call") }, OK);
    }
}
