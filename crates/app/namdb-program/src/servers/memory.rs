//! A memory server: a region, the services on it, and the ports through which others reach both.
//!
//! Decision: docs/decisions/0101-a-memory-server-that-has-run-is-not-restarted.md

use super::error::ServerError;
use super::events::{Gone, KnownMembers};
use super::exposure::check_memory_server;
use super::fencing::{Fences, Fencing};
use super::filling::{self, Returns};
use super::founder::{Founder, found};
use super::health::Health;
use super::keeping::{FoundData, Keeping};
use super::lease_watch::{LeaseTime, watch};
use super::lock_watch::{self, LockWatch};
use super::opening::{Connections, FENCE_TIME, Fence, Opening, open, region_bytes};
use super::recovery::{self, Deaths};
use super::replicas::{self, ReplicatingServer};
use super::{PROGRAM, control, detection, events, names, room};
use crate::bench::text::counted;
use anyhow::{Context, Result, bail};
use fabric::identity::Admission;
use fabric::patience::Patience;
use fabric::port::{Port, ServeCounters, serve};
use fabric::{Fabric, LocalEnv, Secret};
use layout::NodeId;
use membership::cluster_file::{MemorySettings, RegistryKind};
use membership::detector::Input;
use membership::{
    Addresses, ClusterFile, ClusterMap, Detector, Lease, LeaseClock, Member, Registry, Role,
};
use metrics::sources::{FillCounts, RecoveredCounts};
use metrics::{Endpoint, sources};
use namdb::host::{Moment, sleep_ms};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use txn::server::ServiceCounts;

/// Between two looks at the registry.
const RETRY_MS: u64 = 100;
const OUTLOOK_OF_REPLICAS: &str = "and the database goes on with the replicas of its data";

/// A memory server that is a member of its cluster, ready to serve.
pub struct MemoryServer {
    cluster: ClusterFile,
    ports: Vec<Box<dyn Port>>,
    admission: Arc<Admission>,
    fence: Option<Fence>,
    founder: Founder,
    /// The engine that serves the port, if there are replicas.
    replicating: Option<ReplicatingServer>,
    registry: Registry,
    lease: Lease,
    detector: Detector,
    polling: Arc<ServeCounters>,
    epoch: Arc<AtomicU64>,
    health: Arc<Health>,
    locks: Arc<LockWatch>,
    deaths: Arc<Deaths>,
    recovered: Arc<RecoveredCounts>,
    /// Whether it takes the place of a server that has died.
    has_returned: bool,
    returns: Arc<Returns>,
    services: Arc<ServiceCounts>,
    keeping: Keeping,
    stop: &'static AtomicBool,
    _control: Endpoint,
}

