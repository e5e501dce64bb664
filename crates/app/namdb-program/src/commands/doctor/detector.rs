//! Checks that the members' heartbeats arrive.

use super::code::DETECTOR;
use super::finding::Finding;
use crate::bench::text::counted;
use crate::commands::pages::{self, Heartbeats};
use membership::detector::Evidence;
use membership::{ClusterFile, ClusterMap};

/// `map` has the members of the cluster, if they are known.
pub fn check(cluster: &ClusterFile, map: Option<&ClusterMap>) -> Finding {
    let Some(map) = map.filter(|map| map.memory_servers().next().is_some()) else {
        return DETECTOR.not_applicable("the cluster is not running");
    };
    let token = cluster.read_secret().map(|secret| secret.token()).unwrap_or_default();
    let pages: Vec<String> =
        pages::of_all(map.memory_servers(), &token).into_iter().flatten().collect();
    if pages.is_empty() {
        return DETECTOR.not_applicable("no memory server tells its metrics");
    }
    finding(cluster, map, &Heartbeats::of(&pages))
}

fn finding(cluster: &ClusterFile, map: &ClusterMap, heartbeats: &Heartbeats) -> Finding {
    let lease_ms = cluster.detector_lease().as_millis();
    let give_time = format!(
        "give the thread `heartbeats` of each process a processor, or raise `detector.lease_ms` (now {lease_ms}) in the \
         cluster's file"
    );
    if heartbeats.suspected > 0 {
        let oldest_s = heartbeats.oldest_s();
        let found = format!("a member is suspected: its last heartbeat is {oldest_s:.1} s old");
        return DETECTOR.problem(
            found,
            "resume or restart the process, and let UDP packets to `memory.N.heartbeats` pass",
        );
    }
    let is_silent = |eviction: &&membership::Eviction| eviction.evidence == Evidence::Silence;
    if let Some(last) = map.evicted.iter().rfind(is_silent) {
        return DETECTOR.warning(last.to_string(), give_time);
    }
    if heartbeats.withdrawn > 0 {
        let times = counted(heartbeats.withdrawn, "suspicion");
        return DETECTOR.warning(format!("{times} of members that have answered then"), give_time);
    }
    let members = counted(heartbeats.count() as u64, "member");
    let oldest_ms = heartbeats.oldest_s() * 1e3;
    DETECTOR.ok(format!(
        "heartbeats of {members} arrive, the oldest {oldest_ms:.0} ms ago; a lease has {lease_ms} ms"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;
    use membership::{Eviction, FabricKind};

    #[test]
    fn suspected_members_are_a_problem_and_earlier_ones_a_warning() {
        let cluster = ClusterFile::development("dev", FabricKind::Tcp, &[1 << 24], 1);
        let mut map = ClusterMap {
            cluster: cluster.id,
            epoch: 3,
            members: Vec::new(),
            left: Vec::new(),
            evicted: Vec::new(),
            root: None,
            drained: Default::default(),
        };
        let page = |suspected: u64, withdrawn: u64| {
            Heartbeats::of(&[format!(
                "namdb_heartbeat_age_seconds{{role=\"compute\",member=\"0\"}} 1.5\n\
                 namdb_suspected_members {suspected}\nnamdb_suspicions_withdrawn_total {withdrawn}\n"
            )])
        };
        let well = finding(&cluster, &map, &page(0, 0));
        assert_eq!(well.grade, Grade::Ok);
        assert!(well.found.contains("1 member arrive, the oldest 1500 ms ago"), "{well:?}");
        let suspected = finding(&cluster, &map, &page(1, 0));
        assert_eq!(suspected.grade, Grade::Problem);
        assert!(suspected.found.contains("1.5 s old"), "{suspected:?}");
        let withdrawn = finding(&cluster, &map, &page(0, 2));
        assert_eq!(withdrawn.grade, Grade::Warning);
        assert!(withdrawn.fix.is_some_and(|fix| fix.contains("`detector.lease_ms` (now 1000)")));
        let eviction = |evidence| Eviction {
            identity: 5,
            member: "compute server 0".to_owned(),
            epoch: 3,
            by: "memory server 0".to_owned(),
            evidence,
            silent_ms: 1250,
        };
        map.evicted = vec![eviction(Evidence::ProcessEnded)];
        assert_eq!(finding(&cluster, &map, &page(0, 0)).grade, Grade::Ok, "it was dead");
        map.evicted.insert(0, eviction(Evidence::Silence));
        let silent = finding(&cluster, &map, &page(0, 0));
        assert_eq!(silent.grade, Grade::Warning);
        assert!(silent.found.contains("no heartbeat came for 1250 ms"), "{silent:?}");
    }
}
