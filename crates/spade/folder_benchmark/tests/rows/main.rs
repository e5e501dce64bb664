//! Tables have as many rows after a run as calls have left; the check reports wrong `rows` in
//! `workload.toml`.

#[path = "../../../../sql/datagen/tests/loaded/small.rs"]
mod small;

#[path = "../support/loaded.rs"]
mod loaded;

use fabric::{LocalEnv, run_now};
use folder_benchmark::{Options, Stored};
use layout::{Key, RecordRef};
use loaded::loaded;
use small::small;
use sql::{Source, WorkloadFolder};
use std::path::{Path, PathBuf};
use txn::{Database, Isolation, Lane, Outcome};
use workload::{
    AbortCounts, CheckResult, Finished, RunTotals, TransactionResult, Whereabouts, Workload, count,
};

const SERVER_BYTES: u64 = 256 << 20;
/// Number of calls of a run.
const CALLS: usize = 800;
/// Visitors of a house come alone or in pairs, and leave.
const VISITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rows/visits");

/// A finished run.
struct Run {
    stored: Stored,
    database: Database<LocalEnv>,
    lane: Lane<LocalEnv>,
    before: Vec<u64>,
    totals: RunTotals,
}

impl Run {
    fn new(folder: &Path, read: WorkloadFolder) -> Self {
        let options = Options {
            units: Some(1),
            wants_plans: true,
            linked: &[],
            design: None,
            isolation: Isolation::Snapshot,
            seed: 1,
        };
        let stored = Stored::of(folder, read, &options).unwrap_or_else(|error| panic!("{error}"));
        let (database, mut lane) = loaded(&stored, SERVER_BYTES);
        let before = Self::count(&stored, &database, &mut lane);
        let mut terminal = stored.terminal(&database, 0, 1, 1).expect("the tables are there");
        let mut totals = RunTotals::new(stored.procedure_names().len());
        for _ in 0..CALLS {
            let finished = run_now(Workload::run_one(&stored, &mut lane, &mut terminal));
            totals.add(&finished.unwrap_or_else(|error| panic!("{error}")));
        }
        Self { stored, database, lane, before, totals }
    }

