//! Several lanes load a table concurrently over slow links. The rows of each batch are at random
//! positions of an index, so any two batches share most of its leaves.

use crate::{create, population};
use datagen::{Batches, check_references, load_part};
use fabric::DynEnv;
use sim::{Carrier, Endpoint, Interval, SimConfig, World};
use sql::{Program, Source, WorkloadFolder};
use std::cell::RefCell;
use std::rc::Rc;
use txn::server::services;
use txn::{Database, DatabaseConfig};

/// Number of lanes, each on its own compute server.
const LANES: u16 = 16;
const ROWS: u64 = 8_000;
const BATCH: usize = 100;
/// Maximum virtual time per row and lane: twice the expected time, about 20 round trips.
const ROW_NS_MAX: u64 = 20_000_000;
const SCHEMA: &str = "
    CREATE TABLE owner (id integer PRIMARY KEY);
    CREATE TABLE account (id integer PRIMARY KEY, owner integer REFERENCES owner (id), town integer);
    CREATE INDEX account_town ON account (town);";
const LOAD: &str = r#"
name = "x"
unit = "row"
units = 2
[tables.owner]
rows = 1
columns.id = { sequence = [1, 1] }
[tables.account]
rows = 8000
columns.id = { sequence = [1, 8000] }
columns.owner = { constant = 1 }
columns.town = { uniform = [1, 1000000] }
[procedures]
f = { frequency = 1 }
"#;

fn folder() -> WorkloadFolder {
    let procedures = "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;";
    let program = Program::parse(
        &Source::new("schema.sql", SCHEMA),
        &Source::new("procedures.sql", procedures),
    );
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    let load = sql::read_load(&Source::new("workload.toml", LOAD), &program);
    let load = load.unwrap_or_else(|error| panic!("{error}"));
    WorkloadFolder { load, program, checks: Program::default() }
}

/// Memory servers over a message transport: a round trip takes about 0.5 ms.
fn slow_world() -> World {
    let way = Interval::new(150_000, 350_000);
    World::new(SimConfig {
        read_ns: way,
        write_ns: way,
        atomic_ns: way,
        answer_ns: way,
        call_ns: way,
        carrier: Carrier::Server,
        compute_nodes: LANES,
        server_words: vec![16 << 20; 2],
        ..SimConfig::new(1).named("lanes that load together")
    })
}

fn open(world: &World) -> (Endpoint, Database<DynEnv>) {
    let nodes = world.serve(services);
    let admin = world.endpoint(world.compute_node(0));
    let database = Database::create(admin.clone().into_dyn(), nodes, DatabaseConfig::default());
    let database = world.block_on(&admin, database).expect("the servers are empty");
    (admin, database)
}

#[test]
fn lanes_that_meet_in_most_leaves_load_a_table_together() {
    let folder = folder();
    let population = Rc::new(population(&folder));
    let world = slow_world();
    let (admin, database) = open(&world);
    world.block_on(&admin, create(&database, &folder));
    let begun_ns = world.now_ns();
    let loaded = Rc::new(RefCell::new(0));
    for number in 0..LANES {
        let endpoint = world.endpoint(world.compute_node(number));
        let database = database.elsewhere(endpoint.clone().into_dyn());
        let (population, loaded) = (population.clone(), loaded.clone());
        world.spawn_on(&endpoint, async move {
            database.refresh().await.expect("the servers answer");
            let mut lane = database.lane().await.expect("lanes are free");
            let part = (u64::from(number), u64::from(LANES));
            let progress = |rows| *loaded.borrow_mut() += rows;
            for table in 0..2 {
                load_part(
                    &population,
                    &database,
                    &mut lane,
                    table,
                    part,
                    Batches::of(BATCH),
                    &progress,
                )
                .await
                .unwrap_or_else(|error| panic!("{error}"));
            }
        });
    }
    assert_eq!(world.run_until_idle(), 0, "{}: tasks wait for ever", world.identity());
    assert_eq!(*loaded.borrow(), 1 + ROWS);
    let passed_ns = world.now_ns() - begun_ns;
    assert!(passed_ns < ROWS / u64::from(LANES) * ROW_NS_MAX, "{} ms", passed_ns / 1_000_000);
    let report = world.block_on(&admin, database.check()).expect("readable");
    assert_eq!((&report.errors, &report.locks), (&Vec::new(), &Vec::new()));
    let mut lane = world.block_on(&admin, database.lane()).expect("lanes are free");
    let checked = check_references(&population, &database, &mut lane, 1, (0, 1), BATCH);
    world.block_on(&admin, checked).unwrap_or_else(|error| panic!("{error}"));
}
