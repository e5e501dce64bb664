//! A server's control address: metrics, and its state as JSON.

use super::PROGRAM;
use super::health::Health;
use anyhow::{Context, Result};
use fabric::Secret;
use membership::{ClusterFile, LeaseClock, Member};
use metrics::{Access, Endpoint, Registry, Status, catalog};
use namdb::host;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Registers the metrics that every server has; `epoch` is the cluster's epoch as the server knows
/// it.
pub fn registry(cluster: &ClusterFile, member: &Member, epoch: &Arc<AtomicU64>) -> Registry {
    let registry = Registry::new();
    let (id, number) = (cluster.id.to_string(), member.number.to_string());
    let format = member.program.format.to_string();
    let labels = [id.as_str(), role(member), &number, PROGRAM, &format];
    registry.add(&catalog::BUILD_INFO, &labels, || 1_u64);
    let start_s = host::unix_time_s();
    registry.add(&catalog::START_TIME, &[], move || start_s);
    let start = host::Moment::now();
    registry.add(&catalog::UPTIME, &[], move || start.elapsed_s());
    registry.add(&catalog::PROCESSOR_SECONDS, &[], host::process_cpu_s);
    registry.add(&catalog::RESIDENT_BYTES, &[], host::resident_bytes);
    registry.add_cell(&catalog::CLUSTER_EPOCH, &[], epoch);
    registry
}

/// Adds the remaining time of the server's lease, once it has one.
pub fn enter_lease(registry: &Registry, clock: LeaseClock) {
    registry.add_many(&catalog::LEASE_LEFT, move |samples| {
        if let Some(left) = clock.left() {
            samples.put(&[], left.as_secs_f64());
        }
    });
}

/// Serves the control address at `address` to holders of the token of `secret`; `state` extends the
/// server's JSON. Health probes read `health`.
pub fn serve(
    address: &str,
    registry: &Registry,
    member: &Member,
    (epoch, health, secret): (&Arc<AtomicU64>, &Arc<Health>, &Secret),
    state: impl Fn(&mut serde_json::Map<String, serde_json::Value>) + Send + 'static,
) -> Result<Endpoint> {
    let (role, number, identity) = (role(member), member.number, member.identity);
    let (epoch, health) = (epoch.clone(), health.clone());
    let status = move || {
        let mut told = serde_json::Map::new();
        told.insert("role".to_owned(), role.into());
        told.insert("number".to_owned(), number.into());
        told.insert("identity".to_owned(), format!("{identity:016x}").into());
        told.insert("epoch".to_owned(), epoch.load(Relaxed).into());
        state(&mut told);
        let problem = health.problem();
        told.insert("healthy".to_owned(), problem.is_none().into());
        if let Some(problem) = &problem {
            told.insert("problem".to_owned(), problem.clone().into());
        }
        Status { json: serde_json::Value::Object(told).to_string(), problem, refusal: None }
    };
    let secret = secret.clone();
    let access = Access::Token(Box::new(move |token| secret.is_token(token)));
    metrics::serve(address, access, registry, status).with_context(|| {
        format!("{role} server {number} cannot open its control address {address}")
    })
}

fn role(member: &Member) -> &'static str {
    if member.is_memory_server() { "memory" } else { "compute" }
}
