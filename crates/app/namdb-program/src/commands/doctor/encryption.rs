//! Checks the certificates of this host, and that servers without encryption serve this host only.

use super::code::ENCRYPTION;
use super::finding::Finding;
use super::site::is_here;
use crate::servers::exposure;
use crate::servers::keys::{self, KeyProblem};
use fabric::tcp::TlsKeys;
use layout::NodeId;
use membership::cluster_file::TlsSettings;
use membership::{ClusterFile, FabricKind};

pub fn check(cluster: &ClusterFile) -> Finding {
    if let Some(tls) = keys::section(cluster) {
        return match certificates(tls, &names_here(cluster)) {
            Ok(()) => ENCRYPTION.ok("certificate and key of `tls` can be used"),
            Err(KeyProblem { found, fix }) => ENCRYPTION.problem(found, fix),
        };
    }
    if let Err(exposed) = exposure::check_all(cluster) {
        let fix = match cluster.fabric {
            FabricKind::Tcp => "add `[tls]` to the cluster's file, or listen at 127.0.0.1",
            _ => {
                "listen at 127.0.0.1, or set `allow_unencrypted = true` in a network for the cluster alone"
            }
        };
        return ENCRYPTION.problem(exposed.to_string(), fix);
    }
    match cluster.allow_unencrypted {
        true => ENCRYPTION.warning(
            "`allow_unencrypted` is set: who can read the network reads the cluster's data",
            "give the cluster a network of its own, or fabric `tcp` with `[tls]`",
        ),
        false => ENCRYPTION.ok("nothing is encrypted, and servers listen on this host only"),
    }
}

/// The names of the servers that run on this host.
fn names_here(cluster: &ClusterFile) -> Vec<String> {
    let memory = (0..).zip(&cluster.memory).filter(|(_, server)| is_here(&server.listen));
    let compute = (0..).zip(&cluster.compute).filter(|(_, server)| is_here(&server.listen));
    let memory = memory.map(|(number, _)| TlsKeys::server_name(NodeId(number)));
    memory.chain(compute.map(|(number, _)| TlsKeys::compute_server_name(number))).collect()
}

/// Checks the files of this host. Its servers may have certificates of their own, so one that is
/// for any of them is right; without servers it is a client's.
fn certificates(tls: &TlsSettings, names: &[String]) -> Result<(), KeyProblem> {
    keys::read_keys(tls, &[])?;
    let mut problem = None;
    for name in names {
        match keys::read_keys(tls, std::slice::from_ref(name)) {
            Ok(_) => return Ok(()),
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    problem.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;
    use std::path::{Path, PathBuf};

    fn cluster(fabric: FabricKind) -> ClusterFile {
        ClusterFile::development("dev", fabric, &[1 << 24; 2], 0)
    }

    #[test]
    fn servers_without_encryption_beyond_this_host_are_a_problem() {
        let mut cluster = cluster(FabricKind::Tcp);
        assert_eq!(check(&cluster).grade, Grade::Ok);
        cluster.memory[1].listen = "192.0.2.1:7400".to_owned();
        let exposed = check(&cluster);
        assert_eq!(exposed.grade, Grade::Problem);
        assert!(exposed.found.contains("memory server 1 would listen at 192.0.2.1:7400"));
        cluster.allow_unencrypted = true;
        assert_eq!(check(&cluster).grade, Grade::Warning);
    }

    #[test]
    fn certificates_are_checked_for_the_servers_of_this_host() {
        let folder = format!("namdb-doctor-keys-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).expect("room for a folder");
        let file = folder.join("one.toml");
        let mut cluster = cluster(FabricKind::Tcp);
        let beside = |path: PathBuf| folder.join(path);
        let TlsSettings { ca, certificate, key } = keys::make(&file, &cluster).expect("keys");
        let tls =
            TlsSettings { ca: beside(ca), certificate: beside(certificate), key: beside(key) };
        cluster.tls = Some(tls.clone());
        assert_eq!(check(&cluster).grade, Grade::Ok);
        // A third server of this host, for which there is no certificate.
        let third = cluster.memory[0].clone();
        cluster.memory = vec![third; 3];
        assert_eq!(check(&cluster).grade, Grade::Ok, "it is right for two of three");
        let wrong = certificates(&tls, &[TlsKeys::compute_server_name(7)]);
        let problem = wrong.expect_err("it is for others");
        assert!(problem.found.contains("is not for compute-server-7.namdb"), "{problem}");
        std::fs::write(Path::new(&tls.key), "").expect("our file");
        let cut = check(&cluster);
        assert!(cut.grade == Grade::Problem && cut.found.contains("one.tls/server.key"), "{cut:?}");
        std::fs::remove_dir_all(&folder).expect("our folder");
    }
}
