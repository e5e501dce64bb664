//! Checks that this user can read the cluster's secret, and others cannot.

use super::code::SECRET;
use super::finding::Finding;
use membership::{ClusterFile, SecretError};

pub fn check(cluster: &ClusterFile) -> Finding {
    let path = cluster.secret.display();
    let error = match cluster.read_secret() {
        Ok(_) => return SECRET.ok(format!("{path} is the cluster's secret, for its owner alone")),
        Err(error) => error,
    };
    let make = format!("for a new cluster: (umask 077; openssl rand -hex 32 > {path})");
    let fix = match &error {
        SecretError::Open { .. } => format!("chmod 600 {path}"),
        SecretError::File { .. } => "run as the owner of the file".to_owned(),
        _ => format!("copy it from a host of the cluster; {make}"),
    };
    let found = match &error {
        SecretError::Missing(_) => format!("the cluster's secret {path} is missing"),
        SecretError::Open { mode, .. } => {
            format!(
                "the cluster's secret {path} can be read or written by other users (mode {mode:o})"
            )
        }
        SecretError::Malformed(_) => format!("{path} is not the secret of a cluster"),
        other => other.to_string(),
    };
    SECRET.problem(found, fix)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;
    use membership::FabricKind;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_that_is_missing_open_or_cut_is_a_problem_with_its_fix() {
        let mut cluster = ClusterFile::development("dev", FabricKind::Tcp, &[1 << 24], 0);
        let file = format!("namdb-doctor-secret-{}", std::process::id());
        cluster.secret = std::env::temp_dir().join(file);
        let found = |cluster: &ClusterFile| {
            let Finding { grade, found, fix, .. } = check(cluster);
            (grade == Grade::Problem, format!("{found} | {}", fix.unwrap_or_default()))
        };
        let (is_problem, text) = found(&cluster);
        assert!(is_problem && text.contains("is missing | copy it"), "{text}");
        cluster.make_secret().expect("room for a file");
        assert_eq!(check(&cluster).grade, Grade::Ok);
        set_permissions(&cluster.secret, Permissions::from_mode(0o644)).expect("our file");
        let (is_problem, text) = found(&cluster);
        assert!(is_problem && text.contains("(mode 644) | chmod 600 "), "{text}");
        set_permissions(&cluster.secret, Permissions::from_mode(0o600)).expect("our file");
        std::fs::write(&cluster.secret, "abc").expect("our file");
        let (is_problem, text) = found(&cluster);
        assert!(is_problem && text.contains("openssl rand -hex 32"), "{text}");
        std::fs::remove_file(&cluster.secret).expect("our file");
    }
}
