//! Clock and threads of the server. The simulator does not control them, since real clients
//! connect.
#![allow(clippy::disallowed_methods, reason = "this is where the real world enters")]

use std::time::{Duration, Instant};

/// Reads the monotonic clock.
pub fn now() -> Instant {
    Instant::now()
}

/// Suspends this thread.
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

/// The stack of a thread. Functions of sessions that call each other need much of it, and others
/// leave it untouched.
pub const STACK_BYTES: usize = 16 << 20;

/// Starts a named thread; debuggers and profilers show the name.
pub fn spawn(
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(body)
}
