//! What a memory server tells at its control address: metrics, and its state as JSON.

use anyhow::{Context, Result};
use fabric::port::ServeCounters;
use fabric::{Fabric, LocalEnv};
use membership::{ClusterFile, Member, Role};
use metrics::{Definition, Endpoint, Registry, Status, catalog};
use namdb::host;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use txn::catalog::label_name;
use txn::server::ServiceCounts;

/// Where the numbers of a memory server come from.
pub struct Sources {
    /// What its polling thread does.
    pub polling: Arc<ServeCounters>,
    /// The epoch as it last looked.
    pub epoch: Arc<AtomicU64>,
    /// How many callers are connected, where that is counted.
    pub connections: Option<Connections>,
    /// Who carries out the verbs of others, where this process does.
    pub carrier: Option<LocalEnv>,
    /// What its services have handed out.
    pub services: Arc<ServiceCounts>,
}

/// How many callers are connected.
pub type Connections = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Starts to tell.
pub fn tell(cluster: &ClusterFile, member: &Member, sources: &Sources) -> Result<Endpoint> {
    let registry = Registry::new();
    enter_process(&registry, cluster, member);
    enter_polling(&registry, &sources.polling);
    let epoch = sources.epoch.clone();
    registry.add_cell(&catalog::CLUSTER_EPOCH, &[], &epoch);
    let Role::Memory { region_bytes: bytes, .. } = member.role else {
        unreachable!("a memory server keeps a region")
    };
    registry.add(&catalog::REGION_BYTES, &[], move || bytes);
    let of_region = sources.services.clone();
    registry.add_many(&catalog::REGION_USED_BYTES, move |samples| {
        for part in of_region.usage() {
            samples.put(&[&label_name(part.label)], part.bytes);
        }
    });
    let fabric = cluster.fabric.name();
    if let Some(connections) = sources.connections.clone() {
        registry.add(&catalog::CONNECTIONS, &[fabric], move || connections());
    }
    if let Some(carrier) = &sources.carrier {
        let (verbs, bytes) = (carrier.clone(), carrier.clone());
        registry.add(&catalog::SERVED_VERBS, &[fabric], move || verbs.counters().counts().verbs);
        registry.add(&catalog::SERVED_BYTES, &[fabric], move || bytes.counters().counts().bytes);
    }
    let (number, identity) = (member.number, member.identity);
    let services = sources.services.clone();
    let status = move || {
        let used: u64 = services.usage().iter().map(|part| part.bytes).sum();
        let state = serde_json::json!({
            "role": "memory",
            "number": number,
            "identity": format!("{identity:016x}"),
            "epoch": epoch.load(Relaxed),
            "region_bytes": bytes,
            "used_bytes": used,
        });
        Status::well(state.to_string())
    };
    let address = cluster.memory[usize::from(number)].control.as_str();
    metrics::serve(address, &registry, status)
        .with_context(|| format!("memory server {number} cannot tell its state at {address}"))
}

fn enter_process(registry: &Registry, cluster: &ClusterFile, member: &Member) {
    let (id, number) = (cluster.id.to_string(), member.number.to_string());
    let format = member.program.format.to_string();
    let labels = [id.as_str(), "memory", &number, &member.program.version, &format];
    registry.add(&catalog::BUILD_INFO, &labels, || 1_u64);
    registry.add(&catalog::PROCESSOR_SECONDS, &[], host::process_cpu_s);
    registry.add(&catalog::RESIDENT_BYTES, &[], host::resident_bytes);
}

/// One of the counters.
type Field = fn(&ServeCounters) -> &AtomicU64;

fn enter_polling(registry: &Registry, polling: &Arc<ServeCounters>) {
    let counters: [(&'static Definition, Field); 5] = [
        (&catalog::SERVED_REQUESTS, |counters| &counters.requests),
        (&catalog::POLLING_ROUNDS, |counters| &counters.rounds),
        (&catalog::POLLING_BUSY_ROUNDS, |counters| &counters.busy_rounds),
        (&catalog::POLLING_YIELDS, |counters| &counters.yields),
        (&catalog::POLLING_SLEEPS, |counters| &counters.sleeps),
    ];
    for (definition, field) in counters {
        let polling = polling.clone();
        registry.add(definition, &[], move || field(&polling).load(Relaxed));
    }
}
