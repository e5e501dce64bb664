//! The root of a cluster's database, as the engine needs it.

use layout::NodeId;
use membership::DatabaseRoot;
use membership::cluster_file::OracleKind;
use txn::{DatabaseConfig, Oracle, Root};

/// The engine's form of the registry's root.
pub fn root_of(root: &DatabaseRoot) -> Root {
    Root {
        oracle: root.oracle,
        slots: root.slots,
        // The servers of a cluster start no collector.
        copies: Vec::new(),
        servers: (0..root.servers.len() as u16).map(NodeId).collect(),
        config: database_config(root.snapshots, root.transaction_time_ms),
    }
}

/// How databases of clusters are opened.
pub fn database_config(snapshots: OracleKind, transaction_time_ms: u64) -> DatabaseConfig {
    DatabaseConfig {
        oracle: match snapshots {
            OracleKind::Frozen => Oracle::Frozen,
            OracleKind::DoubleCollect => Oracle::DoubleCollect,
        },
        transaction_time_max_ns: transaction_time_ms * 1_000_000,
        // Processes of a cluster die alone, and others recover them.
        journals: true,
        ..DatabaseConfig::default()
    }
}
