//! A memory server: a region, the services over it, and the ports by which others reach both.

use super::tell::{Sources, tell};
use super::{LOOK_PAUSE, PROGRAM, published, settings};
use crate::output;
use anyhow::{Context, Result, ensure};
use fabric::identity::Admission;
use fabric::local::{ServerConfig, Sharing};
use fabric::patience::Patience;
use fabric::port::{Port, ServeCounters, serve};
use fabric::shm::{Callers, ShmPort};
use fabric::tcp::TcpPort;
use fabric::{LocalEnv, LocalWorld, run_now};
use layout::{NodeId, RegionId};
use membership::{Addresses, ClusterFile, ClusterMap, FabricKind, Lease, Member, Registry, Role};
use metrics::Endpoint;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use txn::{Database, Root};

/// How long a fenced process may take to end.
const FENCE_TIME: Duration = Duration::from_secs(5);
/// Before callers of an epoch are refused that somebody has left: the others learn of the new one meanwhile.
const EPOCH_GRACE: Duration = Duration::from_secs(1);
/// How long to wait for the other memory servers at the start.
const COMPANY_TIME: Duration = Duration::from_secs(60);

/// A memory server that is a member of its cluster and can be served.
pub struct MemoryServer {
    cluster: ClusterFile,
    world: Arc<LocalWorld>,
    ports: Vec<Box<dyn Port>>,
    admission: Arc<Admission>,
    /// Those who map the region, to be killed when they are members no more.
    callers: Option<Arc<Callers>>,
    registry: Registry,
    lease: Lease,
    polling: Arc<ServeCounters>,
    epoch: Arc<AtomicU64>,
    _control: Endpoint,
}

impl MemoryServer {
    /// Makes the region, opens the ports, and joins the cluster.
    pub fn start(cluster: ClusterFile, number: u16) -> Result<Self> {
        let count = cluster.memory.len();
        let mine = cluster.memory.get(usize::from(number)).with_context(|| {
            format!("the cluster has {count} memory servers, numbered from 0; there is no {number}")
        })?;
        let registry = Registry::open(&cluster)?;
        let mut member = Member::memory_server(NodeId(number), mine.bytes, Addresses::default());
        let Role::Memory { region_key, region_bytes } = member.role else {
            unreachable!("a memory server keeps a region")
        };
        let (world, pages) = world(&cluster, number)?;
        let admission = Arc::new(Admission {
            node: NodeId(number),
            cluster: cluster.id.0,
            server: member.identity,
            key: region_key,
            region_bytes,
            program: PROGRAM.to_owned(),
            epoch: AtomicU64::new(0),
        });
        let Opened { port, callers, carrier } =
            port(&cluster, number, &world, &admission, &mut member.addresses)?;
        let (polling, epoch) = (Arc::<ServeCounters>::default(), Arc::<AtomicU64>::default());
        let sources = Sources {
            polling: polling.clone(),
            epoch: epoch.clone(),
            callers: callers.clone(),
            carrier,
            world: world.clone(),
        };
        let control = tell(&cluster, &member, &sources)?;
        member.addresses.control = Some(control.address().to_string());
        let patience = Duration::from_secs(cluster.lease_seconds + 1);
        let lease = registry.join(member, patience)?;
        let pages = pages.map(|pages| format!(", {pages}")).unwrap_or_default();
        output::say(&format!(
            "memory server {number} of cluster {}: {}{pages}, fabric {}",
            cluster.name,
            crate::bench::text::bytes(region_bytes),
            cluster.fabric.name()
        ));
        let ports = vec![port];
        let _control = control;
        Ok(Self {
            cluster,
            world,
            ports,
            admission,
            callers,
            registry,
            lease,
            polling,
            epoch,
            _control,
        })
    }

