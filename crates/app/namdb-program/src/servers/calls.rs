//! The calls that a compute server accepts from other members of its cluster: operations shipped to
//! it.
//!
//! Decision: docs/decisions/0259-a-compute-server-that-is-called-is-a-node-with-a-port-and-no.md

use super::cluster_client::ClusterClient;
use super::cluster_site::Peers;
use super::health::Health;
use super::keys::keys;
use super::shm::ShmSite;
use super::{LEAVE_NS, PROGRAM, tcp, verbs};
use crate::bench::site::{Site, SiteSession};
use ::shipping::{Lanes, Ownership};
use anyhow::{Context, Result};
use fabric::identity::Admission;
use fabric::patience::Patience;
use fabric::port::{Port, ServeCounters, serve};
use fabric::shm::ShmPort;
use fabric::{
    Env, LocalEnv, LocalWorld, Secret, Service, ServiceId, TcpPort, WorldConfig, run_now,
};
use folder_benchmark::shipping;
use membership::{ClusterFile, ComputeSettings, FabricKind, Member};
use metrics::{Registry, catalog, sources};
use microbench::host::Host;
use namdb::host::{Moment, sql_time_us};
use namdb::procedures::Code;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use txn::Database;

/// Interval at which a compute server checks whether its lanes are in use and whether it must stop.
const POLL_NS: u64 = 50_000_000;
/// The same interval while it has no lanes, longer so that an idle server rarely wakes.
const IDLE_POLL_NS: u64 = 200_000_000;
/// After this many checks without lanes, their slots of the vector are returned.
const IDLE_LOOKS: u32 = 10;
/// After this many checks, a stopping server no longer waits for calls in progress.
const END_LOOKS: u32 = 40;

/// A compute server's port for calls, before it is served.
pub struct Calls {
    way: Arrival,
    /// Decides which callers are served.
    pub admission: Arc<Admission>,
    lanes: u32,
    /// Generated code in addition to that of the shipped workloads.
    code: Vec<Code>,
    /// Metrics of the calls.
    counts: sources::Calls,
    told: Registry,
}

/// How calls arrive.
enum Arrival {
    /// Over TCP; or over RDMA, where both sides first exchange the addresses of their queue pairs
    /// here.
    Messages(TcpListener),
    /// Over shared memory. The port's services are registered in a world of their own; their
    /// handlers use another one, which has all regions.
    Shared(Box<ShmPort>, Arc<LocalWorld>),
}

impl Calls {
    /// Listens for calls and stores the address in `member`. Callers that connect wait until
    /// [`Calls::serve`]. Calls are counted in the registry.
    pub fn open(
        cluster: &ClusterFile,
        settings: &ComputeSettings,
        (member, secret): (&mut Member, &Secret),
        (told, code): (&Registry, Vec<Code>),
    ) -> Result<Self> {
        let admission = Arc::new(Admission {
            node: member.node(),
            cluster: cluster.id.0,
            secret: secret.clone(),
            server: member.identity,
            key: member.key(),
            region_bytes: 0,
            program: PROGRAM.to_owned(),
            epoch: Default::default(),
            members: Default::default(),
        });
        let way = match cluster.fabric {
            FabricKind::Tcp | FabricKind::Verbs => {
                let (number, address) = (member.number, settings.calls());
                let listener = TcpListener::bind(&address).with_context(|| {
                    format!("compute server {number} cannot listen for calls at {address}; is the port in use?")
                })?;
                let known = match cluster.fabric {
                    FabricKind::Verbs => &mut member.addresses.verbs,
                    _ => &mut member.addresses.tcp,
                };
                *known = Some(listener.local_addr()?.to_string());
                Arrival::Messages(listener)
            }
            FabricKind::Shm => {
                let world = LocalWorld::new(&WorldConfig { server_bytes: Vec::new(), seed: 1 })?;
                let port = ShmPort::of_calls(&cluster.directory, admission.clone(), &world)?;
                member.addresses.shm = Some(cluster.directory.clone());
                Arrival::Shared(Box::new(port), world)
            }
        };
        let counted = [microbench::host::SERVICES, shipping::SERVICES].concat();
        let counts = sources::Calls::enter(told, &counted);
        Ok(Self { way, admission, lanes: settings.lanes, code, counts, told: told.clone() })
    }

