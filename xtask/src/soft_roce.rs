//! `cargo xtask soft-roce`: our programs over real RDMA verbs, without RDMA hardware.
//!
//! The kernel has a device that implements RDMA over Ethernet in software, Soft-RoCE. It needs a
//! module that the host may lack and a user may not load, so this boots a virtual machine with it,
//! without installing anything: the distribution's kernel is unpacked, not installed; the guest
//! sees the host's files read-only below a layer in its own memory; it runs one script and ends.
//! First one guest runs the programs that use their own device only, then two guests communicate
//! over a private network.
//!
//! Decision: docs/decisions/0089-rdma-is-tested-in-an-emulated-machine.md

mod archive;
mod guest;
mod image;
mod kernel;
mod programs;
mod tools;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::done::Done;
use crate::workspace;

/// The programs to run; the default is all tests.
#[derive(Args)]
pub struct Options {
    /// Guests that run PROGRAM, connected with each other: 1 or 2
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    guests: u8,
    /// Seconds after which guests that run PROGRAM are stopped, which is a failure
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    deadline_s: u64,
    /// A program of the host, and its arguments, to run instead of the tests
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

impl Options {
    /// All tests.
    pub fn tests() -> Self {
        Self { guests: 1, deadline_s: ONE_GUEST_DEADLINE_S, program: Vec::new() }
    }
}

/// Time-outs of the programs in one guest, and in two, in seconds: twelve minutes in all, so that
/// building fits into the 25 minutes of a nightly part. They only end what hangs.
const ONE_GUEST_DEADLINE_S: u64 = 480;
const TWO_GUESTS_DEADLINE_S: u64 = 240;

/// Runs the programs. If this host lacks a tool, prints which and skips them, except under CI.
pub fn run(root: &Path, options: &Options) -> Result<Done> {
    let work = workspace::target_directory(root)?.join("soft-roce");
    std::fs::create_dir_all(&work).with_context(|| format!("make {}", work.display()))?;
    let machine = match prepare(&work) {
        Ok(machine) => machine,
        Err(reason) if std::env::var_os("NAMDB_CI").is_some_and(|value| value == "1") => {
            return Err(reason.context("under CI the tests over Soft-RoCE may not be skipped"));
        }
        Err(reason) => {
            eprintln!("soft-roce: skipped: {reason:#}");
            return Ok(Done::Skipped);
        }
    };
    if !options.program.is_empty() {
        let script = programs::script_of(root, &options.program);
        let scripts = vec![script; usize::from(options.guests)];
        machine.run(&scripts, Duration::from_secs(options.deadline_s))?;
        return Ok(Done::Ran);
    }
    let start = guest::now();
    let scripts = programs::build(root, &machine.exchange)?;
    eprintln!("soft-roce: programs built in {:.1} s", start.elapsed().as_secs_f64());
    eprintln!("soft-roce: in one guest");
    machine.run(&[scripts.alone], Duration::from_secs(ONE_GUEST_DEADLINE_S))?;
    eprintln!("soft-roce: between two guests");
    machine.run(&scripts.pair, Duration::from_secs(TWO_GUESTS_DEADLINE_S))?;
    Ok(Done::Ran)
}

/// The files that guests boot from.
struct Machine {
    /// The distribution's kernel.
    kernel: PathBuf,
    /// The archive that it unpacks into memory at boot.
    initramfs: PathBuf,
    /// The folder with the guests' scripts and result files.
    exchange: PathBuf,
}

fn prepare(work: &Path) -> Result<Machine> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("guests are Linux on x86-64, which this host is not");
    }
    tools::ensure_present()?;
    let kernel::Boot { kernel, initramfs } = kernel::prepare(work)?;
    let exchange = work.join("exchange");
    std::fs::create_dir_all(&exchange).context("make the folder that guests write to")?;
    let exchange = exchange.canonicalize().context("find the folder that guests write to")?;
    Ok(Machine { kernel, initramfs, exchange })
}

impl Machine {
    /// Boots a guest for each script, and waits for all of them.
    fn run(&self, scripts: &[String], deadline: Duration) -> Result<()> {
        guest::run(self, scripts, deadline)
    }
}
