//! What can go wrong in a simulated world: the kinds of faults, single faults, plans and rates of them.

use crate::config::Interval;
use layout::NodeId;
use std::fmt;

/// Every kind of fault that a world knows. A gate can ask for each: [`crate::World::coverage`] counts
/// how often it had an effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FaultKind {
    /// A node dies with its processes, its services and its memory. Counted per crash.
    NodeCrash,
    /// A process dies. Counted per process, those of crashed nodes included.
    ProcessKill,
    /// A process stops running for a while; what it has posted still happens. Counted when something that
    /// it would have done waits.
    ProcessPause,
    /// A process that was paused wakes up and goes on as if nothing had been. Counted when it posts.
    Zombie,
    /// The processes of a node are members no more, whether they live or not: what they post from then on is
    /// refused by all memory servers. Counted per verb and call.
    Fence,
    /// A process is held at a failure point. Counted per hold.
    Hold,
    /// Messages of one link take longer. Counted per verb and call.
    LinkDelay,
    /// All batches under way between two nodes end as unreachable. Counted per batch.
    ConnectionLoss,
    /// Nothing passes from one node to another. Counted per batch and call that it stopped or held up.
    OneWayPartition,
    /// Nothing passes between two sets of nodes. Counted as a one-way partition.
    FullPartition,
    /// A batch is carried out, but its owner learns only that the server cannot be reached.
    LostCompletion,
    /// A verb happens after its owner was told that the server cannot be reached. Counted per verb.
    LateVerb,
    /// A completion is delivered a second time. Counted when it was dropped for this reason.
    DuplicateCompletion,
    /// A call arrives a second time. Counted per call.
    DuplicateCall,
    /// A node's network card works, but slowly. Counted per verb.
    GreyCard,
    /// A node's clock jumps ahead. Counted per jump.
    ClockJump,
    /// A node's clock runs fast or slow. Counted per change.
    ClockDrift,
    /// A memory server says that its memory is full. Counted per refusal.
    MemoryFull,
    /// A node comes back with the memory that it had. Counted per restart.
    RestartWithMemory,
    /// A node comes back with empty memory. Counted per restart.
    RestartWithoutMemory,
    /// A verb to an earlier life of a node is refused. Counted per verb.
    StaleKey,
}

impl FaultKind {
    /// All kinds.
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

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether a rate of this kind counts nanoseconds; else it counts batches, or arrivals at failure points.
    pub const fn is_timed(self) -> bool {
        !matches!(
            self,
            Self::LostCompletion | Self::LateVerb | Self::DuplicateCompletion | Self::ProcessKill
        )
    }

    /// Whether faults of this kind can be drawn at random. The others are the consequence of something
    /// else, have a field of their own in [`crate::SimConfig`], or leave a node that only a scenario can
    /// furnish again.
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

