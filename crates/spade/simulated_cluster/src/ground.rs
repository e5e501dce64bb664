//! A simulated cluster before tables are created: machines, a database, and the tasks that provide
//! snapshots.

use crate::metered::{Meter, Metered};
use fabric::DynEnv;
use layout::{NodeId, RegionId, WORD_BYTES};
use sim::{Endpoint, Machines, Network, Reach, SimConfig, World};
use std::rc::Rc;
use txn::{CatalogError, Database, DatabaseConfig, Oracle};

/// Virtual time after which fetchers and collector are in a steady state.
pub const SETTLED_NS: u64 = 400_000;
/// Virtual time after which lanes that share a slot see a newer horizon.
pub const HORIZON_NS: u64 = 1_000_000;
/// Virtual time after which a run counts as hung. Loading takes long: hundreds of tables are
/// created one after another, and each may wait for the maximal transaction time.
const TIME_LIMIT_NS: u64 = 100_000_000_000_000;

/// The configuration of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub seed: u64,
    pub network: Network,
    /// Machines, each with a memory server; one more has the oracle.
    pub machines: u16,
    /// Compute servers per machine.
    pub processes: u16,
    /// Maximum number of lanes per compute server.
    pub lanes: u32,
    /// Queue pairs of a compute server to each memory server, shared by its lanes.
    pub queue_pairs: u32,
    /// Copies of frozen vectors besides the oracle's; useful with many compute servers.
    pub vector_copies: u32,
    pub tables: usize,
    /// Words of each memory server; copies take half of them.
    pub server_words: u64,
    /// Copies of each row; if above one, replication is modelled.
    pub replicas: u32,
}

/// A world with empty memory servers.
pub struct Ground {
    shape: Shape,
    world: World,
    meter: Rc<Meter>,
    /// The memory servers, the oracle's first.
    nodes: Vec<NodeId>,
}

impl Ground {
    /// Creates the world.
    ///
    /// # Panics
    /// If there are fewer machines than copies.
    pub fn new(shape: Shape, name: &str) -> Self {
        let Shape { machines, processes, .. } = shape;
        let nodes = (1 + machines, machines * processes);
        let world = World::new(SimConfig {
            machines: Some(shape.placed()),
            parts_at_once: true,
            posts_lists: true,
            queue_pairs: shape.queue_pairs,
            time_limit_ns: TIME_LIMIT_NS,
            ..SimConfig::on_hardware(shape.seed, shape.network, nodes, shape.server_words)
                .named(name)
        });
        let meter = Meter::new(shape.replicas, machines, shape.server_words * WORD_BYTES);
        let nodes = world.serve(|region: RegionId, bytes| txn::server::services(region, bytes / 2));
        Self { shape, world, meter, nodes }
    }

    pub fn world(&self) -> &World {
        &self.world
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Number of requests that cards have handled.
    pub fn requests(&self) -> u64 {
        self.meter.requests()
    }

    /// Returns the memory server of a machine, counted from 0; the first node has the oracle.
    pub fn memory_node(machine: u16) -> NodeId {
        NodeId(1 + machine)
    }

    /// Returns a compute server of a machine.
    pub fn compute_node(&self, machine: u16, process: u16) -> NodeId {
        self.world.compute_node(machine * self.shape.processes + process)
    }

    /// Returns an endpoint of a compute server.
    pub fn endpoint(&self, machine: u16, process: u16) -> Metered {
        let endpoint = self.world.endpoint(self.compute_node(machine, process));
        Metered::new(endpoint, &self.meter, Some(Self::memory_node(machine)))
    }

    /// Creates an empty database, opened on the first machine.
    ///
    /// # Errors
    /// The memory servers are too small.
    pub fn database(&self) -> Result<Database<DynEnv>, CatalogError> {
        let admin = self.endpoint(0, 0);
        let servers = u32::from(self.shape.machines) * u32::from(self.shape.processes);
        let settings = DatabaseConfig {
            oracle: Oracle::Frozen,
            shares_slot: true,
            keeps_leaves: true,
            lanes: self.shape.lanes,
            slots: (2 * servers + 3).next_multiple_of(8),
            vector_copies: self.shape.vector_copies,
            tables: self.shape.tables,
            ..DatabaseConfig::default()
        };
        let endpoint = admin.endpoint().clone();
        self.world
            .load(&endpoint, Database::create(DynEnv::new(admin), self.nodes.clone(), settings))
    }

    /// Opens the database on each compute server, ordered by machine and then by process.
    ///
    /// # Errors
    /// The catalog cannot be read.
    pub fn homes(
        &self,
        database: &Database<DynEnv>,
    ) -> Result<Vec<Database<DynEnv>>, CatalogError> {
        let mut homes = Vec::new();
        for machine in 0..self.shape.machines {
            for process in 0..self.shape.processes {
                let home = database.elsewhere(DynEnv::new(self.endpoint(machine, process)));
                let home = home.nearest_to(Self::memory_node(machine).0);
                self.world.load(Metered::of(home.env()).endpoint(), home.refresh())?;
                homes.push(home);
            }
        }
        Ok(homes)
    }

    /// Starts the collector next to the vector, and a fetcher on each compute server.
    pub fn start(&self, homes: &[Database<DynEnv>]) {
        // A task in the vector's memory server cannot reach other servers; the collector that
        // writes copies is a process beside it.
        let beside_vector = match self.shape.vector_copies {
            0 => self.world.service_endpoint(NodeId(0)),
            _ => self.world.endpoint(NodeId(0)),
        };
        // These requests do not belong to any operation.
        let apart = Meter::new(1, self.shape.machines, 0);
        let oracle =
            homes[0].elsewhere(DynEnv::new(Metered::new(beside_vector.clone(), &apart, None)));
        homes.iter().for_each(Database::rely_on_collector);
        self.world.spawn_on(&beside_vector, async move {
            oracle.collect_vectors(|| true).await.expect("its memory is there");
        });
        for home in homes {
            let endpoint: Endpoint = Metered::of(home.env()).endpoint().clone();
            let home = home.with_env(DynEnv::new(Metered::new(endpoint.clone(), &apart, None)));
            self.world.spawn_on(&endpoint, async move {
                home.fetch_vectors(|| true).await.expect("the oracle's memory is there");
            });
        }
        self.world.run_for(SETTLED_NS);
    }
}

impl Shape {
    /// Returns which memory and compute servers share a machine; the oracle has its own.
    fn placed(&self) -> Machines {
        let computes = (1..=self.machines)
            .flat_map(|machine| std::iter::repeat_n(machine, usize::from(self.processes)));
        let of_nodes = std::iter::once(0).chain(1..=self.machines).chain(computes);
        Machines { of_nodes: of_nodes.collect(), reach: Reach::CoreButAtomics }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compute_servers_share_the_machine_of_their_memory_server() {
        let profile = hardware::profile("connectx3-fdr").expect("it is built in");
        let shape = Shape {
            seed: 1,
            network: Network::of(&profile),
            machines: 3,
            processes: 2,
            lanes: 2,
            queue_pairs: 1,
            vector_copies: 0,
            tables: 1,
            server_words: 1 << 16,
            replicas: 1,
        };
        assert_eq!(shape.placed().of_nodes, [0, 1, 2, 3, 1, 1, 2, 2, 3, 3]);
        let ground = Ground::new(shape, "ground");
        assert_eq!(ground.compute_node(2, 1), NodeId(9));
        assert_eq!(Ground::memory_node(2), NodeId(3));
    }
}
