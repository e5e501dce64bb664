//! What a simulated world is made of, and how hostile it is.

use crate::fault::{FaultKind, FaultRate, PlannedFault};
use crate::machine::Machines;
use crate::network::Network;
use crate::random::Random;
use crate::verbs::{Kind, kind};
use fabric::{Mutant, Verb};
use std::collections::BTreeMap;

/// Times are drawn from here, every value equally likely.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// Shortest, in nanoseconds.
    pub min_ns: u64,
    /// Longest, in nanoseconds.
    pub max_ns: u64,
}

impl Interval {
    /// From `min_ns` to `max_ns`, both included.
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
/// and that its tests notice. All are kept by default. `docs/assumptions.md` says of each what rests on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BrokenPromises {
    /// A word is written whole. Broken, its lower half comes first.
    pub whole_words: bool,
    /// A write takes effect before anything posted after it to the same server.
    pub write_before_later: bool,
    /// An atomic takes effect before a later read or atomic to the same server.
    pub atomic_before_later: bool,
    /// What comes after a fence starts when all before it is complete.
    pub fence: bool,
    /// Rows are delivered untorn.
    pub untorn_rows: bool,
    /// A bucket's miss comes with words that fit. Broken, it is concluded from one fetch; where memory is
    /// coherent, the insert word is read last.
    pub fitting_misses: bool,
    /// A write that is complete is seen by every later verb. Broken, some are seen later.
    pub visible_when_complete: bool,
    /// No atomic falls between the read and the write of another one on the same word. Shows with
    /// [`SimConfig::atomic_window_ns`].
    pub atomics_exclude: bool,
    /// A swap that fails writes nothing. Broken, it writes back what it found. Shows with
    /// [`SimConfig::atomic_window_ns`].
    pub failed_swap_writes_nothing: bool,
    /// Where memory is coherent, no plain write falls into an atomic either. Shows with
    /// [`SimConfig::atomic_window_ns`].
    pub atomics_with_cpu: bool,
    /// A repeated call is answered once. Broken, its handler runs again.
    pub answered_once: bool,
    /// Verbs own their buffers until they complete. Broken, whoever drops a future gets the buffer back
    /// and uses it for something else.
    pub buffers_until_complete: bool,
    /// A completion that is delivered twice completes nothing else. Shows with
    /// [`FaultKind::DuplicateCompletion`].
    pub completes_once: bool,
    /// Where servers carry out verbs, the words of a verb are touched at one moment.
    pub one_moment: bool,
}

/// In which order a verb's words are touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tearing {
    /// All at one moment.
    None,
    /// One after another, from the first to the last.
    InOrder,
    /// In any order.
    AnyOrder,
}

/// Who carries out verbs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Carrier {
    /// Network cards: memory is not coherent with processors, and rows carry checksums.
    #[default]
    Card,
    /// The processors of those who post them: memory is coherent, and rows are guarded by their version word.
    Caller,
    /// The processor of each memory server, one verb after another: memory is coherent, and the words of a verb
    /// are touched at one moment.
    Server,
}

impl Carrier {
    /// Whether memory is coherent with processors.
    pub const fn is_coherent(self) -> bool {
        !matches!(self, Self::Card)
    }
}

