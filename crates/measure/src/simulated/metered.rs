//! An endpoint of a simulated world that counts what cards are asked for, and sends what is written to replicas, too.
//!
//! Replicas are modelled as the paper measures them, with their cost and without their use [SPADE 4.2]: every write to a
//! row's region is posted once more for each further copy, in the same batch, to a place of the same size on another
//! machine. It completes when all of them have. Locks are taken, and rows read, at the primary alone; nothing reads the
//! copies, and no failure makes one of them the primary. The oracle's words have no copies.

use fabric::{
    Batch, CallError, Counters, Env, Fabric, FabricError, FailurePoint, Mutant, ServiceId, Span,
    Verb,
};
use layout::{GlobalPtr, NodeId, RegionId};
use sim::Endpoint;
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

/// What all metered endpoints of a world share.
#[derive(Debug)]
pub struct Meter {
    /// Requests that cards have taken.
    requests: Cell<u64>,
    /// Copies of each row, the primary among them.
    replicas: u32,
    /// Memory servers that have rows: all but the first, which has the oracle.
    owners: u16,
    /// Copies are so many bytes behind the words that they are copies of, in their own regions.
    copies_at: u64,
}

impl Meter {
    /// Nothing counted yet, in a world of so many owners of rows, each with `region_bytes` bytes, of which copies take the
    /// second half.
    pub fn new(replicas: u32, owners: u16, region_bytes: u64) -> Rc<Self> {
        assert!(replicas >= 1 && replicas <= u32::from(owners), "each copy is on another machine");
        let (requests, copies_at) = (Cell::new(0), region_bytes / 2);
        Rc::new(Self { requests, replicas, owners, copies_at })
    }

    /// Requests that cards have taken so far.
    pub fn requests(&self) -> u64 {
        self.requests.get()
    }

    /// Where the copies of a word are.
    fn copies(&self, of: GlobalPtr) -> impl Iterator<Item = GlobalPtr> + use<> {
        let (owner, owners) = (of.region().0 - 1, self.owners);
        let offset = of.offset() + self.copies_at;
        let copies = 1..self.replicas as u16;
        copies.map(move |copy| GlobalPtr::new(RegionId(1 + (owner + copy) % owners), offset))
    }
}

/// An endpoint with a meter.
#[derive(Clone)]
pub struct Metered {
    endpoint: Endpoint,
    meter: Rc<Meter>,
    /// The memory server of the same machine.
    neighbour: Option<NodeId>,
}

impl Metered {
    /// An endpoint beside the memory server `neighbour`, whose memory it reaches without a card, but for atomics.
    pub fn new(endpoint: Endpoint, meter: &Rc<Meter>, neighbour: Option<NodeId>) -> Self {
        Self { endpoint, meter: meter.clone(), neighbour }
    }

    /// The endpoint itself.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn replicate(&self, batch: &mut Batch) {
        for place in 0..batch.verbs().len() {
            let verb = batch.verbs()[place];
            if verb == Verb::Fence || verb.target().region().0 == 0 {
                continue;
            }
            for copy in self.meter.copies(verb.target()) {
                match verb {
                    Verb::Write { at, words, .. }
                    | Verb::WriteRow { at, words, .. }
                    | Verb::InstallRow { at, words, .. } => batch.write(copy, Span { at, words }),
                    Verb::WriteWord { value, .. } => batch.write_word(copy, value),
                    _ => break,
                }
            }
        }
    }

    fn count(&self, batch: &Batch) {
        let by_card = |verb: &&Verb| {
            let is_atomic = matches!(verb, Verb::CompareAndSwap { .. } | Verb::FetchAndAdd { .. });
            is_atomic || Some(self.endpoint.node_of(verb.target().region())) != self.neighbour
        };
        let verbs = batch.verbs().iter().filter(|verb| **verb != Verb::Fence);
        let requests: u64 = verbs.filter(by_card).map(Verb::requests).sum();
        self.meter.requests.set(self.meter.requests.get() + requests);
    }
}

impl Fabric for Metered {
    const IMMEDIATE: bool = false;

    #[inline]
    fn is_coherent(&self) -> bool {
        self.endpoint.is_coherent()
    }

    #[inline]
    fn is_serial(&self) -> bool {
        self.endpoint.is_serial()
    }

    async fn execute(&self, mut batch: Batch) -> Result<Batch, FabricError> {
        if self.meter.replicas > 1 {
            self.replicate(&mut batch);
        }
        self.count(&batch);
        self.endpoint.execute(batch).await
    }

    async fn call(
        &self,
        node: NodeId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> Result<Vec<u8>, CallError> {
        // The message and its answer.
        self.meter.requests.set(self.meter.requests.get() + 2);
        self.endpoint.call(node, service, request).await
    }

    #[inline]
    fn node_of(&self, region: RegionId) -> NodeId {
        self.endpoint.node_of(region)
    }

    #[inline]
    fn counters(&self) -> &Counters {
        self.endpoint.counters()
    }
}

impl Env for Metered {
    fn now_ns(&self) -> u64 {
        self.endpoint.now_ns()
    }

    fn sleep_ns(&self, duration_ns: u64) -> impl Future<Output = ()> {
        self.endpoint.sleep_ns(duration_ns)
    }

    fn yield_now(&self) -> impl Future<Output = ()> {
        self.endpoint.yield_now()
    }

    fn random(&self) -> u64 {
        self.endpoint.random()
    }

    /// A commit is a task of its own. It would begin at once, on another core, while the one that has asked for it is still
    /// taken for what the transaction has read: here it begins when that is over.
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let (endpoint, from_ns) = (self.endpoint.clone(), self.endpoint.now_ns());
        self.endpoint.spawn(async move {
            endpoint.sleep_ns(from_ns.saturating_sub(endpoint.now_ns())).await;
            task.await;
        });
    }

    fn reach(&self, point: impl FailurePoint) -> impl Future<Output = ()> {
        self.endpoint.reach(point)
    }

    fn mutant(&self, mutant: Mutant) -> bool {
        self.endpoint.mutant(mutant)
    }

    fn refuses_memory(&self) -> bool {
        self.endpoint.refuses_memory()
    }
}
