//! A simulated world: its nodes, its services, and the loop that advances time.

use crate::config::{BrokenPromises, Carrier, SimConfig};
use crate::env::{AsEndpoint, Endpoint};
use crate::scheduler::{MAIN, TaskFuture, TaskId, TaskWaker};
use crate::state::{Core, DriverAction};
use fabric::{Batch, CallError, Service, ServiceId};
use layout::{GlobalPtr, NodeId, RegionId, WORD_BYTES};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Each service with the life of its node in which it was registered.
type Services = BTreeMap<(NodeId, ServiceId), (u32, Arc<dyn Service<Endpoint>>)>;

/// The state that a world and its endpoints share.
pub(crate) struct Shared {
    pub(crate) core: RefCell<Core>,
    /// Receives the additional reads of verbs, for the counters.
    pub(crate) extra: RefCell<Batch>,
    pub(crate) carrier: Carrier,
    services: RefCell<Services>,
    /// Counts the calls of `block_on`, to recognise a late wake-up of an earlier one.
    blocks: Cell<u32>,
    pub(crate) is_driven: Cell<bool>,
}

impl Shared {
    /// Starts a task; a dead group's task never starts.
    pub(crate) fn spawn(&self, group: u32, task: TaskFuture) {
        let never = {
            let core = &mut *self.core.borrow_mut();
            if core.is_dead(group) {
                Some(task)
            } else {
                core.tasks.add(group, task, &core.woken);
                None
            }
        };
        // Dropping the task's future may spawn tasks, and may drop the last reference to the world.
        drop(never);
    }

    /// The service that `node` offers under this number in its present life.
    pub(crate) fn service(
        &self,
        node: NodeId,
        service: ServiceId,
    ) -> Option<Arc<dyn Service<Endpoint>>> {
        let emptied_in = self.core.borrow_mut().node(node).emptied_in;
        let offered = self.services.borrow().get(&(node, service)).cloned();
        offered.filter(|(life, _)| *life >= emptied_in).map(|(_, service)| service)
    }
}

/// A simulated world whose endpoints are [`Endpoint`]s. It owns everything in it: dropping it ends
/// all tasks.
pub struct World {
    pub(crate) shared: Rc<Shared>,
}

/// The reason why time stopped.
enum Pause {
    Idle,
    Deadline,
    MainIsWoken,
    MainIsDead,
}

/// Marks the world as driven; resets the mark even if a task panics.
struct Driving<'a>(&'a Cell<bool>);

