//! Checks that no commit has left locks in the database of a running cluster.

use super::code::LEFT_LOCKS;
use super::finding::Finding;
use crate::servers::left_locks::{LeftLocks, REMEDY, held};
use anyhow::Result;
use membership::{ClusterFile, ClusterMap};

/// `map` has the members of the cluster, if they are known.
pub fn check(cluster: &ClusterFile, map: Option<&ClusterMap>) -> Finding {
    match map.is_some_and(|map| !map.members.is_empty() && map.loss().is_none()) {
        true => finding(LeftLocks::look(cluster)),
        false => LEFT_LOCKS.not_applicable("the cluster is not running"),
    }
}

fn finding(left: Result<Option<u64>>) -> Finding {
    match left {
        Ok(Some(0)) => LEFT_LOCKS.ok("no lock is left on rows, buckets and leaves"),
        Ok(Some(count)) => LEFT_LOCKS.problem(held(count), REMEDY),
        Ok(None) => LEFT_LOCKS.not_applicable("the tables are too large to look for locks"),
        Err(error) => LEFT_LOCKS.not_applicable(format!("the tables cannot be read: {error:#}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn locks_that_were_left_are_a_problem_with_the_remedy() {
        let left = finding(Ok(Some(2)));
        assert_eq!(left.grade, Grade::Problem);
        assert!(left.found.contains("2 locks"), "{left:?}");
        assert!(left.fix.is_some_and(|fix| fix.contains("load the data again")));
        assert_eq!(finding(Ok(Some(0))).grade, Grade::Ok);
        let unknown = [Ok(None), Err(anyhow::anyhow!("no server answers"))];
        assert!(unknown.map(finding).iter().all(|it| it.grade == Grade::NotApplicable));
    }
}
