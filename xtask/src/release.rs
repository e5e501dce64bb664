//! `cargo xtask release`: the program `namdb` as it is distributed.
//!
//! A transaction's code is larger than a processor's first cache, and most of it handles rare
//! cases. This builds the program with counters, runs benchmarks, and compiles it again with the
//! counts (profile-guided optimisation). The repository keeps no counts. Debug information goes to
//! a file beside the program.
//!
//! Decision: docs/decisions/0053-profile-guided-optimisation-is-a-separate-build.md

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{process, workspace};

/// Leaves the program's names in it, for the file of debug information.
const KEEP_NAMES: &str = "profile.release.package.namdb-program.strip = \"none\"";
const BUILD: &[&str] =
    &["build", "--release", "-p", "namdb-program", "--bin", "namdb", "--target-dir"];

/// The runs that count branches: every workload at full size, both isolation levels, both ways of
/// taking snapshots, one thread and two. The compiler treats code with few counts as cold, so
/// stored procedures run about as long as the workloads written by hand.
const RUNS: [&str; 13] = [
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
];

/// Records, builds with the record, and prints where the program is.
pub fn run(root: &Path) -> Result<()> {
    let merge = merge_program()?;
    let work = workspace::target_directory(root)?.join("profiled");
    let (counters, profile) = (work.join("counters"), work.join("namdb.profdata"));
    fs::create_dir_all(&work).with_context(|| format!("make {}", work.display()))?;
    eprintln!("release: builds the program with counters");
    let counting = format!("-Cprofile-generate={}", counters.display());
    process::run(&mut build(root, &work.join("counting"), &counting))?;
    // Build scripts and macros have written theirs as well.
    let _absent_is_fine = fs::remove_dir_all(&counters);
    let program = work.join("counting/release/namdb");
    for (number, arguments) in (1..).zip(RUNS) {
        eprintln!("release: run {number} of {}: namdb {arguments}", RUNS.len());
        let mut command = Command::new(&program);
        process::capture(command.current_dir(root).args(arguments.split(' ')))?;
    }
    let mut command = Command::new(merge);
    // Sparse: without the functions that never ran.
    process::run(command.args(["merge", "--sparse", "-o"]).arg(&profile).arg(&counters))?;
    eprintln!("release: builds the program with the counts");
    // Code that the runs never reached goes to separate pages, so that the rest fits the caches.
    let using = format!(
        "-Cprofile-use={} -Cllvm-args=-no-pgo-warn-mismatch -Cllvm-args=-enable-split-machine-functions",
        profile.display()
    );
    let mut command = build(root, &work, &using);
    command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1");
    command.env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
    command.args(["--config", KEEP_NAMES]);
    process::run(&mut command)?;
    let program = work.join("release/namdb");
    split_debug_information(&program)?;
    println!("{}", program.display());
    Ok(())
}

fn build(root: &Path, target: &Path, flags: &str) -> Command {
    let mut command = process::cargo(root, BUILD);
    command.arg(target).env("RUSTFLAGS", flags);
    command
}

/// Moves debug information to `namdb.debug`, where debuggers find it.
fn split_debug_information(program: &Path) -> Result<()> {
    let debug = program.with_extension("debug");
    let mut keep = Command::new("objcopy");
    process::run(keep.arg("--only-keep-debug").arg(program).arg(&debug))?;
    let mut strip = Command::new("objcopy");
    let link = format!("--add-gnu-debuglink={}", debug.display());
    process::run(strip.args(["--strip-debug", &link]).arg(program))
}

/// The program that merges counters, of the toolchain's own LLVM.
fn merge_program() -> Result<PathBuf> {
    let sysroot = process::capture(Command::new("rustc").args(["--print", "sysroot"]))?;
    let host = process::capture(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let folder = format!("lib/rustlib/{}/bin/llvm-profdata", host.trim());
    let program = Path::new(sysroot.trim()).join(folder);
    ensure!(
        program.is_file(),
        "{} is missing; `rustup component add llvm-tools` installs it",
        program.display()
    );
    Ok(program)
}
