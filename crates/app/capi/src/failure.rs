//! Error messages, kept for C to read.

use std::cell::RefCell;
use std::ffi::{CString, c_char};

/// An error message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure(pub String);

impl Failure {
    /// Creates an error with this message.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl<E: std::error::Error> From<E> for Failure {
    /// Joins the messages of an error and its causes.
    fn from(error: E) -> Self {
        let mut sentence = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let more = error.to_string();
            // Some errors include the message of their cause.
            if !sentence.contains(&more) {
                sentence = format!("{sentence}: {more}");
            }
            cause = error.source();
        }
        Self(sentence)
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Converts text for C, cut at the first NUL.
pub fn c_text(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

/// Stores the last error of this thread.
pub fn note(failure: &Failure) {
    // When the thread ends, nobody reads it any more.
    let _ = LAST.try_with(|last| last.replace(c_text(&failure.0)));
}

/// Returns the last error message of this thread; the pointer is valid until the next error.
pub fn last() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Converts a panic to an error.
pub fn of_panic(panic: &(dyn std::any::Any + Send)) -> Failure {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
    Failure(format!("internal error of namdb: {said}; close the handle"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_have_their_causes_once() {
        #[derive(Debug)]
        struct Outer(std::io::Error, bool);
        impl std::fmt::Display for Outer {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                if self.1 {
                    write!(formatter, "no file: {}", self.0)
                } else {
                    write!(formatter, "no file")
                }
            }
        }
        impl std::error::Error for Outer {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(&self.0)
            }
        }
        let outer = |says_all| Outer(std::io::Error::other("gone"), says_all);
        assert_eq!(Failure::from(outer(false)).0, "no file: gone");
        assert_eq!(Failure::from(outer(true)).0, "no file: gone");
    }

    #[test]
    fn texts_end_at_a_zero() {
        assert_eq!(c_text("one\0two").to_bytes(), b"one");
        note(&Failure::new("gone"));
        assert!(!last().is_null());
    }
}
