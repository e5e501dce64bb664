//! The sections of a scenario file.

use super::choice::Choice;
use hardware::Kind;
use layout::{IndexKind, PhysicalDesign, Storage};
use serde::{Deserialize, Serialize};
use sim::{Carrier, Network};
use txn::{Isolation, Oracle};

/// Where things run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterPlan {
    /// Memory servers, each on a node of its own; the first has the timestamp oracle.
    pub memory_servers: Choice<u16>,
    /// Mebibytes of each memory server.
    #[serde(default = "server_mib")]
    pub server_mib: u64,
    /// Compute servers, each a process with clients.
    pub compute_servers: Choice<u16>,
    /// Whether compute servers have nodes of their own.
    #[serde(default = "apart")]
    pub placement: Choice<NodePlacement>,
    /// Who carries out verbs, by which memory is coherent with processors or not.
    #[serde(default = "any_carrier")]
    pub carrier: Choice<CarrierPlan>,
    /// Whoever knew a memory server before it was started again is refused for ever, as it is where servers have
    /// identities; else it learns of the new one by being refused once.
    #[serde(default)]
    pub restarted_are_strangers: bool,
    /// Cores of each node, which its processes and services share; 0 is as many as tasks.
    #[serde(default = "no_cores")]
    pub cores: Choice<u16>,
    /// Longest time on a core that a task takes between two awaits, in nanoseconds.
    #[serde(default = "none")]
    pub core_cost_ns: Choice<u64>,
    /// What cards and links are able to do; by default anything, at once.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub network: Option<NetworkPlan>,
}

fn no_cores() -> Choice<u16> {
    Choice::only(0)
}

fn server_mib() -> u64 {
    8
}

fn apart() -> Choice<NodePlacement> {
    Choice::only(NodePlacement::Apart)
}

fn any_carrier() -> Choice<CarrierPlan> {
    Choice::of(&[CarrierPlan::Card, CarrierPlan::Caller, CarrierPlan::Server])
}

/// Who carries out verbs, as [`Carrier`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CarrierPlan {
    /// Network cards.
    Card,
    /// The processors of those who post them.
    Caller,
    /// The processor of each memory server.
    Server,
}

impl CarrierPlan {
    pub(crate) fn carrier(self) -> Carrier {
        match self {
            Self::Card => Carrier::Card,
            Self::Caller => Carrier::Caller,
            Self::Server => Carrier::Server,
        }
    }
}

/// Which nodes compute servers run on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodePlacement {
    /// On nodes behind those of the memory servers, one each.
    Apart,
    /// On the nodes of the memory servers, in turn.
    Together,
}

const NANOSECOND_PS: u64 = 1000;
/// Bytes of a gigabit.
const GIGABIT_BYTES: u64 = 125_000_000;

/// What cards and links are able to do: what is not named is that of Connect-IB cards, [`Network::connect_ib`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkPlan {
    /// Nanoseconds that a card needs to send a verb.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue_ns: Option<Choice<u64>>,
    /// Nanoseconds that a card needs to serve a read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serve_read_ns: Option<Choice<u64>>,
    /// Nanoseconds that a card needs to serve a write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serve_write_ns: Option<Choice<u64>>,
    /// Nanoseconds that a card needs to serve an atomic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serve_atomic_ns: Option<Choice<u64>>,
    /// Nanoseconds from card to card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<Choice<u64>>,
    /// What a node's link carries in each direction, in bits per nanosecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gigabits_per_second: Option<Choice<u64>>,
    /// Bytes around each message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header_bytes: Option<Choice<u64>>,
}

impl NetworkPlan {
    /// The network of a scenario that was drawn for a seed.
    pub(crate) fn network(&self) -> Network {
        let mut network = Network::connect_ib();
        let card = &mut network.card;
        let told = |choice: &Option<Choice<u64>>| choice.as_ref().map(Choice::get);
        if let Some(issue_ns) = told(&self.issue_ns) {
            *card = card.with_issue_ps(issue_ns * NANOSECOND_PS);
        }
        let serving = [
            (Kind::Read, &self.serve_read_ns),
            (Kind::Write, &self.serve_write_ns),
            (Kind::Message, &self.serve_write_ns),
            (Kind::Atomic, &self.serve_atomic_ns),
        ];
        for (kind, serve_ns) in serving {
            if let Some(serve_ns) = told(serve_ns) {
                *card = card.with_serve_ps(kind, serve_ns * NANOSECOND_PS);
            }
        }
        if let Some(latency_ns) = told(&self.latency_ns) {
            card.wire_ps = latency_ns * NANOSECOND_PS;
        }
        if let Some(gigabits_per_second) = told(&self.gigabits_per_second) {
            (card.ports, card.port_bytes_per_s) = (1, gigabits_per_second * GIGABIT_BYTES);
        }
        if let Some(header_bytes) = told(&self.header_bytes) {
            (card.request_header_bytes, card.response_header_bytes) = (header_bytes, header_bytes);
        }
        network
    }
}

/// How the database is opened.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DatabasePlan {
    /// How snapshots are taken.
    pub oracle: Choice<OracleName>,
    /// How much transactions are kept apart.
    pub isolation: Choice<IsolationName>,
    /// Most lanes of a compute server.
    pub lanes: Choice<u32>,
    /// The paper's E, in nanoseconds.
    pub transaction_time_max_ns: Choice<u64>,
    /// Numbers that a new slot has left before it is given up; by default nearly all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters_left: Option<Choice<u64>>,
}

