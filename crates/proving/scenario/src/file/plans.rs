//! The sections of a scenario file.

use super::choice::Choice;
use hardware::Kind;
use layout::{IndexKind, PhysicalDesign, Storage};
use serde::{Deserialize, Serialize};
use sim::{Carrier, Network};
use txn::{Isolation, Oracle};

/// The cluster of a run.
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
    /// The processor that executes verbs, which determines whether memory is coherent.
    #[serde(default = "any_carrier")]
    pub carrier: Choice<CarrierPlan>,
    /// Whether a restarted memory server refuses every process that knew it before, for ever, as
    /// servers with identities do; otherwise each such process learns of the restart by one
    /// refusal.
    #[serde(default)]
    pub restarted_are_strangers: bool,
    /// Cores of each node, shared by its processes and services; 0: one per task.
    #[serde(default = "no_cores")]
    pub cores: Choice<u16>,
    /// The longest core time of a task between two awaits, in nanoseconds.
    #[serde(default = "none")]
    pub core_cost_ns: Choice<u64>,
    /// The capacity of cards and links; unlimited by default.
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

/// The processor that executes verbs, as [`Carrier`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CarrierPlan {
    /// Network cards.
    Card,
    /// The processors of the processes that post them.
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

/// The nodes of compute servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodePlacement {
    /// One node per compute server, numbered after those of the memory servers.
    Apart,
    /// The nodes of the memory servers, round robin.
    Together,
}

const NANOSECOND_PS: u64 = 1000;
const GIGABIT_BYTES: u64 = 125_000_000;

/// The capacity of cards and links. An absent key has the value of Connect-IB cards,
/// [`Network::connect_ib`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkPlan {
    /// Nanoseconds in which a card issues a verb.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue_ns: Option<Choice<u64>>,
    /// Nanoseconds in which a card serves a read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serve_read_ns: Option<Choice<u64>>,
    /// Nanoseconds in which a card serves a write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serve_write_ns: Option<Choice<u64>>,
    /// Nanoseconds in which a card serves an atomic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serve_atomic_ns: Option<Choice<u64>>,
    /// Latency from card to card, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<Choice<u64>>,
    /// The rate of a node's link in each direction, in bits per nanosecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gigabits_per_second: Option<Choice<u64>>,
    /// Header bytes of each message.
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

/// The settings of the database.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DatabasePlan {
    pub oracle: Choice<OracleName>,
    /// The isolation level.
    pub isolation: Choice<IsolationName>,
    /// The largest number of lanes of a compute server.
    pub lanes: Choice<u32>,
    /// The paper's E, in nanoseconds.
    pub transaction_time_max_ns: Choice<u64>,
    /// Numbers that a new slot has left before its lane moves on to another slot; nearly all by
    /// default.
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

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationName {
    /// First committer wins.
    Snapshot,
    /// The effects are those of some serial order.
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

/// The clients that run transactions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientPlan {
    /// Clients, assigned to the compute servers round robin; each is a session.
    pub count: Choice<u32>,
    /// Transactions per client. In liveness mode a client that has run them stays, and runs two
    /// more after faults have stopped.
    pub transactions: Choice<u32>,
    /// The longest pause between two transactions, in nanoseconds.
    #[serde(default = "none")]
    pub think_ns: Choice<u64>,
    /// The time after which a client abandons a transaction, whatever its outcome.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub patience_ns: Option<Choice<u64>>,
    /// Whether a client borrows a lane for each transaction, instead of keeping one.
    #[serde(default = "no")]
    pub borrows_lanes: Choice<bool>,
    /// Whether a killed process is restarted, with the remaining transactions of its clients.
    #[serde(default)]
    pub restarts: bool,
}

fn none() -> Choice<u64> {
    Choice::only(0)
}

fn no() -> Choice<bool> {
    Choice::only(false)
}

/// The physical design of tables, for workloads that do not determine it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DesignPlan {
    /// The storage of rows.
    pub storage: Choice<StorageName>,
    /// Slots of a bucket.
    pub neighbourhood: Choice<u32>,
    /// Slots of a version buffer.
    pub versions_beside: Choice<u32>,
    /// The number of rows that tables are sized for; beyond it they grow.
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

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IndexName {
    Hash,
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

/// Requirements at the end of a run, besides the usual checks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expectation {
    /// Whether rows, buckets and leaves may stay locked, because no process releases the locks of
    /// dead ones.
    pub locks_left: bool,
    /// Whether everything must be readable at the end; if not, the history before is judged.
    pub last_look: bool,
    /// Whether clients must see the promises of their isolation level; if not, a run only shows
    /// that no code panics and that only faults cause refusals.
    pub history_holds: bool,
    /// Whether the structure of tables and indexes must be intact, although no process repairs
    /// interrupted changes of dead services.
    pub structure_whole: bool,
    /// In liveness mode: every client must commit after faults have stopped.
    pub every_client_commits: bool,
    /// The reason for weaker requirements than desired.
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
