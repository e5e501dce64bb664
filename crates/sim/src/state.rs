//! The state of a world that does not depend on the kind of its endpoints.

use crate::calls::Calls;
use crate::config::SimConfig;
use crate::faults::Faults;
use crate::flight::Flights;
use crate::memory::Memory;
use crate::random::Random;
use crate::scheduler::{Happening, Queue, TaskFuture, Tasks, Timers, WokenTasks};
use crate::trace::Trace;
use crate::verbs::Barrier;
use fabric::AddressMap;
use layout::NodeId;
use std::sync::Arc;

/// A memory server or a compute server.
pub(crate) struct Node {
    /// Its region answers no verbs any more.
    pub(crate) memory_is_dead: bool,
    /// The tasks of its services.
    pub(crate) services: u32,
    /// The node's own randomness, whatever others draw.
    pub(crate) random: Random,
}

/// Tasks that die together.
pub(crate) struct Group {
    pub(crate) node: NodeId,
    pub(crate) is_dead: bool,
}

/// What the driver of a world must do itself.
pub(crate) enum Outside {
    Run(crate::scheduler::TaskId),
    Request(u64),
    /// Nothing more happens until the deadline.
    Deadline,
    /// Nothing more happens at all.
    Idle,
    TimeLimit,
    EventLimit,
}

/// Everything in a world but its services.
pub(crate) struct Core {
    pub(crate) config: SimConfig,
    pub(crate) coherent: bool,
    pub(crate) now_ns: u64,
    pub(crate) events: u64,
    pub(crate) word_events: u64,
    pub(crate) random: Random,
    pub(crate) queue: Queue,
    pub(crate) memory: Memory,
    /// Who keeps which region.
    pub(crate) addresses: AddressMap,
    pub(crate) flights: Flights,
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) tasks: Tasks,
    pub(crate) graveyard: Vec<TaskFuture>,
    pub(crate) woken: Arc<WokenTasks>,
    pub(crate) timers: Timers,
    pub(crate) calls: Calls,
    pub(crate) nodes: Vec<Node>,
    pub(crate) groups: Vec<Group>,
    pub(crate) faults: Faults,
    pub(crate) trace: Trace,
}

impl Core {
    pub(crate) fn new(config: SimConfig, coherent: bool) -> Self {
        let memory = Memory::new(&config.server_words);
        let node_count = memory.region_count() as u16 + config.compute_nodes;
        let node = |number: u16| Node {
            memory_is_dead: false,
            services: u32::from(number),
            random: Random::new(config.seed, 1 + u64::from(number)),
        };
        let group = |number: u16| Group { node: NodeId(number), is_dead: false };
        Self {
            coherent,
            now_ns: 0,
            events: 0,
            word_events: 0,
            random: Random::new(config.seed, 0),
            queue: Queue::default(),
            flights: Flights::default(),
            addresses: AddressMap::one_region_per_server(memory.region_count() as u16),
            barriers: vec![Barrier::default(); memory.region_count()],
            memory,
            tasks: Tasks::default(),
            graveyard: Vec::new(),
            woken: Arc::default(),
            timers: Timers::default(),
            calls: Calls::new(node_count),
            nodes: (0..node_count).map(node).collect(),
            groups: (0..node_count).map(group).collect(),
            faults: Faults::default(),
            trace: Trace::new(config.trace),
            config,
        }
    }

    /// Lets everything happen that needs nobody else, until the driver must act.
    pub(crate) fn advance(&mut self, deadline_ns: u64) -> Outside {
        self.plan_woken();
        loop {
            let Some((time_ns, what)) = self.queue.pop(deadline_ns) else {
                return if self.queue.is_empty() { Outside::Idle } else { Outside::Deadline };
            };
            if let Happening::Timer { timer } = what
                && !self.timers.is_awaited(timer)
            {
                self.timers.fire(timer);
                continue;
            }
            debug_assert!(time_ns >= self.now_ns);
            self.now_ns = time_ns;
            self.events += 1;
            if time_ns > self.config.time_limit_ns {
                return Outside::TimeLimit;
            }
            if self.events > self.config.event_limit {
                return Outside::EventLimit;
            }
            match what {
                Happening::Word { flight, verb, word } => self.word(flight, verb, word),
                Happening::Run { task } => return Outside::Run(task),
                Happening::Request { call } => return Outside::Request(call),
                other => {
                    self.happen(other);
                    self.plan_woken();
                }
            }
        }
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::Segment { flight } => self.post_segment(flight),
            Happening::Complete { flight } => self.complete(flight),
            Happening::Timer { timer } => self.timers.fire(timer),
            Happening::Answer { call } => self.answer_arrives(call),
            Happening::Unanswered { call } => self.give_up(call),
            Happening::Word { .. } | Happening::Run { .. } | Happening::Request { .. } => {
                unreachable!("words happen in `advance`, runs and requests outside")
            }
        }
    }

    fn plan_woken(&mut self) {
        let wake = self.config.wake_ns;
        self.woken.plan(&mut self.queue, self.now_ns, wake, &mut self.random);
    }

    /// A new group of tasks on `node`.
    pub(crate) fn add_group(&mut self, node: NodeId) -> u32 {
        assert!(usize::from(node.0) < self.nodes.len(), "there is no node {}", node.0);
        self.groups.push(Group { node, is_dead: false });
        (self.groups.len() - 1) as u32
    }

    pub(crate) fn is_dead(&self, group: u32) -> bool {
        self.groups[group as usize].is_dead
    }

    /// Whether verbs to `node` are never carried out.
    pub(crate) fn memory_is_dead(&self, node: NodeId) -> bool {
        self.nodes.get(usize::from(node.0)).is_none_or(|node| node.memory_is_dead)
    }

    /// Kills a group: its tasks never run again. What it has posted may still happen, in part.
    pub(crate) fn kill_group(&mut self, group: u32) {
        if self.is_dead(group) {
            return;
        }
        self.groups[group as usize].is_dead = true;
        self.trace.event(self.now_ns, "killed group", u64::from(group));
        self.tasks.kill(group, &mut self.graveyard);
        self.cut_flights(group);
        self.cut_calls(group);
        let node = self.groups[group as usize].node;
        if self.nodes[usize::from(node.0)].services == group {
            self.fail_calls_to(node);
        }
    }

    /// Kills a node: all its groups, and its memory.
    pub(crate) fn kill_node(&mut self, node: NodeId) {
        self.trace.event(self.now_ns, "killed node", u64::from(node.0));
        self.nodes[usize::from(node.0)].memory_is_dead = true;
        for group in 0..self.groups.len() as u32 {
            if self.groups[group as usize].node == node {
                self.kill_group(group);
            }
        }
    }

    /// Gives a node a new group for its services, and lets its memory answer again.
    pub(crate) fn revive_node(&mut self, node: NodeId) -> u32 {
        let services = self.nodes[usize::from(node.0)].services;
        assert!(self.is_dead(services), "node {} is alive", node.0);
        let group = self.add_group(node);
        let node = &mut self.nodes[usize::from(node.0)];
        node.services = group;
        node.memory_is_dead = false;
        group
    }
}
