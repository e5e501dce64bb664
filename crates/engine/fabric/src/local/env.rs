//! An endpoint of a local world: executes verbs immediately, on the caller's thread.
//!
//! Decisions:
//! - docs/decisions/0054-waits-below-20-us-spin.md
//! - docs/decisions/0096-one-clock-per-process-ordered-by-the-hosts-clock.md

use crate::batch::Batch;
use crate::clock;
use crate::counters::Counters;
use crate::env::{Env, Fabric, FailurePoint};
use crate::error::{CallError, FabricError};
use crate::local::execute::execute;
use crate::local::world::LocalWorld;
use crate::random::step;
use crate::raw::prefetch_words;
use crate::service::ServiceId;
use crate::upkeep::{JournalOf, Work};
use layout::{GlobalPtr, NodeId, RegionId};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

/// Shorter waits spin: the kernel wakes a sleeper about 50 microseconds late.
const SLEEP_NS_MIN: u64 = 20_000;

/// An endpoint of a [`LocalWorld`].
#[derive(Clone)]
pub struct LocalEnv {
    world: Arc<LocalWorld>,
    own: Arc<Own>,
    /// The work of upkeep that uses this endpoint, if the lane has a journal.
    work: Option<Arc<Work<Self>>>,
}

struct Own {
    counters: Counters,
    random: AtomicU64,
}

impl LocalEnv {
    pub(crate) fn new(world: Arc<LocalWorld>, seed: u64) -> Self {
        let own = Arc::new(Own { counters: Counters::default(), random: seed.into() });
        Self { world, own, work: None }
    }

    /// Executes a batch of upkeep behind its entry.
    #[cold]
    fn execute_of(&self, work: &Work<Self>, batch: &mut Batch) -> Result<(), FabricError> {
        let bare = Self { work: None, ..self.clone() };
        let ahead = run_now(work.put_entry(&bare, batch))?;
        bare.execute_now(batch)?;
        work.note(ahead.own(batch.verbs()), batch);
        ahead.remove_from(batch);
        Ok(())
    }

    /// The world of this endpoint.
    pub fn world(&self) -> &Arc<LocalWorld> {
        &self.world
    }
}

impl Fabric for LocalEnv {
    const IMMEDIATE: bool = true;

    #[inline]
    fn is_coherent(&self) -> bool {
        true
    }

    #[inline]
    async fn execute(&self, mut batch: Batch) -> Result<Batch, FabricError> {
        self.execute_now(&mut batch)?;
        Ok(batch)
    }

    #[inline]
    fn execute_now(&self, batch: &mut Batch) -> Result<(), FabricError> {
        if let Some(work) = &self.work {
            return self.execute_of(work, batch);
        }
        self.own.counters.count_batch(batch);
        execute(&self.world, batch)?;
        if self.own.counters.is_tracing() {
            self.own.counters.trace_batch(batch);
        }
        Ok(())
    }

    #[inline]
    fn prefetch(&self, at: GlobalPtr, words: u32) {
        // A wrong address is an error of the verb, not of the hint.
        if let Ok(words) = self.world.words(at, words) {
            prefetch_words(words);
        }
    }

    async fn call(
        &self,
        node: NodeId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> Result<Vec<u8>, CallError> {
        let answer = match self.world.caller(node) {
            Some(caller) => caller.call(service, &request)?,
            None => {
                let handler = self.world.service(node, service)?;
                // The handler's verbs count for the server, not for this endpoint.
                let server = self.world.endpoint();
                handler.handle(&server, &request).await?
            }
        };
        self.own.counters.count_call((request.len() + answer.len()) as u64);
        Ok(answer)
    }

    #[inline]
    fn node_of(&self, region: RegionId) -> NodeId {
        self.world.addresses().primary(region)
    }

    #[inline]
    fn counters(&self) -> &Counters {
        &self.own.counters
    }
}

impl Env for LocalEnv {
    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    async fn sleep_ns(&self, duration_ns: u64) {
        if duration_ns < SLEEP_NS_MIN {
            let end_ns = self.now_ns().saturating_add(duration_ns);
            while self.now_ns() < end_ns {
                std::hint::spin_loop();
            }
            return;
        }
        #[allow(clippy::disallowed_methods, reason = "this is where Env's waiting comes from")]
        std::thread::sleep(std::time::Duration::from_nanos(duration_ns));
    }

    async fn yield_now(&self) {
        std::thread::yield_now();
    }

    /// Not shared: each endpoint has its own state.
    #[inline]
    fn random(&self) -> u64 {
        let (state, number) = step(self.own.random.load(Relaxed));
        self.own.random.store(state, Relaxed);
        number
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        run_now(task);
    }

    #[inline]
    async fn reach(&self, _point: impl FailurePoint) {}

    fn for_upkeep(&self, journal: Option<JournalOf<Self>>) -> Self {
        let work = journal.map(|journal| Arc::new(Work::new(Some(journal))));
        Self { work, ..self.clone() }
    }
}

/// Runs a future of an immediate world to its end, on this thread.
///
/// # Panics
/// If the future waits for anything but the fabric: local verbs complete before they return.
// Inlined: otherwise the caller copies the future, several kilobytes, into this function.
#[inline(always)]
pub fn run_now<T>(future: impl Future<Output = T>) -> T {
    poll_once(pin!(future))
}

#[inline]
fn poll_once<T>(future: Pin<&mut impl Future<Output = T>>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match future.poll(&mut context) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a local future waits for nothing but the fabric"),
    }
}
