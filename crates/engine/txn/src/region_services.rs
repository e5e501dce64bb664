//! Services for each region that a memory server has: its own, and those that it has taken over.
//! The second number of each request is an address in the region that it is about.

use crate::server::RegionState;
use fabric::{CallError, Env, Reply, Service};
use layout::{GlobalPtr, RegionId};
use memory::message::Reader;
use memory::{Extents, Handlers, MoverCounts};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

/// Longest time until a server knows of a promotion, and between two looks.
const KNOWN_NS_MAX: u64 = 2_000_000_000;
const LOOK_NS: u64 = 1_000_000;

/// The states of the regions whose services have been called.
pub(crate) struct RegionStates {
    region: RegionId,
    bytes: u64,
    mover: Arc<MoverCounts>,
    handlers: Handlers,
    known: Mutex<BTreeMap<RegionId, Arc<RegionState>>>,
    /// The regions that are being taken over.
    taking: Mutex<BTreeSet<RegionId>>,
}

impl RegionStates {
    /// The states of a server whose own region has these bytes; without a state of its own, it
    /// takes over its own region like others.
    pub fn new(
        (region, bytes): (RegionId, u64),
        own: Option<RegionState>,
        mover: Arc<MoverCounts>,
    ) -> Self {
        let known = own.map(|own| (region, Arc::new(own))).into_iter().collect();
        let (handlers, taking) = (Handlers::default(), Mutex::default());
        Self { region, bytes, mover, handlers, known: Mutex::new(known), taking }
    }

    pub fn region(&self) -> RegionId {
        self.region
    }

    /// The handlers under way, where there are replicas.
    pub fn handlers(&self) -> &Handlers {
        &self.handlers
    }

    /// The state of the server's own region. If another server has it, nothing of it is free here.
    pub fn own(&self) -> Arc<RegionState> {
        let known = self.lock().get(&self.region).cloned();
        known.unwrap_or_else(|| Arc::new(RegionState::new(self.used_up(), &self.mover)))
    }

    fn used_up(&self) -> Extents {
        Extents::used_up(self.region, self.bytes)
    }

    pub fn all(&self) -> Vec<Arc<RegionState>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<RegionId, Arc<RegionState>>> {
        self.known.lock().expect("no holder panics")
    }

    /// Waits until this server knows that it has a region: a caller may know of a promotion before.
    /// Fails if it has not, because the pointer is damaged or the caller does not know of one yet.
    async fn await_primary<E: Env>(&self, env: &E, region: RegionId) -> Result<(), CallError> {
        let node = self.region.server();
        let deadline_ns = env.now_ns().saturating_add(KNOWN_NS_MAX);
        while !env.has_primary(node, region) {
            if env.now_ns() >= deadline_ns {
                return Err(CallError::Unreachable(region.server()));
            }
            env.sleep_ns(LOOK_NS).await;
        }
        Ok(())
    }

    /// The state of a region that this server has; the first request after a promotion takes it
    /// over.
    pub async fn of<E: Env>(
        &self,
        env: &E,
        region: RegionId,
    ) -> Result<Arc<RegionState>, CallError> {
        loop {
            let known = self.lock().get(&region).cloned();
            if let Some(known) = known {
                return Ok(known);
            }
            // Many callers wait for a promotion; one of them reads the list.
            if self.taking().insert(region) {
                break;
            }
            env.sleep_ns(LOOK_NS).await;
        }
        let _taking = Taking { states: self, region };
        let extents = Extents::take_over(env, region).await?;
        let state = Arc::new(RegionState::new(extents, &self.mover));
        Ok(self.lock().entry(region).or_insert(state).clone())
    }

    fn taking(&self) -> std::sync::MutexGuard<'_, BTreeSet<RegionId>> {
        self.taking.lock().expect("no holder panics")
    }
}

/// A region that is being taken over, until its state is known or that has failed.
struct Taking<'a> {
    states: &'a RegionStates,
    region: RegionId,
}

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        self.states.taking().remove(&self.region);
    }
}

/// Makes a service over the state of a region.
type Make<E> = fn(&RegionState) -> Arc<dyn Service<E>>;

/// A service that each region has.
pub(crate) struct OfRegion<E> {
    states: Arc<RegionStates>,
    make: Make<E>,
    /// That of the server's own region, for worlds without replicas.
    own: OnceLock<Arc<dyn Service<E>>>,
    made: Mutex<BTreeMap<RegionId, Arc<dyn Service<E>>>>,
}

impl<E: Env> OfRegion<E> {
    pub fn new(states: Arc<RegionStates>, make: Make<E>) -> Self {
        Self { states, make, own: OnceLock::new(), made: Mutex::default() }
    }

    async fn handle_of_region(&self, env: &E, request: &[u8]) -> Result<Vec<u8>, CallError> {
        let mut reader = Reader::new(request, "a service of a region");
        let (_, at) = (reader.number()?, GlobalPtr::from_word(reader.number()?));
        let region = at.region();
        let _under_way = self.states.handlers.begin();
        self.states.await_primary(env, region).await?;
        let state = self.states.of(env, region).await?;
        state.extents.keep_list();
        self.service_of(region, &state).handle(env, request).await
    }

    fn service_of(&self, region: RegionId, state: &RegionState) -> Arc<dyn Service<E>> {
        let mut made = self.made.lock().expect("no holder panics");
        made.entry(region).or_insert_with(|| (self.make)(state)).clone()
    }
}

impl<E: Env> Service<E> for OfRegion<E> {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        match env.has_replicas() {
            true => Box::pin(self.handle_of_region(env, request)),
            false => self.own.get_or_init(|| (self.make)(&self.states.own())).handle(env, request),
        }
    }
}
