//! A memory server, for any fabric.

use fabric::{
    Admission, Caller, DynEnv, LocalWorld, Replicas, ServerAddress, ServerConfig, Services, Sharing,
};
use layout::{NodeId, RegionId};
use std::net::SocketAddr;
use std::sync::Arc;
use txn::server::{returned_services, services};

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

/// A server that listens at `address`, for its callers.
pub fn server_address(admission: &Admission, address: SocketAddr) -> ServerAddress {
    ServerAddress {
        node: admission.node,
        address,
        identity: admission.server,
        key: admission.key,
        region_bytes: 0,
    }
}

/// A caller of these servers.
pub fn caller(servers: Vec<ServerAddress>, identity: u64) -> Caller {
    Caller {
        servers,
        cluster: 1,
        secret: fabric::Secret::new([7; 32]),
        epoch: Arc::new(1.into()),
        identity,
        endpoint: 1,
        program: "tests".to_owned(),
    }
}

/// The server's memory and services.
pub fn memory_server(node: NodeId, sharing: Sharing) -> Arc<LocalWorld> {
    let world = memory(node, SERVERS, Replicas::NONE, sharing);
    for (id, service) in services(RegionId(node.0), SERVER_BYTES) {
        world.register(node, id, service);
    }
    world
}

/// The memory of one of several servers with replicas.
pub fn replicated_memory(node: NodeId, servers: u16, count: u16) -> Arc<LocalWorld> {
    let server_bytes = vec![SERVER_BYTES; usize::from(servers)];
    memory(node, servers, Replicas { count, server_bytes }, Sharing::Private)
}

fn memory(
    node: NodeId,
    server_count: u16,
    replicas: Replicas,
    sharing: Sharing,
) -> Arc<LocalWorld> {
    let config =
        ServerConfig { node, server_count, bytes: SERVER_BYTES, replicas, sharing, seed: 1 };
    LocalWorld::memory_server(&config).expect("little memory").0
}

/// The services of a memory server that has returned with empty memory.
pub fn returned_services_of(node: NodeId) -> Services<DynEnv> {
    returned_services(RegionId(node.0), SERVER_BYTES).into()
}

/// The services of a memory server over its region.
pub fn services_of(node: NodeId) -> Services<DynEnv> {
    services(RegionId(node.0), SERVER_BYTES).into()
}
