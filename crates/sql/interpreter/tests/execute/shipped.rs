//! Runs the procedures of the shipped workloads on a few rows.

use crate::database::{Calls, ints};
use crate::naive;
use procedure::node::Workload;
use sql::Program;
use sql_value::{Decimal, Value};
use std::path::Path;

/// The procedures of a shipped folder with PostgreSQL's plans, and one that runs the test's own SQL
/// first.
fn shipped(folder: &str, fill: &str) -> Calls {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(folder);
    let read = |file: &str| std::fs::read_to_string(path.join(file)).expect("the file is there");
    let fill =
        format!("CREATE FUNCTION fill() RETURNS void LANGUAGE plpgsql AS $$ BEGIN {fill} END $$;");
    let procedures = format!("{}\n{fill}", read("procedures.sql"));
    let source = sql::Source::new;
    let program =
        Program::parse(&source("schema.sql", &read("schema.sql")), &source("p.sql", &procedures));
    let mut naive = naive::of_program(program.expect("the shipped files are fine"));
    let mut workload = Workload::read(&path).expect("its plans are there");
    workload.procedures.extend(naive.procedures.pop());
    let mut calls = Calls::over(&workload);
    calls.call("fill", &[]).expect("the rows are fine");
    calls
}

fn array(numbers: &[i64]) -> Value {
    Value::Array(ints(numbers).into())
}

const TPCC: &str = "
    INSERT INTO warehouse VALUES (1, 'w', 's1', 's2', 'c', 'ST', '123456789', 0.1, 300);
    INSERT INTO district SELECT 1, d, 'd', 's1', 's2', 'c', 'ST', '123456789', 0.05, 30, 2
        FROM generate_series(1, 10) d;
    INSERT INTO customer SELECT 1, d, c, 'f' || c, 'OE', 'BAR', 's', 's', 'c', 'ST', '123456789', 'p',
        timestamp '2020-01-01 00:00:00', CASE c WHEN 2 THEN 'BC' ELSE 'GC' END, 50000, 0.1, -10, 10, 1, 0, 'data'
        FROM generate_series(1, 10) d, generate_series(1, 3) c;
    INSERT INTO item SELECT i, i, 'item' || i, i + 0.5, 'an ORIGINAL' FROM generate_series(1, 5) i;
    INSERT INTO stock SELECT 1, i, 12, 's1', 's2', 's3', 's4', 's5', 's6', 's7', 's8', 's9', 's10', 0, 0, 0,
        CASE i WHEN 1 THEN 'ORIGINAL' ELSE 'data' END FROM generate_series(1, 5) i;
    INSERT INTO orders SELECT 1, d, 1, 3, timestamp '2020-01-01 00:00:00', NULL::smallint, 1, 1 FROM generate_series(1, 10) d;
    INSERT INTO new_order SELECT 1, d, 1 FROM generate_series(1, 10) d;
    INSERT INTO order_line SELECT 1, d, 1, 1, 4, 1, NULL::timestamp, 5, 7.25, 'info' FROM generate_series(1, 10) d;
";

#[test]
fn tpcc_places_pays_delivers_and_tells() {
    let mut calls = shipped("tpcc", TPCC);
    let money = |units| Value::Numeric(Decimal { units, scale: 2 });
    let order = [Value::Int(1), Value::Int(1), Value::Int(1), array(&[1, 2]), array(&[1, 1])];
    let order = |quantities| [&order[..], &[array(quantities)]].concat();
    let rows = calls.call("new_order", &order(&[2, 3])).expect("the items are there");
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0][..5], ["item1".into(), money(150), "B".into(), Value::Int(10), money(300)]);
    assert_eq!(rows[1][..5], ["item2".into(), money(250), "G".into(), Value::Int(100), money(750)]);
    // 10.50 * 0.9 * 1.15 = 10.8675
    assert_eq!((&rows[2][10], &rows[2][12]), (&Value::Int(2), &money(1087)));
    let mut unused = order(&[2, 3]);
    unused[3] = array(&[1, 9]);
    let (code, message) = calls.error("new_order", &unused);
    assert_eq!((&*code, &*message), ("P0001", "Item number is not valid"));

    let payment = |by_name: bool| {
        let places = ints(&[77 + i64::from(by_name), 1, 1, 1, 1]);
        let customer = [Value::Bool(by_name), Value::Int(2), "BAR".into(), money(1000)];
        [&places[..], &customer].concat()
    };
    for by_name in [true, false] {
        let rows = calls.call("payment", &payment(by_name)).expect("the customer is there");
        assert_eq!(rows[0][10], Value::Int(2));
        assert_eq!(
            rows[0][25].clone(),
            match by_name {
                true => "2 1 1 1 1 10.00 data".into(),
                false => Value::from("2 1 1 1 1 10.00 2 1 1 1 1 10.00 data"),
            }
        );
    }
    let (code, _) = calls.error("payment", &payment(true));
    assert_eq!(code, "23505");

    let delivered = calls.call("delivery", &ints(&[1, 7])).expect("no error");
    assert_eq!(delivered.len(), 10);
    let delivered = calls.call("delivery", &ints(&[1, 8])).expect("no error");
    assert_eq!(delivered, [ints(&[1, 2])]);

    let of =
        |customer| [ints(&[1, 1]), vec![Value::Bool(false)], ints(&[customer]), vec!["".into()]];
    let status = calls.call("order_status", &of(1).concat()).expect("the customer is there");
    assert_eq!((status.len(), &status[0][5], &status[0][7]), (3, &Value::Int(2), &Value::Int(8)));
    let status = calls.call("order_status", &of(2).concat()).expect("the customer is there");
    assert_eq!((status.len(), &status[0][5]), (1, &Value::Null));
    assert_eq!(calls.value("stock_level", &ints(&[1, 1, 13])), Value::Int(2));
}

