//! Waiting for the disk, with a deadline: a disk that does not answer must not hold up its callers
//! for ever.
//!
//! A thread that waits has a clock of its own. A task of an async program does not, and its
//! executor is not ours, so a watch thread polls tasks again when the disk has stalled.

use crate::asynchronous::block_on_for;
use crate::host::{self, Moment};
use durability::{Acknowledgements, Durable, Ticket};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

/// How long a session waits for the disk before it gives up.
pub(crate) const ACKNOWLEDGEMENT_WAIT: Duration = Duration::from_secs(60);
/// Interval at which a watch looks for a stalled disk.
const WATCH_LOOK: Duration = Duration::from_secs(1);

/// Waits until the group of a ticket is durable, on this thread. The error says why it is not.
pub(crate) fn wait(acknowledgements: &Acknowledgements, ticket: Ticket) -> Result<(), String> {
    match block_on_for(acknowledgements.durable(ticket), ACKNOWLEDGEMENT_WAIT) {
        Some(durable) => durable.map_err(|refusal| refusal.to_string()),
        None => Err(overdue(acknowledgements, ACKNOWLEDGEMENT_WAIT)),
    }
}

fn overdue(acknowledgements: &Acknowledgements, limit: Duration) -> String {
    match acknowledgements.refusal() {
        Some(refusal) => refusal.to_string(),
        None => format!("the disk has not answered for {} s", limit.as_secs_f32()),
    }
}

/// Ends the waits of tasks for a disk that has stalled. Clones share it; the last one ends its
/// thread.
#[derive(Clone)]
pub(crate) struct Watch(Arc<Guard>);

/// Ends the watch's thread when it is dropped.
struct Guard {
    acknowledgements: Acknowledgements,
    stop: Arc<Stop>,
}

#[derive(Default)]
struct Stop {
    is_stopping: Mutex<bool>,
    changed: Condvar,
}

impl Watch {
    /// Starts the watch of a database.
    pub fn start(acknowledgements: &Acknowledgements) -> std::io::Result<Self> {
        Self::looking_each(WATCH_LOOK, acknowledgements)
    }

    fn looking_each(look: Duration, acknowledgements: &Acknowledgements) -> std::io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let (watched, stopped) = (acknowledgements.clone(), stop.clone());
        host::spawn("namdb-watch", move || {
            let mut last = None;
            while !stopped.wait(look) {
                last = Some(watched.wake_if_stalled(last));
            }
        })?;
        let acknowledgements = acknowledgements.clone();
        Ok(Self(Arc::new(Guard { acknowledgements, stop })))
    }

    /// Waits until the group of a ticket is durable. The error says why it is not.
    pub fn durable(&self, ticket: Ticket) -> DiskWait {
        self.durable_within(ACKNOWLEDGEMENT_WAIT, ticket)
    }

    fn durable_within(&self, limit: Duration, ticket: Ticket) -> DiskWait {
        let durable = self.0.acknowledgements.durable(ticket);
        DiskWait { watch: self.clone(), durable, limit, begun: Moment::now() }
    }
}

impl Stop {
    /// Waits for this time; returns whether the watch ends.
    fn wait(&self, limit: Duration) -> bool {
        let guard = self.is_stopping.lock().expect("no holder panics");
        let waited = self.changed.wait_timeout_while(guard, limit, |is_stopping| !*is_stopping);
        *waited.expect("no holder panics").0
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        *self.stop.is_stopping.lock().expect("no holder panics") = true;
        self.stop.changed.notify_all();
    }
}

/// A future that ends when a group is durable, or when the disk has not answered for too long.
pub(crate) struct DiskWait {
    /// Polls it again if the disk has stalled.
    watch: Watch,
    durable: Durable,
    limit: Duration,
    begun: Moment,
}

impl Future for DiskWait {
    type Output = Result<(), String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match Pin::new(&mut self.durable).poll(context) {
            Poll::Ready(durable) => Poll::Ready(durable.map_err(|refusal| refusal.to_string())),
            Poll::Pending if self.begun.instant().elapsed() >= self.limit => {
                Poll::Ready(Err(overdue(&self.watch.0.acknowledgements, self.limit)))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asynchronous::block_on;

    /// Acknowledgements without a flusher are those of a disk that never answers.
    #[test]
    fn a_task_does_not_wait_for_ever_for_a_disk_that_does_not_answer() {
        let silent = Acknowledgements::default();
        let look = Duration::from_millis(5);
        let watch = Watch::looking_each(look, &silent).expect("threads can be had");
        let (begun, limit) = (Moment::now(), Duration::from_millis(200));
        let wait = watch.durable_within(limit, silent.of_next_group());
        // The task alone keeps the watch.
        drop(watch);
        let waited = block_on_for(wait, Duration::from_secs(20)).expect("it ends by itself");
        assert_eq!(waited, Err("the disk has not answered for 0.2 s".to_owned()));
        assert!(begun.instant().elapsed() >= limit, "it ended before its deadline");
    }

    #[test]
    fn a_wait_within_its_time_ends_with_the_group() {
        let all = Acknowledgements::default();
        let watch = Watch::start(&all).expect("threads can be had");
        assert_eq!(block_on(watch.durable(Ticket::DURABLE)), Ok(()));
        assert_eq!(overdue(&all, ACKNOWLEDGEMENT_WAIT), "the disk has not answered for 60 s");
    }

    #[test]
    fn a_watch_ends_with_its_last_clone() {
        let watch = Watch::start(&Acknowledgements::default()).expect("threads can be had");
        let stop = Arc::downgrade(&watch.0.stop);
        drop((watch.clone(), watch));
        let begun = Moment::now();
        while stop.strong_count() > 0 {
            assert!(begun.elapsed_s() < 20.0, "the thread goes on");
            host::sleep_ms(1);
        }
    }
}
