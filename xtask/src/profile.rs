//! `cargo xtask profile`: records which branches the program takes, for the compiler.
//!
//! A transaction's code is larger than a processor's first cache, and most of it is for cases that
//! seldom come. With counts of what does come the compiler keeps that together. The program is built
//! with counters, runs what users run, and what was counted is kept in the repository, so that a
//! plain `cargo build --release` compiles with it; `profile/rustc` is where that happens.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{process, workspace};

/// The folder of the script that compiles with the profile.
const FOLDER: &str = "xtask/profile";

/// Tells the script to compile with counters, and where they are written when a program ends.
const RECORD: &str = "NAMDB_RECORD_PROFILE";

const BUILD: &[&str] = &["build", "--release", "-p", "namdb", "--bin", "namdb", "--target-dir"];

/// What is run to be counted: every workload at full size, both levels of isolation, both ways of
/// taking snapshots, one thread and two, and simulated worlds. Code that has few of all counts is
/// taken for cold, so that stored procedures run about as long as what is written by hand.
const RUNS: [&str; 14] = [
    "bench tpcc --threads 1 --warehouses 1 --seconds 8",
    "bench tpcc --threads 2 --warehouses 4 --seconds 5",
    "bench tpcc --threads 1 --warehouses 2 --isolation serializable --seconds 5",
    "bench tpcc --threads 2 --warehouses 2 --oracle frozen --distribution 50 --seconds 4",
    "bench ycsb --records 1000000 --record-bytes 100 --ops-per-txn 16 --read-share 95 --uniform --seconds 4",
    "bench ycsb --records 1000000 --record-bytes 100 --ops-per-txn 16 --read-share 50 --zipf 0.99 --threads 2 --seconds 4",
    "bench ycsb --records 1000000 --record-bytes 100 --read-share 50 --uniform --seconds 4",
    "bench ycsb --workload A --seconds 3",
    "bench smallbank --isolation serializable --seconds 3",
    "bench tatp --subscribers 200000 --seconds 4",
    "bench workloads/tpcc --units 1 --threads 1 --seconds 10",
    "bench workloads/tpcc --units 1 --threads 1 --code plans --seconds 8",
    "bench workloads/tatp --units 2 --threads 1 --seconds 6",
    "simulate --seeds 20",
];

/// Builds with counters, runs, and writes the profile with the compiler that it belongs to.
pub fn run(root: &Path) -> Result<()> {
    let merge = merge_program()?;
    let work = workspace::target_directory(root)?.join("profile");
    let counters = work.join("counters");
    eprintln!("profile: builds the program with counters");
    process::run(process::cargo(root, BUILD).arg(&work).env(RECORD, &counters))?;
    // Programs that ran during the build have written theirs as well.
    let _absent_is_fine = fs::remove_dir_all(&counters);
    let program = work.join("release/namdb");
    for (number, arguments) in (1..).zip(RUNS) {
        eprintln!("profile: run {number} of {}: namdb {arguments}", RUNS.len());
        let mut command = Command::new(&program);
        process::capture(command.current_dir(root).args(arguments.split(' ')))?;
    }
    let profile = root.join(FOLDER).join("namdb.profdata");
    let mut command = Command::new(merge);
    // Sparse: without the functions that were never run.
    process::run(command.args(["merge", "--sparse", "-o"]).arg(&profile).arg(&counters))?;
    let compiler = process::capture(Command::new("rustc").arg("-vV"))?;
    fs::write(root.join(FOLDER).join("compiler.txt"), compiler).context("write compiler.txt")?;
    let bytes = fs::metadata(&profile).context("look at the profile")?.len();
    eprintln!("profile: {} KiB in {FOLDER}; the next build uses them", bytes / 1024);
    Ok(())
}

/// The program that merges counters, of the toolchain's own LLVM.
fn merge_program() -> Result<PathBuf> {
    let sysroot = process::capture(Command::new("rustc").args(["--print", "sysroot"]))?;
    let host = process::capture(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let folder = format!("lib/rustlib/{}/bin/llvm-profdata", host.trim());
    let program = Path::new(sysroot.trim()).join(folder);
    ensure!(
        program.is_file(),
        "{} is missing: `rustup component add llvm-tools` installs it",
        program.display()
    );
    Ok(program)
}
