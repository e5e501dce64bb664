//! What stands in a simulated cluster before there are tables: machines, a database, and who takes its snapshots.

use crate::metered::{Meter, Metered};
use fabric::DynEnv;
use layout::{NodeId, RegionId, WORD_BYTES};
use sim::{Endpoint, Machines, Network, Reach, SimConfig, World};
use std::rc::Rc;
use txn::{CatalogError, Database, DatabaseConfig, Oracle};

/// Time that passes before fetchers and collector have settled.
pub const SETTLED_NS: u64 = 400_000;
/// So much later, lanes that share a slot find a newer horizon.
pub const HORIZON_NS: u64 = 1_000_000;
/// Virtual time beyond which something has gone wrong. Loading takes some: hundreds of tables are made one after another, and
/// making one may wait for as long as a transaction takes at most.
const TIME_LIMIT_NS: u64 = 100_000_000_000_000;

/// What a cluster is made of.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Seed of all randomness.
    pub seed: u64,
    /// Cards, links and cores.
    pub network: Network,
    /// Machines, each with a memory server; one more has the oracle.
    pub machines: u16,
    /// Compute servers of each machine.
    pub processes: u16,
    /// Most lanes of a compute server.
    pub lanes: u32,
    /// Queue pairs of a compute server to each memory server, shared by its lanes.
    pub queue_pairs: u32,
    /// Copies of frozen vectors beside the oracle's: for many compute servers.
    pub vector_copies: u32,
    /// Most tables.
    pub tables: usize,
    /// Words of each memory server, of which copies take half.
    pub server_words: u64,
    /// Copies of each row; more than one are modelled.
    pub replicas: u32,
}

/// A world whose memory servers are empty.
pub struct Ground {
    shape: Shape,
    world: World,
    meter: Rc<Meter>,
    /// The memory servers, the oracle's first.
    nodes: Vec<NodeId>,
}

impl Ground {
    /// Lays it.
    ///
    /// # Panics
    /// Where there are fewer machines than copies.
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

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// What it is made of.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Requests that cards have taken so far.
    pub fn requests(&self) -> u64 {
        self.meter.requests()
    }

    /// The memory server of a machine, counted from 0; the first node has the oracle.
    pub fn memory_node(machine: u16) -> NodeId {
        NodeId(1 + machine)
    }

    /// A compute server of a machine.
    pub fn compute_node(&self, machine: u16, process: u16) -> NodeId {
        self.world.compute_node(machine * self.shape.processes + process)
    }

    /// An endpoint of a compute server.
    pub fn endpoint(&self, machine: u16, process: u16) -> Metered {
        let endpoint = self.world.endpoint(self.compute_node(machine, process));
        Metered::new(endpoint, &self.meter, Some(Self::memory_node(machine)))
    }

    /// An empty database, opened on the first machine.
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

    /// The database as each compute server has it, by machine and then by process.
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

    /// Starts the collector beside the vector, and a fetcher on each compute server.
    pub fn start(&self, homes: &[Database<DynEnv>]) {
        // What runs in the memory server that has the vector reaches no other; what writes copies is a process beside it.
        let beside_vector = match self.shape.vector_copies {
            0 => self.world.service_endpoint(NodeId(0)),
            _ => self.world.endpoint(NodeId(0)),
        };
        // Theirs are not the requests of any operation.
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
    /// Memory servers and compute servers together, but for the oracle's.
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
