//! Checks that all servers of the file have joined one cluster in one version, and that no part of
//! the database is lost.

use super::code::MEMBERS;
use super::finding::Finding;
use crate::bench::text::counted;
use crate::servers::development::{self, missing_compute_servers, missing_memory_servers};
use membership::cluster_file::RegistryKind;
use membership::{ClusterFile, ClusterMap, RegistryError};

/// `found` is the registry's answer; `None` if it was not reached (`may_ask` is false) or no server
/// has started.
pub fn check(
    cluster: &ClusterFile,
    seen: Option<&Result<ClusterMap, RegistryError>>,
    may_ask: bool,
) -> Finding {
    let map = match seen {
        None if may_ask => return MEMBERS.not_applicable("the cluster is not running"),
        None => return MEMBERS.not_applicable("the registry is not reached"),
        Some(Ok(map)) => map,
        Some(Err(error)) => return refused(error),
    };
    if let Some(loss) = map.loss() {
        return MEMBERS.problem(loss.to_string(), see_logs(cluster));
    }
    let Some(first) = map.members.first() else {
        return MEMBERS.ok("the cluster is not running: all servers have left it");
    };
    let missing = missing(cluster, map);
    let has_replicas = map.root.as_ref().is_some_and(|root| root.replicas > 1);
    if has_replicas && !missing_memory_servers(cluster, map).is_empty() {
        let found =
            format!("the database goes on with replicas of what has died: {}", missing.join(", "));
        let fix = "nothing gives a replica to a memory server that is started again: stop the cluster and load the data \
                   again before more of them die than it has replicas; `namdb status` counts them";
        return MEMBERS.warning(found, fix);
    }
    if !missing.is_empty() {
        let found = format!(
            "the cluster's file names servers that have not joined: {}",
            missing.join(", ")
        );
        let fix = format!("{}; then start each again, with --number N", see_logs(cluster));
        return MEMBERS.problem(found, fix);
    }
    let (memory, compute) = (map.memory_servers().count(), map.compute_servers().count());
    let (memory, compute) =
        (counted(memory as u64, "memory server"), counted(compute as u64, "compute server"));
    let (epoch, program) = (map.epoch, &first.program);
    MEMBERS.ok(format!("{memory} and {compute} in epoch {epoch}, all {program}"))
}

/// The servers of the file that have not joined, as text.
fn missing(cluster: &ClusterFile, map: &ClusterMap) -> Vec<String> {
    let memory = missing_memory_servers(cluster, map).into_iter();
    let compute = missing_compute_servers(cluster, map).into_iter();
    let memory = memory.map(|number| format!("memory server {number}"));
    memory.chain(compute.map(|number| format!("compute server {number}"))).collect()
}

/// Where the servers' logs are.
fn see_logs(cluster: &ClusterFile) -> String {
    let logs = development::logs(cluster);
    match cluster.registry.kind == RegistryKind::File && logs.is_dir() {
        true => format!("the logs in {} say why it stopped", logs.display()),
        false => "its log says why it stopped".to_owned(),
    }
}