impl MemoryServer {
    /// Creates the region, opens the ports, and joins the cluster. The server stops once `stop` is
    /// set.
    pub fn start(cluster: ClusterFile, number: u16, stop: &'static AtomicBool) -> Result<Self> {
        let mine = settings(&cluster, number)?;
        let bytes = region_bytes(mine.bytes);
        ensure_room(number, replicas::total_bytes(&cluster, number))?;
        check_memory_server(&cluster, number)?;
        let secret = cluster.read_secret()?;
        let (registry, has_returned) = open_registry(&cluster, number)?;
        let mut member = Member::memory_server(NodeId(number), bytes, Addresses::default());
        let Role::Memory { region_bytes, .. } = member.role else {
            unreachable!("a memory server has a region")
        };
        let found = FoundData::look(&cluster, number, region_bytes)?;
        member = Member { found: found.found(), ..member.with_restored(found.life()) };
        let services = Arc::new(found.services(number, region_bytes, has_returned)?);
        let admission = admission(&cluster, &secret, &member, region_bytes);
        let (polling, epoch) = (Arc::<ServeCounters>::default(), Arc::<AtomicU64>::default());
        let opening = Opening(&cluster, &admission, &services, (&polling, &epoch));
        let opened = open(&opening, &mut member)?;
        let keeping = found.read(opened.region.clone())?;
        let heartbeats = detection::port(&cluster, number)?;
        member.addresses.heartbeats = Some(heartbeats.address()?);
        let told = control::registry(&cluster, &member, &epoch);
        let known = Arc::<sources::LabelNames>::default();
        let serving = (&polling, &services, &known);
        enter_sources(&told, &cluster, &admission, serving, (opened.carrier, opened.connections));
        names::follow(&cluster, services.clone(), known, stop)?;
        let locks = watch_locks(&cluster, number, &told, stop)?;
        let state = region_state(services.clone(), region_bytes);
        let health = Arc::new(Health::new(stop));
        let control =
            control::serve(&mine.control, &told, &member, (&epoch, &health, &secret), state)?;
        member.addresses.control = Some(control.address().to_string());
        events::opened(&cluster, &member.addresses);
        let patience = Duration::from_secs(cluster.lease_seconds + 1);
        let lease = registry.join(member, patience)?;
        let detector = detection::start(&cluster, &secret, &registry, &lease, Some(heartbeats))?;
        detection::enter(&told, &cluster, detector.view());
        doubt_lost_callers(&admission, detector.input());
        control::enter_lease(&told, lease.clock());
        health.joined(LeaseTime::new(lease.clock(), cluster.lease_seconds));
        events::joined(&cluster, lease.member().identity);
        let _control = control;
        let (deaths, recovered) = recover_dead(&cluster, lease.member(), &told, stop)?;
        let returns = fill_returned(&cluster, lease.member(), &told, stop)?;
        Ok(Self {
            cluster,
            ports: opened.port.into_iter().collect(),
            admission,
            fence: opened.fence,
            founder: opened.founder,
            replicating: opened.replicating,
            registry,
            lease,
            detector,
            polling,
            epoch,
            health,
            locks,
            deaths,
            recovered,
            has_returned,
            returns,
            services,
            keeping,
            stop,
            _control,
        })
    }

    /// Serves until a signal stops the server or the lease is lost.
    pub fn serve(mut self) -> Result<()> {
        let counters = self.polling.clone();
        let (mut warden, input) = (self.warden(), self.detector.input());
        let changed = move |map: &ClusterMap| {
            input.note(map);
            warden(map);
        };
        let follower = self.registry.follow(self.registry.watch_pause(), changed)?;
        self.detector.wake(follower.waker());
        let (number, stop) = (self.lease.member().number, self.stop);
        if number == 0 && !self.has_returned {
            let kept = self.keeping.kept.clone();
            found(self.founder, &self.cluster, &self.registry, stop, kept)?;
        }
        let own = self.lease.member().identity;
        let lease = LeaseTime::new(self.lease.clock(), self.cluster.lease_seconds);
        let registry = (&self.registry, own);
        let is_over = AtomicBool::new(false);
        let (may_serve, lost) = std::thread::scope(|scope| {
            let is_over = &is_over;
            // A server that waits for others must notice, too, that it is none of them any more.
            let watcher = scope.spawn(move || {
                let lost = watch(&lease, stop);
                is_over.store(true, Relaxed);
                lost
            });
            let may_serve = self.keeping.settle(&self.services, registry, is_over);
            if !matches!(may_serve, Ok(true)) {
                is_over.store(true, Relaxed);
            }
            if may_serve.is_err() {
                stop.store(true, Relaxed);
            }
            match &self.replicating {
                Some(server) => server.serve(is_over),
                None => serve(&mut self.ports, is_over, Patience::default(), &counters),
            }
            (may_serve, watcher.join().expect("the watcher does not panic"))
        });
        // The server must not react to its own departure.
        drop(follower);
        // Callers notice at once that nobody serves them.
        self.ports.clear();
        if self.keeping.replicated.is_some() {
            let served = (&self.cluster, &self.registry, &*self.services);
            return may_serve.and(end_replicated(served, &self.keeping, self.lease, lost));
        }
        let is_written = self.keeping.end(&self.services, &self.registry, own);
        if let Err(error) = &is_written {
            tracing::error!("{error:#}");
        }
        if lost {
            let is_kept = self.keeping.kept.data.is_some() && is_written.is_ok();
            let outlook = match self.cluster.replicas {
                1 if is_kept => {
                    "stop the other memory servers and start all again: its data is written"
                }
                1 => "its data is lost to the cluster",
                _ => OUTLOOK_OF_REPLICAS,
            };
            return Err(lease_lost(&self.cluster, number, outlook, &self.lease.clock()));
        }
        self.lease.leave()?;
        if !is_written? {
            // A root that was published since then names this server, which has left now.
            self.keeping.end(&self.services, &self.registry, own)?;
        }
        ensure_match(&self.keeping)
    }

