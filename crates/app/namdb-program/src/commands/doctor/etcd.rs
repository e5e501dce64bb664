//! Checks whether etcd answers at the endpoints in the cluster's file.

use super::attempt::{Attempt, connect_all};
use super::code::ETCD;
use super::finding::Finding;
use membership::ClusterFile;
use membership::cluster_file::RegistryKind;

/// Tries all endpoints; also returns whether the registry can be queried.
pub fn check(cluster: &ClusterFile) -> (Finding, bool) {
    if cluster.registry.kind == RegistryKind::File {
        return (ETCD.not_applicable("the cluster keeps its registry in files"), true);
    }
    let endpoints = &cluster.registry.endpoints;
    let addresses: Vec<String> = endpoints.iter().map(|endpoint| address(endpoint)).collect();
    let attempts = connect_all(&addresses);
    let is_open = attempts.contains(&Attempt::Open);
    (judge(endpoints, &attempts), is_open)
}

fn address(endpoint: &str) -> String {
    let host = endpoint.split_once("://").map_or(endpoint, |(_, host)| host);
    host.trim_end_matches('/').to_owned()
}

fn judge(endpoints: &[String], attempts: &[Attempt]) -> Finding {
    let bad: Vec<String> = endpoints
        .iter()
        .zip(attempts)
        .filter_map(|(endpoint, attempt)| {
            Some(match attempt {
                Attempt::Open => return None,
                Attempt::Refused => format!("{endpoint} (nobody listens)"),
                Attempt::Silent => format!("{endpoint} (no answer: a firewall?)"),
                Attempt::Failed(why) => format!("{endpoint} ({why})"),
            })
        })
        .collect();
    let fix =
        "there: systemctl start etcd; else correct `registry.endpoints` in the cluster's file";
    match bad.len() {
        0 => ETCD.ok(format!("reached at {}", endpoints.join(", "))),
        count if count == endpoints.len() => {
            ETCD.problem(format!("not reached: {}", bad.join(", ")), fix)
        }
        _ => ETCD.warning(format!("not reached: {}; the others are", bad.join(", ")), fix),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn one_endpoint_is_enough_to_live_and_none_is_not() {
        let endpoints = ["http://a:2379".to_owned(), "https://b:2379/".to_owned()];
        assert_eq!((&*address(&endpoints[0]), &*address(&endpoints[1])), ("a:2379", "b:2379"));
        let grade = |attempts: [Attempt; 2]| judge(&endpoints, &attempts).grade;
        assert_eq!(grade([Attempt::Open, Attempt::Open]), Grade::Ok);
        assert_eq!(grade([Attempt::Silent, Attempt::Open]), Grade::Warning);
        assert_eq!(grade([Attempt::Silent, Attempt::Refused]), Grade::Problem);
    }
}
