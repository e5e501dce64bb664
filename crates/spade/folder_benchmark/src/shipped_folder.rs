//! A workload folder that travels with an order or a call: the server that carries it out reads no
//! path that the caller names.
//!
//! Decision: docs/decisions/0306-every-connection-proves-the-clusters-secret.md

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Maximal bytes of all files together.
const BYTES_MAX: usize = 16 << 20;
/// Maximal number of files.
const FILES_MAX: usize = 4096;
/// The folder of plans in a workload folder.
const PLANS: &str = "plans";
/// Endings of the files that a workload has, beside its plans.
const ENDINGS: [&str; 3] = ["sql", "toml", "json"];
/// The file of the design that the user names.
const DESIGN: &str = "design-of-the-order.json";

/// The files of a workload, by name: `schema.sql`, `plans/a.1.xml`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ShippedFolder {
    files: BTreeMap<String, String>,
    /// Whether the user names a design.
    has_design: bool,
}

/// Why a folder cannot be shipped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShippedFolderError {
    #[error("cannot read or write {}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("a file called `{0}` is shipped, which no workload has")]
    Name(String),
    #[error(
        "the workload has {count} files of {bytes} bytes; at most {FILES_MAX} of {BYTES_MAX} can be shipped"
    )]
    Large { count: usize, bytes: usize },
    #[error("a design is named and not shipped")]
    NoDesign,
}

/// The files in a folder of this process, which is removed when this is dropped.
#[derive(Debug)]
pub struct UnpackedFolder {
    pub path: PathBuf,
    /// The design that the order names, if it names one.
    pub design: Option<PathBuf>,
}

impl ShippedFolder {
    /// Reads the files of a workload folder, and a design beside it.
    ///
    /// # Errors
    /// A file cannot be read, or the files are too large.
    pub fn read(folder: &Path, design: Option<&Path>) -> Result<Self, ShippedFolderError> {
        let mut files = files_of(folder)?;
        if let Some(design) = design {
            files.insert(DESIGN.to_owned(), text_of(design)?);
        }
        let shipped = Self { files, has_design: design.is_some() };
        shipped.check()?;
        Ok(shipped)
    }

    /// Reads the files of a workload folder that its procedures need: tables, procedures and plans.
    ///
    /// # Errors
    /// As [`ShippedFolder::read`].
    pub fn of_procedures(folder: &Path) -> Result<Self, ShippedFolderError> {
        let mut files = files_of(folder)?;
        files.retain(|name, _| name.ends_with(".sql") || name.starts_with(PLANS));
        let shipped = Self { files, has_design: false };
        shipped.check()?;
        Ok(shipped)
    }

    /// Checks names and sizes, which come from another process.
    fn check(&self) -> Result<(), ShippedFolderError> {
        if let Some(name) = self.files.keys().find(|name| !is_of_workload(name)) {
            return Err(ShippedFolderError::Name(name.clone()));
        }
        let (count, bytes) = (self.files.len(), self.files.values().map(String::len).sum());
        if count > FILES_MAX || bytes > BYTES_MAX {
            return Err(ShippedFolderError::Large { count, bytes });
        }
        match self.has_design && !self.files.contains_key(DESIGN) {
            true => Err(ShippedFolderError::NoDesign),
            false => Ok(()),
        }
    }

