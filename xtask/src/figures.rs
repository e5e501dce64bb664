//! `cargo xtask figures`: repeats quick experiments of `namdb reproduce` and compares their points,
//! byte by byte, with those in `xtask/figures`.
//!
//! Equal seeds give equal bytes, so a difference is a change of the simulated clusters' behaviour:
//! of the engine, a baseline, the simulator or the hardware. A commit that changes the points says
//! why.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::{process, workspace};

/// The task; the default is to compare the points.
#[derive(Args, Default)]
pub struct Options {
    /// Write what came out to xtask/figures
    #[arg(long)]
    bless: bool,
}

/// This engine, and message-based snapshot isolation as its baseline.
const EXPERIMENTS: [&str; 2] = ["latency", "trad-si"];
const BUILD: &[&str] = &["build", "--release", "--quiet", "-p", "namdb-lab", "--bin", "namdb-lab"];

/// Runs the experiments, and compares or writes their points.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    process::run(&mut process::cargo(root, BUILD))?;
    let target = workspace::target_directory(root)?;
    let (program, out) = (target.join("release/namdb-lab"), target.join("figures"));
    for experiment in EXPERIMENTS {
        let mut command = Command::new(&program);
        command.args(["reproduce", experiment, "--quick", "--out"]).arg(&out);
        process::capture(&mut command)?;
        let read = |path: &PathBuf| {
            std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
        };
        let points = read(&out.join(format!("{experiment}.csv")))?;
        let kept = root.join(format!("xtask/figures/{experiment}.csv"));
        if options.bless {
            std::fs::write(&kept, &points).with_context(|| format!("write {}", kept.display()))?;
            println!("figures: {experiment} is written");
            continue;
        }
        if let Some(difference) = difference(&read(&kept)?, &points) {
            bail!(
                "{experiment}: {difference}; if this is intended, run `cargo xtask figures --bless` and say why"
            );
        }
        println!("figures: {experiment} has the same bytes");
    }
    Ok(())
}

/// Describes the first different line.
fn difference(kept: &str, points: &str) -> Option<String> {
    if kept == points {
        return None;
    }
    let mut lines = kept.lines().zip(points.lines());
    let told = match lines.find(|(one, other)| one != other) {
        Some((one, other)) => format!("recorded `{one}`, measured `{other}`"),
        None => {
            format!("recorded {} lines, measured {}", kept.lines().count(), points.lines().count())
        }
    };
    Some(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_told() {
        assert_eq!(difference("a,1\nb,2\n", "a,1\nb,2\n"), None);
        let told = difference("a,1\nb,2\n", "a,1\nb,3\n").expect("a point differs");
        assert_eq!(told, "recorded `b,2`, measured `b,3`");
        assert!(difference("a,1\n", "a,1\nb,2\n").is_some_and(|told| told.contains("measured 2")));
        assert!(difference("a,1", "a,1\n").is_some());
    }
}