    /// Whether a database needs code to recover from it: dead owners hold locks, memory is to be found again.
    pub const fn needs_recovery(self) -> bool {
        matches!(self, Self::NodeCrash | Self::ProcessKill | Self::RestartWithMemory)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// What a restarted node finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Its region, its services and their records of answers as they were.
    Kept,
    /// A zeroed region with a fresh header, no services, no records.
    Lost,
}

/// One thing that goes wrong. Durations are of virtual time; `u64::MAX` is for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// [`FaultKind::NodeCrash`].
    Crash {
        /// Who dies.
        node: NodeId,
    },
    /// A crash, if the node is alive, and its next life: region keys of the earlier one are stale.
    Restart {
        /// Who comes back.
        node: NodeId,
        /// With what.
        memory: Memory,
    },
    /// [`FaultKind::ProcessPause`] of all processes of a node, its services included. Its memory still
    /// answers verbs.
    Pause {
        /// Who stops.
        node: NodeId,
        /// For how long.
        lasts_ns: u64,
    },
    /// [`FaultKind::Fence`] for all processes that are on a node now; those that start there later are others.
    Fence {
        /// Who is a member no more.
        node: NodeId,
    },
    /// [`FaultKind::LinkDelay`].
    LinkDelay {
        /// From here
        from: NodeId,
        /// to there
        to: NodeId,
        /// messages take so much longer,
        delay_ns: Interval,
        /// for this long.
        lasts_ns: u64,
    },
    /// [`FaultKind::ConnectionLoss`]: of each verb under way from one node to the other the words that
    /// were not yet touched are lost from some moment on.
    ConnectionLoss {
        /// Whose batches end.
        from: NodeId,
        /// The server they went to.
        to: NodeId,
    },
    /// [`FaultKind::OneWayPartition`]. What is posted meanwhile arrives after it, if it ends before the
    /// sender gives up.
    OneWayPartition {
        /// From here
        from: NodeId,
        /// nothing gets there,
        to: NodeId,
        /// for this long.
        lasts_ns: u64,
    },
    /// [`FaultKind::FullPartition`].
    FullPartition {
        /// These nodes are cut off from all others,
        nodes: Vec<NodeId>,
        /// for this long.
        lasts_ns: u64,
    },
    /// [`FaultKind::LostCompletion`] of the batch that it is planned for.
    LostCompletion,
    /// [`FaultKind::LateVerb`]: the batch that it is planned for ends as unreachable, and each of its
    /// writes and atomics happens in time or after that, up to [`crate::SimConfig::late_verb_ns`] later.
    LateVerb,
    /// [`FaultKind::DuplicateCompletion`] of the batch that it is planned for.
    DuplicateCompletion,
    /// [`FaultKind::GreyCard`].
    GreyCard {
        /// Whose card,
        node: NodeId,
        /// how many times slower,
        factor: u64,
        /// for how long.
        lasts_ns: u64,
    },
    /// [`FaultKind::ClockJump`]. Sleepers whose moment was jumped over wake at once.
    ClockJump {
        /// Whose clock
        node: NodeId,
        /// jumps ahead by so much.
        by_ns: u64,
    },
    /// [`FaultKind::ClockDrift`].
    ClockDrift {
        /// Whose clock
        node: NodeId,
        /// gains so many microseconds per second, or loses them.
        parts_per_million: i32,
    },
    /// [`FaultKind::MemoryFull`].
    MemoryFull {
        /// Which memory server hands out nothing,
        node: NodeId,
        /// for how long.
        lasts_ns: u64,
    },
    /// At a failure point: whoever arrives dies, with its process.
    KillArriving,
    /// At a failure point: the node of whoever arrives crashes.
    CrashArriving,
    /// At a failure point: whoever arrives is held.
    HoldArriving {
        /// For how long.
        lasts_ns: u64,
    },
    /// At a failure point: the process of whoever arrives is paused.
    PauseArriving {
        /// For how long.
        lasts_ns: u64,
    },
}

impl Fault {
    /// Of which kind it is.
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

    /// Whether it happens to a batch, so that its plan must name one.
    pub const fn is_of_batches(&self) -> bool {
        matches!(self, Self::LostCompletion | Self::LateVerb | Self::DuplicateCompletion)
    }

    /// Whether it happens to whoever arrives at a failure point, so that its plan must name one.
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
    /// At the posting of this batch; all batches of a world are counted from 1.
    Batch(u64),
    /// At an arrival at a failure point.
    Point {
        /// The point's name.
        name: String,
        /// Which arrival, counted from 1.
        nth: u64,
    },
}

/// A fault and its moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedFault {
    /// When.
    pub when: When,
    /// What.
    pub fault: Fault,
}

impl PlannedFault {
    /// The reason why this can never happen as it stands, in one sentence.
    pub fn check(&self) -> Result<(), String> {
        let kind = self.fault.kind();
        match &self.when {
            _ if self.fault.is_of_batches() && !matches!(self.when, When::Batch(_)) => {
                Err(format!("a planned {kind} names its batch"))
            }
            _ if self.fault.is_of_arrivals() && !matches!(self.when, When::Point { .. }) => {
                Err(format!("a planned {kind} of whoever arrives names a failure point"))
            }
            When::Batch(0) => Err(format!("the batch of a planned {kind} is counted from 1")),
            When::Point { nth: 0, .. } => {
                Err(format!("the arrival of a planned {kind} is counted from 1"))
            }
            _ => Ok(()),
        }
    }
}

/// Whom random faults happen to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Victims {
    /// Any node.
    #[default]
    All,
    /// Memory servers.
    Servers,
    /// Compute nodes.
    Clients,
}

/// How often a kind of fault happens by chance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultRate {
    /// Mean virtual time between two in nanoseconds, where [`FaultKind::is_timed`]; else once in so many
    /// batches, or for [`FaultKind::ProcessKill`] arrivals at failure points. 0 is never.
    pub every: u64,
    /// How long each lasts, where it is something that lasts.
    pub lasts_ns: Interval,
    /// To whom it happens, where it happens to a node. Only memory servers are ever full.
    pub victims: Victims,
}

impl FaultRate {
    /// One every `every`, lasting up to `lasts_ns`, to anybody.
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
