//! Time and threads of the control plane. It talks to a real registry, so it uses the real clock
//! instead of a simulator's.
#![allow(clippy::disallowed_methods, reason = "this is where the real world enters")]

use rustix::time::{ClockId, clock_gettime};
use std::ops::Add;
use std::thread::JoinHandle;
use std::time::Duration;

/// A point in time on the boot-time clock, which advances even while the host is suspended: the
/// registry's clock does, too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Moment(Duration);

impl Moment {
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).expect("the host was started before");
        let nanoseconds = u32::try_from(time.tv_nsec).expect("a second has 10^9 of them");
        Self(Duration::new(seconds, nanoseconds))
    }

    /// Returns the nanoseconds since the host was started.
    pub fn nanoseconds(self) -> u64 {
        u64::try_from(self.0.as_nanos()).expect("a host is restarted within 584 years")
    }

    /// Returns the time left until this moment; zero if it has passed.
    pub fn left(self) -> Duration {
        self.0.saturating_sub(Self::now().0)
    }

    /// Whether this moment has passed.
    pub fn is_past(self) -> bool {
        self.left().is_zero()
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

/// Starts a thread with a name that debuggers and profilers show.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body)
}
