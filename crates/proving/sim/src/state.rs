//! The part of a world's state that does not depend on the type of its endpoints.

use crate::atomics::OpenAtomic;
use crate::calls::Calls;
use crate::config::SimConfig;
use crate::cores::Cores;
use crate::flight::Flights;
use crate::inject::Injector;
use crate::links::Links;
use crate::memory::Memory;
use crate::network::{CardState, Network};
use crate::parts::Part;
use crate::points::Points;
use crate::processes::{Group, Node};
use crate::random::Random;
use crate::scheduler::{Happening, Queue, TaskFuture, TaskId, Tasks, WokenTasks};
use crate::shadow::Shadow;
use crate::timers::Timers;
use crate::trace::Trace;
use crate::turns::Turns;
use crate::verbs::Barrier;
use fabric::AddressMap;
use layout::{GlobalPtr, NodeId};
use std::collections::VecDeque;
use std::sync::Arc;

/// Actions that the driver of a world must perform.
pub(crate) enum DriverAction {
    Run(TaskId),
    Request(u64),
    /// No event before the deadline.
    Deadline,
    /// No event is left.
    Idle,
    TimeLimit,
    EventLimit,
}

/// Everything in a world but its services.
pub(crate) struct Core {
    pub(crate) config: SimConfig,
    pub(crate) coherent: bool,
    /// Verbs and calls take effect at once.
    pub(crate) is_loading: bool,
    pub(crate) now_ns: u64,
    pub(crate) events: u64,
    pub(crate) verbs: u64,
    pub(crate) random: Random,
    pub(crate) queue: Queue,
    pub(crate) memory: Memory,
    pub(crate) addresses: AddressMap,
    pub(crate) flights: Flights,
    pub(crate) barriers: Vec<Barrier>,
    /// Reused memory for the parts of the segment that is being posted.
    pub(crate) parts: Vec<Part>,
    /// Atomics between their read and their write.
    pub(crate) open_atomics: Vec<OpenAtomic>,
    /// The times of cards and links, and of cores unless turns count those.
    pub(crate) network: Option<Network>,
    /// One card per machine, if there is a network.
    pub(crate) cards: Vec<CardState>,
    pub(crate) cores: Cores,
    pub(crate) turns: Turns,
    pub(crate) tasks: Tasks,
    pub(crate) graveyard: Vec<TaskFuture>,
    pub(crate) woken: Arc<WokenTasks>,
    /// Woken tasks that run next without an event.
    next: VecDeque<TaskId>,
    pub(crate) timers: Timers,
    pub(crate) shadow: Shadow,
    pub(crate) calls: Calls,
    pub(crate) nodes: Vec<Node>,
    pub(crate) groups: Vec<Group>,
    /// Number of restarts so far.
    pub(crate) lives: u32,
    /// Some process was paused at some time.
    pub(crate) pauses_are_used: bool,
    pub(crate) batches: u64,
    pub(crate) points: Points,
    pub(crate) links: Links,
    pub(crate) injector: Injector,
    pub(crate) trace: Trace,
}

impl Core {
    pub(crate) fn new(config: SimConfig) -> Self {
        let memory = Memory::new(&config.server_words, config.replica_count);
        let server_count = config.server_words.len() as u16;
        let node_count = server_count + config.compute_nodes;
        let node = |number| Node::new(number, config.seed);
        let group = |number| Group::new(NodeId(number));
        config.ensure_parts();
        let mut core = Self {
            coherent: config.carrier.is_coherent(),
            is_loading: false,
            now_ns: 0,
            events: 0,
            verbs: 0,
            random: Random::new(config.seed, 0),
            queue: Queue::default(),
            flights: Flights::default(),
            addresses: AddressMap::with_replicas(server_count, config.replica_count),
            barriers: vec![Barrier::default(); usize::from(server_count)],
            parts: Vec::new(),
            open_atomics: Vec::new(),
            network: None,
            cards: Vec::new(),
            cores: Cores::new(&config, node_count),
            turns: Turns::default(),
            memory,
            tasks: Tasks::default(),
            graveyard: Vec::new(),
            woken: Arc::default(),
            next: VecDeque::new(),
            timers: Timers::default(),
            // Experiments with hardware measure speed, and have too many rows.
            shadow: Shadow::new(config.network.is_none() && config.machines.is_none()),
            calls: Calls::new(node_count),
            nodes: (0..node_count).map(node).collect(),
            groups: (0..node_count).map(group).collect(),
            lives: 0,
            pauses_are_used: false,
            batches: 0,
            points: Points::default(),
            links: Links::new(node_count),
            injector: Injector::new(&config),
            trace: Trace::new(config.trace),
            config,
        };
        core.install_hardware();
        core
    }

