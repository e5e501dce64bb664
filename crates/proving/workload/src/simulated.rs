//! Databases in simulated worlds, for tests of workloads.

use fabric::DynEnv;
use sim::{Endpoint, World};
use txn::server::services;
use txn::{Database, DatabaseConfig};

/// Creates an empty database on the memory servers of a world; returns it with its endpoint.
pub(crate) fn open(world: &World) -> (Endpoint, Database<DynEnv>) {
    let nodes = world.serve(services);
    let admin = world.endpoint(world.compute_node(0));
    let database = Database::create(admin.clone().into_dyn(), nodes, DatabaseConfig::default());
    let database = world.block_on(&admin, database).expect("the servers are empty");
    (admin, database)
}
