//! Real time: tooling has no `Env`.

use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "tooling measures real time; there is no Env here")]
pub fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "tooling waits for real time; there is no Env here")]
pub fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// Calls `look` until it returns a value, for at most `bound`.
pub fn wait<T>(bound: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = now() + bound;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if now() > end {
            return None;
        }
        sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_when_something_is_found_or_time_is_over() {
        let mut looks = 0;
        let third = wait(Duration::from_secs(10), || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(third, Some(3));
        assert_eq!(wait(Duration::from_millis(20), || None::<()>), None);
    }
}
