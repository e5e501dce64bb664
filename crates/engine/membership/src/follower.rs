//! Notifies a server of every change of its cluster.
//!
//! Decision: docs/decisions/0067-any-member-removes-expired-members.md

use crate::clock;
use crate::cluster_map::ClusterMap;
use crate::registry::Registry;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that polls the map until this is dropped.
///
/// Reading the map removes members whose lease has ended, so a cluster with one follower notices
/// every death within the lease time plus the follower's pause.
#[must_use = "a dropped follower reports nothing"]
pub struct Follower {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

/// Has a follower read the map at once. Outlives the follower without effect.
#[derive(Clone)]
pub struct Waker(Arc<Signal>);

#[derive(Default)]
struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_stopped: bool,
    is_woken: bool,
}

impl Waker {
    /// The cluster has changed, or may have.
    pub fn wake(&self) {
        self.0.lock().is_woken = true;
        self.0.changed.notify_all();
    }
}

impl Signal {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    /// Waits for `pause`, or until somebody calls; returns whether the follower must stop.
    fn is_stopped_after(&self, pause: Duration) -> bool {
        let is_quiet = |state: &mut State| !state.is_stopped && !state.is_woken;
        let waited = self.changed.wait_timeout_while(self.lock(), pause, is_quiet);
        let mut state = waited.expect("no holder panics").0;
        state.is_woken = false;
        state.is_stopped
    }
}

impl Follower {
    /// Calls `changed` with the current map, and with every new one, polling every `pause`. While
    /// the registry is unreachable there are no calls.
    pub(crate) fn start(
        registry: Registry,
        pause: Duration,
        mut changed: impl FnMut(&ClusterMap) + Send + 'static,
    ) -> std::io::Result<Self> {
        let signal = Arc::<Signal>::default();
        let woken = signal.clone();
        let thread = clock::spawn("follower", move || {
            let mut last = None;
            loop {
                // An unreachable registry is the lease's concern; an outdated map is not an error.
                if let Ok(map) = registry.map()
                    && last.as_ref() != Some(&map)
                {
                    changed(&map);
                    last = Some(map);
                }
                if woken.is_stopped_after(pause) {
                    return;
                }
            }
        })?;
        Ok(Self { signal, thread: Some(thread) })
    }

    /// Returns a handle with which others have it read the map at once.
    pub fn waker(&self) -> Waker {
        Waker(self.signal.clone())
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.signal.lock().is_stopped = true;
        self.signal.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // If `changed` panicked, its thread has reported it.
            let _ = thread.join();
        }
    }
}