impl<'a> Driving<'a> {
    fn start(is_driven: &'a Cell<bool>) -> Self {
        assert!(!is_driven.replace(true), "a world is driven from outside, not by its own tasks");
        Self(is_driven)
    }
}

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl World {
    /// A world at time 0. Nodes 0, 1, ... are the memory servers, each with the region of its
    /// number; the compute nodes follow.
    pub fn new(config: SimConfig) -> Self {
        let (plan, carrier) = (config.plan.clone(), config.carrier);
        let mut core = Core::new(config);
        plan.iter().for_each(|planned| core.plan_fault(planned));
        let shared = Shared {
            core: RefCell::new(core),
            extra: RefCell::default(),
            carrier,
            services: RefCell::default(),
            blocks: Cell::new(0),
            is_driven: Cell::new(false),
        };
        Self { shared: Rc::new(shared) }
    }

    pub(crate) fn core<T>(&self, look: impl FnOnce(&mut Core) -> T) -> T {
        look(&mut self.shared.core.borrow_mut())
    }

    pub fn server_count(&self) -> u16 {
        self.core(|core| core.addresses.server_count())
    }

    pub fn region_bytes(&self, region: RegionId) -> u64 {
        self.core(|core| core.memory.region_words(usize::from(region.0))) * WORD_BYTES
    }

    /// Compute node `index`, counted from 0.
    pub fn compute_node(&self, index: u16) -> NodeId {
        let node = NodeId(self.server_count() + index);
        self.core(|core| assert!(usize::from(node.0) < core.nodes.len(), "no such compute node"));
        node
    }

    /// An endpoint on `node` in a kill group of its own.
    pub fn endpoint(&self, node: NodeId) -> Endpoint {
        let group = self.core(|core| core.add_group(node));
        Endpoint::new(self.shared.clone(), node, group)
    }

    /// The endpoint of `node`'s own services: tasks that are spawned here die with them.
    pub fn service_endpoint(&self, node: NodeId) -> Endpoint {
        let group = self.core(|core| core.nodes[usize::from(node.0)].services);
        Endpoint::new(self.shared.clone(), node, group)
    }

    /// Registers on every memory server the services that `services` makes for its region and the
    /// region's size in bytes. Returns the servers.
    pub fn serve<I>(&self, services: impl Fn(RegionId, u64) -> I) -> Vec<NodeId>
    where
        I: IntoIterator<Item = (ServiceId, Arc<dyn Service<Endpoint>>)>,
    {
        let nodes: Vec<NodeId> = (0..self.server_count()).map(NodeId).collect();
        for &node in &nodes {
            let region = RegionId(node.0);
            for (id, service) in services(region, self.region_bytes(region)) {
                self.register(node, id, service);
            }
        }
        nodes
    }

    pub fn register(&self, node: NodeId, id: ServiceId, service: Arc<dyn Service<Endpoint>>) {
        let life = self.core(|core| core.node(node).life);
        self.shared.services.borrow_mut().insert((node, id), (life, service));
    }

    /// Starts a task in the kill group of `env`.
    pub fn spawn_on(&self, env: &impl AsEndpoint, task: impl Future<Output = ()> + 'static) {
        let env = env.endpoint();
        assert!(env.belongs_to(&self.shared), "the endpoint is of another world");
        self.shared.spawn(env.group(), Box::pin(task));
    }

    /// Lets time pass until `future`, run on `env`, is ready.
    ///
    /// # Panics
    /// If `env` is killed before, on deadlock, at the limits, and if any task panics; the message
    /// has seed, scenario and virtual time.
    pub fn block_on<T>(&self, env: &impl AsEndpoint, future: impl Future<Output = T>) -> T {
        self.run(env, future).unwrap_or_else(|| self.fail("the endpoint of block_on was killed"))
    }

    /// As [`World::block_on`], but `None` if `env` is killed before the future is ready.
    pub fn run<T>(&self, env: &impl AsEndpoint, future: impl Future<Output = T>) -> Option<T> {
        let env = env.endpoint();
        assert!(env.belongs_to(&self.shared), "the endpoint is of another world");
        let _driving = Driving::start(&self.shared.is_driven);
        let generation = self.shared.blocks.get();
        self.shared.blocks.set(generation + 1);
        let task = TaskId { place: MAIN, generation };
        let task_waker = self.core(|core| {
            core.tasks.main_group = env.group();
            TaskWaker::new(task, &core.woken)
        });
        let waker = Waker::from(task_waker.clone());
        let mut future = pin!(future);
        waker.wake_by_ref();
        loop {
            match self.pump(u64::MAX, Some((task, env.group()))) {
                Pause::MainIsWoken => {
                    task_waker.running();
                    if let Poll::Ready(value) = self.poll(future.as_mut(), &waker) {
                        return Some(value);
                    }
                }
                Pause::MainIsDead => return None,
                Pause::Idle | Pause::Deadline => self.fail(&self.deadlock()),
            }
        }
    }

    /// Lets time pass until no event is left. Returns how many tasks still wait; they would wait
    /// for ever.
    pub fn run_until_idle(&self) -> usize {
        let _driving = Driving::start(&self.shared.is_driven);
        self.pump(u64::MAX, None);
        self.core(|core| core.tasks.count())
    }

    pub fn run_for(&self, duration_ns: u64) {
        let _driving = Driving::start(&self.shared.is_driven);
        let deadline_ns = self.now_ns() + duration_ns;
        self.pump(deadline_ns, None);
        self.core(|core| core.now_ns = deadline_ns);
    }

    /// Executes events up to `deadline_ns`, or until the main task must run.
    fn pump(&self, deadline_ns: u64, main: Option<(TaskId, u32)>) -> Pause {
        loop {
            if main.is_some_and(|(_, group)| self.core(|core| core.is_dead(group))) {
                self.drop_killed_tasks();
                return Pause::MainIsDead;
            }
            let outside = self.core(|core| core.advance(deadline_ns));
            match outside {
                DriverAction::Run(task) if task.place == MAIN => {
                    if main.is_some_and(|(main, _)| main == task) {
                        return Pause::MainIsWoken;
                    }
                }
                DriverAction::Run(task) => self.run_task(task),
                DriverAction::Request(call) => self.handle(call),
                DriverAction::Deadline => return Pause::Deadline,
                DriverAction::Idle => return Pause::Idle,
                DriverAction::TimeLimit => self.fail("the run exceeds its limit of virtual time"),
                DriverAction::EventLimit => self.fail("the run exceeds its limit of events"),
            }
            self.drop_killed_tasks();
        }
    }

    fn run_task(&self, id: TaskId) {
        let Some((mut future, waker)) = self.core(|core| core.tasks.take(id)) else {
            return;
        };
        match self.poll(future.as_mut(), &waker) {
            Poll::Ready(()) => self.core(|core| core.tasks.remove(id)),
            Poll::Pending => {
                let dead = self.core(|core| core.tasks.put_back(id, future));
                drop(dead);
            }
        }
    }

    /// Polls protocol code. Adds seed, scenario and time to a panic, and passes it on.
    fn poll<F>(&self, future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output>
    where
        F: Future + ?Sized,
    {
        let mut context = Context::from_waker(waker);
        match catch_unwind(AssertUnwindSafe(|| future.poll(&mut context))) {
            Ok(poll) => poll,
            Err(payload) => {
                let text = payload.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
                self.fail(text.unwrap_or("a task panicked"))
            }
        }
    }

    /// A request arrives at its node: the handler is a task of the node's services.
    fn handle(&self, call: u64) {
        let Some(request) = self.core(|core| core.request_arrives(call)) else {
            return;
        };
        let Some(service) = self.shared.service(request.target, request.service) else {
            let answer = Err(CallError::NoSuchService(request.target, request.service));
            return self.core(|core| core.handled(call, answer));
        };
        let env = self.service_endpoint(request.target);
        let shared = self.shared.clone();
        let group = env.group();
        let task = async move {
            shared.core.borrow_mut().pay_for_message();
            let answer = service.handle(&env, &request.request).await;
            shared.core.borrow_mut().handled(call, answer);
        };
        self.shared.spawn(group, Box::pin(task));
    }

    /// Drops the futures of killed tasks, while nothing is borrowed.
    pub(crate) fn drop_killed_tasks(&self) {
        while let Some(task) = self.core(|core| core.graveyard.pop()) {
            drop(task);
        }
    }

    fn deadlock(&self) -> String {
        self.core(|core| {
            format!(
                "deadlock: nothing can happen any more, but block_on, {} tasks, {} batches and {} calls wait",
                core.tasks.count(),
                core.flights.count(),
                core.calls.count()
            )
        })
    }

    /// Ends the run with seed, scenario and virtual time, which reproduce it.
    fn fail(&self, what: &str) -> ! {
        panic!("{}: {what}", self.identity())
    }

    /// Seed, scenario and virtual time: begin every message about a run with these.
    pub fn identity(&self) -> String {
        self.core(|core| {
            let (seed, scenario) = (core.config.seed, &core.config.scenario);
            format!("seed {seed}, scenario {scenario:?}, virtual time {} ns", core.now_ns)
        })
    }

    pub fn now_ns(&self) -> u64 {
        self.core(|core| core.now_ns)
    }

    /// The present value of a word of memory.
    pub fn peek(&self, at: GlobalPtr) -> u64 {
        self.core(|core| core.memory.load(core.place(at), core.now_ns))
    }

    /// The present values of `words` words of memory.
    pub fn peek_words(&self, at: GlobalPtr, words: u64) -> Vec<u64> {
        self.core(|core| {
            let at = core.place(at);
            (0..words).map(|word| core.memory.load(at.add_words(word), core.now_ns)).collect()
        })
    }

    /// Sets a word of memory, now.
    pub fn poke(&self, at: GlobalPtr, value: u64) {
        self.core(|core| core.memory.store(core.place(at), core.now_ns, value, 0));
    }

    /// Sets words of memory, now.
    pub fn poke_words(&self, at: GlobalPtr, values: &[u64]) {
        for (word, &value) in values.iter().enumerate() {
            self.poke(at.add_words(word as u64), value);
        }
    }

    /// Batches posted so far.
    pub fn batches(&self) -> u64 {
        self.core(|core| core.batches)
    }

    /// Verbs posted so far, without calls.
    pub fn verbs(&self) -> u64 {
        self.core(|core| core.verbs)
    }

    /// Events so far; they determine the simulator's running time.
    pub fn events(&self) -> u64 {
        self.core(|core| core.events)
    }

    /// A number that two runs share only if everything happened in the same way.
    pub fn fingerprint(&self) -> u64 {
        self.core(|core| core.trace.fingerprint())
    }

    /// Takes the text of the trace written since the last call.
    pub fn take_trace(&self) -> String {
        self.core(|core| core.trace.take(core.now_ns))
    }
}

impl Drop for World {
    /// Tasks hold endpoints, and endpoints the world: this breaks the cycle.
    fn drop(&mut self) {
        let tasks = self.core(|core| {
            // A task that is spawned by the end of another one must not start.
            core.groups.iter_mut().for_each(|group| group.is_dead = true);
            core.tasks.kill_all()
        });
        drop(tasks);
        self.drop_killed_tasks();
        self.shared.services.borrow_mut().clear();
        let wrong = self.shadow_errors();
        let has_all_guards = self.core(|core| {
            core.config.mutants.is_empty() && core.config.broken == BrokenPromises::default()
        });
        if has_all_guards && !std::thread::panicking() {
            assert!(wrong.is_empty(), "{}: {}", self.identity(), wrong.join("; "));
        }
    }
}