    /// Where the word is: on the primary of its region, or of a closed one where it was.
    pub(crate) fn place(&self, at: GlobalPtr) -> GlobalPtr {
        let place = self.addresses.place(at.region()).unwrap_or(at.region());
        GlobalPtr::new(place, at.offset())
    }

    /// Installs the configured network and machines, all of them idle.
    pub(crate) fn install_hardware(&mut self) {
        let machine_count = self.config.ensure_machines(self.nodes.len() as u16);
        let (network, machines) = (self.config.network, self.config.machines.as_ref());
        self.network =
            if machines.is_some() { network.map(Network::without_cores) } else { network };
        self.cards = match &network {
            Some(network) => vec![CardState::new(&network.card); machine_count],
            None => Vec::new(),
        };
        let cores = network.map_or(0, |network| network.core.cores);
        self.turns = Turns::new(machines, cores, self.config.communicators);
    }

    /// Executes events that need no endpoint, until the driver must act.
    pub(crate) fn advance(&mut self, deadline_ns: u64) -> DriverAction {
        self.end_turn();
        self.plan_woken();
        loop {
            if let Some(task) = self.next_woken() {
                return DriverAction::Run(task);
            }
            // At one moment faults come first.
            let fault_ns = self.injector.next_ns();
            let before_ns = fault_ns.checked_sub(1).map(|before_ns| before_ns.min(deadline_ns));
            let next = before_ns.and_then(|before_ns| self.queue.pop(before_ns));
            let Some((time_ns, what)) = next else {
                // Random faults alone do not keep a world running.
                let goes_on = !self.queue.is_empty() || self.injector.is_waited_for();
                if fault_ns <= deadline_ns && fault_ns < u64::MAX && goes_on {
                    self.inject_next();
                    self.plan_woken();
                    continue;
                }
                if goes_on {
                    return DriverAction::Deadline;
                }
                return DriverAction::Idle;
            };
            if let Happening::Timer { timer, plan } = what
                && self.timers.is_idle(timer, plan)
            {
                continue;
            }
            debug_assert!(time_ns >= self.now_ns);
            self.now_ns = time_ns;
            self.events += 1;
            if time_ns > self.config.time_limit_ns {
                return DriverAction::TimeLimit;
            }
            if self.events > self.config.event_limit {
                return DriverAction::EventLimit;
            }
            match what {
                Happening::Atomic { flight, verb } => self.begin_atomic(flight, verb),
                Happening::AtomicEnd { flight, verb } => self.end_atomic(flight, verb),
                Happening::Part { flight, server } => self.part(flight, server),
                Happening::Step { flight, verb } => self.step(flight, verb),
                Happening::Run { task } | Happening::OnCore { task } if self.is_held(task) => {}
                Happening::Run { task } if self.cores.take_time => self.wait_for_core(task),
                Happening::Run { task } | Happening::OnCore { task } if self.turns.take_time => {
                    if self.begin_turn(task) {
                        return DriverAction::Run(task);
                    }
                }
                Happening::Turn { machine } => {
                    if let Some(task) = self.next_turn(machine) {
                        return DriverAction::Run(task);
                    }
                }
                Happening::Run { task } | Happening::OnCore { task } => {
                    return DriverAction::Run(task);
                }
                Happening::Request { call } => return DriverAction::Request(call),
                other => {
                    self.happen(other);
                    self.plan_woken();
                }
            }
        }
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::Landed { flight, number } => self.landed(flight, number),
            Happening::Timer { timer, .. } => self.timers.fire(timer),
            Happening::Resume { group, pause } => self.resume_after(group, pause),
            Happening::Answer { call } => self.answer_arrives(call),
            Happening::Unanswered { call } => self.give_up(call),
            Happening::Atomic { .. }
            | Happening::AtomicEnd { .. }
            | Happening::Step { .. }
            | Happening::Part { .. }
            | Happening::Run { .. }
            | Happening::OnCore { .. }
            | Happening::Turn { .. }
            | Happening::Request { .. } => {
                unreachable!("verbs happen in `advance`, runs and requests outside")
            }
        }
    }

    /// A woken task that begins its turn now, in worlds where tasks wait only for a core.
    fn next_woken(&mut self) -> Option<TaskId> {
        while let Some(task) = self.next.pop_front() {
            self.events += 1;
            if !self.is_held(task) && self.begin_turn(task) {
                return Some(task);
            }
        }
        None
    }

    fn plan_woken(&mut self) {
        let wake = self.config.wake_ns;
        if self.turns.take_time && wake.max_ns == 0 {
            return self.woken.move_to(&mut self.next);
        }
        self.woken.plan(&mut self.queue, self.now_ns, wake, &mut self.random);
    }
}
