//! The faults of a simulated world: kinds, single faults, plans and rates.

use crate::config::Interval;
use layout::NodeId;
use std::fmt;

/// Every kind of fault. A test gate can require each kind: [`crate::World::coverage`] counts how
/// often it had an effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FaultKind {
    /// A node dies with its processes, its services and its memory. Counted per crash.
    NodeCrash,
    /// A process dies. Counted per process, those of crashed nodes included.
    ProcessKill,
    /// A process stops running for a while; its posted verbs still take effect. Counted when an
    /// action of the process is delayed.
    ProcessPause,
    /// A process that was paused wakes up and continues as if nothing had happened. Counted when it
    /// posts.
    Zombie,
    /// The processes of a node lose their membership, alive or not: all memory servers refuse what
    /// they post from then on. Counted per verb and call.
    Fence,
    /// A process is held at a failure point. Counted per hold.
    Hold,
    /// Messages of one link take longer. Counted per verb and call.
    LinkDelay,
    /// All batches under way between two nodes end as unreachable. Counted per batch.
    ConnectionLoss,
    /// Nothing passes from one node to another. Counted per batch and call that it stopped or
    /// delayed.
    OneWayPartition,
    /// Nothing passes between two sets of nodes. Counted as a one-way partition.
    FullPartition,
    /// A batch is executed, but its owner only learns that the server is unreachable.
    LostCompletion,
    /// A verb takes effect after its owner learned that the server is unreachable. Counted per
    /// verb.
    LateVerb,
    /// A completion is delivered a second time. Counted when the repeat is dropped.
    DuplicateCompletion,
    /// A call arrives a second time. Counted per call.
    DuplicateCall,
    /// A node's network card works, but slowly. Counted per verb.
    GreyCard,
    /// A node's clock jumps ahead. Counted per jump.
    ClockJump,
    /// A node's clock runs fast or slow. Counted per change.
    ClockDrift,
    /// A memory server reports that its memory is full. Counted per refusal.
    MemoryFull,
    /// A node restarts with the memory that it had. Counted per restart.
    RestartWithMemory,
    /// A node restarts with empty memory. Counted per restart.
    RestartWithoutMemory,
    /// A verb to an earlier incarnation of a node is refused. Counted per verb.
    StaleKey,
}

impl FaultKind {
    pub const ALL: [Self; 21] = [
        Self::NodeCrash,
        Self::ProcessKill,
        Self::ProcessPause,
        Self::Zombie,
        Self::Fence,
        Self::Hold,
        Self::LinkDelay,
        Self::ConnectionLoss,
        Self::OneWayPartition,
        Self::FullPartition,
        Self::LostCompletion,
        Self::LateVerb,
        Self::DuplicateCompletion,
        Self::DuplicateCall,
        Self::GreyCard,
        Self::ClockJump,
        Self::ClockDrift,
        Self::MemoryFull,
        Self::RestartWithMemory,
        Self::RestartWithoutMemory,
        Self::StaleKey,
    ];

    /// The kind's name in scenario files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NodeCrash => "node-crash",
            Self::ProcessKill => "process-kill",
            Self::ProcessPause => "process-pause",
            Self::Zombie => "zombie",
            Self::Fence => "fence",
            Self::Hold => "hold",
            Self::LinkDelay => "link-delay",
            Self::ConnectionLoss => "connection-loss",
            Self::OneWayPartition => "one-way-partition",
            Self::FullPartition => "full-partition",
            Self::LostCompletion => "lost-completion",
            Self::LateVerb => "late-verb",
            Self::DuplicateCompletion => "duplicate-completion",
            Self::DuplicateCall => "duplicate-call",
            Self::GreyCard => "grey-card",
            Self::ClockJump => "clock-jump",
            Self::ClockDrift => "clock-drift",
            Self::MemoryFull => "memory-full",
            Self::RestartWithMemory => "restart-with-memory",
            Self::RestartWithoutMemory => "restart-without-memory",
            Self::StaleKey => "stale-key",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether a rate of this kind is in nanoseconds; otherwise in batches, or in arrivals at
    /// failure points.
    pub const fn is_timed(self) -> bool {
        !matches!(
            self,
            Self::LostCompletion | Self::LateVerb | Self::DuplicateCompletion | Self::ProcessKill
        )
    }

