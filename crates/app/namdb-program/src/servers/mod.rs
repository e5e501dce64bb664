//! The processes of a cluster: memory servers, and processes that run transactions on them.

pub mod calls;
pub mod cluster_client;
pub mod cluster_site;
pub mod compute;
pub mod control;
pub mod data;
pub mod detection;
pub mod development;
pub mod error;
pub mod events;
pub mod exposure;
mod fencing;
mod filling;
pub mod founder;
pub mod guests;
pub mod health;
mod keeping;
pub mod keys;
pub mod lease_watch;
pub mod left_locks;
pub mod lock_watch;
pub mod log;
mod marking;
pub mod memory;
pub mod missing_features;
pub mod names;
mod opening;
mod promotion;
mod recovery;
pub mod remote;
mod reopening;
pub mod replicas;
pub mod room;
pub mod shm;
pub mod tcp;
pub mod verbs;

use layout::NodeId;
use membership::{DatabaseRoot, OracleKind};
use namdb::Oracle;
use std::collections::BTreeMap;
use std::time::Duration;
use txn::Root;

/// Interval at which servers check for members that joined or left.
pub const MEMBERS_POLL: Duration = Duration::from_millis(200);
/// Maximal time for a compute server to collect its garbage when it leaves.
pub const LEAVE_NS: u64 = 1_000_000_000;

/// The version that both ends of a connection must have.
pub const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// Makes a panic end the process at once: a server with a dead thread would stay a member without
/// answering.
pub fn die_of_panics() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::abort();
    }));
}

/// The registry's form of the root of a database with this identity; `servers` are those of the
/// memory servers.
fn published(root: &Root, id: u64, servers: Vec<u64>, replicas: u16) -> DatabaseRoot {
    DatabaseRoot {
        oracle: root.oracle,
        slots: root.slots,
        snapshots: match root.config.oracle {
            Oracle::Frozen => OracleKind::Frozen,
            Oracle::DoubleCollect => OracleKind::DoubleCollect,
        },
        transaction_time_ms: root.config.transaction_time_max_ns / 1_000_000,
        servers,
        replicas,
        promoted: BTreeMap::new(),
        returned: BTreeMap::new(),
        id,
        run: 0,
        without: Default::default(),
    }
}

/// The nodes of all memory servers of a cluster with `count` of them.
fn all_servers(count: usize) -> Vec<NodeId> {
    (0..count as u16).map(NodeId).collect()
}
