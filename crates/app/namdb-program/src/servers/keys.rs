//! Keys with which servers over `tcp` prove their identity: those of a cluster's file, and new ones
//! for a development cluster.
//!
//! Decisions:
//! - docs/decisions/0082-tls-1-3-with-a-certificate-per-process-or-no-encryption.md
//! - docs/decisions/0102-a-development-cluster-discards-its-authoritys-key.md

use anyhow::{Context, Result};
use fabric::tcp::{TlsError, TlsKeys};
use layout::NodeId;
use membership::cluster_file::TlsSettings;
use membership::{ClusterFile, FabricKind};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Files of a development cluster's keys: authority, certificate and private key.
const KEY_FILES: [&str; 3] = ["ca.pem", "server.pem", "server.key"];

/// A file of section `tls` that cannot be used, and the remedy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{found}; {fix}")]
pub struct KeyProblem {
    pub found: String,
    pub fix: String,
}

/// The files of section `tls`.
struct KeyFiles {
    authority: Vec<u8>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// The keys of this process as a caller; `None` if connections are not encrypted.
pub fn keys(cluster: &ClusterFile) -> Result<Option<TlsKeys>> {
    checked_keys(cluster, &[])
}

/// The keys of the server whose certificate must have this name.
pub fn server_keys(cluster: &ClusterFile, name: String) -> Result<Option<TlsKeys>> {
    checked_keys(cluster, &[name])
}

fn checked_keys(cluster: &ClusterFile, names: &[String]) -> Result<Option<TlsKeys>> {
    let Some(tls) = section(cluster) else { return Ok(None) };
    Ok(Some(read_keys(tls, names)?))
}

/// The section `tls`, if connections are encrypted.
pub fn section(cluster: &ClusterFile) -> Option<&TlsSettings> {
    cluster.tls.as_ref().filter(|_| cluster.fabric == FabricKind::Tcp)
}

/// Checks the files of section `tls` for all servers of the cluster, which share them.
pub fn check_all(cluster: &ClusterFile) -> Result<(), KeyProblem> {
    match section(cluster) {
        Some(tls) => read_keys(tls, &names(cluster)).map(drop),
        None => Ok(()),
    }
}

/// Reads the keys, and checks that others will accept the certificate for all `names` now.
pub fn read_keys(tls: &TlsSettings, names: &[String]) -> Result<TlsKeys, KeyProblem> {
    let KeyFiles { authority, certificate, key } = read_files(tls)?;
    let found = |error: TlsError| unusable(tls, &error);
    let keys = TlsKeys::from_pem(&authority, &certificate, &key).map_err(found)?;
    TlsKeys::check(&authority, &certificate, names).map_err(found)?;
    Ok(keys)
}

fn read_files(tls: &TlsSettings) -> Result<KeyFiles, KeyProblem> {
    let read = |path: &Path, setting: &str| {
        fs::read(path).map_err(|error| KeyProblem {
            found: format!("{} of section `tls` cannot be read: {error}", path.display()),
            fix: format!("copy the file there, readable for this user, or correct `{setting}`"),
        })
    };
    let files = KeyFiles {
        authority: read(&tls.ca, "tls.ca")?,
        certificate: read(&tls.certificate, "tls.certificate")?,
        key: read(&tls.key, "tls.key")?,
    };
    let path = tls.key.display();
    let mode = fs::metadata(&tls.key).map_or(0, |found| found.mode() & 0o777);
    if mode & 0o077 != 0 {
        return Err(KeyProblem {
            found: format!("the key {path} can be read or written by other users (mode {mode:o})"),
            fix: format!("chmod 600 {path}"),
        });
    }
    Ok(files)
}

/// Names the file that an error is about.
fn unusable(tls: &TlsSettings, error: &TlsError) -> KeyProblem {
    let renewed = "see \"Certificates\" in docs/operating.md";
    let (path, fix) = match error {
        TlsError::Pem("private key", _) => (&tls.key, "copy the whole file again"),
        TlsError::Pem("certificate", _) => (&tls.certificate, "copy the whole file again"),
        TlsError::Pem(..) => (&tls.ca, "copy the whole file again"),
        TlsError::Keys(_) => {
            (&tls.certificate, "use a certificate and the key that it was made for")
        }
        _ => (&tls.certificate, renewed),
    };
    let (found, fix) = (format!("{}: {error}", path.display()), fix.to_owned());
    KeyProblem { found, fix }
}

/// Creates an authority, and one certificate signed by it for all servers and clients of a
/// development cluster, in a folder beside the cluster's file. The authority's private key is not
/// stored.
pub fn make(file: &Path, cluster: &ClusterFile) -> Result<TlsSettings> {
    let folder = file.with_extension("tls");
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.with_context(|| format!("cannot make {}", folder.display()))?;
    let (authority, certificate, key) = signed(names(cluster)).context("cannot create keys")?;
    let put = |name: &str, text: &str| -> Result<PathBuf> {
        let path = folder.join(name);
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write {}", path.display()))?;
        // Paths in a cluster's file are relative to the file.
        Ok(Path::new(folder.file_name().unwrap_or_default()).join(name))
    };
    let [ca, own, secret] = KEY_FILES;
    Ok(TlsSettings {
        ca: put(ca, &authority)?,
        certificate: put(own, &certificate)?,
        key: put(secret, &key)?,
    })
}

/// Removes the keys created for a cluster.
pub fn remove(file: &Path) {
    let folder = file.with_extension("tls");
    for name in KEY_FILES {
        // Missing files are fine.
        let _ = fs::remove_file(folder.join(name));
    }
    let _ = fs::remove_dir(folder);
}

/// The names under which servers are known to others.
pub fn names(cluster: &ClusterFile) -> Vec<String> {
    let memory =
        (0..cluster.memory.len() as u16).map(|number| TlsKeys::server_name(NodeId(number)));
    let compute = (0..cluster.compute.len() as u16).map(TlsKeys::compute_server_name);
    memory.chain(compute).collect()
}

/// An authority's certificate, a certificate signed by it, and the latter's private key, as PEM.
fn signed(names: Vec<String>) -> Result<(String, String, String), rcgen::Error> {
    let mut authority = CertificateParams::default();
    authority
        .distinguished_name
        .push(DnType::CommonName, "authority of a namdb development cluster");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let mut own = CertificateParams::new(names)?;
    own.distinguished_name.push(DnType::CommonName, "servers of a namdb development cluster");
    own.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate()?;
    let certificate = own.signed_by(&key, &authority)?;
    Ok((authority.pem(), certificate.pem(), key.serialize_pem()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{Issuer, date_time_ymd};
    use std::os::unix::fs::PermissionsExt;

    /// A folder with an authority, and certificates that it signs.
    struct Authority {
        folder: PathBuf,
        issuer: Issuer<'static, KeyPair>,
        tls: TlsSettings,
    }

    impl Authority {
        fn new(name: &str) -> Self {
            let folder =
                std::env::temp_dir().join(format!("namdb-keys-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).expect("room for a folder");
            let mut own = CertificateParams::default();
            own.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            own.key_usages = vec![KeyUsagePurpose::KeyCertSign];
            let key = KeyPair::generate().expect("a key");
            let certificate = own.self_signed(&key).expect("a certificate");
            fs::write(folder.join("ca.pem"), certificate.pem()).expect("room");
            let [ca, certificate, secret] = KEY_FILES.map(|name| folder.join(name));
            let tls = TlsSettings { ca, certificate, key: secret };
            Self { folder, issuer: Issuer::new(own, key), tls }
        }

        /// Signs a certificate that ends in this year.
        fn sign(&self, names: &[&str], until: i32) {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let mut own = CertificateParams::new(names).expect("names");
            own.not_before = date_time_ymd(2020, 1, 1);
            own.not_after = date_time_ymd(until, 1, 1);
            own.extended_key_usages =
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            let key = KeyPair::generate().expect("a key");
            let certificate = own.signed_by(&key, &self.issuer).expect("a certificate");
            fs::write(&self.tls.certificate, certificate.pem()).expect("room");
            fs::write(&self.tls.key, key.serialize_pem()).expect("room");
            self.set_mode(0o600);
        }

        fn set_mode(&self, mode: u32) {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(&self.tls.key, mode).expect("our file");
        }

        fn cluster(&self) -> ClusterFile {
            let mut cluster = ClusterFile::development("dev", FabricKind::Tcp, &[1 << 24], 1);
            cluster.tls = Some(self.tls.clone());
            cluster
        }

        /// The problem, which must have these words.
        fn refused(&self, words: &[&str]) {
            let problem = check_all(&self.cluster()).expect_err("it cannot be used").to_string();
            for word in words {
                assert!(problem.contains(word), "`{problem}` does not say `{word}`");
            }
        }
    }

    impl Drop for Authority {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }

    const BOTH: [&str; 2] = ["memory-server-0.namdb", "compute-server-0.namdb"];

    #[test]
    fn a_certificate_for_all_servers_is_accepted() {
        let authority = Authority::new("right");
        authority.sign(&BOTH, 4000);
        check_all(&authority.cluster()).expect("it is right");
        assert!(keys(&authority.cluster()).expect("it is right").is_some());
        let mut plain = authority.cluster();
        plain.tls = None;
        check_all(&plain).expect("there is nothing to check");
    }

    #[test]
    fn files_that_are_missing_cut_or_open_are_named_with_the_remedy() {
        let authority = Authority::new("files");
        let TlsSettings { ca, certificate, key } = &authority.tls;
        for (setting, path) in [("tls.ca", ca), ("tls.certificate", certificate), ("tls.key", key)]
        {
            authority.sign(&BOTH, 4000);
            let whole = fs::read(path).expect("it was written");
            let shown = path.display().to_string();
            for length in [0, 10, whole.len() / 2, whole.len() - 30] {
                fs::write(path, &whole[..length]).expect("our file");
                authority.refused(&[&shown, "copy the whole file again"]);
            }
            fs::remove_file(path).expect("our file");
            authority.refused(&[&shown, "cannot be read", setting]);
            fs::write(path, whole).expect("our folder");
        }
        for mode in [0o640, 0o604, 0o666] {
            authority.sign(&BOTH, 4000);
            authority.set_mode(mode);
            authority.refused(&[&format!("(mode {mode:o})"), "chmod 600", "server.key"]);
        }
    }

    #[test]
    fn certificates_that_others_would_refuse_are_found_before() {
        let authority = Authority::new("flaws");
        authority.sign(&BOTH, 2021);
        authority.refused(&["server.pem", "has expired", "make a new one"]);
        authority.sign(&BOTH[..1], 4000);
        authority.refused(&["is not for compute-server-0.namdb", "subject alternative name"]);
        let other = Authority::new("other");
        other.sign(&BOTH, 4000);
        fs::copy(&other.tls.certificate, &authority.tls.certificate).expect("our files");
        authority.refused(&["server.pem", "use a certificate and the key that it was made for"]);
        fs::copy(&other.tls.key, &authority.tls.key).expect("our files");
        authority.refused(&["was not signed by the authority in `tls.ca`"]);
    }
}
