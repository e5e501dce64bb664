//! Stored procedures as programs in Rust call them.

mod folder;

use folder::small;
use namdb::procedures::{
    CallFailure, Database, Decimal, Misuse, OpenFailure, Options, Session, Tables, Texts,
};
use namdb::{Abort, Isolation};
use std::path::Path;
use std::time::Duration;

const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

fn open(workload: &str, test: &str, options: &Options) -> Database {
    let folder = small(workload, &Path::new(SCRATCH).join(test));
    Database::open(folder, options).unwrap_or_else(|error| panic!("{error}"))
}

fn options() -> Options {
    Options { sessions: 3, ..Options::default() }
}

/// TATP's reads, writes and errors are the same in generated code and in plans.
#[test]
fn subscribers_are_read_and_moved() {
    for plans_only in [false, true] {
        let database = open("tatp", "subscribers", &Options { plans_only, ..options() });
        let session = database.session().expect("there are lanes");
        assert_eq!(session.is_generated(), !plans_only);
        let mut data = session.call("get_subscriber_data").expect("the workload has it");
        let rows = data.bind(0, 7).expect("it is an integer").execute().expect("7 is there");
        assert_eq!((rows.len(), rows.columns().len()), (1, 34));
        assert_eq!(rows.int(0, "s_id"), Ok(Some(7)));
        assert_eq!(rows.text(0, "sub_nbr"), Ok(Some("000000000000007".into())));

        let mut moved = session.call("update_location").expect("the workload has it");
        moved.bind("subscriber_number", "000000000000007").expect("a text");
        moved.bind("new_location", 4711).expect("an integer");
        assert!(moved.execute().expect("7 is there").is_empty());
        let rows = data.execute().expect("it stays bound");
        assert_eq!(rows.int(0, "vlr_location"), Ok(Some(4711)));

        moved.bind(0, "000000099999999").expect("a text");
        let refused = moved.execute().expect_err("there is no such subscriber");
        let (sqlstate, message) = ("P0001".to_owned(), "There is no such subscriber".to_owned());
        assert_eq!(refused, CallFailure::Refused { sqlstate, message });
        assert!(moved.rows().is_empty());
    }
}

#[test]
fn an_order_has_a_row_for_each_line() {
    let database = open("tpcc", "order", &options());
    let session = database.session().expect("there are lanes");
    let mut order = session.call("new_order").expect("the workload has it");
    order.bind("home_warehouse", 1).and_then(|call| call.bind("home_district", 3)).expect("both");
    order.bind("customer_number", 17).and_then(|call| call.bind("items", [5, 6, 7])).expect("both");
    order.bind("supply_warehouses", [1, 1, 1]).expect("an array");
    order.bind("quantities", [2, 3, 4]).expect("an array");
    let rows = order.execute().expect("all are there");
    assert_eq!(rows.len(), 4);
    assert_eq!(rows.is_null(0, "total_amount"), Ok(true));
    assert_eq!(rows.decimal(3, "item_price"), Ok(None));
    let amounts: i64 = (0..3).map(|row| amount(&rows.decimal(row, "line_amount"))).sum();
    let total = amount(&rows.decimal(3, "total_amount"));
    assert!(0 < amounts && amounts / 2 < total && total < 2 * amounts, "{amounts} {total}");
    let as_text = rows.text(3, "total_amount").expect("there is one").expect("it is not null");
    assert_eq!(as_text, format!("{}.{:02}", total / 100, total % 100));
    assert_eq!(rows.int(3, "order_number"), Ok(Some(121)));

    order.bind("items", [5, 1001, 7]).expect("an array");
    let refused = order.execute().expect_err("nobody has such an item").to_string();
    assert_eq!(refused, "Item number is not valid (SQLSTATE P0001)");
}

fn amount(value: &Result<Option<Decimal>, Misuse>) -> i64 {
    let decimal = value.clone().expect("it is a decimal").expect("it is not null");
    assert_eq!(decimal.scale, 2);
    decimal.units
}

/// Two threads update the same account: no update is lost, and conflicting calls are retried.
#[test]
fn contention_is_tried_again() {
    const CALLS: i64 = 2_000;
    let database = open("smallbank", "contention", &options());
    let deposit = |session: &Session| {
        let mut call = session.call("deposit_checking").expect("the workload has it");
        call.bind(0, 7).and_then(|call| call.bind("amount", 1)).expect("both are numbers");
        call.within(Duration::from_secs(20));
        call
    };
    let pay = || {
        let session = database.session().expect("there are lanes");
        let mut call = deposit(&session);
        for _ in 0..CALLS {
            call.execute().expect("it is tried again");
        }
    };
    let session = database.session().expect("there are lanes");
    let balance = || {
        let mut call = session.call("balance").expect("the workload has it");
        let rows = call.bind(0, 7).expect("a number").execute().expect("7 is there");
        rows.int(0, 0).expect("a number").expect("it is not null")
    };
    let before = balance();
    std::thread::scope(|scope| {
        scope.spawn(pay);
        scope.spawn(pay);
    });
    assert_eq!(balance() - before, 2 * CALLS);
}

