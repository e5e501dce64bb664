//! The configuration of a simulated world, and how hostile it is.
//!
//! Decisions:
//! - docs/decisions/0113-worlds-that-measure-speed-have-strong-memory.md
//! - docs/decisions/0142-send-lists-shared-queue-pairs-and-communicators-are-part.md

use crate::fault::{FaultKind, FaultRate, PlannedFault};
use crate::machine::Machines;
use crate::network::Network;
use crate::random::Random;
use crate::verbs::{Kind, kind};
use fabric::{Mutant, Verb};
use std::collections::BTreeMap;

/// An interval of times; draws are uniform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// Shortest, in nanoseconds.
    pub min_ns: u64,
    /// Longest, in nanoseconds.
    pub max_ns: u64,
}

impl Interval {
    /// From `min_ns` to `max_ns`, both inclusive.
    pub const fn new(min_ns: u64, max_ns: u64) -> Self {
        assert!(min_ns <= max_ns);
        Self { min_ns, max_ns }
    }

    #[inline]
    pub(crate) fn draw(self, random: &mut Random) -> u64 {
        self.min_ns + random.up_to(self.max_ns - self.min_ns)
    }
}

/// Promises of the fabric's contract that this world breaks, to show that a protocol relies on them
/// and that its tests notice. The default keeps all promises. `docs/assumptions.md` lists what
/// relies on each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BrokenPromises {
    /// A word is written whole. If broken, its lower half is written first.
    pub whole_words: bool,
    /// A write takes effect before anything posted after it to the same server.
    pub write_before_later: bool,
    /// An atomic takes effect before a later read or atomic to the same server.
    pub atomic_before_later: bool,
    /// Verbs after a fence start when all verbs before it are complete.
    pub fence: bool,
    /// Rows are delivered untorn.
    pub untorn_rows: bool,
    /// The words that a missing key returns are consistent. If broken, one fetch is taken as proof
    /// of a miss; where memory is coherent, the insert word is read last.
    pub fitting_misses: bool,
    /// Every later verb sees a completed write. If broken, some see it later.
    pub visible_when_complete: bool,
    /// No atomic falls between the read and the write of another atomic on the same word. Takes
    /// effect with [`SimConfig::atomic_window_ns`].
    pub atomics_exclude: bool,
    /// A failed swap writes nothing. If broken, it writes back the value that it read. Takes effect
    /// with [`SimConfig::atomic_window_ns`].
    pub failed_swap_writes_nothing: bool,
    /// Where memory is coherent, no plain write falls into an atomic either. Takes effect with
    /// [`SimConfig::atomic_window_ns`].
    pub atomics_with_cpu: bool,
    /// A repeated call is answered once. If broken, its handler runs again.
    pub answered_once: bool,
    /// Verbs own their buffers until they complete. If broken, a caller that drops a future gets
    /// the buffer back and reuses it.
    pub buffers_until_complete: bool,
    /// A completion that is delivered twice completes nothing else. Takes effect with
    /// [`FaultKind::DuplicateCompletion`].
    pub completes_once: bool,
    /// If servers execute verbs, they touch all words of a verb at one moment.
    pub one_moment: bool,
    /// After `settle` nothing that its caller lost takes effect any more. Takes effect with
    /// [`FaultKind::LateVerb`].
    pub settled: bool,
}

/// The order in which a verb's words are touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tearing {
    /// All at one moment.
    None,
    /// One after another, from the first to the last.
    InOrder,
    AnyOrder,
}

/// The processor that executes verbs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Carrier {
    /// Network cards: memory is not coherent with processors, and rows carry checksums.
    #[default]
    Card,
    /// The processors of the callers: memory is coherent, and the version word guards each row.
    Caller,
    /// The processor of each memory server, one verb after another: memory is coherent, and all
    /// words of a verb are touched at one moment.
    Server,
}

impl Carrier {
    /// Whether memory is coherent with processors.
    pub const fn is_coherent(self) -> bool {
        !matches!(self, Self::Card)
    }
}

