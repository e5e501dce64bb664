//! The programs for guests: tests of the product that need a device, built on the host.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::process;
use crate::soft_roce::guest::REMARK;

/// Tests learn from this that they run in a guest and must find a device.
const ENVIRONMENT: &str = "export NAMDB_SOFT_ROCE=1 RUST_BACKTRACE=1\n";

/// The scripts of all guests.
pub struct Scripts {
    /// For one guest, which communicates with itself.
    pub alone: String,
    /// For two guests, which communicate: memory servers in the first, the compute server in the
    /// second.
    pub pair: [String; 2],
}

/// The program's scripts: for one guest, and the parts for two guests.
const BENCH: &str = include_str!("bench.sh");
const DATABASE: &str = include_str!("database.sh");
const CLUSTER: &str = include_str!("cluster.sh");
const SERVERS: &str = include_str!("servers.sh");
const COMPUTE: &str = include_str!("compute.sh");

/// The test of the program that kills clients of a cluster.
const KILLS: &str = "kills::acknowledged_numbers_survive_kills_over_verbs";

/// Builds the programs. Guests exchange files in the folder `exchange`.
pub fn build(root: &Path, exchange: &Path) -> Result<Scripts> {
    let [fabric, shipping, suite, namdb, lab] = built(root)?;
    let exchange = quoted(&exchange.display().to_string());
    let common = format!("NAMDB={} EXCHANGE={exchange}\n{BENCH}", quoted(&namdb));
    let alone = [
        remark("the fabric's tests"),
        format!("{} --color=never --test-threads=1", quoted(&fabric)),
        remark("calls shipped to a compute server"),
        test(&shipping, "verbs::"),
        remark("the suite"),
        format!("{} --fabric verbs", quoted(&suite)),
        remark("the program"),
        common.clone(),
        DATABASE.to_owned(),
        remark("clients that are killed"),
        test(&lab, KILLS),
    ];
    let pair = [SERVERS, COMPUTE];
    let pair = pair.map(|part| script(root, &[common.clone(), CLUSTER.into(), part.into()]));
    Ok(Scripts { alone: script(root, &alone), pair })
}

/// Runs the tests of a program whose names contain `filter`, which must exist.
fn test(program: &str, filter: &str) -> String {
    let program = quoted(program);
    // A filter that no test matches would pass.
    format!(
        "{program} --list {filter} | grep ': test$'\n{program} --color=never --nocapture {filter}"
    )
}

/// The script that runs one program of the host.
pub fn script_of(root: &Path, words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    script(root, &[words.join(" ")])
}

fn script(root: &Path, lines: &[String]) -> String {
    let folder = quoted(&root.display().to_string());
    format!("set -e\ncd {folder}\n{ENVIRONMENT}{}\n", lines.join("\n"))
}

/// A command that makes the guest print a remark.
fn remark(what: &str) -> String {
    format!("echo {}", quoted(&format!("{REMARK}{what}")))
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The build command. It names the whole workspace, so that libraries have the features of `cargo
/// test --workspace`: for one package alone, cargo would compile most of the workspace a second
/// time.
const BUILD: [&str; 16] = [
    "build",
    "--release",
    "--message-format=json",
    "--workspace",
    "--test",
    "verbs",
    "--test",
    "shipping",
    "--test",
    "program",
    "--bin",
    "fabric_conformance",
    "--bin",
    "namdb",
    "--bin",
    "namdb-lab",
];

/// Builds the tests of the fabric, of shipping and of the program, the suite and the program, and
/// returns their paths.
fn built(root: &Path) -> Result<[String; 5]> {
    let output = process::capture(&mut process::cargo(root, &BUILD))?;
    let find = |package: &str, name: &str| program_of(&output, package, name);
    Ok([
        find("fabric", "verbs")?,
        find("microbench", "shipping")?,
        find("fabric_conformance", "fabric_conformance")?,
        find("namdb-program", "namdb")?,
        find("namdb-lab", "program")?,
    ])
}

/// The path of the program of target `name` of the crate in the folder `package`, from cargo's
/// messages in `output`. Several crates have tests of the same name.
fn program_of(output: &str, package: &str, name: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Message {
        manifest_path: Option<PathBuf>,
        target: Option<Target>,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    for line in output.lines() {
        let message: Message = serde_json::from_str(line).context("parse cargo's messages")?;
        let folder = message.manifest_path.as_deref().and_then(Path::parent);
        let is_ours = folder.is_some_and(|folder| folder.ends_with(package))
            && message.target.is_some_and(|target| target.name == name);
        if let (true, Some(program)) = (is_ours, message.executable) {
            return Ok(program.display().to_string());
        }
    }
    bail!("cargo built no program `{name}` of the crate `{package}`");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_words_that_a_shell_takes_literally() {
        let script = script_of(Path::new("/a b"), &["echo".into(), "it's".into()]);
        assert!(script.contains("cd '/a b'\n"), "{script}");
        assert!(script.ends_with("'echo' 'it'\\''s'\n"), "{script}");
    }

    #[test]
    fn the_scripts_name_files_of_the_workspace_that_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let scripts = [BENCH, DATABASE, CLUSTER, SERVERS, COMPUTE].concat();
        let files: Vec<&str> = scripts
            .split("$root/")
            .skip(1)
            .filter_map(|rest| rest.split(['"', ' ', '\n']).next())
            .collect();
        assert_eq!(files.len(), 2, "{files:?}");
        for file in files {
            assert!(root.join(file).exists(), "{file} does not exist");
        }
    }

    #[test]
    fn a_program_is_the_one_of_its_crate() {
        let message = |package: &str, path: &str| {
            format!(
                r#"{{"manifest_path":"/a/{package}/Cargo.toml","target":{{"name":"shipping"}},"executable":"{path}"}}"#
            )
        };
        let messages = [message("folder_benchmark", "/x/1"), message("microbench", "/x/2")];
        let output = format!("{}\n{}\n{{\"success\":true}}\n", messages[0], messages[1]);
        let found = program_of(&output, "microbench", "shipping").expect("it was built");
        assert_eq!(found, "/x/2");
        assert!(program_of(&output, "bench", "shipping").is_err());
    }
}
