//! A memory server, for any fabric.

use fabric::{Admission, LocalWorld, ServerConfig, Sharing};
use layout::{NodeId, RegionId};
use std::sync::Arc;
use txn::server::services;

/// Number of memory servers of a cluster.
pub const SERVERS: u16 = 2;
const SERVER_BYTES: u64 = 64 << 20;

/// The server's data for admitting clients.
pub fn admission(node: NodeId) -> Admission {
    Admission {
        node,
        cluster: 1,
        secret: fabric::Secret::new([7; 32]),
        server: 2,
        key: 3,
        region_bytes: SERVER_BYTES,
        program: "tests".to_owned(),
        epoch: 1.into(),
        members: Default::default(),
    }
}

/// The server's memory and services.
pub fn memory_server(node: NodeId, sharing: Sharing) -> Arc<LocalWorld> {
    let config =
        ServerConfig { node, server_count: SERVERS, bytes: SERVER_BYTES, sharing, seed: 1 };
    let (world, _) = LocalWorld::memory_server(&config).expect("little memory");
    for (id, service) in services(RegionId(node.0), SERVER_BYTES) {
        world.register(node, id, service);
    }
    world
}
