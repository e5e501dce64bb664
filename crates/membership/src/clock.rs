//! Time and threads of the control plane, which no simulator owns: it talks to a real registry.
#![allow(clippy::disallowed_methods, reason = "this is where the real world enters")]

use rustix::time::{ClockId, clock_gettime};
use std::ops::Add;
use std::thread::JoinHandle;
use std::time::Duration;

/// A moment by the clock that goes forward even while the host is suspended: the registry's goes on, too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Moment(Duration);

impl Moment {
    /// Now.
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).expect("the host was started before");
        let nanoseconds = u32::try_from(time.tv_nsec).expect("a second has 10^9 of them");
        Self(Duration::new(seconds, nanoseconds))
    }

    /// How long it is from now until this moment, or nothing if it has passed.
    pub fn left(self) -> Duration {
        self.0.saturating_sub(Self::now().0)
    }

    /// Whether this moment has come.
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

/// Lets this thread rest.
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

/// Starts a thread with a name that shows in debuggers and profilers.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body)
}
