//! The folders that are shipped.

use sql::Program;
use std::path::{Path, PathBuf};

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join("procedures.sql").is_file())
        .collect();
    folders.sort();
    folders
}

#[test]
fn every_shipped_folder_is_read() {
    for folder in folders() {
        let program = Program::read(&folder).unwrap_or_else(|error| panic!("{error}"));
        assert!(program.embedded_statements().count() > 0, "{}", folder.display());
        if folder.join("workload.toml").is_file() {
            sql::WorkloadFolder::read(&folder).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
