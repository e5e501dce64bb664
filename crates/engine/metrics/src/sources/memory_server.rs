//! A memory server's numbers: counters of its polling thread and of its services.

use crate::catalog;
use crate::definition::Definition;
use crate::registry::Registry;
use crate::sources::{LabelName, LabelNames};
use fabric::Counts;
use fabric::identity::Admission;
use fabric::port::ServeCounters;
use layout::{NodeId, WORD_BYTES};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use txn::CopyCounts;
use txn::catalog::label_name;
use txn::server::{SERVICE_NAMES, ServiceCounts};

/// Definition of a counter of the polling thread, and its accessor.
type Named = (&'static Definition, fn(&ServeCounters) -> &AtomicU64);

/// Sources of a memory server's numbers.
pub struct MemoryServer {
    /// Its admission, which knows node and region size.
    pub admission: Arc<Admission>,
    /// Counters of the polling thread.
    pub serving: Arc<ServeCounters>,
    /// Counters of the services, and the allocated memory.
    pub services: Arc<ServiceCounts>,
    /// Names of tables and indexes.
    pub names: Arc<LabelNames>,
}

/// Registers the metrics of every memory server.
pub fn enter_memory_server(registry: &Registry, server: &MemoryServer) {
    let MemoryServer { admission, serving, services, names } = server;
    let region_bytes = admission.region_bytes;
    registry.add(&catalog::REGION_BYTES, &[], move || region_bytes);
    let (extents, names) = (services.clone(), names.clone());
    registry.add_many(&catalog::REGION_USED_BYTES, move |samples| {
        for part in extents.usage() {
            let LabelName { table, index } = names.of(part.label).unwrap_or_default();
            samples.put(&[&label_name(part.label), &table, &index], part.bytes);
        }
    });
    enter_services(registry, services);
    let counters: [Named; 5] = [
        (&catalog::SERVED_REQUESTS, |serving| &serving.requests),
        (&catalog::POLLING_ROUNDS, |serving| &serving.rounds),
        (&catalog::POLLING_BUSY_ROUNDS, |serving| &serving.busy_rounds),
        (&catalog::POLLING_YIELDS, |serving| &serving.yields),
        (&catalog::POLLING_SLEEPS, |serving| &serving.sleeps),
    ];
    for (definition, counter) in counters {
        let serving = serving.clone();
        registry.add(definition, &[], move || counter(&serving).load(Relaxed));
    }
}

fn enter_services(registry: &Registry, services: &Arc<ServiceCounts>) {
    for (place, name) in SERVICE_NAMES.iter().enumerate() {
        let services = services.clone();
        registry.add(&catalog::SERVED_CALLS, &[name], move || services.calls[place].load(Relaxed));
    }
    let mover = services.mover.clone();
    registry.add(&catalog::MOVED_VERSIONS, &[], move || mover.moved.load(Relaxed));
    let mover = services.mover.clone();
    registry.add(&catalog::DROPPED_VERSIONS, &[], move || mover.dropped.load(Relaxed));
}

/// Registers the number of locks that dead members have left; it has no value if it is unknown.
pub fn enter_left_locks(registry: &Registry, count: impl Fn() -> Option<u64> + Send + 'static) {
    registry.add_many(&catalog::LEFT_LOCKS, move |samples| {
        if let Some(count) = count() {
            samples.put(&[], count);
        }
    });
}

/// Counts of what a memory server has recovered of dead compute servers, and of its promotions.
#[derive(Default)]
pub struct RecoveredCounts {
    pub slots: AtomicU64,
    pub completed: AtomicU64,
    pub released: AtomicU64,
    /// Slots that it could not recover.
    pub lost: AtomicU64,
    /// Replicas that it has promoted.
    pub promotions: AtomicU64,
    /// Time of the last promotion; 0 before.
    pub promotion_ns: AtomicU64,
    /// Regions that are closed now.
    pub closed: AtomicU64,
}

/// Registers what was done for dead compute servers.
pub fn enter_recovered(registry: &Registry, counts: &Arc<RecoveredCounts>) {
    let slots = counts.clone();
    registry.add(&catalog::RECOVERED_SLOTS, &[], move || slots.slots.load(Relaxed));
    let completed = counts.clone();
    let completed = move || completed.completed.load(Relaxed);
    registry.add(&catalog::RECOVERED_COMMITS, &["completed"], completed);
    let released = counts.clone();
    let released = move || released.released.load(Relaxed);
    registry.add(&catalog::RECOVERED_COMMITS, &["released"], released);
    let lost = counts.clone();
    registry.add(&catalog::LOST_SLOTS, &[], move || lost.lost.load(Relaxed));
}

/// Registers the promotions of a memory server with replicas.
pub fn enter_promotions(registry: &Registry, counts: &Arc<RecoveredCounts>) {
    let (promotions, time, closed) = (counts.clone(), counts.clone(), counts.clone());
    registry.add(&catalog::PROMOTIONS, &[], move || promotions.promotions.load(Relaxed));
    registry.add_many(&catalog::PROMOTION_TIME, move |samples| {
        let time_ns = time.promotion_ns.load(Relaxed);
        if time_ns > 0 {
            samples.put(&[], time_ns as f64 / 1e9);
        }
    });
    registry.add(&catalog::CLOSED_REGIONS, &[], move || closed.closed.load(Relaxed));
}

/// The fills of returned servers by this one. Any thread may read them.
#[derive(Default)]
pub struct FillCounts {
    fills: AtomicU64,
    /// Time of the last standstill; 0 before.
    standstill_ns: AtomicU64,
    current: Mutex<Option<(NodeId, Arc<CopyCounts>)>>,
}

impl FillCounts {
    /// A copy to a server begins.
    pub fn begin(&self, node: NodeId, counts: Arc<CopyCounts>) {
        *self.current.lock().expect("no holder panics") = Some((node, counts));
    }

    /// The fill has ended, or was given up.
    pub fn end(&self) {
        *self.current.lock().expect("no holder panics") = None;
    }

    /// A server was filled, and the database stood still for this time.
    pub fn note_standstill(&self, seconds: f64) {
        self.fills.fetch_add(1, Relaxed);
        self.standstill_ns.store((seconds * 1e9) as u64, Relaxed);
    }

    fn bytes(&self, of: impl Fn(&CopyCounts) -> u64) -> Option<(String, f64)> {
        let current = self.current.lock().expect("no holder panics");
        let (node, counts) = current.as_ref()?;
        Some((node.0.to_string(), (of(counts) * WORD_BYTES) as f64))
    }
}

/// Registers the fills of returned servers.
pub fn enter_fills(registry: &Registry, counts: &Arc<FillCounts>) {
    let (fills, compared, total, time) =
        (counts.clone(), counts.clone(), counts.clone(), counts.clone());
    registry.add(&catalog::FILLS, &[], move || fills.fills.load(Relaxed));
    registry.add_many(&catalog::FILL_COMPARED, move |samples| {
        if let Some((server, bytes)) = compared.bytes(|it| it.compared.load(Relaxed)) {
            samples.put(&[&server], bytes);
        }
    });
    registry.add_many(&catalog::FILL_TOTAL, move |samples| {
        if let Some((server, bytes)) = total.bytes(|it| it.total.load(Relaxed)) {
            samples.put(&[&server], bytes);
        }
    });
    registry.add_many(&catalog::FILL_STANDSTILL, move |samples| {
        let time_ns = time.standstill_ns.load(Relaxed);
        if time_ns > 0 {
            samples.put(&[], time_ns as f64 / 1e9);
        }
    });
}

/// Registers a fabric of the server: the requests that its processor executed, and the number of
/// connected callers.
pub fn enter_fabric(
    registry: &Registry,
    fabric: &str,
    counts: impl Fn() -> Counts + Send + Clone + 'static,
    connections: impl Fn() -> u64 + Send + 'static,
) {
    let (verbs, bytes) = (counts.clone(), counts);
    registry.add(&catalog::SERVED_VERBS, &[fabric], move || verbs().verbs);
    registry.add(&catalog::SERVED_BYTES, &[fabric], move || bytes().bytes);
    registry.add(&catalog::CONNECTIONS, &[fabric], connections);
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::{LocalWorld, WorldConfig, run_now};
    use layout::RegionId;
    use memory::Label;
    use memory::extent::allocate_extent;
    use txn::server::counted_services;

    #[test]
    fn a_memory_server_tells_what_it_holds_and_does() {
        let bytes = 16 << 20;
        let world = LocalWorld::new(&WorldConfig { server_bytes: vec![bytes], seed: 1 });
        let world = world.expect("memory");
        let services = Arc::new(ServiceCounts::new(RegionId(0), bytes));
        for (id, service) in counted_services(&services) {
            world.register(NodeId(0), id, service);
        }
        let env = world.endpoint();
        let index = Label((1 << 32) + 7);
        for (size, label) in [(8192, Label(0)), (4096, Label(4)), (4096, Label(4)), (4096, index)] {
            run_now(allocate_extent(&env, NodeId(0), size, label)).expect("there is room");
        }
        let admission = Admission {
            node: NodeId(0),
            cluster: 1,
            secret: fabric::Secret::new([7; 32]),
            server: 2,
            key: 3,
            region_bytes: bytes,
            program: "1.0".to_owned(),
            epoch: AtomicU64::new(5),
            members: Default::default(),
        };
        let serving = Arc::new(ServeCounters::default());
        serving.sleeps.store(9, Relaxed);
        let registry = Registry::new();
        let names = Arc::<LabelNames>::default();
        let named = LabelName { table: "stock".to_owned(), index: "by_name".to_owned() };
        names.set([(index, named)].into());
        let server = MemoryServer { admission: Arc::new(admission), serving, services, names };
        enter_memory_server(&registry, &server);
        let counts = || Counts { verbs: 3, bytes: 40, round_trips: 0, calls: 1, messages: 0 };
        enter_fabric(&registry, "tcp", counts, || 2);
        let page = registry.text();
        for line in [
            "namdb_region_bytes 16777216\n",
            "namdb_region_used_bytes{label=\"system\",table=\"\",index=\"\"} 8192\n",
            "namdb_region_used_bytes{label=\"table 3\",table=\"\",index=\"\"} 8192\n",
            "namdb_region_used_bytes{label=\"index 7\",table=\"stock\",index=\"by_name\"} 4096\n",
            "namdb_served_calls_total{service=\"extents\"} 4\n",
            "namdb_served_calls_total{service=\"tree\"} 0\n",
            "namdb_overflow_versions_moved_total 0\n",
            "namdb_polling_sleeps_total 9\n",
            "namdb_polling_rounds_total 0\n",
            "namdb_served_bytes_total{fabric=\"tcp\"} 40\n",
            "namdb_connections{fabric=\"tcp\"} 2\n",
        ] {
            assert!(page.contains(line), "{line} is missing in\n{page}");
        }
    }
}
