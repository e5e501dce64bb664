//! `cargo xtask mutants`: searches a world that detects each mutant, and prints what detected it.
#![forbid(unsafe_code)]

mod table;
mod worlds;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use mutants::caught::{self, Known};
use mutants::planted::{MUTANTS, named};
use mutants::search::{Bounds, Controls, Searched, search};
use mutants::{Planted, run};
use std::collections::VecDeque;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use table::MutantResult;

/// The file of known seeds.
const KNOWN_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/caught.txt");

/// Searches a world that detects each mutant
#[derive(Parser)]
#[command(name = "mutants")]
struct Arguments {
    /// Search these mutants only
    mutants: Vec<String>,
    /// Largest number of seeds tried for each
    #[arg(long, default_value_t = 20_000)]
    seeds: u64,
    /// Largest number of minutes spent on each
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Number of mutants searched concurrently
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Record the seeds found, for the test that replays them
    #[arg(long)]
    keep: bool,
    /// Run one seed of the named mutants, and print what it shows
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Instead of mutants, run this many worlds that the seed draws whole, with all guards in
    /// place: all must be right
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["mutants", "seed", "keep"])]
    worlds: Option<u64>,
    /// The first seed of these worlds
    #[arg(long, value_name = "SEED", requires = "worlds", default_value_t = 0)]
    first: u64,
    /// Write the history of that seed as EDN, and the one with all guards in place to FILE.right
    #[arg(long, value_name = "FILE", requires = "seed")]
    history: Option<PathBuf>,
}

fn main() -> ExitCode {
    // Mutants panic by the hundred; each message is part of its result.
    std::panic::set_hook(Box::new(|_| {}));
    match start(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &Arguments) -> Result<()> {
    if let Some(count) = arguments.worlds {
        return worlds::run(arguments.first..arguments.first + count, arguments.threads);
    }
    let chosen = chosen(&arguments.mutants)?;
    if let Some(seed) = arguments.seed {
        return chosen.iter().try_for_each(|planted| show(planted, seed, arguments));
    }
    let rows = search_all(arguments, &chosen);
    let mut stdout = std::io::stdout().lock();
    let text = if arguments.json { table::json(&rows)? } else { table::text(&rows) };
    stdout.write_all(text.as_bytes())?;
    if arguments.keep {
        record_seeds(&rows)?;
    }
    let wrong: Vec<&MutantResult> =
        rows.iter().filter(|row| row.searched.unmutated.is_some()).collect();
    if let Some(row) = wrong.first() {
        let (seed, catch) = row.searched.unmutated.as_ref().expect("it was filtered by that");
        bail!("seed {seed} of {} fails with all guards in place: {catch:?}", row.planted.name());
    }
    let missed = rows.iter().filter(|row| row.searched.caught.is_none()).count();
    ensure!(missed == 0, "{missed} mutants are not caught: the judge or the worlds have a gap");
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<&'static Planted>> {
    if names.is_empty() {
        return Ok(MUTANTS.iter().collect());
    }
    let find = |name: &String| match named(name) {
        Some(planted) => Ok(planted),
        None => {
            bail!(
                "no mutant is called {name}; crates/proving/mutants/src/planted.rs lists all of them"
            )
        }
    };
    names.iter().map(find).collect()
}

/// Runs one seed with and without the mutant.
fn show(planted: &Planted, seed: u64, arguments: &Arguments) -> Result<()> {
    for guards in [planted.guards(), Vec::new()] {
        let run::Ran { caught, asked, committed, aborted, history } =
            run::run(&planted.kind, seed, &guards);
        println!(
            "{} seed {seed}, removed {guards:?}, reached {asked} times: {committed} committed, {aborted} aborted, \
             {caught:?}",
            planted.name()
        );
        if let Some(file) = &arguments.history {
            let file = if guards.is_empty() { file.with_extension("right") } else { file.clone() };
            let written = std::fs::File::create(&file)
                .and_then(|mut file| history_judge::write_edn(&history, &mut file));
            written.with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    Ok(())
}

/// Searches all mutants, some concurrently.
fn search_all(arguments: &Arguments, chosen: &[&'static Planted]) -> Vec<MutantResult> {
    let bounds =
        Bounds { seeds: arguments.seeds, time: Duration::from_secs_f64(60.0 * arguments.minutes) };
    let queue: Mutex<VecDeque<usize>> = Mutex::new((0..chosen.len()).collect());
    let rows: Mutex<Vec<(usize, MutantResult)>> = Mutex::default();
    let (controls, start) = (Controls::default(), now());
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no holder panics").pop_front();
                    let Some(number) = next else { return };
                    let planted = chosen[number];
                    let searched = search(planted, bounds, &controls);
                    let mut rows = rows.lock().expect("no holder panics");
                    rows.push((number, MutantResult { planted, searched }));
                    let row = &rows.last().expect("it was just put there").1;
                    print_progress(row, rows.len(), chosen.len(), start.elapsed());
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("no holder panics");
    rows.sort_by_key(|&(number, _)| number);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Progress: one line per finished mutant, with the remaining time if the others take as long.
fn print_progress(row: &MutantResult, done: usize, all: usize, spent: Duration) {
    let Searched { caught, seeds, time, .. } = &row.searched;
    let by = caught.as_ref().map_or("not caught", |(_, catch)| catch.name());
    let seconds = time.as_secs_f64();
    let left = spent.as_secs_f64() * (all - done) as f64 / done as f64;
    let name = row.planted.name();
    eprintln!(
        "{done} of {all}: {name} {by}, {seeds} seeds, {seconds:.1} s; about {left:.0} s left"
    );
}

#[expect(clippy::disallowed_methods, reason = "tooling measures real time; there is no Env here")]
fn now() -> Instant {
    Instant::now()
}

/// Adds the seeds found to the file of known seeds.
fn record_seeds(rows: &[MutantResult]) -> Result<()> {
    let mut known = caught::known();
    known.retain(|name, _| named(name).is_some());
    for row in rows {
        if let Some((seed, catch)) = &row.searched.caught {
            let by = catch.name().to_owned();
            known.insert(row.planted.name().to_owned(), Known { seed: *seed, by });
        }
    }
    std::fs::write(KNOWN_FILE, caught::write(&known))
        .with_context(|| format!("cannot write {KNOWN_FILE}"))
}
