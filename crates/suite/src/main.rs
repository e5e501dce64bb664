//! `suite` gives the tests of the suite, or some of them, on a chosen fabric and ends with a table.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand, ValueEnum};
use fabric::verbs::Choice;
use layout::NodeId;
use sim::Carrier;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use suite::fabrics::local::Local;
use suite::fabrics::performer::perform;
use suite::fabrics::place::Place;
use suite::fabrics::processes::{Director, serve};
use suite::fabrics::shm::Shm;
use suite::fabrics::simulated::Simulated;
use suite::fabrics::tcp::Tcp;
use suite::fabrics::verbs::Verbs;
use suite::table::Table;
use suite::{Outcome, Stage, breakage, stage, tests};

/// Worlds per test.
const SEEDS: u64 = 300;
/// Worlds in which a broken promise must show.
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
    /// Simulated worlds whose servers carry out verbs.
    SimSerial,
    /// Processes that share memory.
    Shm,
    /// Processes that send each other messages.
    Tcp,
    /// Processes that reach each other by RDMA, through a device of this host.
    Verbs,
}

/// What to run.
#[derive(Parser)]
#[command(about = "The tests that every fabric has to pass")]
struct Options {
    /// On this fabric; all of them unless told otherwise
    #[arg(long, value_name = "NAME")]
    fabric: Vec<Name>,
    /// This test; all of them unless told otherwise
    #[arg(long, value_name = "NAME")]
    test: Vec<String>,
    /// Give every test in simulated worlds that break its promise, where it has to fail
    #[arg(long)]
    broken: bool,
    /// Print what each test is about, and run nothing
    #[arg(long)]
    list: bool,
    #[command(subcommand)]
    role: Option<Role>,
}

/// What this program is when it has started itself.
#[derive(Subcommand)]
enum Role {
    /// A memory server
    #[command(hide = true)]
    Server {
        /// The fabric
        fabric: Name,
        /// Its number
        node: u16,
        /// How often it was started before
        life: u64,
        /// Where the play meets
        folder: PathBuf,
        /// Where it listens
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
        /// Where the play meets
        folder: PathBuf,
        /// Where the servers are
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
        eprintln!("there is no test `{unknown}`, see --list");
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
    // A line for the director, who waits for it.
    let say = |line: &str| {
        println!("{line}");
        let _ = std::io::stdout().flush();
    };
    let none = || Err("parties and servers of this fabric are no processes".to_owned());
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
            let place = Place::of(&folder, &addresses);
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

/// Enters that a fabric is absent for want of hardware.
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
        println!("  falls if  {}", test.falls_if);
        for broken in test.broken {
            println!("  fails in a simulated world without {}", breakage::name(broken));
        }
    }
}
