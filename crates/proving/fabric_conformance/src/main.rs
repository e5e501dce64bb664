//! `suite` runs all tests of the suite, or some of them, on a chosen fabric and prints a table of
//! outcomes.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand, ValueEnum};
use fabric::verbs::Choice;
use fabric_conformance::fabrics::local::Local;
use fabric_conformance::fabrics::performer::perform;
use fabric_conformance::fabrics::processes::{Director, serve};
use fabric_conformance::fabrics::rendezvous::Rendezvous;
use fabric_conformance::fabrics::shm::Shm;
use fabric_conformance::fabrics::simulated::Simulated;
use fabric_conformance::fabrics::tcp::Tcp;
use fabric_conformance::fabrics::verbs::Verbs;
use fabric_conformance::table::Table;
use fabric_conformance::{Outcome, Stage, breakage, stage, tests};
use layout::NodeId;
use sim::Carrier;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Worlds per test.
const SEEDS: u64 = 300;
/// The number of worlds within which a broken promise must make its test fail.
const BROKEN_SEEDS: u64 = 3000;

/// A fabric by name.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Threads that share memory.
    Local,
    /// Simulated worlds without coherent memory.
    Sim,
    /// Simulated worlds with coherent memory.
    SimCoherent,
    /// Simulated worlds whose servers execute verbs
    SimSerial,
    /// Processes that share memory.
    Shm,
    /// Processes that send each other messages.
    Tcp,
    /// Processes that reach each other by RDMA, through a device of this host.
    Verbs,
}

/// The options that select tests and fabrics.
#[derive(Parser)]
#[command(about = "Runs the tests that every fabric must pass")]
struct Options {
    /// Run on this fabric only; on all of them by default
    #[arg(long, value_name = "NAME")]
    fabric: Vec<Name>,
    /// Run this test only; all of them by default
    #[arg(long, value_name = "NAME")]
    test: Vec<String>,
    /// Run every test in simulated worlds that break its promise, where it must fail
    #[arg(long)]
    broken: bool,
    /// Print the promise of each test, and run nothing
    #[arg(long)]
    list: bool,
    #[command(subcommand)]
    role: Option<Role>,
}

/// The role of this program when it has started itself.
#[derive(Subcommand)]
enum Role {
    /// A memory server
    #[command(hide = true)]
    Server {
        /// The fabric
        fabric: Name,
        /// Its number
        node: u16,
        /// How often it was restarted before
        life: u64,
        /// The folder of the test
        folder: PathBuf,
        /// The address it listens at
        address: Option<String>,
    },
    /// A party
    #[command(hide = true)]
    Party {
        /// The fabric
        fabric: Name,
        /// The test
        test: String,
        /// Its number
        number: u32,
        /// The folder of the test
        folder: PathBuf,
        /// The addresses of the servers
        addresses: Vec<String>,
    },
}

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(role) = options.role {
        return match play(role) {
            Ok(()) => ExitCode::SUCCESS,
            Err(sentence) => {
                println!("error {sentence}");
                ExitCode::FAILURE
            }
        };
    }
    let names = tests::names();
    if let Some(unknown) = options.test.iter().find(|name| !names.contains(&name.as_str())) {
        eprintln!("no test is called `{unknown}`; --list prints all names");
        return ExitCode::FAILURE;
    }
    if options.list {
        list();
        return ExitCode::SUCCESS;
    }
    if options.broken {
        return try_broken();
    }
    let may_skip = std::env::var("NAMDB_CI").is_err();
    let all = Name::value_variants();
    let fabrics = if options.fabric.is_empty() { all } else { &options.fabric };
    let mut table = Table::new(&names, &["sim-coherent"], may_skip);
    for fabric in fabrics {
        give(*fabric, &options, &mut table);
    }
    println!("{} passed, {} failed", table.passed, table.failed);
    if table.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn give(fabric: Name, options: &Options, table: &mut Table) {
    let simulated = |carrier| Simulated { carrier, seeds: SEEDS, broken: breakage::NONE };
    match fabric {
        Name::Local => run(&Local, options, table),
        Name::Sim => run(&simulated(Carrier::Card), options, table),
        Name::SimCoherent => run(&simulated(Carrier::Caller), options, table),
        Name::SimSerial => run(&simulated(Carrier::Server), options, table),
        Name::Shm => run(&Director::<Shm>::new(), options, table),
        Name::Tcp => run(&Director::<Tcp>::new(), options, table),
        Name::Verbs => match fabric::verbs::Place::open(&Choice::default()) {
            Ok(_) => run(&Director::<Verbs>::new(), options, table),
            Err(absent) => skip("verbs", &absent.to_string(), options, table),
        },
    }
}

fn play(role: Role) -> Result<(), String> {
    // Prints a line for the director, which waits for it.
    let say = |line: &str| {
        println!("{line}");
        let _ = std::io::stdout().flush();
    };
    let none = || Err("parties and servers of this fabric are not processes".to_owned());
    match role {
        Role::Server { fabric, node, life, folder, address } => {
            let (server, address) = ((NodeId(node), life), address.as_deref());
            match fabric {
                Name::Shm => serve::<Shm>(server, &folder, address, say),
                Name::Tcp => serve::<Tcp>(server, &folder, address, say),
                Name::Verbs => serve::<Verbs>(server, &folder, address, say),
                _ => none(),
            }
        }
        Role::Party { fabric, test, number, folder, addresses } => {
            let place = Rendezvous::of(&folder, &addresses);
            match fabric {
                Name::Shm => perform::<Shm>(&test, number, &place, say),
                Name::Tcp => perform::<Tcp>(&test, number, &place, say),
                Name::Verbs => perform::<Verbs>(&test, number, &place, say),
                _ => none(),
            }
        }
    }
}

fn run<S: Stage>(stage: &S, options: &Options, table: &mut Table) {
    for test in tests::all::<S::Env>() {
        if options.test.is_empty() || options.test.iter().any(|wanted| wanted == test.name) {
            let outcome = stage::give(stage, &test);
            println!("{}", table.enter(test.name, stage.name(), test.seen, &outcome));
        }
    }
}

/// Records all tests of a fabric as skipped, because its hardware is absent.
fn skip(fabric: &'static str, reason: &str, options: &Options, table: &mut Table) {
    for name in tests::names() {
        if options.test.is_empty() || options.test.iter().any(|wanted| wanted == name) {
            let outcome = Outcome::Skipped { reason: reason.to_owned(), is_hardware: true };
            println!("{}", table.enter(name, fabric, "", &outcome));
        }
    }
}

fn try_broken() -> ExitCode {
    match breakage::try_all(BROKEN_SEEDS) {
        Ok(failures) => {
            failures.iter().for_each(|failure| println!("{failure}"));
            ExitCode::SUCCESS
        }
        Err(passed) => {
            passed.iter().for_each(|passed| println!("{passed}"));
            ExitCode::FAILURE
        }
    }
}

fn list() {
    for test in tests::all::<fabric::LocalEnv>() {
        println!("{}", test.name);
        println!("  promise   {}", test.promise);
        println!("  fails if  {}", test.falls_if);
        for broken in test.broken {
            println!("  must fail in a simulated world without {}", breakage::name(broken));
        }
    }
}
