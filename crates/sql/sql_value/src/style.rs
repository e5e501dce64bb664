//! How a session reads and writes values: its zone, and the forms of bytes and floats.
//!
//! Casts inside of expressions depend on it as results do. It belongs to the task that runs a
//! statement of the session, so it is the thread's while that task is polled, and no longer.
//!
//! Decision: docs/decisions/0345-values-are-written-in-the-style-of-a-session.md

use crate::zone::Zone;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;

/// The style of a session; the default is that of PostgreSQL in the zone UTC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Style {
    /// `None` is UTC.
    pub zone: Option<Zone>,
    /// Whether `bytea` is printed as characters with escapes.
    pub escapes_bytes: bool,
    /// `extra_float_digits`: from 1 on, floats have the fewest digits that tell them apart.
    pub float_digits: i32,
}

impl Default for Style {
    fn default() -> Self {
        Self { zone: None, escapes_bytes: false, float_digits: 1 }
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Style>>> = const { RefCell::new(None) };
}

/// A style in effect; the one before is in effect again when it is dropped.
#[must_use = "the style ends with this value"]
pub struct Entered {
    before: Option<Arc<Style>>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|current| *current.borrow_mut() = self.before.take());
    }
}

/// Puts a style into effect on this thread; `None` is the default.
pub fn enter(style: Option<Arc<Style>>) -> Entered {
    Entered { before: CURRENT.with(|current| current.replace(style)) }
}

/// Runs a task in a style.
pub async fn within<F: Future>(style: Option<Arc<Style>>, task: F) -> F::Output {
    let mut task = pin!(task);
    poll_fn(|context| {
        let _entered = enter(style.clone());
        task.as_mut().poll(context)
    })
    .await
}

/// Reads the style in effect, if it is not the default.
pub(crate) fn with<T>(read: impl FnOnce(&Style) -> Option<T>) -> Option<T> {
    CURRENT.with(|current| current.borrow().as_deref().and_then(read))
}