    /// Reacts to ended leases. A process whose lease ended may not know it yet: it is fenced if the
    /// fabric can fence, and refused from now on. A member that left properly has nothing in
    /// progress.
    fn warden(&mut self) -> impl FnMut(&ClusterMap) + Send + 'static {
        let epoch = self.epoch.clone();
        let (health, locks) = (self.health.clone(), self.locks.clone());
        let (deaths, recovered) = (self.deaths.clone(), self.recovered.clone());
        let (fences, returns) = (self.fences(), self.returns.clone());
        let own = self.lease.member().identity;
        let mut note_root = self.keeping.note_root(own, self.stop);
        let news = self.replicating.as_ref().map(|server| server.news().clone());
        let mut known = KnownMembers::default();
        move |map| {
            // A former member must not learn the epoch with which others would accept it.
            if map.member(own).is_some() {
                epoch.store(map.epoch, Relaxed);
            }
            note_root(map);
            if let Some(news) = &news {
                news.note(map);
                // Whether the server has died or left in order, a replica takes its place.
                recovered.closed.store(closed_count(map), Relaxed);
                if closed_count(map) > 0 {
                    deaths.note();
                }
                returns.note(map, own);
            }
            health.note_database(map.database().map(drop));
            if let Some(first) = map.root.as_ref().and_then(|root| map.coordinator(root)) {
                locks.note_first(first.identity == own);
            }
            let gone = known.update(map);
            if !is_fence_due(&gone, news.is_some() && closed_count(map) > 0) {
                return fences.note(map);
            }
            fences.fence(map, gone.dead);
            locks.note_deaths();
            deaths.note();
        }
    }

    /// The fences of the dead. Until one succeeds, nothing is recovered.
    fn fences(&mut self) -> Fences {
        let calls = self.replicating.as_ref().map(|server| server.calls().clone());
        let fencing = Fencing::new(self.services.fenced.clone(), calls);
        let (polling, admission) = (self.polling.clone(), self.admission.clone());
        let mut fence = self.fence.take();
        Fences::new(fencing, move |map, dead| {
            let mut is_fenced = true;
            if let Some(fence) = &mut fence
                && let Err(error) = fence(map, dead)
            {
                tracing::error!("a process that was considered dead may still write: {error:#}");
                is_fenced = false;
            }
            let members = map.members.iter().map(|member| member.identity).collect();
            admission.advance(map.epoch, members);
            // A request of the dead that was admitted before may be under way.
            if !polling.await_round(FENCE_TIME) {
                tracing::error!("a request of a dead process may still be under way");
                is_fenced = false;
            }
            is_fenced
        })
    }
}

/// Why the server ends: its lease is lost.
fn lease_lost(
    cluster: &ClusterFile,
    number: u16,
    outlook: &'static str,
    clock: &LeaseClock,
) -> anyhow::Error {
    let lost = ServerError::lease_lost(cluster, format!("memory server {number}"), outlook);
    lost.unless_evicted(clock.eviction()).into()
}