#[test]
fn misuse_is_told_in_sentences() {
    let database = open("tatp", "misuse", &Options { tables: Tables::Empty, ..options() });
    let names: Vec<&str> = database.procedures().map(|of| of.name.as_str()).collect();
    assert_eq!(names[..2], ["get_subscriber_data", "get_new_destination"]);
    let session = database.session().expect("there are lanes");
    let unknown = session.call("get_data").err().expect("there is none").to_string();
    assert!(unknown.contains("no procedure get_data") && unknown.contains("update_location"));

    let mut call = session.call("get_access_data").expect("the workload has it");
    let unbound = call.execute().expect_err("nothing is bound").to_string();
    assert!(
        unbound.contains("parameter subscriber_id of get_access_data has no value"),
        "{unbound}"
    );
    let told = |refused: Misuse| refused.to_string();
    let unknown = told(call.bind("access", 1).err().expect("there is none"));
    assert!(
        unknown.contains("no parameter access; it has subscriber_id, access_type"),
        "{unknown}"
    );
    let beyond = told(call.bind(2, 1).err().expect("there is none"));
    assert!(beyond.contains("position 2: it has 2, counted from 0"), "{beyond}");
    let wrong = told(call.bind(1, Texts(vec!["x".to_owned()])).err().expect("it is a number"));
    assert_eq!(wrong, "parameter access_type of get_access_data is smallint, and takes no text[]");

    call.bind(0, 7).and_then(|call| call.bind(1, 70_000)).expect("both are numbers");
    match call.execute() {
        Err(CallFailure::Refused { sqlstate, .. }) => assert_eq!(sqlstate, "22003"),
        other => panic!("{other:?}"),
    }
    let rows = call.bind(1, 1).expect("a number").execute().expect("nobody is there");
    assert!(rows.is_empty());
    let nothing = told(rows.int(0, "data1").expect_err("there are no rows"));
    assert!(
        nothing.contains("row 0, column 0: the call has given 0 rows of 4 columns"),
        "{nothing}"
    );
    let unknown = told(rows.int(0, "data9").expect_err("there is no such column"));
    assert!(unknown.contains("no column data9; they have data1"), "{unknown}");
}

#[test]
fn folders_and_sizes_that_cannot_be_are_told() {
    let refused = |folder: &Path, options: &Options| match Database::open(folder, options) {
        Ok(_) => panic!("it is refused"),
        Err(error) => error,
    };
    let missing = refused(Path::new("/nonexistent/workload"), &options()).to_string();
    assert!(missing.contains("/nonexistent/workload"), "{missing}");
    let folder = small("tatp", &Path::new(SCRATCH).join("sizes"));
    let huge = Options { memory_bytes: Some(1 << 60), ..options() };
    assert!(matches!(refused(&folder, &huge), OpenFailure::TooLarge { .. }));
    let none = Options { sessions: 65, ..options() };
    assert!(refused(&folder, &none).to_string().contains("1 to 64"));
}

/// Without retries, the caller gets the conflict.
#[test]
fn a_call_that_may_not_be_tried_again_says_that_it_met_others() {
    let options = Options { isolation: Isolation::Serializable, ..options() };
    let database = open("smallbank", "once", &options);
    let pay = |ends: &std::sync::atomic::AtomicBool| {
        use std::sync::atomic::Ordering::Relaxed;
        let session = database.session().expect("there are lanes");
        let mut call = session.call("deposit_checking").expect("the workload has it");
        call.bind(0, 7).and_then(|call| call.bind(1, 1)).expect("both are numbers");
        call.retry(0);
        for _ in 0..5_000_000 {
            match call.execute() {
                Ok(_) => {}
                Err(CallFailure::Aborted { reason, retries }) => {
                    assert!(reason.is_retryable() && reason != Abort::User);
                    assert_eq!(retries, 0);
                    ends.store(true, Relaxed);
                }
                Err(other) => panic!("{other}"),
            }
            if ends.load(Relaxed) {
                return;
            }
        }
        panic!("two threads that write the same row never met");
    };
    let ends = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| pay(&ends));
        scope.spawn(|| pay(&ends));
    });
}

/// Threads that update one row conflict; a call that commits reports its retries.
#[test]
fn a_committed_call_counts_its_retries() {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    for plans_only in [false, true] {
        let options = Options { sessions: 4, plans_only, ..options() };
        let database = open("smallbank", "retries", &options);
        let most = AtomicU32::new(0);
        let pay = || {
            let session = database.session().expect("there are lanes");
            let mut call = session.call("deposit_checking").expect("the workload has it");
            call.bind(0, 7).and_then(|call| call.bind(1, 1)).expect("both are numbers");
            for _ in 0..2_000_000 {
                call.execute().unwrap_or_else(|error| panic!("{error}"));
                most.fetch_max(call.retries(), Relaxed);
                if most.load(Relaxed) > 0 {
                    return;
                }
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(pay)));
        assert!(most.into_inner() > 0, "no call was tried again, plans only: {plans_only}");
    }
}
