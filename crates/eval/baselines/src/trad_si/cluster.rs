//! The servers of a database, and how clients send them transactions.

use super::manager::{Manager, Procedure, TransactionOutcome};
use super::owner::Owner;
use super::partition::Partition;
use super::timestamps::{Keeper, TimestampService, ToldService};
use crate::Work;
use crate::row_key::RowKey;
use fabric::{CallError, Env, Service, ServiceId};
use layout::NodeId;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

pub(super) const OWNER: ServiceId = ServiceId(201);
/// The service of the timestamps.
pub(super) const TIMESTAMPS: ServiceId = ServiceId(202);
/// The service of servers that learn of read timestamps.
pub(super) const TOLD: ServiceId = ServiceId(204);
const MANAGER: ServiceId = ServiceId(203);
/// Bits of the count in a transaction's number; the server is above them.
const TRANSACTION_BITS: u32 = 48;

/// How managers learn the read timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Snapshots {
    /// They request it when a transaction begins.
    #[default]
    Asked,
    /// All servers are informed whenever it rises: the more servers, the more messages per
    /// transaction.
    Told,
}

/// The servers and their roles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// The servers. Partition p belongs to server p modulo their number.
    pub servers: Vec<NodeId>,
    /// The server that keeps the timestamps; may be one of them.
    pub timestamps: NodeId,
    /// How managers learn the read timestamp.
    pub snapshots: Snapshots,
}

/// A server: owner of its partitions, and manager of the transactions that clients send to it.
#[derive(Debug)]
pub struct Server {
    cluster: Cluster,
    index: usize,
    partition: Mutex<Partition>,
    /// The keeper, if it keeps the timestamps.
    keeper: Option<Arc<Keeper>>,
    /// The latest read timestamp that it has learned.
    told: Arc<AtomicU64>,
    transactions: AtomicU64,
}

impl Cluster {
    /// The server that owns a partition.
    pub fn owner(&self, partition: u32) -> usize {
        partition as usize % self.servers.len()
    }

    /// Starts the services of all servers, whose managers run `procedure`; `work` is called with
    /// the number of rows that they read and write. `register` offers a service on a node.
    pub fn start<E: Env, P: Procedure>(
        &self,
        procedure: &Arc<P>,
        work: Work<E>,
        mut register: impl FnMut(NodeId, ServiceId, Arc<dyn Service<E>>),
    ) -> Vec<Arc<Server>> {
        let told: Vec<Arc<AtomicU64>> = self.servers.iter().map(|_| Arc::default()).collect();
        let keeps = |node: &NodeId| *node == self.timestamps;
        let keeper = Arc::new(Keeper {
            cluster: self.clone(),
            timestamps: Mutex::default(),
            own: self.servers.iter().position(keeps).map(|index| told[index].clone()),
        });
        register(self.timestamps, TIMESTAMPS, Arc::new(TimestampService(keeper.clone())));
        let mut start = |(index, (node, told)): (usize, (&NodeId, &Arc<AtomicU64>))| {
            let server = Arc::new(Server {
                cluster: self.clone(),
                index,
                partition: Mutex::default(),
                keeper: keeps(node).then(|| keeper.clone()),
                told: told.clone(),
                transactions: AtomicU64::new(0),
            });
            register(*node, TOLD, Arc::new(ToldService(told.clone())));
            register(*node, OWNER, Arc::new(Owner { server: server.clone(), work }));
            let procedure = procedure.clone();
            register(*node, MANAGER, Arc::new(Manager { server: server.clone(), procedure, work }));
            server
        };
        self.servers.iter().zip(&told).enumerate().map(&mut start).collect()
    }
}

impl Server {
    /// Its index among the servers.
    pub fn index(&self) -> usize {
        self.index
    }

    pub(super) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The rows that it owns.
    pub fn partition(&self) -> MutexGuard<'_, Partition> {
        self.partition.lock().expect("no holder panics")
    }

    pub(super) fn keeper(&self) -> Option<&Keeper> {
        self.keeper.as_deref()
    }

    pub(super) fn told(&self) -> u64 {
        self.told.load(Relaxed)
    }

    /// A number that no other transaction has.
    pub(super) fn next_transaction(&self) -> u64 {
        let count = self.transactions.fetch_add(1, Relaxed);
        assert!(count >> TRANSACTION_BITS == 0, "a server has used up its transaction numbers");
        (self.index as u64) << TRANSACTION_BITS | count
    }
}

/// Adds a row at its owner, before any transaction.
pub fn load(servers: &[Arc<Server>], key: RowKey, content: Vec<u8>) {
    let owner = servers[0].cluster.owner(key.partition);
    servers[owner].partition().load(key, content);
}

/// Sends a transaction to the manager of `node`, which runs it. After an error it may have
/// committed, so its outcome is unknown.
pub async fn submit<E: Env>(env: &E, node: NodeId, input: Vec<u8>) -> TransactionOutcome {
    match env.call(node, MANAGER, input).await {
        Ok(answer) => TransactionOutcome::decode(&answer).unwrap_or(TransactionOutcome::Unknown),
        Err(CallError::NoSuchService(..)) => unreachable!("servers are started before clients"),
        Err(_) => TransactionOutcome::Unknown,
    }
}