    /// Serves until `stop` is set or the lease is lost.
    pub fn serve(mut self, stop: &'static AtomicBool) -> Result<()> {
        let counters = self.polling.clone();
        let warden = self.warden();
        let _follower = self.registry.follow(LOOK_PAUSE, warden)?;
        if self.lease.member().number == 0 {
            self.found()?;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let lease_watch = watch(stop, is_over.clone());
        let lost = std::thread::scope(|scope| {
            let lease = &self.lease;
            let watcher = scope.spawn(move || lease_watch(&|| lease.is_lost()));
            serve(&mut self.ports, &is_over, Patience::default(), &counters);
            watcher.join().expect("the watcher does not panic")
        });
        let number = self.lease.member().number;
        ensure!(
            !lost,
            "memory server {number} has lost its lease of {} s: the registry could not be reached in time, or this \
             process did not run; its data is lost to the cluster",
            self.cluster.lease_seconds
        );
        self.lease.leave()?;
        output::say(&format!("memory server {number} has left the cluster"));
        Ok(())
    }

    /// Makes the database on the empty region, and says so once all memory servers are there.
    fn found(&self) -> Result<()> {
        let servers = (0..self.cluster.memory.len() as u16).map(NodeId).collect();
        let config = settings(self.cluster.oracle, self.cluster.transaction_time_ms);
        let database = run_now(Database::create(self.world.endpoint(), servers, config))
            .context("cannot make the database")?;
        let (root, registry) = (database.root(), self.registry.clone());
        std::thread::Builder::new()
            .name("founder".to_owned())
            .spawn(move || {
                if let Err(error) = announce(&root, &registry) {
                    output::say(&format!("no database can be announced: {error:#}"));
                }
            })
            .context("no thread can be started")?;
        Ok(())
    }

    /// What to do when somebody left: those who map the region are killed; of the others no more is heard once
    /// the living have had the time to learn of the new epoch.
    fn warden(&self) -> impl FnMut(&ClusterMap) + Send + 'static {
        let (admission, callers) = (self.admission.clone(), self.callers.clone());
        let epoch = self.epoch.clone();
        let mut known = BTreeSet::new();
        move |map| {
            epoch.store(map.epoch, Ordering::Relaxed);
            let members: BTreeSet<u64> = map.members.iter().map(|member| member.identity).collect();
            let gone: Vec<u64> = known.difference(&members).copied().collect();
            known = members;
            if gone.is_empty() {
                return;
            }
            for identity in gone {
                let fenced = callers.as_ref().map(|callers| callers.fence(identity, FENCE_TIME));
                if let Some(Err(error)) = fenced {
                    output::say(&format!("a process that left the cluster lives on: {error}"));
                }
            }
            #[allow(clippy::disallowed_methods, reason = "membership is not part of a run")]
            std::thread::sleep(EPOCH_GRACE);
            admission.epoch.fetch_max(map.epoch, Ordering::AcqRel);
        }
    }
}

/// The region and its services.
fn world(cluster: &ClusterFile, number: u16) -> Result<(Arc<LocalWorld>, Option<String>)> {
    let bytes = cluster.memory[usize::from(number)].bytes / 4096 * 4096;
    let config = ServerConfig {
        node: NodeId(number),
        server_count: cluster.memory.len() as u16,
        bytes,
        sharing: match cluster.fabric {
            FabricKind::Shm => Sharing::File,
            FabricKind::Tcp | FabricKind::Verbs => Sharing::Private,
        },
        seed: u64::from(number),
    };
    let (world, pages) = LocalWorld::memory_server(&config).with_context(|| {
        format!("cannot have {bytes} bytes for memory server {number}; `namdb doctor` may know why")
    })?;
    for (id, service) in txn::server::services(RegionId(number), bytes) {
        world.register(NodeId(number), id, service);
    }
    Ok((world, pages.map(|pages| pages.to_string())))
}

/// A port, and what else is to be known of it.
struct Opened {
    port: Box<dyn Port>,
    callers: Option<Arc<Callers>>,
    carrier: Option<LocalEnv>,
}

fn port(
    cluster: &ClusterFile,
    number: u16,
    world: &Arc<LocalWorld>,
    admission: &Arc<Admission>,
    addresses: &mut Addresses,
) -> Result<Opened> {
    match cluster.fabric {
        FabricKind::Shm => {
            let port = ShmPort::new(&cluster.directory, admission.clone(), world)?;
            addresses.shm = Some(cluster.directory.clone());
            let callers = port.callers().clone();
            Ok(Opened { port: Box::new(port), callers: Some(callers), carrier: None })
        }
        FabricKind::Tcp => {
            let listen = &cluster.memory[usize::from(number)].listen;
            let port = TcpPort::bind(listen.as_str(), world.clone(), admission.clone());
            let port = port.with_context(|| {
                format!("memory server {number} cannot listen at {listen}; is the port in use?")
            })?;
            addresses.tcp = Some(port.address()?.to_string());
            let carrier = Some(port.endpoint().clone());
            Ok(Opened { port: Box::new(port), callers: None, carrier })
        }
        FabricKind::Verbs => anyhow::bail!("this program serves no verbs yet; use `shm` or `tcp`"),
    }
}

/// Says where the database begins once all memory servers are there.
fn announce(root: &Root, registry: &Registry) -> Result<()> {
    let map = registry.wait_for_memory_servers(root.servers.len(), COMPANY_TIME, &mut |_| {})?;
    let identities = map.memory_servers().map(|member| member.identity).collect();
    registry.set_root(&published(root, identities))?;
    Ok(())
}

/// Ends the serving once the user wants it, or the lease is lost; answers whether it is.
fn watch(
    stop: &'static AtomicBool,
    is_over: Arc<AtomicBool>,
) -> impl FnOnce(&dyn Fn() -> bool) -> bool {
    move |is_lost| {
        let mut lost = false;
        while !lost && !stop.load(Ordering::Relaxed) {
            namdb::host::sleep_ms(20);
            lost = is_lost();
        }
        is_over.store(true, Ordering::Relaxed);
        lost
    }
}
