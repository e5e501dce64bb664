//! Keys with which servers over `tcp` prove their identity: those of a cluster's file, and new ones
//! for a development cluster.
//!
//! Decisions:
//! - docs/decisions/0082-tls-1-3-with-a-certificate-per-process-or-no-encryption.md
//! - docs/decisions/0102-a-development-cluster-discards-its-authoritys-key.md

use anyhow::{Context, Result};
use fabric::tcp::TlsKeys;
use layout::NodeId;
use membership::cluster_file::TlsSettings;
use membership::{ClusterFile, FabricKind};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Files of a development cluster's keys: authority, certificate and private key.
const KEY_FILES: [&str; 3] = ["ca.pem", "server.pem", "server.key"];

/// The keys of this process; `None` if connections are not encrypted.
pub fn keys(cluster: &ClusterFile) -> Result<Option<TlsKeys>> {
    let Some(tls) = cluster.tls.as_ref().filter(|_| cluster.fabric == FabricKind::Tcp) else {
        return Ok(None);
    };
    let read = |path: &Path| {
        fs::read(path)
            .with_context(|| format!("{} of section `tls` cannot be read", path.display()))
    };
    let (authority, certificate, key) = (read(&tls.ca)?, read(&tls.certificate)?, read(&tls.key)?);
    let keys = TlsKeys::from_pem(&authority, &certificate, &key).with_context(|| {
        let files = [&tls.ca, &tls.certificate, &tls.key].map(|path| path.display().to_string());
        format!("section `tls` of the cluster's file cannot be used ({})", files.join(", "))
    })?;
    Ok(Some(keys))
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
fn names(cluster: &ClusterFile) -> Vec<String> {
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