#[test]
fn tatp_finds_changes_and_fails_by_design() {
    let nulls = "0, ".repeat(30);
    let fill = format!(
        "INSERT INTO subscriber VALUES (1, '000000000000001', {nulls} 5, 6);
         INSERT INTO access_info VALUES (1, 2, 3, 4, 'abc', 'defgh');
         INSERT INTO special_facility VALUES (1, 1, 1, 0, 0, 'abcde');
         INSERT INTO call_forwarding VALUES (1, 1, 8, 16, '000000000000009');"
    );
    let mut calls = shipped("tatp", &fill);
    let number = Value::from("000000000000001");
    assert_eq!(calls.call("get_subscriber_data", &ints(&[1])).expect("no error")[0].len(), 34);
    let found = calls.call("get_new_destination", &ints(&[1, 1, 8, 12])).expect("no error");
    assert_eq!(found, [[Value::from("000000000000009")]]);
    assert!(calls.call("get_new_destination", &ints(&[1, 1, 0, 12])).expect("no error").is_empty());
    let found = calls.call("get_access_data", &ints(&[1, 2])).expect("no error");
    assert_eq!(found, [[Value::Int(3), Value::Int(4), "abc".into(), "defgh".into()]]);
    assert_eq!(calls.call("update_subscriber_data", &ints(&[1, 1, 1, 9])), Ok(vec![]));
    assert_eq!(calls.error("update_subscriber_data", &ints(&[1, 1, 2, 9])).0, "P0001");
    assert_eq!(calls.call("update_location", &[number.clone(), Value::Int(77)]), Ok(vec![]));
    let row = &calls.call("get_subscriber_data", &ints(&[1])).expect("no error")[0];
    assert_eq!((&row[2], &row[33]), (&Value::Int(1), &Value::Int(77)));
    let insert =
        |starts| [vec![number.clone()], ints(&[1, starts, 24]), vec![number.clone()]].concat();
    assert_eq!(calls.call("insert_call_forwarding", &insert(16)), Ok(vec![]));
    assert_eq!(calls.error("insert_call_forwarding", &insert(16)).0, "23505");
    let delete = [vec![number.clone()], ints(&[1, 16])].concat();
    assert_eq!(calls.call("delete_call_forwarding", &delete), Ok(vec![]));
    assert_eq!(calls.error("delete_call_forwarding", &delete).0, "P0001");
}

#[test]
fn smallbank_moves_money_and_refuses() {
    let mut calls = shipped(
        "smallbank",
        "INSERT INTO accounts VALUES (1, 'one'), (2, 'two');
         INSERT INTO savings VALUES (1, 100), (2, 200);
         INSERT INTO checking VALUES (1, 10), (2, 20);",
    );
    for (name, arguments, result) in [
        ("balance", &[1][..], 110),
        ("deposit_checking", &[1, 5], 15),
        ("send_payment", &[1, 2, 15], 0),
        ("transact_savings", &[2, -50], 150),
        ("write_check", &[2, 500], 600),
        ("amalgamate", &[1, 2], 100),
        ("balance", &[2], 150 + 20 + 15 - 600 + 100),
    ] {
        assert_eq!(calls.value(name, &ints(arguments)), Value::Int(result), "{name}");
    }
    let refused = calls.error("send_payment", &ints(&[1, 2, 15])).1;
    assert_eq!(refused, "There is not enough money");
    assert_eq!(calls.error("balance", &ints(&[3])).1, "There is no such customer");
}

#[test]
fn ycsb_reads_updates_inserts_and_scans() {
    let mut calls = shipped("ycsb", "NULL;");
    let contents = Value::Array((0..10).map(|n| Value::from(&*format!("c{n}"))).collect());
    for key in [3, 1, 2] {
        calls.call("insert_record", &[Value::Int(key), contents.clone()]).expect("a new key");
    }
    let update = |key, field| [ints(&[key, field]), vec!["new".into()]].concat();
    assert_eq!(calls.value("update_record", &update(2, 9)), Value::Int(1));
    assert_eq!(calls.value("update_record", &update(9, 9)), Value::Null);
    assert_eq!(calls.error("update_record", &update(2, 10)).1, "A record has no field 10");
    let row = calls.call("read_record", &ints(&[2])).expect("no error").remove(0);
    assert_eq!((&row[1], &row[11]), (&Value::Int(1), &Value::from("new")));
    let keys =
        |rows: Vec<Vec<Value>>| rows.into_iter().map(|row| row[0].clone()).collect::<Vec<_>>();
    let found = calls.call("scan_records", &ints(&[2, 5])).expect("no error");
    assert_eq!(keys(found), ints(&[2, 3]));
    let found = calls.call("scan_records", &ints(&[0, 1])).expect("no error");
    assert_eq!(keys(found), ints(&[1]));
    let updates = Value::Array([true, false, true].map(Value::Bool).to_vec().into());
    let operations = [array(&[1, 2, 9]), updates, "multi".into()];
    assert_eq!(calls.value("multi_operation", &operations), Value::Int(2));
}
