//! Notifies a server of every change of its cluster.
//!
//! Decision: docs/decisions/0067-any-member-removes-expired-members.md

use crate::clock;
use crate::cluster_map::ClusterMap;
use crate::registry::Registry;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that polls the map until this is dropped.
///
/// Reading the map removes members whose lease has ended, so a cluster with one follower notices
/// every death within the lease time plus the follower's pause.
#[must_use = "a dropped follower reports nothing"]
pub struct Follower {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Calls `changed` with the current map, and with every new one, polling every `pause`. While
    /// the registry is unreachable there are no calls.
    pub(crate) fn start(
        registry: Registry,
        pause: Duration,
        mut changed: impl FnMut(&ClusterMap) + Send + 'static,
    ) -> std::io::Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let stopped = stop.clone();
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
                let is_stopped = stopped.0.lock().expect("no holder panics");
                let waited =
                    stopped.1.wait_timeout_while(is_stopped, pause, |is_stopped| !*is_stopped);
                if *waited.expect("no holder panics").0 {
                    return;
                }
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        *self.stop.0.lock().expect("no holder panics") = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // If `changed` panicked, its thread has reported it.
            let _ = thread.join();
        }
    }
}