/// The configuration of a run: with the same configuration the same program leaves the same trace,
/// byte for byte.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// Seed of all randomness.
    pub seed: u64,
    /// The name of the run in messages, next to its seed.
    pub scenario: String,
    /// Words of each memory server's region; region n is on node n. Default: one region of 1 Mi
    /// words.
    pub server_words: Vec<u64>,
    /// Places of each region's contents: 1, or more with replicas on the next nodes. Default 1.
    pub replica_count: u16,
    /// Nodes without a region; their numbers follow those of the memory servers. Default 4.
    pub compute_nodes: u16,
    /// Time from posting to the first word of a read. Default 600 to 1500 ns.
    pub read_ns: Interval,
    /// Time from posting to the first word of a write. Default 500 to 1500 ns.
    pub write_ns: Interval,
    /// Time from posting to the effect of an atomic. Default 700 to 1800 ns.
    pub atomic_ns: Interval,
    /// Time from the last effect of a batch to its completion. Default 400 to 1200 ns.
    pub answer_ns: Interval,
    /// Time of one message of a call. Default 1500 to 4000 ns.
    pub call_ns: Interval,
    /// A verb spreads over up to this many nanoseconds per word. Default 30.
    pub word_ns: u64,
    /// The processor that executes verbs. Default: cards.
    pub carrier: Carrier,
    /// The order in which a verb's words are touched, unless servers execute verbs. Default: any.
    pub tearing: Tearing,
    /// Whether all verbs of a batch to one server take effect in the order of posting, and not only
    /// those that the contract orders. Default no.
    pub in_posting_order: bool,
    /// Whether all verbs of a batch to one server up to the next fence take effect at one moment,
    /// in the order of posting, when the last of them would. For worlds that measure speed: this is
    /// the cheapest mode for the simulator, and excludes weak memory and the options that rely on
    /// it. Default no.
    pub parts_at_once: bool,
    /// Whether all verbs of a batch to one server up to the next fence are posted as one list:
    /// cores of [`SimConfig::machines`] pay [`hardware::Core::post_more_ps`] for each verb but the
    /// first. Default no.
    pub posts_lists: bool,
    /// Number of queue pairs to each server, less than 65,536, that the endpoints of a node share,
    /// like endpoints of one thread. Default 0: each endpoint has its own.
    pub queue_pairs: u32,
    /// Number of cores of each machine that only post and poll, on behalf of the endpoints of its
    /// compute nodes. Each of these cores has one queue pair to each server. Needs
    /// [`SimConfig::machines`] with more cores than that. Default 0: each thread posts on its own
    /// core.
    pub communicators: u32,
    /// Upper bound of the time between an atomic's read and its write of the word; plain writes in
    /// between are lost. No effect where memory is coherent. Default 0.
    pub atomic_window_ns: u64,
    /// One in this many segments of a batch completes long after its last effect. Default 0: none.
    pub late_completion_one_in: u32,
    /// The delay of a late completion. Default 0 to 50 us.
    pub late_completion_ns: Interval,
    /// One in this many verbs takes [`SimConfig::slow_verb_factor`] times as long. Default 0: none.
    pub slow_verb_one_in: u32,
    /// The slow-down of a slow verb. Default 20.
    pub slow_verb_factor: u64,
    /// Time from a task's wake-up to its next run. Default 0 to 200 ns.
    pub wake_ns: Interval,
    /// Time for which a task that yields backs off. Default 50 to 500 ns.
    pub yield_ns: Interval,
    /// One in this many calls arrives twice. Default 0: none.
    pub duplicate_call_one_in: u32,
    /// One in this many batches loses its connection: it ends as unreachable, and its remaining
    /// effects may or may not take place. Default 0: none.
    pub lost_batch_one_in: u32,
    /// One in this many arrivals at a failure point is held for a time. Default 0: none.
    pub reach_delay_one_in: u32,
    /// The time for which an arrival is held. Default 0 to 20 us.
    pub reach_delay_ns: Interval,
    /// The delay of a verb after the error, under [`FaultKind::LateVerb`]. Default 0 to 2 ms.
    pub late_verb_ns: Interval,
    /// The capacity of cards and links. Default: unlimited.
    pub network: Option<Network>,
    /// The assignment of nodes to machines. Nodes of one machine share its card and its cores, and
    /// cores then take time; this needs a network. Default: each node has a card, and each task has
    /// a core that only posts and polls.
    pub machines: Option<Machines>,
    /// Cores of each node; 0: as many as tasks. Default 0.
    pub cores: u16,
    /// Core time of a task between two awaits. Default none.
    pub core_cost_ns: Interval,
    /// Time after which verbs and calls to a dead node end as unreachable; `None`: never. Default 1
    /// ms.
    pub unreachable_after_ns: Option<u64>,
    /// Whether a restarted memory server refuses every process that knew it before, for ever, as a
    /// server with another identity and another key would. Otherwise it refuses each such process
    /// once, which thereby learns of the restart. Default false.
    pub restarted_are_strangers: bool,
    /// Random faults, by kind. Default none.
    pub faults: BTreeMap<FaultKind, FaultRate>,
    /// Planned faults. Default none.
    pub plan: Vec<PlannedFault>,
    /// Guards to remove, see [`fabric::Env::mutant`]. Default none.
    pub mutants: Vec<Mutant>,
    /// Promises to break. Default none.
    pub broken: BrokenPromises,
    /// Whether to record every event as text. Default no.
    pub trace: bool,
    /// Limit of a run's virtual time; a longer run fails. Default 1000 s.
    pub time_limit_ns: u64,
    /// Limit of a run's events; a longer run fails. Default 200 million.
    pub event_limit: u64,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            scenario: String::from("unnamed"),
            server_words: vec![1 << 20],
            replica_count: 1,
            compute_nodes: 4,
            read_ns: Interval::new(600, 1500),
            write_ns: Interval::new(500, 1500),
            atomic_ns: Interval::new(700, 1800),
            answer_ns: Interval::new(400, 1200),
            call_ns: Interval::new(1500, 4000),
            word_ns: 30,
            carrier: Carrier::default(),
            tearing: Tearing::AnyOrder,
            in_posting_order: false,
            parts_at_once: false,
            posts_lists: false,
            queue_pairs: 0,
            communicators: 0,
            atomic_window_ns: 0,
            late_completion_one_in: 0,
            late_completion_ns: Interval::new(0, 50_000),
            slow_verb_one_in: 0,
            slow_verb_factor: 20,
            wake_ns: Interval::new(0, 200),
            yield_ns: Interval::new(50, 500),
            duplicate_call_one_in: 0,
            lost_batch_one_in: 0,
            reach_delay_one_in: 0,
            reach_delay_ns: Interval::new(0, 20_000),
            late_verb_ns: Interval::new(0, 2_000_000),
            network: None,
            machines: None,
            cores: 0,
            core_cost_ns: Interval::new(0, 0),
            unreachable_after_ns: Some(1_000_000),
            restarted_are_strangers: false,
            faults: BTreeMap::new(),
            plan: Vec::new(),
            mutants: Vec::new(),
            broken: BrokenPromises::default(),
            trace: false,
            time_limit_ns: 1_000_000_000_000,
            event_limit: 200_000_000,
        }
    }
}

