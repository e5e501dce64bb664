//! Counts its visits in a directory. End it as you like, also by `kill -9`: the next start knows
//! every visit that was printed.
//!
//! ```text
//! cargo run --release -p keep              counts in the directory `kept`
//! cargo run --release -p keep -- DIR       in another one
//! ```
#![forbid(unsafe_code)]

use namdb::{Config, Isolation, KeyValueTable, Retry};
use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "kept".to_owned());
    match run(&directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("keep: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(directory: &str) -> Result<(), Box<dyn Error>> {
    let db = namdb::open(Config { directory: Some(directory.into()), ..Config::default() })?;
    let counters = KeyValueTable::open_or_create(&db, "counter", 16, 8, Default::default())?;
    let visit = db.session().transaction(Isolation::Serializable, Retry::default(), |txn| {
        let before = txn.read_value(counters, b"visits")?;
        let before = before.and_then(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)));
        let visit = before.unwrap_or(0) + 1;
        txn.write_value(counters, b"visits", &visit.to_le_bytes())?;
        namdb::Ok(visit)
    })?;
    // The transaction has returned, so the visit is on the disk.
    println!("visit {visit}; now try: kill -9 {}", std::process::id());
    std::io::stdin().read_line(&mut String::new())?;
    Ok(())
}