    /// A run of the visitors, with text replaced in `workload.toml`.
    fn of_visits(replaced: &[(&str, &str)]) -> Self {
        let mut text = std::fs::read_to_string(PathBuf::from(VISITS).join("workload.toml"))
            .expect("it is there");
        for (from, to) in replaced {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        let mut read =
            WorkloadFolder::read(Path::new(VISITS)).unwrap_or_else(|error| panic!("{error}"));
        let load = sql::read_load(&Source::new("workload.toml", &text), &read.program);
        read.load = load.unwrap_or_else(|error| panic!("{error}"));
        Self::new(Path::new(VISITS), read)
    }

    fn count(
        stored: &Stored,
        database: &Database<LocalEnv>,
        lane: &mut Lane<LocalEnv>,
    ) -> Vec<u64> {
        let names = Workload::<LocalEnv>::table_names(stored);
        run_now(count::rows(database, lane, names)).unwrap_or_else(|error| panic!("{error}"))
    }

    fn checks(&mut self) -> Vec<CheckResult> {
        let now = Self::count(&self.stored, &self.database, &mut self.lane);
        let stored = &self.stored;
        Workload::<LocalEnv>::check_rows(stored, &self.before, &now, &self.totals)
    }

    /// The failing check and its detail; `None` if all hold.
    fn failure(&mut self) -> Option<(&'static str, String)> {
        let mut failed = self.checks().into_iter().filter(|check| !check.ok);
        let first = failed.next().map(|check| (check.name, check.detail));
        assert_eq!(failed.next(), None);
        first
    }

    /// Deletes a row of a table.
    fn lose(&mut self, table: &str) {
        let table = self.database.table(table).expect("it is there");
        let mut transaction =
            run_now(self.lane.begin(Isolation::Snapshot)).expect("nobody is in the way");
        let mut key = Vec::new();
        let look = &mut |row: RecordRef<'_>| key = row.key().to_vec();
        run_now(transaction.for_each(table, look)).expect("it can be read");
        let row = run_now(transaction.read(table, &Key::from_words(&key)));
        transaction.delete(row.expect("it can be read").expect("it is there"));
        assert_eq!(run_now(transaction.commit()), Outcome::Committed);
    }

    /// Changes the outcome of calls to unknown.
    fn lose_sight(&mut self, procedure: usize, calls: u32) {
        let finished = Finished {
            kind: procedure,
            result: TransactionResult::Unknown,
            retries: 0,
            skipped: 0,
            aborts: AbortCounts::default(),
            whereabouts: Whereabouts::Anywhere,
            is_shipped: false,
        };
        (0..calls).for_each(|_| self.totals.add(&finished));
    }
}

#[test]
fn shipped_folders_have_the_rows_that_their_calls_leave() {
    for (name, checks) in [
        ("smallbank", &["tables without INSERT and DELETE keep their rows"] as &[&str]),
        (
            "tatp",
            &["tables without INSERT and DELETE keep their rows", "rows of call_forwarding add up"],
        ),
        (
            "tpcc",
            &[
                "tables without INSERT and DELETE keep their rows",
                "rows of history add up",
                "rows of orders add up",
            ],
        ),
        ("ycsb", &["rows of usertable add up"]),
    ] {
        let mut run = Run::new(&small::path(name), small(name));
        let found = run.checks();
        let names: Vec<&str> = found.iter().map(|check| check.name).collect();
        assert_eq!((names.as_slice(), run.failure()), (checks, None), "{name}");
    }
}

#[test]
fn rows_added_without_a_declaration_are_reported() {
    let mut run = Run::of_visits(&[]);
    let checks = run.checks();
    let details: Vec<&str> = checks.iter().map(|check| check.detail.as_str()).collect();
    assert!(checks.iter().all(|check| check.ok), "{checks:?}");
    assert_eq!(details[0], "1 table, 10 rows");
    for term in [
        "100 before the run, ",
        " times +1 by come, ",
        " times +2 by come_in_pairs, ",
        " times -1 by leave: ",
    ] {
        assert!(details[1].contains(term), "{term} in {details:?}");
    }

    let mut run = Run::of_visits(&[("rows.visit = 2", "rows.visit = 1")]);
    let (name, detail) = run.failure().expect("pairs are two");
    assert!(name == "rows of visit add up" && detail.contains(" found "), "{name}: {detail}");

    let mut run = Run::of_visits(&[("rows.visit = -1\n", "")]);
    let (name, detail) = run.failure().expect("some have left");
    assert_eq!(name, "rows of visit add up");
    assert!(detail.contains("; workload.toml has no `rows` for leave"), "{detail}");

    // A table without `rows` in workload.toml is not checked.
    let nothing = [("rows.visit = 1\n", ""), ("rows.visit = 2\n", ""), ("rows.visit = -1\n", "")];
    let mut run = Run::of_visits(&nothing);
    assert_eq!((run.checks().len(), run.failure()), (1, None));
}

#[test]
fn lost_rows_are_reported() {
    let mut run = Run::of_visits(&[]);
    run.lose("visit");
    let (name, detail) = run.failure().expect("one is lost");
    assert!(
        name == "rows of visit add up" && !detail.contains("workload.toml has no `rows`"),
        "{name}: {detail}"
    );
    let mut run = Run::of_visits(&[]);
    run.lose("room");
    let failure = run.failure().expect("one is lost");
    let expected = "room has 9 rows instead of 10".to_owned();
    assert_eq!(failure, ("tables without INSERT and DELETE keep their rows", expected));
}

/// The outcome of these calls is unknown, so that several row counts are accepted.
#[test]
fn calls_of_unknown_outcome_widen_the_allowed_row_counts() {
    let mut run = Run::of_visits(&[]);
    run.lose("visit");
    // These calls can only have inserted rows.
    run.lose_sight(1, 3);
    let (_, detail) = run.failure().expect("one is lost");
    assert!(detail.contains("; 3 calls of unknown outcome allow "), "{detail}");
    run.lose_sight(2, 1);
    assert_eq!(run.failure(), None);
    let told = run.checks().swap_remove(1).detail;
    assert!(
        told.contains(" found ") && told.contains("; 4 calls of unknown outcome allow "),
        "{told}"
    );
    run.lose("visit");
    assert!(run.failure().is_some(), "one may have left, and two are lost");
    // Calls that change another table do not matter.
    run.lose_sight(3, 10);
    assert!(run.failure().is_some_and(|(_, detail)| detail.contains("; 4 calls of")));
}
