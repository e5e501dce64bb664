//! An endpoint of a simulated world that counts the requests to cards, and models replication.
//!
//! Replication has its cost but no effect, as the paper measures it [SPADE 4.2]: every write to a
//! row's region is posted once more for each further copy, in the same batch, to an area of the
//! same size on another machine. The batch completes when all writes have. Locks and reads use only
//! the primary; nothing reads the copies, and no failure makes one of them the primary. The
//! oracle's words are not replicated.

use fabric::{
    Batch, CallError, Counters, DynEnv, Env, Fabric, FabricError, FailurePoint, Mutant, ServiceId,
    Span, Verb,
};
use layout::{GlobalPtr, NodeId, RegionId};
use sim::Endpoint;
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

/// Shared by all metered endpoints of a world.
#[derive(Debug)]
pub struct Meter {
    /// Number of requests that cards have handled.
    requests: Cell<u64>,
    /// Copies of each row, including the primary.
    replicas: u32,
    /// Memory servers with rows: all except the first, which has the oracle.
    owners: u16,
    /// Distance in bytes from a word to its copy, in another server's region.
    copies_at: u64,
}

impl Meter {
    /// Creates a meter for `owners` memory servers with `region_bytes` bytes each; copies take the
    /// second half.
    pub fn new(replicas: u32, owners: u16, region_bytes: u64) -> Rc<Self> {
        assert!(replicas >= 1 && replicas <= u32::from(owners), "each copy is on another machine");
        let (requests, copies_at) = (Cell::new(0), region_bytes / 2);
        Rc::new(Self { requests, replicas, owners, copies_at })
    }

    /// Number of requests that cards have handled.
    pub fn requests(&self) -> u64 {
        self.requests.get()
    }

    /// Returns where the copies of a word are.
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
    /// Creates an endpoint on the machine of memory server `neighbour`, whose memory it reaches
    /// without a card, except for atomics.
    pub fn new(endpoint: Endpoint, meter: &Rc<Meter>, neighbour: Option<NodeId>) -> Self {
        Self { endpoint, meter: meter.clone(), neighbour }
    }

    /// The metered endpoint that a handle of a lane or database holds.
    ///
    /// # Panics
    /// If it is of another world.
    pub fn of(env: &DynEnv) -> &Self {
        env.downcast_ref().expect("all endpoints of the cluster are metered")
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
        // The request and its response.
        self.meter.requests.set(self.meter.requests.get() + 2);
        self.endpoint.call(node, service, request).await
    }

    async fn settle(&self, region: RegionId) -> Result<(), FabricError> {
        self.endpoint.settle(region).await
    }

    fn is_given_up(&self, node: NodeId) -> bool {
        self.endpoint.is_given_up(node)
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
    const IS_SIMULATED: bool = true;

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

    /// Starts a commit, which is a task of its own. The simulator would start it at once on another
    /// core, although the transaction is still busy with its reads; this delays it until they are
    /// done.
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
