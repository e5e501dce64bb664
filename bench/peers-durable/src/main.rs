//! `cargo xtask peers-durable`: durable single-row updates of namdb and other embedded databases,
//! in turns on one disk, so that all meet the same disk and the same neighbours.
#![forbid(unsafe_code)]

mod disk;
mod engine;
mod namdb_engine;
mod redb_engine;
#[cfg(feature = "rocksdb")]
mod rocksdb_engine;
mod sqlite_engine;
mod table;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use engine::Engine;
use std::path::{Path, PathBuf};
use std::time::Duration;
use table::{Results, Row};

/// Durable single-row updates of namdb and other embedded databases, on one disk
#[derive(Parser)]
#[command(name = "peers-durable")]
struct Arguments {
    /// Turns of each database
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Seconds of a turn
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Numbers of sessions
    #[arg(long, value_delimiter = ',', default_values_t = [1, 64, 1024])]
    sessions: Vec<usize>,
    /// Measure only the databases with these names
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// A directory on the disk to measure, which must not exist and is removed. Default: a new one
    /// among the temporary files
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let name = format!("namdb-peers-durable-{}", std::process::id());
    let directory = arguments.directory.clone().unwrap_or_else(|| std::env::temp_dir().join(name));
    let shown = directory.display();
    ensure!(!directory.exists(), "`{shown}` exists already; name a directory that does not");
    ensure!(arguments.turns > 0 && arguments.sessions.iter().all(|&sessions| sessions > 0));
    std::fs::create_dir(&directory).with_context(|| format!("create `{shown}`"))?;
    let measured = measure(&arguments, &directory);
    std::fs::remove_dir_all(&directory).with_context(|| format!("remove `{shown}`"))?;
    let results = measured?;
    match arguments.json {
        true => println!("{}", serde_json::to_string_pretty(&results)?),
        false => print!("{}", results.text()),
    }
    Ok(())
}

fn engines(directory: &Path, only: &[String]) -> Result<Vec<Box<dyn Engine>>> {
    type Open = fn(&Path) -> Result<Box<dyn Engine>>;
    let all: &[(&str, Open)] = &[
        ("disk", |path| Ok(Box::new(disk::Disk::open(path)?))),
        ("namdb", |path| Ok(Box::new(namdb_engine::Namdb::open(path)?))),
        #[cfg(feature = "rocksdb")]
        ("rocksdb", |path| Ok(Box::new(rocksdb_engine::RocksDb::open(path)?))),
        ("redb", |path| Ok(Box::new(redb_engine::Redb::open(path)?))),
        ("sqlite", |path| Ok(Box::new(sqlite_engine::Sqlite::open(path)?))),
    ];
    let is_known = |name: &String| all.iter().any(|(known, _)| known == name);
    let unknown = only.iter().find(|name| !is_known(name));
    let names = || all.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    ensure!(unknown.is_none(), "no database is called {unknown:?}; there are {}", names());
    let chosen = all.iter().filter(|(name, _)| only.is_empty() || only.iter().any(|o| o == name));
    let opened = chosen.map(|(name, open)| {
        eprintln!("peers-durable: {name} loads {} rows", engine::ROWS);
        open(&directory.join(name)).with_context(|| format!("open {name}"))
    });
    opened.collect()
}

fn measure(arguments: &Arguments, directory: &Path) -> Result<Results> {
    let Arguments { turns, seconds, sessions, only, .. } = arguments;
    let mut engines = engines(directory, only)?;
    let load_before = load();
    let mut rows = Vec::new();
    let (all, mut done) = (sessions.len() * turns * engines.len(), 0);
    for &sessions in sessions {
        let mut measured = vec![Vec::new(); engines.len()];
        for _ in 0..*turns {
            for (engine, measured) in engines.iter_mut().zip(&mut measured) {
                let turn = engine.run(sessions, Duration::from_secs_f64(*seconds));
                measured.push(turn.with_context(|| format!("run {}", engine.name()))?);
                done += 1;
                let left_s = (all - done) as f64 * seconds;
                eprintln!("peers-durable: {done} of {all} turns, about {left_s:.0} s left");
            }
        }
        for (engine, measured) in engines.iter().zip(&measured) {
            rows.push(Row::new(sessions, engine.name(), engine.way(sessions), measured));
        }
    }
    Ok(Results {
        machine: namdb::host::machine(),
        directory: directory.display().to_string(),
        load_before,
        load_after: load(),
        turns: *turns,
        seconds_per_turn: *seconds,
        rows,
    })
}

/// The system's load averages over 1, 5 and 15 minutes.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
