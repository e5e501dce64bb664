//! The file with a cluster's secret: 64 hexadecimal digits that only its owner can read.
//!
//! Decision: docs/decisions/0306-every-connection-proves-the-clusters-secret.md

use crate::cluster_file::ClusterFile;
use fabric::Secret;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes that are read at most: more than a secret and its white space have.
const FILE_BYTES_MAX: u64 = 1024;

/// Why a cluster's secret cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    #[error(
        "the cluster's secret {} is missing; copy it from a host of the cluster, or make one for a new cluster: \
         (umask 077; openssl rand -hex 32 > {})",
        .0.display(), .0.display()
    )]
    Missing(PathBuf),
    #[error("the cluster's secret {} cannot be read: {error}; run as its owner", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error(
        "the cluster's secret {} can be read or written by other users (mode {mode:o}); run: chmod 600 {}",
        path.display(), path.display()
    )]
    Open { path: PathBuf, mode: u32 },
    #[error(
        "{} is not the secret of a cluster, which has 64 hexadecimal digits; copy it from a host of the cluster, or make \
         one for a new cluster: (umask 077; openssl rand -hex 32 > {})",
        .0.display(), .0.display()
    )]
    Malformed(PathBuf),
}

impl ClusterFile {
    /// Reads the cluster's secret.
    ///
    /// # Errors
    /// The file is missing, open to others, or not a secret.
    pub fn read_secret(&self) -> Result<Secret, SecretError> {
        read(&self.secret)
    }

    /// Makes the secret of a new cluster. Returns false if there is one already.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn make_secret(&self) -> Result<bool, SecretError> {
        let path = &self.secret;
        let failed = |error| SecretError::File { path: path.clone(), error };
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let mut file = match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            made => made.map_err(failed)?,
        };
        let secret = Secret::draw().map_err(failed)?;
        file.write_all(secret.to_text().as_bytes()).map_err(failed)?;
        Ok(true)
    }
}

fn read(path: &Path) -> Result<Secret, SecretError> {
    let failed = |error| SecretError::File { path: path.to_owned(), error };
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SecretError::Missing(path.to_owned()));
        }
        opened => opened.map_err(failed)?,
    };
    let mode = file.metadata().map_err(failed)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(SecretError::Open { path: path.to_owned(), mode });
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    let secret = std::str::from_utf8(&bytes).ok().and_then(Secret::parse);
    secret.ok_or_else(|| SecretError::Malformed(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_file::FabricKind;
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    fn cluster(name: &str) -> ClusterFile {
        let mut cluster = ClusterFile::development("dev", FabricKind::Tcp, &[1 << 24], 0);
        let file = format!("namdb-secret-{name}-{}", std::process::id());
        cluster.secret = std::env::temp_dir().join(file);
        let _ = std::fs::remove_file(&cluster.secret);
        cluster
    }

    #[test]
    fn a_secret_is_made_once_for_its_owner_alone() {
        let cluster = cluster("made");
        let missing = cluster.read_secret().expect_err("there is none").to_string();
        assert!(
            missing.contains("is missing") && missing.contains("openssl rand -hex 32"),
            "{missing}"
        );
        assert!(cluster.make_secret().expect("room for a file"));
        let mode = std::fs::metadata(&cluster.secret).expect("it was made").mode() & 0o777;
        assert_eq!(mode, 0o600);
        let token = cluster.read_secret().expect("it was made").token();
        assert!(!cluster.make_secret().expect("it is there"));
        assert_eq!(cluster.read_secret().expect("it is there").token(), token);
        std::fs::remove_file(&cluster.secret).expect("our file");
    }

    #[test]
    fn files_that_are_open_to_others_or_no_secret_are_refused_with_the_remedy() {
        let cluster = cluster("refused");
        cluster.make_secret().expect("room for a file");
        for mode in [0o640, 0o604, 0o620, 0o602] {
            set_permissions(&cluster.secret, Permissions::from_mode(mode)).expect("our file");
            let refused = cluster.read_secret().expect_err("others may use it").to_string();
            let expected = format!("(mode {mode:o}); run: chmod 600 {}", cluster.secret.display());
            assert!(refused.ends_with(&expected), "{refused}");
        }
        set_permissions(&cluster.secret, Permissions::from_mode(0o600)).expect("our file");
        for text in ["", "secret", &"0".repeat(63), &"0".repeat(65), &"x".repeat(64)] {
            write(&cluster.secret, text).expect("our file");
            let refused = cluster.read_secret().expect_err("it is none").to_string();
            assert!(refused.contains("has 64 hexadecimal digits"), "{text}: {refused}");
        }
        write(&cluster.secret, [0xff; 64]).expect("our file");
        cluster.read_secret().expect_err("it is no text");
        std::fs::remove_file(&cluster.secret).expect("our file");
    }
}
