//! Time and threads of the endpoint, which no simulator owns: real clients ask it.
#![allow(clippy::disallowed_methods, reason = "this is where the real world enters")]

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Now, by the clock that only goes forward.
pub fn now() -> Instant {
    Instant::now()
}

/// Lets this thread rest.
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

/// Starts a thread with a name that shows in debuggers and profilers.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body)
}
