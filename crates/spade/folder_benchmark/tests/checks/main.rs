//! The checks of the shipped workloads hold after the load and after calls, and each finds the
//! damage that it is for.

#[path = "../../../../sql/datagen/tests/loaded/small.rs"]
mod small;

use Damage::{Delete, Null, Set, Text};
use datagen::{Batches, Mix, Population, Scale, load_part};
use fabric::{LocalEnv, run_now};
use interpreter::{Procedures, Settings, create, default_design};
use layout::{Key, RecordRef};
use procedure::Workload;
use small::small;
use std::collections::BTreeSet;
use std::path::PathBuf;
use txn::local::{OpenConfig, open};
use txn::{Database, Isolation, Lane, Outcome};

const SERVER_BYTES: u64 = 256 << 20;
/// Rows per transaction of the load.
const BATCH_ROWS: usize = 50;
const CALLS: usize = 800;

/// Damage to the first rows of a table in key order.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// Deletes this number of rows.
    Delete(u32),
    /// Sets the column to this number.
    Set(&'static str, i64),
    /// Sets the column to null.
    Null(&'static str),
    /// Sets the column to this text.
    Text(&'static str, &'static str),
}

/// A table, its damage, and checks that must find it, among others.
type Case = (&'static str, Damage, &'static [&'static str]);

struct Loaded {
    database: Database<LocalEnv>,
    lane: Lane<LocalEnv>,
    population: Population,
    workload: Workload,
    checks: Workload,
}

impl Loaded {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(name);
        let small = small(name);
        let scale = Scale { units: 1, seed: 1, now_us: 0 };
        let population = Population::new(&small.program, &small.load, scale);
        let population = population.unwrap_or_else(|error| panic!("{error}"));
        let workload = Workload::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let checks = Workload::read_checks(&path).unwrap_or_else(|error| panic!("{error}"));
        let config = OpenConfig { servers: 1, server_bytes: SERVER_BYTES, ..OpenConfig::default() };
        let database = open(&config).expect("memory can be mapped");
        let design = default_design(&workload, &|_| 10_000);
        run_now(create(&database, &workload.catalog, &design)).expect("the tables are new");
        let mut lane = run_now(database.lane()).expect("lanes are free");
        for table in 0..population.tables().count() {
            let loaded = load_part(
                &population,
                &database,
                &mut lane,
                table,
                (0, 1),
                Batches::of(BATCH_ROWS),
                &|_| {},
            );
            run_now(loaded).unwrap_or_else(|error| panic!("{error}"));
        }
        Self { database, lane, population, workload, checks }
    }

    fn call(&mut self) {
        let opened = Procedures::open(&self.database, &self.workload, Settings::default());
        let mut procedures = opened.unwrap_or_else(|error| panic!("{error}"));
        let mut calls = self.population.calls(0, 1, Mix::Deck);
        let mut committed = 0;
        for _ in 0..CALLS {
            let call = calls.next_call(0);
            let name = &self.workload.procedures[call.procedure].routine.name;
            let id = procedures.find(name).expect("it was opened");
            let called = run_now(procedures.call(&mut self.lane, id, &call.arguments));
            committed += usize::from(called.is_ok());
        }
        assert!(committed > CALLS / 2, "{committed} of {CALLS} calls have committed");
    }

    /// The checks that return rows.
    fn broken(&mut self) -> BTreeSet<String> {
        let opened = Procedures::open(&self.database, &self.checks, Settings::default());
        let mut procedures = opened.unwrap_or_else(|error| panic!("{error}"));
        let mut broken = BTreeSet::new();
        for check in &self.checks.procedures {
            let name = &check.routine.name;
            let id = procedures.find(name).expect("it was opened");
            let called = run_now(procedures.call(&mut self.lane, id, &[]));
            let outcome = called.unwrap_or_else(|error| panic!("{name}: {error}"));
            if !outcome.rows.is_empty() {
                broken.insert(name.clone());
            }
        }
        broken
    }

    fn damage(&mut self, name: &str, damage: Damage) {
        let id = self.database.table(name).expect("the table was created");
        let tables = &self.workload.catalog.tables;
        let table = tables.iter().find(|table| table.name == name).expect("it is in the schema");
        let position = |column: &str| {
            let place = table.columns.iter().position(|known| known.name == column);
            place.expect("there is such a column")
        };
        let mut txn = run_now(self.lane.begin(Isolation::Snapshot)).expect("nobody is in the way");
        let mut first: Option<Vec<u64>> = None;
        let look = &mut |row: RecordRef<'_>| {
            if first.as_deref().is_none_or(|first| row.key() < first) {
                first = Some(row.key().to_vec());
            }
        };
        run_now(txn.for_each(id, look)).expect("the table can be read");
        let key = Key::from_words(&first.expect("there are rows"));
        let row = run_now(txn.read(id, &key)).expect("it can be read").expect("it is there");
        match damage {
            Delete(_) => txn.delete(row),
            Set(column, number) => txn.update(row).set_int(position(column), number),
            Null(column) => txn.update(row).set_null(position(column)),
            Text(column, text) => {
                txn.update(row).set_bytes(position(column), text.as_bytes());
            }
        }
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
        if let Delete(rows @ 2..) = damage {
            self.damage(name, Delete(rows - 1));
        }
    }
}

/// Applies one damage after the other. The listed checks must pass before and fail after it, and
/// every check must be listed.
fn every_check_finds_something(name: &str, cases: &[Case]) {
    let mut loaded = Loaded::new(name);
    let mut broken = loaded.broken();
    assert_eq!(broken, BTreeSet::new(), "{name} right after the load");
    let mut named = BTreeSet::new();
    for (table, damage, finders) in cases {
        loaded.damage(table, *damage);
        let now = loaded.broken();
        for finder in *finders {
            let is_new = !broken.contains(*finder) && now.contains(*finder);
            assert!(is_new, "{finder} after {damage:?} of {table}: {broken:?}, then {now:?}");
            named.insert((*finder).to_owned());
        }
        broken = now;
    }
    let checks = loaded.checks.procedures.iter().map(|check| check.routine.name.clone());
    assert_eq!(named, checks.collect(), "each check of {name} has its case");
}

#[test]
fn tpcc_is_checked() {
    let cases: [Case; 9] = [
        ("order_line", Null("ol_delivery_d"), &["lines_are_delivered_with_their_order"]),
        ("orders", Null("o_carrier_id"), &["orders_wait_or_have_a_carrier"]),
        ("order_line", Delete(1), &["orders_have_their_lines"]),
        ("orders", Delete(1), &["lines_have_their_order", "districts_number_their_orders"]),
        ("district", Set("d_next_o_id", 1), &["new_orders_are_the_last_ones"]),
        (
            "history",
            Delete(1),
            &[
                "district_has_the_sum_of_its_payments",
                "warehouse_has_the_sum_of_its_payments",
                "customers_have_the_sum_of_their_payments",
            ],
        ),
        ("warehouse", Set("w_ytd", 1), &["warehouse_has_the_sum_of_its_districts"]),
        ("customer", Set("c_balance", 7), &["balances_are_what_was_delivered_and_not_paid"]),
        ("stock", Set("s_ytd", 5), &["stock_counts_its_lines"]),
    ];
    every_check_finds_something("tpcc", &cases);
}

#[test]
fn tatp_is_checked() {
    let cases: [Case; 4] = [
        (
            "subscriber",
            Text("sub_nbr", "000000000999999"),
            &["numbers_are_those_of_their_subscribers"],
        ),
        ("subscriber", Delete(1), &["access_is_of_a_subscriber", "facilities_are_of_a_subscriber"]),
        // Those of the deleted first subscriber, and of the second.
        ("access_info", Delete(8), &["subscribers_have_one_to_four_of_each"]),
        ("special_facility", Delete(1), &["forwarding_is_of_a_facility"]),
    ];
    every_check_finds_something("tatp", &cases);
}

#[test]
fn smallbank_is_checked() {
    let cases: [Case; 2] = [
        ("savings", Set("balance", -1), &["savings_are_not_overdrawn"]),
        ("checking", Delete(1), &["customers_have_both_accounts"]),
    ];
    every_check_finds_something("smallbank", &cases);
}

#[test]
fn ycsb_is_checked() {
    every_check_finds_something(
        "ycsb",
        &[("usertable", Set("counter", -1), &["counters_count_up"])],
    );
}

/// The small TPC-C begins with fewer than the 3,000 orders from which the stock check counts.
#[test]
fn checks_hold_after_calls() {
    for (name, other) in [
        ("tpcc", Some("stock_counts_its_lines")),
        ("tatp", None),
        ("smallbank", None),
        ("ycsb", None),
    ] {
        let mut loaded = Loaded::new(name);
        loaded.call();
        let broken: Vec<String> = loaded.broken().into_iter().collect();
        assert_eq!(broken, other.map(str::to_owned).into_iter().collect::<Vec<_>>(), "{name}");
    }
}
