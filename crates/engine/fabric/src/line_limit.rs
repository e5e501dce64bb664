//! Limits how often an event is logged, and counts the lines that were left out.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Lines in a period; further ones are counted only.
const LINES_MAX: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10);

pub(crate) struct LineLimit {
    period: Mutex<Option<Period>>,
    /// Lines left out and not reported yet.
    suppressed: AtomicU64,
}

struct Period {
    begin: Instant,
    lines: u32,
}

impl LineLimit {
    pub const fn new() -> Self {
        Self { period: Mutex::new(None), suppressed: AtomicU64::new(0) }
    }

    /// Whether to log another line: the number of lines left out before it, or `None` to leave it
    /// out.
    pub fn pass(&self) -> Option<u64> {
        self.pass_at(now())
    }

    fn pass_at(&self, now: Instant) -> Option<u64> {
        let mut period = self.period.lock().expect("no holder panics");
        let current = period.take().filter(|period| now.duration_since(period.begin) < PERIOD);
        let Period { begin, lines } = current.unwrap_or(Period { begin: now, lines: 0 });
        *period = Some(Period { begin, lines: lines.saturating_add(1) });
        if lines >= LINES_MAX {
            self.suppressed.fetch_add(1, Relaxed);
            return None;
        }
        Some(self.suppressed.swap(0, Relaxed))
    }

    /// The number of lines left out, if some were and their period is over.
    pub fn overdue(&self) -> Option<u64> {
        if self.suppressed.load(Relaxed) == 0 {
            return None;
        }
        self.overdue_at(now())
    }

    fn overdue_at(&self, now: Instant) -> Option<u64> {
        let period = self.period.lock().expect("no holder panics");
        let is_over =
            period.as_ref().is_none_or(|period| now.duration_since(period.begin) >= PERIOD);
        let suppressed = if is_over { self.suppressed.swap(0, Relaxed) } else { 0 };
        (suppressed > 0).then_some(suppressed)
    }
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "log lines are not part of a run")]
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_counted_and_the_count_is_told_once() {
        let (limit, start) = (LineLimit::new(), now());
        for _ in 0..LINES_MAX {
            assert_eq!(limit.pass_at(start), Some(0));
        }
        for _ in 0..500 {
            assert_eq!(limit.pass_at(start + PERIOD / 2), None);
        }
        assert_eq!(limit.overdue_at(start + PERIOD / 2), None, "its period is not over");
        assert_eq!(limit.pass_at(start + PERIOD), Some(500));
        assert_eq!(limit.pass_at(start + PERIOD), Some(0));
        assert_eq!(limit.overdue_at(start + 3 * PERIOD), None, "the log has the count");
    }

    #[test]
    fn a_count_is_told_even_if_nothing_follows() {
        let (limit, start) = (LineLimit::new(), now());
        (0..LINES_MAX + 3).for_each(|_| {
            let _ = limit.pass_at(start);
        });
        assert_eq!(limit.overdue_at(start + PERIOD), Some(3));
        assert_eq!(limit.overdue_at(start + PERIOD), None);
    }
}