/// Ends a server of a cluster that has replicas and keeps data.
fn end_replicated(
    (cluster, registry, services): (&ClusterFile, &Registry, &ServiceCounts),
    keeping: &Keeping,
    lease: Lease,
    lost: bool,
) -> Result<()> {
    let Some(replicated) = &keeping.replicated else { return Ok(()) };
    let (number, clock) = (lease.member().number, lease.clock());
    let ended = replicated.end(services, registry, lease);
    if let Err(error) = &ended {
        tracing::error!("{error:#}");
    }
    if lost {
        return Err(lease_lost(cluster, number, OUTLOOK_OF_REPLICAS, &clock));
    }
    ended?;
    ensure_match(keeping)
}

/// The server has left. Fails if it ends because the data of the servers is of no database.
fn ensure_match(keeping: &Keeping) -> Result<()> {
    if let Some(mismatch) = keeping.kept.mismatch.get() {
        bail!(mismatch.clone());
    }
    tracing::info!("left the cluster");
    Ok(())
}

/// The server's section of the cluster's file.
fn settings(cluster: &ClusterFile, number: u16) -> Result<&MemorySettings> {
    cluster.memory.get(usize::from(number)).with_context(|| {
        let servers = counted(cluster.memory.len() as u64, "memory server");
        format!("the cluster has {servers}, numbered from 0; there is no {number}")
    })
}

/// Opens the registry, and says whether the database goes on with replicas of what a server of this
/// number had: then this one returns in its place, with empty memory. A server that has died may
/// still be a member until its lease ends. With etcd, leases of all servers of a database that has
/// ended may end later.
fn open_registry(cluster: &ClusterFile, number: u16) -> Result<(Registry, bool)> {
    let (registry, began) = (Registry::open(cluster)?, Moment::now());
    let lease_s = cluster.lease_seconds as f64 + 1.0;
    loop {
        let map = registry.map()?;
        if map.database().ok().flatten().is_none_or(|root| root.replicas == 1) {
            return Ok((registry, false));
        }
        let is_gone = map.memory_server(NodeId(number)).is_none();
        let is_late = began.elapsed_s() >= lease_s;
        if is_gone && (is_late || cluster.registry.kind == RegistryKind::File) {
            return Ok((registry, true));
        }
        // It would take over the region without knowing what is used there.
        if is_late {
            bail!(
                "memory server {number} is still a member of the cluster; end it first, or wait \
                 until its lease has ended, and start this one again"
            );
        }
        sleep_ms(RETRY_MS);
    }
}

/// Whether members are gone that may still have something under way. Those that left in order have
/// not, except a memory server whose region is closed now: its handlers may have posted writes to
/// replicas, which must not follow those of the promoted one.
fn is_fence_due(gone: &Gone, has_closed: bool) -> bool {
    !gone.dead.is_empty() || gone.has_unseen || has_closed
}

/// Number of regions that wait for their replica.
fn closed_count(map: &ClusterMap) -> u64 {
    map.root.as_ref().map_or(0, |root| map.address_map(root).closed().count() as u64)
}

/// Adds the region to the server's JSON.
fn region_state(
    services: Arc<ServiceCounts>,
    region_bytes: u64,
) -> impl Fn(&mut serde_json::Map<String, serde_json::Value>) + Send {
    move |told| {
        let used_bytes: u64 = services.usage().iter().map(|part| part.bytes).sum();
        told.insert("region_bytes".to_owned(), region_bytes.into());
        told.insert("used_bytes".to_owned(), used_bytes.into());
    }
}

/// Registers the metrics of the server and of its fabric.
fn enter_sources(
    told: &metrics::Registry,
    cluster: &ClusterFile,
    admission: &Arc<Admission>,
    serving: (&Arc<ServeCounters>, &Arc<ServiceCounts>, &Arc<sources::LabelNames>),
    (carrier, connections): (Option<LocalEnv>, Connections),
) {
    let (polling, services, names) = serving;
    let source = sources::MemoryServer {
        admission: admission.clone(),
        serving: polling.clone(),
        services: services.clone(),
        names: names.clone(),
    };
    sources::enter_memory_server(told, &source);
    let carried = move || carrier.as_ref().map(|env| env.counters().counts());
    let carried = move || carried().unwrap_or_default();
    sources::enter_fabric(told, cluster.fabric.name(), carried, connections);
}