    /// Executes calls on this thread until the server stops.
    pub fn serve(self, client: &ClusterClient, health: &Arc<Health>) -> Result<()> {
        let Self { way, admission, lanes, code, counts, told } = self;
        let host = Hosting::new(lanes, code);
        let answering = Answering { client, health, host, admission, counts, told };
        match way {
            Arrival::Messages(listener) => answering.by_engine(listener),
            Arrival::Shared(port, world) => answering.by_shared_memory(*port, &world),
        }
    }
}

/// Services by identifier.
type Services<E> = BTreeMap<ServiceId, Arc<dyn Service<E>>>;

/// Everything needed to execute calls.
struct Answering<'a> {
    client: &'a ClusterClient,
    health: &'a Arc<Health>,
    host: Hosting,
    admission: Arc<Admission>,
    counts: sources::Calls,
    told: Registry,
}

impl Answering<'_> {
    /// Serves the port with this thread's engine; handlers are its tasks.
    fn by_engine(self, listener: TcpListener) -> Result<()> {
        let Self { client, health, host, admission, counts, told } = self;
        let is_verbs = client.cluster.fabric == FabricKind::Verbs;
        let open = if is_verbs { verbs::site } else { tcp::site };
        let session = open(client, host.max, &Peers::default())?.session()?;
        let database = session.handle();
        let env = database.env().clone();
        let (services, ownership) = host.services(database.clone());
        let services = counts.counted(services);
        if is_verbs {
            let port = verbs::calls(&client.cluster, listener, admission, env.clone(), services)?;
            let callers = port.callers().clone();
            told.add(&catalog::CALLERS, &[], move || callers.connection_count());
            session.engine().attach(port);
        } else {
            let keys = keys(&client.cluster)?;
            let port = TcpPort::of_calls(listener, admission, keys, env.clone(), services)?;
            told.add_cell(&catalog::CALLERS, &[], port.connections());
            session.engine().attach(port);
        }
        let mut keeper = Keeper::new(host.lanes, health.clone(), database);
        session.wait(async {
            while !keeper.is_over().await {
                env.sleep_ns(keeper.pause_ns()).await;
            }
        });
        drop(ownership);
        Ok(())
    }

    /// Serves the port in shared memory; handlers run one after another, since nothing waits.
    fn by_shared_memory(self, port: ShmPort, world: &LocalWorld) -> Result<()> {
        let Self { client, health, host, admission, counts, told } = self;
        let site = ShmSite::open(client, &Peers::default())?;
        let database = site.session()?.handle();
        let (services, ownership) = host.services(database.clone());
        for (id, service) in counts.counted(services) {
            world.register(admission.node, id, service);
        }
        let callers = port.callers().clone();
        told.add(&catalog::CALLERS, &[], move || callers.connection_count());
        let is_over = Arc::<AtomicBool>::default();
        let keeper = Keeper::new(host.lanes, health.clone(), database);
        let kept = PortWithKeeper { port, keeper, looked: Moment::now(), is_over: is_over.clone() };
        let mut ports: [Box<dyn Port>; 1] = [Box::new(kept)];
        serve(&mut ports, &is_over, Patience::default(), &ServeCounters::default());
        drop((ports, ownership));
        site.leave()
    }
}

/// Executes shipped operations and shipped procedures.
struct Hosting {
    max: u32,
    lanes: Arc<Lanes>,
    operations: Arc<Host>,
    procedures: Arc<shipping::Host>,
}

impl Hosting {
    fn new(max: u32, code: Vec<Code>) -> Self {
        let lanes = Lanes::new(max);
        let operations = Host::new(lanes.clone());
        let procedures = shipping::Host::new(lanes.clone(), sql_time_us, code);
        Self { max, lanes, operations, procedures }
    }

    /// The services, to be registered by this thread on this database. They end when the second
    /// result is dropped.
    fn services<E: Env>(&self, database: Database<E>) -> (Services<E>, [Ownership; 2]) {
        let (operations, procedures) = (self.operations.services(), self.procedures.services());
        let services = operations.into_iter().chain(procedures).collect();
        (services, [self.procedures.ownership(), Lanes::offer(database)])
    }
}