    /// Writes the files into a new folder that only this user can read.
    ///
    /// # Errors
    /// A name or a size is not that of a workload, or a file cannot be written.
    pub fn unpack(&self) -> Result<UnpackedFolder, ShippedFolderError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        self.check()?;
        let number = COUNT.fetch_add(1, Relaxed);
        let path = std::env::temp_dir();
        let random = fabric::identity::draw().map_err(failed(&path))?;
        let path = path.join(format!("namdb-order-{}-{number}-{random:016x}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&path).map_err(failed(&path))?;
        let design = self.has_design.then(|| path.join(DESIGN));
        let unpacked = UnpackedFolder { path: path.clone(), design };
        fs::create_dir(path.join(PLANS)).map_err(failed(&path))?;
        for (name, text) in &self.files {
            let path = path.join(name);
            fs::write(&path, text).map_err(failed(&path))?;
        }
        Ok(unpacked)
    }
}

impl Drop for UnpackedFolder {
    fn drop(&mut self) {
        // A folder that stays does no harm.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The files of a workload in a folder, by name.
fn files_of(folder: &Path) -> Result<BTreeMap<String, String>, ShippedFolderError> {
    let mut files = BTreeMap::new();
    for (place, prefix) in [(folder.to_owned(), ""), (folder.join(PLANS), "plans/")] {
        let entries = match fs::read_dir(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !prefix.is_empty() => continue,
            entries => entries.map_err(failed(&place))?,
        };
        for entry in entries {
            let entry = entry.map_err(failed(&place))?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if is_of_workload(&name) && entry.path().is_file() {
                files.insert(name, text_of(&entry.path())?);
            }
        }
    }
    Ok(files)
}

fn text_of(path: &Path) -> Result<String, ShippedFolderError> {
    fs::read_to_string(path).map_err(failed(path))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> ShippedFolderError {
    let path = path.to_owned();
    move |error| ShippedFolderError::File { path: path.clone(), error }
}

/// Whether a workload may have a file of this name: it is plain, and in the folder or its plans.
fn is_of_workload(name: &str) -> bool {
    let (name, endings) = match name.split_once('/') {
        Some((PLANS, name)) => (name, &["xml"][..]),
        Some(_) => return false,
        None => (name, &ENDINGS[..]),
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    !name.starts_with('.')
        && name.bytes().all(is_plain)
        && ending.is_some_and(|ending| endings.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn tatp() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads/tatp")
    }

    #[test]
    fn a_folder_arrives_with_its_plans_and_its_design_and_is_removed() {
        let design = tatp().join("design.json");
        let shipped = ShippedFolder::read(&tatp(), Some(&design)).expect("it is shipped");
        let sent = serde_json::to_string(&shipped).expect("it is JSON");
        let arrived: ShippedFolder = serde_json::from_str(&sent).expect("it is JSON");
        assert_eq!(arrived, shipped);
        let unpacked = arrived.unpack().expect("room for files");
        for name in ["schema.sql", "procedures.sql", "workload.toml", "plans/update_location.1.xml"]
        {
            let (there, here) = (unpacked.path.join(name), tatp().join(name));
            assert_eq!(fs::read(there).expect("it is there"), fs::read(here).expect("shipped"));
        }
        let named = unpacked.design.clone().expect("it was named");
        assert_eq!(fs::read(named).expect("it is there"), fs::read(design).expect("shipped"));
        let mode = fs::metadata(&unpacked.path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let path = unpacked.path.clone();
        drop(unpacked);
        assert!(!path.exists());
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let names = [
            "../a.sql",
            "/etc/a.sql",
            "plans/../a.xml",
            "plans/../../a.xml",
            "plans//etc/a.xml",
            "other/a.sql",
            "plans/a.sql",
            ".profile.sql",
            "a.sh",
            "authorized_keys",
            "a\0.sql",
            "",
        ];
        for name in names {
            let files = BTreeMap::from([(name.to_owned(), String::new())]);
            let refused = ShippedFolder { files, has_design: false }.unpack().map(drop);
            let sentence = refused.expect_err("it is no file of a workload").to_string();
            assert!(sentence.contains("which no workload has"), "{name}: {sentence}");
        }
        let large = BTreeMap::from([("a.sql".to_owned(), "x".repeat(BYTES_MAX + 1))]);
        ShippedFolder { files: large, has_design: false }
            .unpack()
            .map(drop)
            .expect_err("too large");
        let lacking = ShippedFolder { has_design: true, ..Default::default() };
        lacking.unpack().map(drop).expect_err("the design is missing");
    }
}
