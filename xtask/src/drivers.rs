//! `cargo xtask drivers`: installs the drivers of other languages that the tests of the SQL server
//! run, by the languages' own package managers, in `target/drivers`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// The programs of the drivers, with the versions of their packages.
const PROGRAMS: &str = "crates/app/pgwire/tests/clients/drivers";
/// The version of pgjdbc.
const PGJDBC: &str = "org.postgresql:postgresql:42.7.4";

/// Installs all drivers whose language is there; names the others.
///
/// # Errors
///
/// None of them could be installed.
pub fn run(root: &Path) -> Result<()> {
    let (programs, target) = (root.join(PROGRAMS), root.join("target/drivers"));
    std::fs::create_dir_all(&target).context("create target/drivers")?;
    type Install = fn(&Path, &Path) -> Result<()>;
    let drivers: [(&str, Install); 3] = [("python", python), ("node", node), ("java", java)];
    let mut installed = 0;
    for (name, install) in drivers {
        match install(&programs, &target.join(name)) {
            Ok(()) => {
                installed += 1;
                println!("{name}: installed in {}", target.join(name).display());
            }
            Err(error) => println!("{name}: not installed: {error:#}"),
        }
    }
    if installed == 0 {
        bail!(
            "no driver could be installed: install Python, Node.js or Java with their package managers"
        );
    }
    Ok(())
}

fn python(programs: &Path, folder: &Path) -> Result<()> {
    if !folder.join("bin/pip").exists() {
        process::capture(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--requirement"]).arg(programs.join("requirements.txt"));
    process::capture(&mut pip).map(drop)
}

fn node(programs: &Path, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::copy(programs.join("package.json"), folder.join("package.json"))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(folder);
    process::capture(&mut npm).map(drop)
}

fn java(_: &Path, folder: &Path) -> Result<()> {
    process::capture(Command::new("java").arg("-version"))?;
    std::fs::create_dir_all(folder)?;
    let mut maven = Command::new("mvn");
    maven.args(["--quiet", "--batch-mode", "dependency:copy", "-Dmdep.stripVersion=true"]);
    maven.arg(format!("-Dartifact={PGJDBC}"));
    maven.arg(format!("-DoutputDirectory={}", folder.display()));
    process::capture(&mut maven).map(drop)
}
