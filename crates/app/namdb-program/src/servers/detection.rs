//! Starts the failure detector of a process, and exposes its numbers.

use super::error::ServerError;
use anyhow::{Context, Result};
use fabric::Secret;
use membership::detector::{Port, Sighting, View};
use membership::{ClusterFile, Detector, Lease, Registry};
use metrics::catalog;
use std::sync::Arc;

/// Takes the address at which memory server `number` receives heartbeats.
pub fn port(cluster: &ClusterFile, number: u16) -> Result<Port, ServerError> {
    let address = cluster.heartbeats(number).expect("the caller has found the server in the file");
    Port::bind(address).map_err(|source| ServerError::Heartbeats {
        number,
        address: address.to_owned(),
        source,
    })
}

/// Starts the detector of a member, which has a port if it is a memory server.
pub fn start(
    cluster: &ClusterFile,
    secret: &Secret,
    registry: &Registry,
    lease: &Lease,
    port: Option<Port>,
) -> Result<Detector> {
    let map = registry.map()?;
    Detector::start(cluster, secret, registry, lease, (port, &map))
        .context("the failure detector cannot be started")
}

/// Registers the metrics of a server's detector.
pub fn enter(told: &metrics::Registry, cluster: &ClusterFile, detector: &Arc<View>) {
    let lease_s = cluster.detector_lease().as_secs_f64();
    told.add(&catalog::DETECTOR_LEASE, &[], move || lease_s);
    let view = detector.clone();
    told.add_many(&catalog::HEARTBEAT_AGE, move |samples| {
        for Sighting { is_memory_server, number, age, .. } in view.members() {
            let role = if is_memory_server { "memory" } else { "compute" };
            samples.put(&[role, &number.to_string()], age.as_secs_f64());
        }
    });
    let view = detector.clone();
    told.add(&catalog::SUSPECTED_MEMBERS, &[], move || {
        view.members().iter().filter(|member| member.is_suspected).count() as u64
    });
    let view = detector.clone();
    told.add(&catalog::SUSPICIONS, &[], move || view.suspicions());
    let view = detector.clone();
    told.add(&catalog::WITHDRAWN_SUSPICIONS, &[], move || view.withdrawn());
    let view = detector.clone();
    told.add(&catalog::EVICTIONS, &[], move || view.evictions());
    let view = detector.clone();
    told.add_many(&catalog::EVICTION_TIME, move |samples| {
        if let Some(time) = view.last_eviction() {
            samples.put(&[], time.as_secs_f64());
        }
    });
}