fn refused(error: &RegistryError) -> Finding {
    let fix = match error {
        RegistryError::OtherVersion { .. } => {
            "namdb --version on each host; install the same one everywhere"
        }
        RegistryError::OtherCluster { .. } => {
            "give one of the clusters a different `id`, and a different `directory` or `registry.prefix`"
        }
        RegistryError::Directory { .. } => {
            "chmod o-w DIRECTORY, or set another `directory` in the cluster's file"
        }
        RegistryError::Damaged { .. } => "stop all servers, then remove the named file",
        _ => "run `namdb doctor --cluster FILE` again; if the error stays, restart the registry",
    };
    MEMBERS.problem(error.to_string(), fix)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;
    use layout::{GlobalPtr, NodeId, RegionId};
    use membership::{Addresses, ClusterId, DatabaseRoot, FabricKind, Member, OracleKind, Program};

    fn map(members: Vec<Member>, servers: Vec<u64>) -> ClusterMap {
        let root = DatabaseRoot {
            replicas: 1,
            promoted: Default::default(),
            returned: Default::default(),
            id: 7,
            run: 0,
            without: Default::default(),
            oracle: GlobalPtr::new(RegionId(0), 4096),
            slots: 8,
            snapshots: OracleKind::Frozen,
            transaction_time_ms: 1000,
            servers,
        };
        let (left, evicted) = (Vec::new(), Vec::new());
        ClusterMap {
            cluster: ClusterId(7),
            epoch: 3,
            members,
            left,
            evicted,
            root: Some(root),
            drained: Default::default(),
        }
    }

    fn cluster(compute: usize) -> ClusterFile {
        ClusterFile::development("dev", FabricKind::Tcp, &[1 << 30], compute)
    }

    fn found(members: Vec<Member>, servers: Vec<u64>, compute: usize) -> Finding {
        check(&cluster(compute), Some(&Ok(map(members, servers))), true)
    }

    #[test]
    fn members_are_counted_and_a_lost_part_is_a_problem() {
        let member = Member::memory_server(NodeId(0), 1 << 30, Addresses::default());
        let identity = member.identity;
        let whole = found(vec![member.clone()], vec![identity], 0);
        let counted = "1 memory server and 0 compute servers in epoch 3";
        assert!(whole.grade == Grade::Ok && whole.found.starts_with(counted), "{whole:?}");
        let lost = found(vec![member], vec![identity, identity ^ 1], 0);
        assert!(lost.grade == Grade::Problem && lost.found.contains("memory server 1"), "{lost:?}");
        let all_lost = found(vec![], vec![1], 0);
        assert!(all_lost.grade == Grade::Problem, "{all_lost:?}");
        assert!(all_lost.found.contains("lost with memory server 0"), "{all_lost:?}");
        assert!(all_lost.fix.is_some_and(|fix| fix.contains("why it stopped")));
        let mut ended = map(vec![], vec![1]);
        ended.left = vec![1];
        assert_eq!(check(&cluster(0), Some(&Ok(ended)), true).grade, Grade::Ok);
        for may_ask in [true, false] {
            assert_eq!(check(&cluster(0), None, may_ask).grade, Grade::NotApplicable);
        }
    }

    #[test]
    fn a_server_of_the_file_that_has_not_joined_is_a_problem() {
        let memory = Member::memory_server(NodeId(0), 1 << 30, Addresses::default());
        let compute = Member::compute_server(1, Addresses::default());
        let identity = memory.identity;
        let lacking = found(vec![memory.clone(), compute.clone()], vec![identity], 2);
        assert_eq!(lacking.grade, Grade::Problem);
        assert_eq!(
            lacking.found,
            "the cluster's file names servers that have not joined: compute server 0"
        );
        let lacking = found(vec![compute], vec![], 0);
        assert!(lacking.found.ends_with(": memory server 0"), "{lacking:?}");
    }

    #[test]
    fn a_database_that_goes_on_with_replicas_is_a_warning() {
        let member = Member::memory_server(NodeId(1), 1 << 30, Addresses::default());
        let mut map = map(vec![member.clone()], vec![1, member.identity]);
        map.root.as_mut().expect("it has one").replicas = 2;
        let cluster = ClusterFile::development("dev", FabricKind::Tcp, &[1 << 30; 2], 0);
        let finding = check(&cluster, Some(&Ok(map)), true);
        assert_eq!(finding.grade, Grade::Warning);
        assert!(finding.found.ends_with("has died: memory server 0"), "{finding:?}");
    }

    #[test]
    fn another_version_is_a_problem() {
        let other = Program { version: "9.9.9".to_owned(), format: 1 };
        let error = RegistryError::OtherVersion {
            member: "memory server 0".to_owned(),
            found: other,
            ours: Program::this(),
        };
        let finding = check(&cluster(0), Some(&Err(error)), true);
        assert!(finding.grade == Grade::Problem && finding.found.contains("9.9.9"), "{finding:?}");
    }
}
