//! Looks up the names of the tables and indexes for which a memory server has memory, for its
//! metrics. Extents only have numbers, and the catalog is spread over all memory servers, so a
//! short visit to all of them reads the names.

use super::cluster_client::ClusterClient;
use super::cluster_site::{self, SiteQuery};
use crate::bench::site::{Site, SiteSession};
use anyhow::{Context, Result};
use membership::ClusterFile;
use memory::Label;
use metrics::sources::{LabelName, LabelNames};
use namdb::host::{Moment, sleep_ms, spawn};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use txn::server::ServiceCounts;

/// Interval at which new memory is looked for.
const POLL_MS: u64 = 500;
/// Delay after a visit that did not find all names: a definition follows its first memory a moment
/// later, and servers may be missing.
const RETRY_S: f64 = 3.0;
/// Label of memory that belongs to no table.
const SYSTEM: Label = Label(0);

/// Keeps `names` in step with the catalog, on a separate thread, until `stop` is set.
pub fn follow(
    cluster: &ClusterFile,
    services: Arc<ServiceCounts>,
    names: Arc<LabelNames>,
    stop: &'static AtomicBool,
) -> Result<()> {
    let cluster = cluster.clone();
    let work = move || {
        let mut learning = Learning { unknown: BTreeSet::new(), visited: None };
        while !stop.load(Relaxed) {
            if learning.is_due(unknown(&services, &names)) {
                match learn(&cluster) {
                    Ok(found) => names.set(found),
                    Err(error) => tracing::debug!("names of tables are not known: {error:#}"),
                }
                learning =
                    Learning { unknown: unknown(&services, &names), visited: Some(Moment::now()) };
            }
            sleep_ms(POLL_MS);
        }
    };
    spawn("names", work).context("no thread can be started")?;
    Ok(())
}

/// Labels without a name.
fn unknown(services: &ServiceCounts, names: &LabelNames) -> BTreeSet<Label> {
    let labels = services.usage().into_iter().map(|part| part.label);
    labels.filter(|&label| label != SYSTEM && names.of(label).is_none()).collect()
}

/// The labels that the last visit did not find.
struct Learning {
    unknown: BTreeSet<Label>,
    visited: Option<Moment>,
}

impl Learning {
    /// Whether to look up names: at once if a label is new, otherwise after the delay.
    fn is_due(&self, unknown: BTreeSet<Label>) -> bool {
        let is_old = self.visited.is_none_or(|visited| visited.elapsed_s() > RETRY_S);
        !unknown.is_empty() && (is_old || !unknown.is_subset(&self.unknown))
    }
}

fn learn(cluster: &ClusterFile) -> Result<BTreeMap<Label, LabelName>> {
    cluster_site::query(&ClusterClient::visit(cluster.clone())?, Names)
}

struct Names;

impl SiteQuery for Names {
    type Output = BTreeMap<Label, LabelName>;

    fn look<S: Site>(self, site: &S) -> Result<Self::Output> {
        let session = site.session()?;
        let catalog = session.wait(session.handle().refresh())?;
        let mut names = BTreeMap::new();
        for (name, table) in catalog.names() {
            let Some(info) = catalog.info(table) else { continue };
            let table = catalog.whole_name(name);
            let named =
                |index: &str| LabelName { table: table.to_owned(), index: index.to_owned() };
            names.insert(info.label, named(""));
            for &index in &info.indexes {
                if let Some(index) = catalog.index_info(index) {
                    names.insert(index.label, named(&index.design.name));
                }
            }
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_learned_at_once_if_labels_are_new_and_else_after_a_while() {
        let labels = |labels: &[u64]| labels.iter().map(|&label| Label(label)).collect();
        let never = Learning { unknown: BTreeSet::new(), visited: None };
        assert!(never.is_due(labels(&[1])) && !never.is_due(labels(&[])));
        let just = Learning { unknown: labels(&[1, 2]), visited: Some(Moment::now()) };
        assert!(!just.is_due(labels(&[1])) && just.is_due(labels(&[1, 3])));
    }
}