    /// Whether faults of this kind can be drawn at random. The others are the consequence of
    /// another fault, have a field of their own in [`crate::SimConfig`], or leave a node that only
    /// a scenario can set up again.
    pub const fn has_rate(self) -> bool {
        !matches!(
            self,
            Self::Zombie
                | Self::Fence
                | Self::Hold
                | Self::DuplicateCall
                | Self::RestartWithMemory
                | Self::RestartWithoutMemory
                | Self::StaleKey
        )
    }

    /// Whether a database needs code to recover from it: dead owners hold locks, and memory must be
    /// found again.
    pub const fn needs_recovery(self) -> bool {
        matches!(self, Self::NodeCrash | Self::ProcessKill | Self::RestartWithMemory)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// The state of a restarted node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Its region, its services and its records of answers are unchanged.
    Kept,
    /// Its region is zeroed with a fresh header; services and records are gone.
    Lost,
}

/// One fault. Durations are in virtual time; `u64::MAX` is for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// [`FaultKind::NodeCrash`].
    Crash { node: NodeId },
    /// A crash, if the node is alive, and then a restart: region keys of the earlier incarnation
    /// are stale.
    Restart { node: NodeId, memory: Memory },
    /// [`FaultKind::ProcessPause`] of all processes of a node, its services included. Its memory
    /// still answers verbs.
    Pause { node: NodeId, lasts_ns: u64 },
    /// [`FaultKind::Fence`] for all processes that are on the node now; processes that start there
    /// later are members.
    Fence {
        /// The node whose processes lose their membership.
        node: NodeId,
    },
    /// [`FaultKind::LinkDelay`].
    LinkDelay {
        from: NodeId,
        to: NodeId,
        /// The additional time of each message.
        delay_ns: Interval,
        lasts_ns: u64,
    },
    /// [`FaultKind::ConnectionLoss`]: for each verb under way from one node to the other, the words
    /// that were not yet touched are lost from some moment on. Within one node it has no effect.
    ConnectionLoss {
        /// The node whose batches end.
        from: NodeId,
        /// The server of those batches.
        to: NodeId,
    },
    /// [`FaultKind::OneWayPartition`]. Messages posted meanwhile arrive afterwards, if the
    /// partition ends before the sender gives up.
    OneWayPartition { from: NodeId, to: NodeId, lasts_ns: u64 },
    /// [`FaultKind::FullPartition`].
    FullPartition {
        /// The nodes that are cut off from all others.
        nodes: Vec<NodeId>,
        lasts_ns: u64,
    },
    /// [`FaultKind::LostCompletion`] of the batch that the plan names.
    LostCompletion,
    /// [`FaultKind::LateVerb`]: the batch that the plan names ends as unreachable, and each of its
    /// writes and atomics takes effect in time or up to [`crate::SimConfig::late_verb_ns`] later.
    LateVerb,
    /// [`FaultKind::DuplicateCompletion`] of the batch that the plan names.
    DuplicateCompletion,
    /// [`FaultKind::GreyCard`].
    GreyCard {
        node: NodeId,
        /// How many times slower the card is.
        factor: u64,
        lasts_ns: u64,
    },
    /// [`FaultKind::ClockJump`]. Sleepers whose moment the clock jumped over wake at once.
    ClockJump { node: NodeId, by_ns: u64 },
    /// [`FaultKind::ClockDrift`].
    ClockDrift {
        node: NodeId,
        /// Microseconds that the clock gains per second, or loses if negative.
        parts_per_million: i32,
    },
    /// [`FaultKind::MemoryFull`].
    MemoryFull {
        /// The memory server that refuses to hand out memory.
        node: NodeId,
        lasts_ns: u64,
    },
    /// At a failure point: the process that arrives dies.
    KillArriving,
    /// At a failure point: the node of the process that arrives crashes.
    CrashArriving,
    /// At a failure point: the task that arrives is held.
    HoldArriving { lasts_ns: u64 },
    /// At a failure point: the process that arrives is paused.
    PauseArriving { lasts_ns: u64 },
}

