//! Databases in simulated worlds, for tests of workloads.

use layout::{NodeId, RegionId};
use sim::{Endpoint, World};
use txn::server::services;
use txn::{Database, DatabaseConfig};

/// An empty database on the memory servers of a world, and the endpoint that it was made from.
pub(crate) fn open<const COHERENT: bool>(
    world: &World<COHERENT>,
    servers: u16,
) -> (Endpoint<COHERENT>, Database<Endpoint<COHERENT>>) {
    let nodes: Vec<NodeId> = (0..servers).map(NodeId).collect();
    for &node in &nodes {
        let region = RegionId(node.0);
        for (id, service) in services(region, world.region_bytes(region)) {
            world.register(node, id, service);
        }
    }
    let admin = world.endpoint(world.compute_node(0));
    let database = Database::create(admin.clone(), nodes, DatabaseConfig::default());
    let database = world.block_on(&admin, database).expect("the servers are empty");
    (admin, database)
}