/// Has the detector probe each caller that loses a connection, since its process may be dead.
fn doubt_lost_callers(admission: &Admission, detector: Input) {
    admission.members.on_lost_connection(move |caller| detector.doubt(caller));
}

/// Admits callers of the cluster to the region of this member.
fn admission(
    cluster: &ClusterFile,
    secret: &Secret,
    member: &Member,
    region_bytes: u64,
) -> Arc<Admission> {
    Arc::new(Admission {
        node: member.node(),
        cluster: cluster.id.0,
        secret: secret.clone(),
        server: member.identity,
        key: member.key(),
        region_bytes,
        program: PROGRAM.to_owned(),
        epoch: AtomicU64::new(0),
        members: Default::default(),
    })
}

/// Counts the locks of dead members on the first memory server that lives, for its metrics.
fn watch_locks(
    cluster: &ClusterFile,
    number: u16,
    told: &metrics::Registry,
    stop: &'static AtomicBool,
) -> Result<Arc<LockWatch>> {
    let locks = Arc::<LockWatch>::default();
    locks.note_first(number == 0);
    if number == 0 || cluster.replicas > 1 {
        let counted = locks.clone();
        sources::enter_left_locks(told, move || counted.count());
        lock_watch::follow(cluster, locks.clone(), stop)?;
    }
    Ok(locks)
}

/// Recovers dead compute servers on the first memory server that lives.
fn recover_dead(
    cluster: &ClusterFile,
    member: &Member,
    told: &metrics::Registry,
    stop: &'static AtomicBool,
) -> Result<(Arc<Deaths>, Arc<RecoveredCounts>)> {
    let (deaths, counts) = (Arc::<Deaths>::default(), Arc::<RecoveredCounts>::default());
    if cluster.replicas > 1 {
        sources::enter_promotions(told, &counts);
    }
    if member.restored().is_some() || member.found.is_some() {
        // All compute servers of the last run count as dead.
        deaths.note();
    }
    if member.number == 0 || cluster.replicas > 1 {
        sources::enter_recovered(told, &counts);
        recovery::follow(cluster, member.identity, deaths.clone(), counts.clone(), stop)?;
    }
    Ok((deaths, counts))
}

/// Fills servers that have returned, on the first memory server that lives.
fn fill_returned(
    cluster: &ClusterFile,
    member: &Member,
    told: &metrics::Registry,
    stop: &'static AtomicBool,
) -> Result<Arc<Returns>> {
    let (returns, counts) = (Arc::<Returns>::default(), Arc::<FillCounts>::default());
    if cluster.replicas > 1 {
        sources::enter_fills(told, &counts);
        filling::follow(cluster, member.identity, returns.clone(), counts, stop)?;
    }
    Ok(returns)
}

/// Rejects a region that exceeds the host's memory: it would be reserved, and the server killed
/// once it fills up.
fn ensure_room(number: u16, region_bytes: u64) -> Result<(), ServerError> {
    let available_bytes = room::available_bytes();
    match region_bytes <= available_bytes {
        true => Ok(()),
        false => Err(ServerError::NoRoom { number, region_bytes, available_bytes }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_memory_server_with_replicas_has_posted_is_fenced_though_it_left_in_order() {
        let gone = |dead: &[u64], has_unseen| Gone { dead: dead.to_vec(), has_unseen };
        assert!(is_fence_due(&gone(&[7], false), false) && is_fence_due(&gone(&[], true), false));
        assert!(!is_fence_due(&gone(&[], false), false), "a compute server has nothing under way");
        assert!(is_fence_due(&gone(&[], false), true));
    }
}
