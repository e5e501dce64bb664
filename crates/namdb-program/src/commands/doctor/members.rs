//! Who has joined: one cluster, one version, and no part of the database lost.

use super::code::MEMBERS;
use super::finding::Finding;
use membership::{ClusterMap, RegistryError};

/// What the registry said; nothing if it was not asked.
pub fn check(seen: Option<&Result<ClusterMap, RegistryError>>) -> Finding {
    let map = match seen {
        None => return MEMBERS.not_applicable("nobody has joined, or the registry is not reached"),
        Some(Ok(map)) => map,
        Some(Err(error)) => return refused(error),
    };
    if let Err(error) = map.database() {
        return MEMBERS.problem(error.to_string(), "namdb cluster down, then namdb cluster up");
    }
    let (memory, compute) = (map.memory_servers().count(), map.compute_servers().count());
    match map.members.first() {
        None => MEMBERS.ok("nobody has joined"),
        Some(member) => MEMBERS.ok(format!(
            "{memory} memory and {compute} compute servers in epoch {}, all {}",
            map.epoch, member.program
        )),
    }
}

fn refused(error: &RegistryError) -> Finding {
    let mend = match error {
        RegistryError::OtherVersion { .. } => {
            "namdb --version on each host; install the same one everywhere"
        }
        RegistryError::OtherCluster { .. } => {
            "give one of the clusters another `id`, and another `directory` or `registry.prefix`"
        }
        RegistryError::Directory { .. } => {
            "chmod o-w DIRECTORY, or write another `directory` into the cluster's file"
        }
        RegistryError::Damaged { .. } => "end all servers, then remove what is named",
        _ => "namdb doctor --cluster FILE again; if it stays, restart the registry",
    };
    MEMBERS.problem(error.to_string(), mend)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;
    use layout::{GlobalPtr, NodeId, RegionId};
    use membership::{Addresses, ClusterId, DatabaseRoot, Member, OracleKind, Program};

    fn map(members: Vec<Member>, servers: Vec<u64>) -> ClusterMap {
        let root = DatabaseRoot {
            oracle: GlobalPtr::new(RegionId(0), 4096),
            slots: 8,
            snapshots: OracleKind::Frozen,
            transaction_time_ms: 1000,
            servers,
        };
        ClusterMap { cluster: ClusterId(7), epoch: 3, members, left: Vec::new(), root: Some(root) }
    }

    #[test]
    fn members_are_counted_and_a_lost_part_is_a_problem() {
        let member = Member::memory_server(NodeId(0), 1 << 30, Addresses::default());
        let identity = member.identity;
        let whole = check(Some(&Ok(map(vec![member.clone()], vec![identity]))));
        assert!(whole.grade == Grade::Ok && whole.found.contains("in epoch 3"), "{whole:?}");
        let lost = check(Some(&Ok(map(vec![member], vec![identity, identity ^ 1]))));
        assert!(lost.grade == Grade::Problem && lost.found.contains("memory server 1"), "{lost:?}");
        assert_eq!(check(Some(&Ok(map(vec![], vec![1])))).grade, Grade::Ok);
        assert_eq!(check(None).grade, Grade::NotApplicable);
    }

    #[test]
    fn another_version_is_a_problem() {
        let other = Program { version: "9.9.9".to_owned(), format: 1 };
        let error = RegistryError::OtherVersion {
            member: "memory server 0".to_owned(),
            found: other,
            ours: Program::this(),
        };
        let finding = check(Some(&Err(error)));
        assert!(finding.grade == Grade::Problem && finding.found.contains("9.9.9"), "{finding:?}");
    }
}