/// Manages the lanes of the services.
struct Keeper<E: Env> {
    lanes: Arc<Lanes>,
    health: Arc<Health>,
    database: Database<E>,
    /// Consecutive checks without lanes.
    idle_looks: u32,
    /// Checks since the server began to stop.
    end_looks: u32,
}

impl<E: Env> Keeper<E> {
    fn new(lanes: Arc<Lanes>, health: Arc<Health>, database: Database<E>) -> Self {
        Self { lanes, health, database, idle_looks: 0, end_looks: 0 }
    }

    /// Returns unused lanes and slots. Returns true if the server is stopping and no call is in
    /// progress.
    async fn is_over(&mut self) -> bool {
        let lanes = self.lanes.rest::<E>();
        if self.health.is_over() {
            self.lanes.end();
            self.end_looks += 1;
            return lanes == 0 || self.end_looks == END_LOOKS;
        }
        self.idle_looks = if lanes > 0 { 0 } else { self.idle_looks + 1 };
        if self.idle_looks == IDLE_LOOKS {
            // If this fails, the slots are returned at the end.
            let _ = self.database.leave(LEAVE_NS).await;
        }
        false
    }

    /// Time until the next check. A stopping server checks often, since it has announced how long
    /// it waits.
    fn pause_ns(&self) -> u64 {
        if self.idle_looks > 0 && self.end_looks == 0 { IDLE_POLL_NS } else { POLL_NS }
    }
}

/// A port in shared memory that also runs the keeper while it is served.
struct PortWithKeeper {
    port: ShmPort,
    keeper: Keeper<LocalEnv>,
    looked: Moment,
    is_over: Arc<AtomicBool>,
}

impl Port for PortWithKeeper {
    fn serve(&mut self) -> usize {
        let served = self.port.serve();
        if self.looked.elapsed_s() * 1e9 >= self.keeper.pause_ns() as f64 {
            self.looked = Moment::now();
            if run_now(self.keeper.is_over()) {
                self.is_over.store(true, Relaxed);
            }
        }
        served
    }

    fn arm(&mut self) -> bool {
        self.port.arm()
    }

    fn disarm(&mut self) {
        self.port.disarm();
    }

    fn descriptors<'a>(&'a self, to: &mut Vec<BorrowedFd<'a>>) {
        self.port.descriptors(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::control;
    use membership::Addresses;
    use txn::local::{OpenConfig, open};

    #[test]
    fn others_learn_where_calls_come_over_each_network() {
        for fabric in [FabricKind::Tcp, FabricKind::Verbs] {
            let cluster = ClusterFile::development("calls", fabric, &[1 << 24], 1);
            let mut member = Member::compute_server(0, Addresses::default());
            let told = control::registry(&cluster, &member, &Arc::default());
            let parties = (&mut member, &Secret::new([7; 32]));
            let calls = Calls::open(&cluster, &cluster.compute[0], parties, (&told, Vec::new()));
            let Arrival::Messages(listener) = calls.expect("a free port").way else {
                panic!("a network has an address")
            };
            let address = Some(listener.local_addr().expect("it listens").to_string());
            let is_tcp = fabric == FabricKind::Tcp;
            let Addresses { tcp, verbs, .. } = member.addresses;
            assert_eq!(if is_tcp { (tcp, verbs) } else { (verbs, tcp) }, (address, None));
        }
    }

    #[test]
    fn a_server_without_calls_looks_seldom_until_it_ends() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let config = OpenConfig { server_bytes: 16 << 20, ..OpenConfig::default() };
        let database = open(&config).expect("little memory");
        let mut keeper = Keeper::new(Lanes::new(1), Arc::new(Health::new(&STOP)), database);
        assert_eq!(keeper.pause_ns(), POLL_NS);
        assert!(!run_now(keeper.is_over()));
        assert_eq!(keeper.pause_ns(), IDLE_POLL_NS);
        STOP.store(true, Relaxed);
        assert!(run_now(keeper.is_over()), "nothing is under way");
        assert_eq!(keeper.pause_ns(), POLL_NS);
    }
}
