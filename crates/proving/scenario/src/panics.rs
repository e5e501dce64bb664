//! Panics inside a run are findings: they are caught with their location, and not printed.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether this thread is in a run, and the location of its last panic.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
    static IS_RUNNING: RefCell<bool> = const { RefCell::new(false) };
}

/// Runs `run`; a panic in it becomes an error message.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    install();
    IS_RUNNING.set(true);
    LAST.set(None);
    let result = catch_unwind(AssertUnwindSafe(run));
    IS_RUNNING.set(false);
    result.map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("a task panicked").to_owned();
        match LAST.take() {
            Some(place) => format!("{text} ({place})"),
            None => text,
        }
    })
}

/// Installs a hook that records the location of a panic in a run. All other panics are reported as
/// before.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if IS_RUNNING.with_borrow(|is_running| *is_running) {
                note(panic);
            } else {
                before(panic);
            }
        }));
    });
}

/// The first panic is the cause: the world adds a panic of its own when it passes it on.
fn note(panic: &PanicHookInfo<'_>) {
    let Some(place) = panic.location() else { return };
    LAST.with_borrow_mut(|last| {
        last.get_or_insert_with(|| format!("{}:{}", place.file(), place.line()));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_sentence_with_its_place() {
        let error = caught(|| panic!("{} of {}", 1, 2)).map(|()| 0).expect_err("it panics");
        assert!(error.starts_with("1 of 2 (") && error.contains("panics.rs:"), "{error}");
        assert_eq!(caught(|| 7), Ok(7));
    }
}
