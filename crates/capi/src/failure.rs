//! Sentences of what went wrong, as C reads them.

use std::cell::RefCell;
use std::ffi::{CString, c_char};

/// What went wrong, in a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure(pub String);

impl Failure {
    /// A sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl<E: std::error::Error> From<E> for Failure {
    /// An error's sentence, with what it was caused by.
    fn from(error: E) -> Self {
        let mut sentence = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let more = error.to_string();
            // Some say what their cause says.
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

/// Text for C; what stands behind a zero in it is lost.
pub fn c_text(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

/// Notes what went wrong on this thread.
pub fn note(failure: &Failure) {
    // Where a thread ends, nobody reads it any more.
    let _ = LAST.try_with(|last| last.replace(c_text(&failure.0)));
}

/// What went wrong on this thread last, until the next thing does.
pub fn last() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// What a panic said.
pub fn of_panic(panic: &(dyn std::any::Any + Send)) -> Failure {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
    Failure(format!("a fault inside namdb: {said}; close the handle"))
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
