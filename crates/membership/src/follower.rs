//! Telling a server of every change of its cluster.

use crate::clock;
use crate::cluster_map::ClusterMap;
use crate::registry::Registry;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that looks at the map again and again, until this is dropped.
///
/// Who looks at the map takes those out whose lease has ended, so a cluster with one follower learns of every
/// death within the time of a lease and the follower's pause.
#[must_use = "a follower that is dropped tells nothing"]
pub struct Follower {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Calls `changed` with the map as it is now and whenever it is another one, looking every `pause`.
    /// While the registry cannot be reached it is not called.
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
                // Whether the registry can be reached concerns the lease; a map that is old is no error.
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
            // A panic of `changed` has been reported by its thread.
            let _ = thread.join();
        }
    }
}
