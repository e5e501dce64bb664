//! The instrumented copy, built, with its profile: what both commands begin with.

use crate::compile;
use crate::copy::Copy;
use crate::profile::{Profile, Seeds};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

const BUILD: [&str; 4] = ["build", "--release", "-p", "portfolio"];

/// A built copy.
pub struct Prepared {
    pub copy: Copy,
    /// The program of crate `portfolio`.
    pub portfolio: PathBuf,
    /// The folder with the copy and everything else.
    pub folder: PathBuf,
}

/// A profile, and the program and seeds that it is of.
#[derive(Serialize, Deserialize)]
struct Kept {
    program: u64,
    first: u64,
    count: u64,
    profile: Profile,
}

impl Prepared {
    /// Writes and builds the copy of the workspace at `root` in `folder`.
    ///
    /// # Errors
    /// If it does not compile.
    pub fn new(root: &Path, folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let refused = folder.join("refused.json");
        let mut known: BTreeSet<String> = read(&refused)?.unwrap_or_default();
        eprintln!("mutation: writing the copy in {}", folder.display());
        let copy = compile::settle(root, &folder.join("workspace"), &mut known)?;
        write(&refused, &known)?;
        write(&folder.join("sites.json"), &copy.sites)?;
        eprintln!(
            "mutation: building {} mutants and branches; {} more do not compile",
            copy.sites.len(),
            known.len()
        );
        let built = compile::build(&copy.folder, &BUILD)?;
        let (_, program) = built.first().context("cargo built no portfolio")?;
        // A build of the workspace itself would write its own program to the place of this one. It
        // is renamed, because another campaign may be running the one before.
        let (new, portfolio) = (folder.join("portfolio.new"), folder.join("portfolio"));
        std::fs::copy(program, &new)
            .and_then(|_| std::fs::rename(&new, &portfolio))
            .with_context(|| format!("cannot copy {}", program.display()))?;
        Ok(Self { copy, portfolio, folder: folder.to_owned() })
    }

    /// The profile of these seeds; an earlier one of the same program is used again.
    ///
    /// # Errors
    /// If a world does not end.
    pub fn profile(&self, seeds: Seeds, processes: usize) -> Result<Profile> {
        let bytes = std::fs::read(&self.portfolio).context("cannot read the portfolio")?;
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let (program, path) = (hasher.finish(), self.folder.join("profile.json"));
        if let Some(kept) = read::<Kept>(&path)?
            && (kept.program, kept.first, kept.count) == (program, seeds.first, seeds.count)
        {
            return Ok(kept.profile);
        }
        let profile = Profile::take(&self.copy.folder, &self.portfolio, seeds, processes)?;
        let kept = Kept { program, first: seeds.first, count: seeds.count, profile };
        write(&path, &kept)?;
        Ok(kept.profile)
    }
}

/// Reads a file of JSON; `None` if there is none, or an older version wrote it.
fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Option<T>> {
    if !path.exists() {
        return Ok(None);
    }
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(serde_json::from_str(&text).ok())
}

fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(value).context("a file is not JSON")?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
