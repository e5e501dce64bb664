//! Selects the scenarios to run.

use anyhow::{Context, Result, anyhow, ensure};
use scenario::Scenario;
use std::path::{Path, PathBuf};

/// The scenarios given by file or name; otherwise all scenarios in the folder with the tag.
pub fn scenarios(named: &[String], folder: &Path, tag: &str) -> Result<Vec<Scenario>> {
    if named.is_empty() {
        return tagged(folder, tag);
    }
    let mut scenarios: Vec<Scenario> = Vec::new();
    for name in named {
        let scenario = read(&find(name, folder)?)?;
        ensure!(
            scenarios.iter().all(|other| other.name != scenario.name),
            "scenario {} is given twice",
            scenario.name
        );
        scenarios.push(scenario);
    }
    Ok(scenarios)
}

/// Reads a scenario file.
pub fn read(path: &Path) -> Result<Scenario> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    Scenario::read(&name, &text).map_err(|error| anyhow!("{error}"))
}

fn find(name: &str, folder: &Path) -> Result<PathBuf> {
    let direct = PathBuf::from(name);
    if direct.extension().is_some() || direct.is_file() {
        return Ok(direct);
    }
    let path = folder.join(name).with_extension("toml");
    if path.is_file() {
        return Ok(path);
    }
    let known: Vec<String> = files(folder)?
        .iter()
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    let folder = folder.display();
    Err(anyhow!("there is no scenario {name} in {folder}; it has {}", known.join(", ")))
}

fn tagged(folder: &Path, tag: &str) -> Result<Vec<Scenario>> {
    let mut scenarios = Vec::new();
    for path in files(folder)? {
        let scenario = read(&path)?;
        if scenario.has_tag(tag) {
            scenarios.push(scenario);
        }
    }
    ensure!(!scenarios.is_empty(), "no scenario in {} has the tag {tag}", folder.display());
    Ok(scenarios)
}

/// The scenario files in a folder, sorted by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| {
        let folder = folder.display();
        format!("the folder {folder} does not exist; give files, or the folder with --folder")
    })?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