/// A run: with the same configuration the same program leaves the same trace, byte for byte.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// Seed of all randomness.
    pub seed: u64,
    /// Names the run in messages, next to its seed.
    pub scenario: String,
    /// Words of each memory server's region; region n lives on node n. Default: one of 1 Mi words.
    pub server_words: Vec<u64>,
    /// Nodes without a region; they follow the memory servers. Default 4.
    pub compute_nodes: u16,
    /// From posting to the first word of a read. Default 600 to 1500 ns.
    pub read_ns: Interval,
    /// From posting to the first word of a write. Default 500 to 1500 ns.
    pub write_ns: Interval,
    /// From posting to the effect of an atomic. Default 700 to 1800 ns.
    pub atomic_ns: Interval,
    /// From the last effect of a batch to its completion. Default 400 to 1200 ns.
    pub answer_ns: Interval,
    /// One way of a call. Default 1500 to 4000 ns.
    pub call_ns: Interval,
    /// A verb's words spread over up to this many nanoseconds each. Default 30.
    pub word_ns: u64,
    /// Who carries out verbs. Default: cards.
    pub carrier: Carrier,
    /// In which order a verb's words are touched, where servers do not carry them out. Default: any.
    pub tearing: Tearing,
    /// Whether verbs of a batch to one server take effect in the order of posting, all of them, and not
    /// only where the contract says so. Default no.
    pub in_posting_order: bool,
    /// Whether all that a batch asks of one server before its next fence takes effect at one moment, in the
    /// order of posting, when the last of it does. For worlds that tell how fast something is: it costs the simulator
    /// least, and excludes weak memory and what is made of it. Default no.
    pub parts_at_once: bool,
    /// Whether what a batch asks of one server before its next fence is posted as one list: cores of
    /// [`SimConfig::machines`] pay [`hardware::Core::post_more_ps`] for all of it but the first. Default no.
    pub posts_lists: bool,
    /// So many queue pairs to each server, less than 65,536, are shared by the endpoints of a node, as by those of one thread. Default 0:
    /// each endpoint has its own.
    pub queue_pairs: u32,
    /// So many cores of each machine only post and poll for the endpoints of its compute nodes, which hand them what they
    /// post; each of these cores has one queue pair to each server. It needs [`SimConfig::machines`], with more cores than
    /// that. Default 0: who posts has a core of its machine for it.
    pub communicators: u32,
    /// An atomic writes its word up to this much later than it reads it, and loses what plain writes leave
    /// there meanwhile; not where memory is coherent. Default 0.
    pub atomic_window_ns: u64,
    /// One segment of a batch in so many completes long after its last effect. Default 0: none.
    pub late_completion_one_in: u32,
    /// How long. Default 0 to 50 us.
    pub late_completion_ns: Interval,
    /// One verb in so many takes [`SimConfig::slow_verb_factor`] as long. Default 0: none.
    pub slow_verb_one_in: u32,
    /// How much longer. Default 20.
    pub slow_verb_factor: u64,
    /// From being woken to running, for a task. Default 0 to 200 ns.
    pub wake_ns: Interval,
    /// How long a task stands back that yields. Default 50 to 500 ns.
    pub yield_ns: Interval,
    /// One call in so many arrives twice. Default 0: none.
    pub duplicate_call_one_in: u32,
    /// One batch in so many loses its connection: it ends as unreachable, and what it had not done
    /// then may or may not happen. Default 0: none.
    pub lost_batch_one_in: u32,
    /// One arrival at a failure point in so many is held for a time. Default 0: none.
    pub reach_delay_one_in: u32,
    /// How long. Default 0 to 20 us.
    pub reach_delay_ns: Interval,
    /// How long after the error a verb happens that is late by [`FaultKind::LateVerb`]. Default 0 to 2 ms.
    pub late_verb_ns: Interval,
    /// What cards and links are able to do. Default: anything, at once.
    pub network: Option<Network>,
    /// Which nodes are on one machine, and share its card and its cores, which then take time; that needs a
    /// network. Default: each node has a card, and each task a core that only posts and polls.
    pub machines: Option<Machines>,
    /// Cores of each node; 0: as many as tasks. Default 0.
    pub cores: u16,
    /// Time on a core that a task takes between two awaits. Default none.
    pub core_cost_ns: Interval,
    /// When verbs and calls to a dead node end as unreachable; `None`: never. Default 1 ms.
    pub unreachable_after_ns: Option<u64>,
    /// Whoever knew a memory server before it was started again is refused for ever, as by another identity and
    /// another key; else it is refused once, and learns of them by that. Default false.
    pub restarted_are_strangers: bool,
    /// Faults that happen by chance, by kind. Default none.
    pub faults: BTreeMap<FaultKind, FaultRate>,
    /// Faults that happen for certain. Default none.
    pub plan: Vec<PlannedFault>,
    /// Guards that are removed, see [`fabric::Env::mutant`]. Default none.
    pub mutants: Vec<Mutant>,
    /// Promises that are broken. Default none.
    pub broken: BrokenPromises,
    /// Whether every event is written down. Default no.
    pub trace: bool,
    /// A run that lasts longer in virtual time has gone wrong. Default 1000 s.
    pub time_limit_ns: u64,
    /// A run of more events has gone wrong. Default 200 million.
    pub event_limit: u64,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            scenario: String::from("unnamed"),
            server_words: vec![1 << 20],
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

    /// A world in which nothing takes time but the hardware: so many memory servers, each with `words` words, and compute
    /// nodes, and memory that is not weak. For experiments that tell how fast something is.
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

    /// A world as hostile as the contract allows without faults. Each kind of hostility is on or off
    /// by the seed, so that runs differ in kind and not only in noise.
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

    /// Draws how weak memory is.
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

    /// The same run with verbs carried out by `carrier`.
    pub fn carried_by(self, carrier: Carrier) -> Self {
        Self { carrier, ..self }
    }

    /// Whether what excludes weak memory comes without it.
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

    /// From posting to the effect of `verb`, beside what the network takes.
    pub(crate) fn usual_ns(&self, verb: &Verb) -> Interval {
        match kind(verb) {
            Kind::Read => self.read_ns,
            Kind::Atomic => self.atomic_ns,
            Kind::Write => self.write_ns,
        }
    }

    /// Whether the machines fit the rest; returns how many there are.
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

    /// In which order a verb's words are touched.
    pub(crate) fn words_come(&self) -> Tearing {
        let is_serial = self.carrier == Carrier::Server && !self.broken.one_moment;
        if is_serial { Tearing::None } else { self.tearing }
    }

    /// The same run with memory servers of `words` words each.
    pub fn with_servers(self, words: &[u64]) -> Self {
        Self { server_words: words.to_vec(), ..self }
    }

    /// The same run with a guard removed.
    pub fn with_mutant(mut self, mutant: Mutant) -> Self {
        self.mutants.push(mutant);
        self
    }

    /// The same run with faults of `kind` by chance.
    pub fn with_fault(mut self, kind: FaultKind, rate: FaultRate) -> Self {
        self.faults.insert(kind, rate);
        self
    }
}