impl SimConfig {
    /// A quiet world with this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// A world of memory servers with `words` words each, and compute nodes, in which only hardware
    /// takes time and memory is not weak. For experiments that measure speed.
    pub fn on_hardware(
        seed: u64,
        network: Network,
        (servers, nodes): (u16, u16),
        words: u64,
    ) -> Self {
        const NOTHING: Interval = Interval::new(0, 0);
        Self {
            server_words: vec![words; usize::from(servers)],
            compute_nodes: nodes,
            read_ns: NOTHING,
            write_ns: NOTHING,
            atomic_ns: NOTHING,
            answer_ns: NOTHING,
            call_ns: NOTHING,
            wake_ns: NOTHING,
            word_ns: 0,
            tearing: Tearing::None,
            network: Some(network),
            event_limit: u64::MAX,
            ..Self::new(seed)
        }
    }

    /// A world as hostile as the contract allows without faults. The seed switches each kind of
    /// hostility on or off, so that runs differ in kind and not only in noise.
    pub fn hostile(seed: u64) -> Self {
        let mut random = Random::new(seed, 0x0b5e);
        let mut config = Self { scenario: String::from("hostile"), ..Self::new(seed) };
        let slowest_ns = 1000 << random.up_to(5);
        config.read_ns = Interval::new(1, 1000 + random.up_to(slowest_ns));
        config.write_ns = Interval::new(1, 1000 + random.up_to(slowest_ns));
        config.atomic_ns = Interval::new(1, 1000 + random.up_to(slowest_ns));
        config.answer_ns = Interval::new(1, 1000 + random.up_to(slowest_ns));
        config.call_ns = Interval::new(1, 1000 + random.up_to(slowest_ns));
        config.word_ns = 1 << random.up_to(8);
        config.wake_ns = Interval::new(0, 1 << random.up_to(13));
        if random.one_in(2) {
            config.slow_verb_one_in = 2 + random.up_to(14) as u32;
            config.slow_verb_factor = 1 << random.up_to(6);
        }
        if random.one_in(2) {
            config.duplicate_call_one_in = 1 + random.up_to(7) as u32;
        }
        if random.one_in(2) {
            config.reach_delay_one_in = 1 + random.up_to(15) as u32;
            config.reach_delay_ns = Interval::new(0, 1000 << random.up_to(7));
        }
        config.weaken_memory(&mut random);
        config
    }

