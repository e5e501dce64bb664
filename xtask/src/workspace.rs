//! Paths: the workspace root and cargo's target directory.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::process;

/// The folder of the root manifest. Cargo sets a variable to the package's folder; a copy of the
/// binary started by hand uses the current directory.
pub fn root() -> Result<PathBuf> {
    let root = match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(package) => {
            let parent = Path::new(&package).parent().context("xtask lies in the workspace")?;
            parent.to_path_buf()
        }
        None => std::env::current_dir().context("read the current directory")?,
    };
    ensure!(
        root.join("xtask/Cargo.toml").is_file(),
        "{} is not the workspace root: start this as `cargo xtask`",
        root.display()
    );
    Ok(root)
}

/// Cargo's target directory, which the environment or a user's configuration may have moved.
pub fn target_directory(root: &Path) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let mut command = process::cargo(root, &["metadata", "--no-deps", "--format-version", "1"]);
    let output = process::capture(&mut command)?;
    let metadata: Metadata = serde_json::from_str(&output).context("parse `cargo metadata`")?;
    Ok(metadata.target_directory)
}
