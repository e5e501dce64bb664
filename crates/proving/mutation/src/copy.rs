//! The instrumented copy of the workspace, in a folder below cargo's target directory.
//!
//! Files are written only if their text differs, so that cargo compiles again what has changed.

use crate::edits::Placed;
use crate::instrument::{Instrumented, instrument};
use crate::site::Site;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources with the protocol.
const FOLDERS: [&str; 3] =
    ["crates/engine/memory/src/", "crates/engine/index/src/", "crates/engine/txn/src/"];
/// Files that judge, count, describe or reorder for planted bugs.
const LEFT_ALONE: [&str; 6] =
    ["check.rs", "damage.rs", "error.rs", "mutated.rs", "statistics.rs", "tests.rs"];
/// The crate that all of them use, and that gets the switch.
const FABRIC: &str = "crates/engine/fabric/src/lib.rs";
/// The module that turns one mutant on and counts visits.
const SWITCH: (&str, &str) =
    ("crates/engine/fabric/src/mutation.rs", include_str!("in_copy/mutation.rs"));
/// The link of the child process to that module.
const LINK: (&str, &str) =
    ("crates/proving/portfolio/src/instrumented.rs", include_str!("in_copy/instrumented.rs"));
/// Texts that no build reads.
const UNREAD: [&str; 3] = ["docs/", "bench/", ".ci/"];
/// The number of sites that the module has room for.
const SITES_MAX: u32 = 1 << 15;

/// The copy, with all sites that it has.
pub struct Copy {
    pub folder: PathBuf,
    pub sites: Vec<Site>,
    /// The places of sites in each instrumented file.
    pub placed: BTreeMap<String, Vec<Placed>>,
}

/// Writes the copy of the workspace at `root`, without the sites in `excluded`.
///
/// # Errors
/// If git cannot list the files, or one cannot be read, parsed or written.
pub fn write(root: &Path, folder: &Path, excluded: &BTreeSet<String>) -> Result<Copy> {
    let files = files(root)?;
    remove_others(folder, folder, &files)?;
    let mut copy = Copy { folder: folder.to_owned(), sites: Vec::new(), placed: BTreeMap::new() };
    for file in &files {
        let bytes =
            std::fs::read(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        let bytes = if is_mutated(file) {
            let source = String::from_utf8(bytes).with_context(|| format!("{file} is no UTF-8"))?;
            let first = copy.sites.len() as u32 + 1;
            let Instrumented { text, sites, placed } = instrument(file, &source, first, excluded)?;
            copy.sites.extend(sites);
            copy.placed.insert(file.clone(), placed);
            text.into_bytes()
        } else if file == FABRIC {
            [bytes, b"\npub mod mutation;\n".to_vec()].concat()
        } else if file == LINK.0 {
            LINK.1.as_bytes().to_vec()
        } else {
            bytes
        };
        write_changed(&folder.join(file), &bytes)?;
    }
    write_changed(&folder.join(SWITCH.0), SWITCH.1.as_bytes())?;
    let count = copy.sites.len();
    ensure!(
        copy.sites.len() < SITES_MAX as usize,
        "{count} sites are more than {SITES_MAX}; raise SITES in mutation.rs and SITES_MAX in copy.rs"
    );
    Ok(copy)
}

/// Whether a file has mutants.
pub fn is_mutated(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    FOLDERS.iter().any(|folder| file.starts_with(folder))
        && file.ends_with(".rs")
        && !LEFT_ALONE.contains(&name)
        && !file.contains("/tests/")
}

/// The files of the workspace, without those that git ignores.
fn files(root: &Path) -> Result<BTreeSet<String>> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let output = git.output().context("cannot start git")?;
    ensure!(output.status.success(), "git cannot list the files of {}", root.display());
    let text = String::from_utf8(output.stdout).context("a file's name is no UTF-8")?;
    let is_read = |file: &&str| !UNREAD.iter().any(|folder| file.starts_with(folder));
    let files = text.lines().filter(is_read).filter(|file| root.join(file).is_file());
    Ok(files.map(str::to_owned).collect())
}

fn write_changed(path: &Path, bytes: &[u8]) -> Result<()> {
    if std::fs::read(path).is_ok_and(|before| before == bytes) {
        return Ok(());
    }
    let folder = path.parent().context("a file has a folder")?;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Removes the files of an earlier copy that the workspace does not have any more.
fn remove_others(top: &Path, folder: &Path, files: &BTreeSet<String>) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        if path.is_dir() {
            remove_others(top, &path, files)?;
            continue;
        }
        let name = path.strip_prefix(top).unwrap_or(&path).to_string_lossy().into_owned();
        if name != SWITCH.0 && !files.contains(&name) {
            std::fs::remove_file(&path)
                .with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_protocol_is_mutated() {
        assert!(is_mutated("crates/engine/txn/src/commit/lock.rs"));
        assert!(is_mutated("crates/engine/memory/src/pool.rs"));
        assert!(!is_mutated("crates/engine/txn/tests/local/basic.rs"));
        assert!(!is_mutated("crates/engine/index/src/tree/tests/model.rs"));
        assert!(!is_mutated("crates/engine/index/src/tree/check.rs"), "it is a judge");
        assert!(!is_mutated("crates/engine/layout/src/row.rs"));
    }

    #[test]
    fn the_switch_has_room_for_all_sites() {
        let room = format!("const SITES: usize = {SITES_MAX};");
        assert!(SWITCH.1.contains(&room), "mutation.rs says `{room}`");
    }
}