impl Fault {
    pub const fn kind(&self) -> FaultKind {
        match self {
            Self::Crash { .. } | Self::CrashArriving => FaultKind::NodeCrash,
            Self::Restart { memory: Memory::Kept, .. } => FaultKind::RestartWithMemory,
            Self::Restart { memory: Memory::Lost, .. } => FaultKind::RestartWithoutMemory,
            Self::Pause { .. } | Self::PauseArriving { .. } => FaultKind::ProcessPause,
            Self::Fence { .. } => FaultKind::Fence,
            Self::LinkDelay { .. } => FaultKind::LinkDelay,
            Self::ConnectionLoss { .. } => FaultKind::ConnectionLoss,
            Self::OneWayPartition { .. } => FaultKind::OneWayPartition,
            Self::FullPartition { .. } => FaultKind::FullPartition,
            Self::LostCompletion => FaultKind::LostCompletion,
            Self::LateVerb => FaultKind::LateVerb,
            Self::DuplicateCompletion => FaultKind::DuplicateCompletion,
            Self::GreyCard { .. } => FaultKind::GreyCard,
            Self::ClockJump { .. } => FaultKind::ClockJump,
            Self::ClockDrift { .. } => FaultKind::ClockDrift,
            Self::MemoryFull { .. } => FaultKind::MemoryFull,
            Self::KillArriving => FaultKind::ProcessKill,
            Self::HoldArriving { .. } => FaultKind::Hold,
        }
    }

    /// Whether it affects a batch, so that its plan must name one.
    pub const fn is_of_batches(&self) -> bool {
        matches!(self, Self::LostCompletion | Self::LateVerb | Self::DuplicateCompletion)
    }

    /// Whether it affects an arrival at a failure point, so that its plan must name the point.
    pub const fn is_of_arrivals(&self) -> bool {
        matches!(
            self,
            Self::KillArriving
                | Self::CrashArriving
                | Self::HoldArriving { .. }
                | Self::PauseArriving { .. }
        )
    }
}

/// The moment of a planned fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum When {
    /// At this virtual time, in nanoseconds.
    At(u64),
    /// At the posting of this batch; all batches of a world are numbered from 1.
    Batch(u64),
    /// At an arrival at a failure point.
    Point {
        name: String,
        /// The number of the arrival, from 1.
        nth: u64,
    },
}

/// A fault and its moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedFault {
    pub when: When,
    pub fault: Fault,
}

impl PlannedFault {
    /// Explains in one sentence why this fault can never happen; `Ok` otherwise.
    pub fn check(&self) -> Result<(), String> {
        let kind = self.fault.kind();
        match &self.when {
            _ if self.fault.is_of_batches() && !matches!(self.when, When::Batch(_)) => {
                Err(format!("a planned {kind} must name its batch"))
            }
            _ if self.fault.is_of_arrivals() && !matches!(self.when, When::Point { .. }) => {
                Err(format!("a planned {kind} of arrivals must name a failure point"))
            }
            When::Batch(0) => Err(format!("the batch of a planned {kind} is counted from 1")),
            When::Point { nth: 0, .. } => {
                Err(format!("the arrival of a planned {kind} is counted from 1"))
            }
            _ => Ok(()),
        }
    }
}

/// The targets of random faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Victims {
    #[default]
    All,
    Servers,
    Clients,
}

/// How often a random fault of a kind happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultRate {
    /// Mean virtual time between two faults in nanoseconds, if [`FaultKind::is_timed`]; otherwise
    /// one fault per this many batches, or for [`FaultKind::ProcessKill`] arrivals at failure
    /// points. 0 is never.
    pub every: u64,
    /// The duration of each fault, if it has one.
    pub lasts_ns: Interval,
    /// The targets, if the fault affects a node. Only memory servers run out of memory.
    pub victims: Victims,
}

impl FaultRate {
    /// One fault per `every`, lasting up to `lasts_ns`, on any node.
    pub const fn new(every: u64, lasts_ns: u64) -> Self {
        Self { every, lasts_ns: Interval::new(1, lasts_ns), victims: Victims::All }
    }

    /// The same rate for some nodes only.
    pub const fn of(self, victims: Victims) -> Self {
        Self { victims, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        for kind in FaultKind::ALL {
            assert_eq!(FaultKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(FaultKind::from_name("rain"), None);
    }

    #[test]
    fn a_plan_that_cannot_happen_is_refused() {
        let plan = |when, fault| PlannedFault { when, fault }.check();
        let point = || When::Point { name: String::from("commit::LocksHeld"), nth: 1 };
        assert!(plan(When::At(0), Fault::LostCompletion).is_err());
        assert!(plan(When::Batch(0), Fault::LostCompletion).is_err());
        assert!(plan(When::Batch(1), Fault::KillArriving).is_err());
        assert_eq!(plan(When::Batch(1), Fault::LostCompletion), Ok(()));
        assert_eq!(plan(point(), Fault::KillArriving), Ok(()));
        assert_eq!(plan(point(), Fault::ClockJump { node: NodeId(0), by_ns: 1 }), Ok(()));
    }
}
