//! Finds the programs of PostgreSQL, and the user that its server runs as.

use super::CollectError;
use std::path::{Path, PathBuf};

/// Where packages install programs that are not in the path, in a folder for each version.
const PACKAGED: &str = "/usr/lib/postgresql";
/// Users with few rights that may run the server, best first.
const USERS: [&str; 2] = ["postgres", "nobody"];

pub(super) struct Programs {
    pub initdb: PathBuf,
    pub postgres: PathBuf,
}

impl Programs {
    /// The newest programs that are installed together; programs in the path come first.
    pub fn find() -> Result<Self, CollectError> {
        Self::find_in(folders())
    }

    fn find_in(folders: Vec<PathBuf>) -> Result<Self, CollectError> {
        folders
            .into_iter()
            .map(|folder| Self { initdb: folder.join("initdb"), postgres: folder.join("postgres") })
            .find(|programs| programs.initdb.is_file() && programs.postgres.is_file())
            .ok_or(CollectError::Absent { programs: "postgres and initdb" })
    }
}

/// The client, which is in the path on every machine with a client or server.
pub(super) fn psql() -> Result<PathBuf, CollectError> {
    let found = folders().into_iter().map(|folder| folder.join("psql")).find(|path| path.is_file());
    found.ok_or(CollectError::Absent { programs: "psql" })
}

fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir(PACKAGED)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort();
    folders.extend(versions.into_iter().rev().map(|(_, folder)| folder));
    folders
}

/// User and group for a server that root starts, because it refuses to run as root; `None` if this
/// process does not run as root.
pub(super) fn server_user() -> Result<Option<(u32, u32)>, CollectError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let accounts = std::fs::read_to_string(Path::new("/etc/passwd")).unwrap_or_default();
    let found = USERS.iter().find_map(|name| account(&accounts, name));
    found.map(Some).ok_or(CollectError::NoUser)
}

/// The numbers of a user and of its group in the text of `/etc/passwd`.
fn account(accounts: &str, name: &str) -> Option<(u32, u32)> {
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        let user = fields.next().filter(|user| *user == name);
        user.and_then(|_| Some((fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::scratch::Scratch;

    #[test]
    fn a_missing_installation_is_reported_with_its_remedy() {
        let told = Programs::find_in(Vec::new()).err().expect("there is none").to_string();
        assert!(told.contains("apt-get install postgresql") && told.contains("--server"), "{told}");
    }

    /// Incomplete installations, such as a client's folder, are skipped.
    #[test]
    fn both_programs_have_to_be_together() {
        let scratch = Scratch::new().expect("there is a place for temporary files");
        let folders = ["half", "whole"].map(|name| scratch.path().join(name));
        for folder in &folders {
            std::fs::create_dir(folder).expect("the folder is ours");
            std::fs::write(folder.join("postgres"), "").expect("the folder is ours");
        }
        assert!(Programs::find_in(folders.to_vec()).is_err());
        std::fs::write(folders[1].join("initdb"), "").expect("the folder is ours");
        let found = Programs::find_in(folders.to_vec()).expect("one is whole");
        assert_eq!(found.initdb, folders[1].join("initdb"));
    }

    #[test]
    fn accounts_are_found_by_name() {
        let accounts =
            "root:x:0:0::/root:/bin/sh\npostgres:x:101:104:PostgreSQL:/var/lib:/bin/sh\n";
        assert_eq!(account(accounts, "postgres"), Some((101, 104)));
        assert_eq!(account(accounts, "nobody"), None);
    }
}
