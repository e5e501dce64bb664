//! Joins a cluster, and moves inhabitants between two cities. Start it several times at once: the
//! programs share the table, and nobody gets lost.
//!
//! ```text
//! target/release/namdb cluster up          writes namdb.toml
//! cargo run --release -p cities            joins the cluster of namdb.toml
//! target/release/namdb cluster down
//! ```
#![forbid(unsafe_code)]

use namdb::{Db, Isolation, RecordTable, Retry, Session, record};
use std::error::Error;
use std::process::ExitCode;

const MOVES: u32 = 1_000;

record! {
    /// A city and its inhabitants.
    struct City in "city" {
        key { name: String[30] }
        inhabitants: i64,
    }
}

fn main() -> ExitCode {
    let file = std::env::args().nth(1).unwrap_or_else(|| "namdb.toml".to_owned());
    match run(&file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cities: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(file: &str) -> Result<(), Box<dyn Error>> {
    let db = namdb::connect(file)?;
    let cities = RecordTable::<City>::open_or_create(&db, Default::default())?;
    found_cities(&db, cities)?;
    let mut session = db.session();
    for _ in 0..MOVES {
        move_one(&mut session, cities)?;
    }
    let (ghent, bruges) = inhabitants(&db, cities)?;
    println!("Ghent has {ghent} inhabitants, Bruges {bruges}, together {}", ghent + bruges);
    Ok(())
}

/// Adds the cities, unless another program has.
fn found_cities(db: &Db, cities: RecordTable<City>) -> namdb::Result<()> {
    db.session().transaction(Isolation::Serializable, Retry::default(), |txn| {
        for (name, inhabitants) in [("Ghent", 265_000), ("Bruges", 119_000)] {
            if txn.get(cities, name)?.is_none() {
                txn.insert(cities, &City { name: name.to_owned(), inhabitants })?;
            }
        }
        Ok(())
    })
}

/// One inhabitant moves: both rows change, or neither does.
fn move_one(session: &mut Session, cities: RecordTable<City>) -> namdb::Result<()> {
    session.transaction(Isolation::Serializable, Retry::default(), |txn| {
        let mut ghent = txn.get(cities, "Ghent")?.expect("it was founded");
        let mut bruges = txn.get(cities, "Bruges")?.expect("it was founded");
        ghent.inhabitants -= 1;
        bruges.inhabitants += 1;
        txn.update(cities, &ghent)?;
        txn.update(cities, &bruges)?;
        Ok(())
    })
}

fn inhabitants(db: &Db, cities: RecordTable<City>) -> namdb::Result<(i64, i64)> {
    db.session().transaction(Isolation::Snapshot, Retry::default(), |txn| {
        let ghent = txn.get(cities, "Ghent")?.expect("it was founded");
        let bruges = txn.get(cities, "Bruges")?.expect("it was founded");
        Ok((ghent.inhabitants, bruges.inhabitants))
    })
}
