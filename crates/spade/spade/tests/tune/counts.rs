//! How often a call executes each operation.

use crate::support::{PRICES, Subject, options};
use procedure::node::Operator;
use spade::tune::Tuning;

/// Mean executions per call of the operations with this description.
fn times(tuning: &Tuning, procedure: &str, what: &str) -> Vec<f64> {
    let found = tuning.procedures.iter().find(|of| of.procedure == procedure);
    let operations = &found.expect("it is there").operations;
    operations.iter().filter(|of| of.what.starts_with(what)).map(|of| of.per_call).collect()
}

#[test]
fn arrays_and_branches_count_as_arguments_are_drawn() {
    let tuning = Subject::shipped("tpcc").tuned(&PRICES.measured(), &options());
    let items = times(&tuning, "new_order", "lookup of item");
    assert!(items.len() == 1 && (9.5..10.5).contains(&items[0]), "{items:?}: 5 to 15 alike");
    assert_eq!(times(&tuning, "delivery", "delete from new_order"), [10.0]);
    let by_name: Vec<f64> = times(&tuning, "payment", "lookup of customer by customer_name");
    assert!(
        !by_name.is_empty() && by_name.iter().all(|of| (0.5..0.7).contains(of)),
        "{by_name:?}: 60 of 100"
    );
    let assumed = &tuning.assumptions;
    assert!(
        assumed
            .iter()
            .any(|what| what.starts_with("payment, line ") && what.contains("all branches")),
        "{assumed:?}"
    );
    assert!(
        !assumed.iter().any(|what| what.starts_with("new_order, line")),
        "all of it is drawn: {assumed:?}"
    );
}

#[test]
fn cases_are_as_frequent_as_their_values() {
    let tuning = Subject::shipped("ycsb").tuned(&PRICES.measured(), &options());
    let updates = times(&tuning, "update_record", "update of usertable");
    assert_eq!(updates.len(), 10, "one for each field");
    assert!((updates.iter().sum::<f64>() - 1.0).abs() < 1e-4, "{updates:?}");
    assert!(updates.iter().all(|of| (0.05..0.16).contains(of)), "{updates:?}");
}

#[test]
fn calls_that_do_not_succeed_change_nothing() {
    let mut subject = Subject::shipped("tatp");
    let (measured, options) = (PRICES.measured(), options());
    let tuning = subject.tuned(&measured, &options);
    let inserted =
        |tuning: &Tuning| times(tuning, "insert_call_forwarding", "insert into call_forwarding");
    // Five of sixteen: the middle of the bounds in the load.
    assert_eq!(inserted(&tuning), [0.3125]);
    let looked = times(&tuning, "insert_call_forwarding", "lookup of special_facility");
    assert_eq!(looked, [4.0], "failing calls look, too");
    let told = "insert_call_forwarding, 31 of 100 calls succeed according to workload.toml";
    assert!(
        tuning.assumptions.iter().any(|what| what.starts_with(told)),
        "{:?}",
        tuning.assumptions
    );
    subject.folder.load.procedures.iter_mut().for_each(|of| of.succeeds = None);
    let unsaid = subject.tuned(&measured, &options);
    assert_eq!(inserted(&unsaid), [1.0]);
    assert!(!unsaid.assumptions.iter().any(|what| what.contains("calls succeed")));
    let rate = |tuning: &Tuning| tuning.forecast.transactions_per_s[1];
    assert!(rate(&tuning) > rate(&unsaid));
}

#[test]
fn forecasts_are_sums_of_service_times() {
    // Three local rows use only cores: 8 on each of 4 machines.
    let subject = Subject::shipped("smallbank").only("balance");
    let options = spade::tune::Options { remote_calls: 0.0, ..options() };
    let tuning = subject.tuned(&PRICES.measured(), &options);
    let [least, expected, most] = tuning.forecast.transactions_per_s;
    let exact = 4.0 * 8.0 * 1e9 / (3.0 * PRICES.row);
    // Dense tables have no chains; the measured table has some.
    assert!((0.9..1.3).contains(&(expected / exact)), "{expected} and {exact}");
    assert_eq!((least, most), (expected, expected), "there was one repetition");
    assert_eq!(tuning.forecast.bottleneck, "cores");
    assert!(
        (250.0..320.0).contains(&(1e3 * tuning.forecast.latency_us[1])),
        "{:?}",
        tuning.forecast.latency_us
    );
}

#[test]
fn variables_set_from_rows_are_not_constants() {
    let tuning = Subject::shipped("tpcc").tuned(&PRICES.measured(), &options());
    // `newest` is the number of an order, although a later statement sets its source to null.
    assert_eq!(times(&tuning, "order_status", "scan of order_line"), [1.0]);
    let told =
        |what: &String| what.starts_with("order_status") && what.contains("are assumed to find");
    assert!(tuning.assumptions.iter().any(told), "{:?}", tuning.assumptions);
}

#[test]
fn ranges_are_as_long_as_arguments_say() {
    let mut subject = Subject::shipped("ycsb").only("scan_records");
    let scans = |tuning: &Tuning| {
        let found = tuning.procedures.iter().find(|of| of.procedure == "scan_records");
        found.expect("it is there").operations[0].what.clone()
    };
    let tuning = subject.tuned(&PRICES.measured(), &options());
    let told = scans(&tuning);
    let rows =
        told.strip_prefix("scan of usertable by key, ").and_then(|of| of.strip_suffix(" rows"));
    let rows: f64 = rows.and_then(|rows| rows.parse().ok()).unwrap_or_else(|| panic!("{told}"));
    assert!((45.0..56.0).contains(&rows), "1 to 100 alike: {rows}");
    assert!(!tuning.assumptions.iter().any(|what| what.contains("LIMIT")));
    // PostgreSQL estimates that a variable LIMIT returns a tenth of the rows.
    let few = |there: u64| {
        let mut subject = Subject::shipped("ycsb").only("scan_records");
        for of in subject.workload.procedures.iter_mut().flat_map(|of| &mut of.statements) {
            if let Operator::Limit { input, .. } = &mut of.root.operator {
                input.rows = there;
                of.root.rows = there / 10;
            }
        }
        scans(&subject.tuned(&PRICES.measured(), &options()))
    };
    assert_eq!(few(60), told, "not six");
    assert_eq!(few(20), "scan of usertable by key, 20 rows", "there are no more");
    // The scan must also read the rows that an OFFSET skips.
    for of in subject.workload.procedures.iter_mut().flat_map(|of| &mut of.statements) {
        if let Operator::Limit { limit, offset, .. } = &mut of.root.operator {
            offset.clone_from(limit);
        }
    }
    let tuning = subject.tuned(&PRICES.measured(), &options());
    assert!(scans(&tuning).contains(", 33333 rows"), "{}", scans(&tuning));
    let told = |what: &String| what.starts_with("scan_records, statement 1: its LIMIT is unknown");
    assert!(tuning.assumptions.iter().any(told), "{:?}", tuning.assumptions);
}

#[test]
fn missing_rows_are_counted_and_reported() {
    let tuning = Subject::shipped("tatp").tuned(&PRICES.measured(), &options());
    let told = |what: &String| what.contains("calls that find none are assumed");
    assert!(tuning.assumptions.iter().any(told), "{:?}", tuning.assumptions);
}