    /// Draws the options of weak memory.
    fn weaken_memory(&mut self, random: &mut Random) {
        self.tearing = match random.up_to(7) {
            0 => Tearing::None,
            1 => Tearing::InOrder,
            _ => Tearing::AnyOrder,
        };
        self.in_posting_order = random.one_in(8);
        if random.one_in(2) {
            self.atomic_window_ns = 1 << random.up_to(11);
        }
        if random.one_in(2) {
            self.late_completion_one_in = 1 + random.up_to(15) as u32;
            self.late_completion_ns = Interval::new(0, 1000 << random.up_to(6));
        }
    }

    /// The same run under another name.
    pub fn named(self, scenario: impl Into<String>) -> Self {
        Self { scenario: scenario.into(), ..self }
    }

    /// The same run with verbs executed by `carrier`.
    pub fn carried_by(self, carrier: Carrier) -> Self {
        Self { carrier, ..self }
    }

    /// Panics if `parts_at_once` is combined with an option that it excludes.
    pub(crate) fn ensure_parts(&self) {
        let are_weak = self.broken != BrokenPromises::default()
            || self.atomic_window_ns > 0
            || self.lost_batch_one_in > 0
            || !self.faults.is_empty()
            || !self.plan.is_empty();
        assert!(
            !(self.parts_at_once && are_weak),
            "parts of batches take effect at once: break no promises, plan no faults, open no windows"
        );
    }

    /// Time from posting to the effect of `verb`, without the network.
    pub(crate) fn usual_ns(&self, verb: &Verb) -> Interval {
        match kind(verb) {
            Kind::Read => self.read_ns,
            Kind::Atomic => self.atomic_ns,
            Kind::Write => self.write_ns,
        }
    }

    /// Panics unless the machines match the other options; returns the number of machines.
    pub(crate) fn ensure_machines(&self, node_count: u16) -> usize {
        let Some(machines) = &self.machines else {
            assert!(self.communicators == 0, "communicators are cores of machines: configure some");
            return usize::from(node_count);
        };
        let cores = self.network.map_or(0, |network| network.core.cores);
        let communicators = u64::from(self.communicators);
        assert!(
            communicators == 0 || cores == 0 || communicators < cores,
            "{communicators} of {cores} cores only communicate: leave one to execute"
        );
        let placed = machines.of_nodes.len();
        assert!(self.network.is_some(), "machines share cards and cores: configure a network, too");
        assert!(placed == usize::from(node_count), "{placed} of {node_count} nodes have a machine");
        machines.count()
    }

    /// The order in which a verb's words are touched.
    pub(crate) fn words_come(&self) -> Tearing {
        let is_serial = self.carrier == Carrier::Server && !self.broken.one_moment;
        if is_serial { Tearing::None } else { self.tearing }
    }

    /// The same run with memory servers of `words` words each.
    pub fn with_servers(self, words: &[u64]) -> Self {
        Self { server_words: words.to_vec(), ..self }
    }

    /// The same run with this number of places for each region's contents.
    pub fn with_replicas(self, replica_count: u16) -> Self {
        Self { replica_count, ..self }
    }

    /// The same run with a guard removed.
    pub fn with_mutant(mut self, mutant: Mutant) -> Self {
        self.mutants.push(mutant);
        self
    }

    /// The same run with random faults of `kind`.
    pub fn with_fault(mut self, kind: FaultKind, rate: FaultRate) -> Self {
        self.faults.insert(kind, rate);
        self
    }
}
