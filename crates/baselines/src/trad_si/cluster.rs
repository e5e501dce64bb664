//! The servers of a database, and how clients reach them.

use super::manager::{Manager, Procedure, TransactionOutcome};
use super::owner::Owner;
use super::partition::Partition;
use super::timestamps::{TimestampService, Timestamps};
use crate::Work;
use crate::row_key::RowKey;
use fabric::{CallError, Env, Service, ServiceId};
use layout::NodeId;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

/// The service of owners.
pub(super) const OWNER: ServiceId = ServiceId(201);
/// The service of the timestamps.
pub(super) const TIMESTAMPS: ServiceId = ServiceId(202);
/// The service of managers.
const MANAGER: ServiceId = ServiceId(203);
/// Bits of a transaction's number that count; above them stands the server.
const TRANSACTION_BITS: u32 = 48;

/// Who is who.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// The servers. Partition p belongs to server p modulo their number.
    pub servers: Vec<NodeId>,
    /// Who keeps the timestamps; may be one of them.
    pub timestamps: NodeId,
}

/// A server: owner of its partitions, and manager of the transactions that clients send here.
#[derive(Debug)]
pub struct Server {
    cluster: Cluster,
    index: usize,
    partition: Mutex<Partition>,
    timestamps: Option<Arc<Mutex<Timestamps>>>,
    transactions: AtomicU64,
}

impl Cluster {
    /// Which server owns a partition.
    pub fn owner(&self, partition: u32) -> usize {
        partition as usize % self.servers.len()
    }

    /// Starts the services of all servers, whose managers run `procedure`; `work` is told of the rows that they read and
    /// write. `register` offers a service on a node.
    pub fn start<E: Env, P: Procedure>(
        &self,
        procedure: &Arc<P>,
        work: Work<E>,
        mut register: impl FnMut(NodeId, ServiceId, Arc<dyn Service<E>>),
    ) -> Vec<Arc<Server>> {
        let timestamps = Arc::<Mutex<Timestamps>>::default();
        register(self.timestamps, TIMESTAMPS, Arc::new(TimestampService(timestamps.clone())));
        let mut start = |(index, &node): (usize, &NodeId)| {
            let server = Arc::new(Server {
                cluster: self.clone(),
                index,
                partition: Mutex::default(),
                timestamps: (node == self.timestamps).then(|| timestamps.clone()),
                transactions: AtomicU64::new(0),
            });
            register(node, OWNER, Arc::new(Owner { server: server.clone(), work }));
            let procedure = procedure.clone();
            register(node, MANAGER, Arc::new(Manager { server: server.clone(), procedure, work }));
            server
        };
        self.servers.iter().enumerate().map(&mut start).collect()
    }
}

impl Server {
    /// Its place among the servers.
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

    pub(super) fn timestamps(&self) -> Option<&Mutex<Timestamps>> {
        self.timestamps.as_deref()
    }

    /// A number that no other transaction has.
    pub(super) fn next_transaction(&self) -> u64 {
        let count = self.transactions.fetch_add(1, Relaxed);
        assert!(count >> TRANSACTION_BITS == 0, "a server runs fewer transactions");
        (self.index as u64) << TRANSACTION_BITS | count
    }
}

/// Puts a row at its owner, before any transaction.
pub fn load(servers: &[Arc<Server>], key: RowKey, content: Vec<u8>) {
    let owner = servers[0].cluster.owner(key.partition);
    servers[owner].partition().load(key, content);
}

/// Has the manager of `node` run a transaction. Errors after which it may have committed are its unknown outcome.
pub async fn submit<E: Env>(env: &E, node: NodeId, input: Vec<u8>) -> TransactionOutcome {
    match env.call(node, MANAGER, input).await {
        Ok(answer) => TransactionOutcome::decode(&answer).unwrap_or(TransactionOutcome::Unknown),
        Err(CallError::NoSuchService(..)) => unreachable!("servers are started before clients"),
        Err(_) => TransactionOutcome::Unknown,
    }
}