impl Default for DatabasePlan {
    fn default() -> Self {
        Self {
            oracle: Choice::of(&[OracleName::DoubleCollect, OracleName::Frozen]),
            isolation: Choice::of(&[IsolationName::Snapshot, IsolationName::Serializable]),
            lanes: Choice::only(64),
            transaction_time_max_ns: Choice::only(10_000_000_000),
            counters_left: None,
        }
    }
}

/// Ways of taking snapshots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OracleName {
    /// Read the vector until two reads agree.
    DoubleCollect,
    /// Read numbered vectors that are frozen one after another.
    Frozen,
}

impl From<OracleName> for Oracle {
    fn from(name: OracleName) -> Self {
        match name {
            OracleName::DoubleCollect => Self::DoubleCollect,
            OracleName::Frozen => Self::Frozen,
        }
    }
}

/// Isolation levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationName {
    /// First committer wins.
    Snapshot,
    /// As if one transaction ran after another.
    Serializable,
}

impl From<IsolationName> for Isolation {
    fn from(name: IsolationName) -> Self {
        match name {
            IsolationName::Snapshot => Self::Snapshot,
            IsolationName::Serializable => Self::Serializable,
        }
    }
}

/// Who runs transactions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientPlan {
    /// Clients, spread over the compute servers in turn; each is a session.
    pub count: Choice<u32>,
    /// Transactions of each. In liveness mode it stays when it has run them, and runs two more when faults
    /// have stopped.
    pub transactions: Choice<u32>,
    /// Longest pause between two transactions, in nanoseconds.
    #[serde(default = "none")]
    pub think_ns: Choice<u64>,
    /// A client that waits longer for a transaction gives it up, whatever becomes of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub patience_ns: Option<Choice<u64>>,
    /// Whether a client borrows a lane for each transaction, and does not keep one.
    #[serde(default = "no")]
    pub borrows_lanes: Choice<bool>,
    /// Whether a process that was killed is started again, with what its clients had left to do.
    #[serde(default)]
    pub restarts: bool,
}

fn none() -> Choice<u64> {
    Choice::only(0)
}

fn no() -> Choice<bool> {
    Choice::only(false)
}

/// How tables are kept, for workloads that leave it open.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DesignPlan {
    /// Where rows live.
    pub storage: Choice<StorageName>,
    /// Slots of a bucket.
    pub neighbourhood: Choice<u32>,
    /// Slots of a version buffer.
    pub versions_beside: Choice<u32>,
    /// Rows that tables are planned for; beyond them they grow.
    pub size_hint: Choice<u64>,
    /// Bytes of a node of a tree.
    pub node_bytes: Choice<u32>,
}

impl Default for DesignPlan {
    fn default() -> Self {
        let storages = [StorageName::HashInlined, StorageName::HashOutside, StorageName::Tree];
        Self {
            storage: Choice::of(&storages),
            neighbourhood: Choice::of(&[1, 2, 4]),
            versions_beside: Choice::of(&[1, 2, 3]),
            size_hint: Choice::of(&[1, 8]),
            node_bytes: Choice::only(256),
        }
    }
}

impl DesignPlan {
    /// The design of a scenario that was drawn for a seed.
    pub fn design(&self) -> PhysicalDesign {
        PhysicalDesign {
            storage: self.storage.get().into(),
            neighbourhood: self.neighbourhood.get(),
            versions_beside: self.versions_beside.get(),
            size_hint: self.size_hint.get(),
            node_bytes: self.node_bytes.get(),
            ..PhysicalDesign::default()
        }
    }
}

/// Ways of keeping rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StorageName {
    /// In the slots of hash buckets.
    HashInlined,
    /// Behind pointers in hash buckets.
    HashOutside,
    /// Behind pointers in the leaves of a tree.
    Tree,
}

impl From<StorageName> for Storage {
    fn from(name: StorageName) -> Self {
        match name {
            StorageName::HashInlined => Self::HashInlined,
            StorageName::HashOutside => Self::HashOutside,
            StorageName::Tree => Self::Tree,
        }
    }
}

/// Kinds of indexes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IndexName {
    /// A hash index.
    Hash,
    /// A tree.
    Tree,
}

impl From<IndexName> for IndexKind {
    fn from(name: IndexName) -> Self {
        match name {
            IndexName::Hash => Self::Hash,
            IndexName::Tree => Self::Tree,
        }
    }
}

/// What must hold in the end beyond the checks of every run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expectation {
    /// Whether rows, buckets and leaves may stay locked: nobody recovers what the dead have locked.
    pub locks_left: bool,
    /// Whether everything can be read in the end; if not, what was seen before is judged.
    pub last_look: bool,
    /// Whether clients see what their isolation promises; if not, a run shows only that nobody panics and that
    /// nothing is refused but with the reasons that faults have.
    pub history_holds: bool,
    /// Whether the structure of tables and indexes is whole: nobody repairs what services that died in the
    /// middle of a change have left.
    pub structure_whole: bool,
    /// In liveness mode: every client commits once faults have stopped.
    pub every_client_commits: bool,
    /// Why less is expected than should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub today: Option<String>,
}

impl Default for Expectation {
    fn default() -> Self {
        Self {
            locks_left: false,
            last_look: true,
            history_holds: true,
            structure_whole: true,
            every_client_commits: false,
            today: None,
        }
    }
}
