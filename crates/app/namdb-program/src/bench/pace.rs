//! Limits the number of transactions that a worker starts per second.

use namdb::host::Moment;

/// A worker that is ahead by less does not sleep, since sleeping itself takes time.
const AHEAD_MIN_S: f64 = 1e-3;
/// A worker that is further behind does not catch up.
const BEHIND_MAX_S: f64 = 0.1;

/// Time at which a worker's next transaction is due.
pub struct Pace {
    start: Moment,
    interval_s: f64,
    due_s: f64,
}

impl Pace {
    /// Starts at the current time with `rate` transactions per second.
    pub fn new(rate: f64) -> Self {
        Self { start: Moment::now(), interval_s: rate.recip(), due_s: 0.0 }
    }

    /// Records the start of a transaction; the next one is due an interval later. Returns the
    /// seconds to sleep before it, if sleeping is worth it.
    pub fn step(&mut self) -> Option<f64> {
        self.step_at(self.start.elapsed_s())
    }

    fn step_at(&mut self, now_s: f64) -> Option<f64> {
        self.due_s = (self.due_s + self.interval_s).max(now_s - BEHIND_MAX_S);
        let ahead_s = self.due_s - now_s;
        (ahead_s >= AHEAD_MIN_S).then_some(ahead_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of transactions that start within a second whose first `busy_s` are lost to other
    /// work.
    fn started(rate: f64, busy_s: f64) -> u32 {
        let mut pace = Pace::new(rate);
        let (mut now_s, mut count) = (busy_s, 0);
        while now_s < 1.0 {
            now_s += 1e-6 + pace.step_at(now_s).unwrap_or(0.0);
            count += 1;
        }
        count
    }

    #[test]
    fn as_many_start_as_the_rate_says() {
        for rate in [1.0, 50.0, 20_000.0] {
            let count = f64::from(started(rate, 0.0));
            assert!((count / rate - 1.0).abs() < 0.01, "{count} of {rate}");
        }
    }

    #[test]
    fn a_long_delay_is_not_made_up_for() {
        assert!((540..620).contains(&started(1000.0, 0.5)), "{}", started(1000.0, 0.5));
    }
}
