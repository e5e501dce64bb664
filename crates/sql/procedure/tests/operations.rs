//! The low-level operations of the shipped workloads: table, access path, count, and origins of the
//! values.

use procedure::operations::{Action, Operation, Origin, Path, Times};
use procedure::{Procedure, Workload};
use std::path::Path as File;

fn workload(name: &str) -> Workload {
    let folder = File::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(name);
    Workload::read(&folder).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Prints one operation per line.
fn shown(workload: &Workload, name: &str) -> Vec<String> {
    let procedure = workload.procedures.iter().find(|procedure| procedure.routine.name == name);
    let procedure = procedure.expect("there is such a procedure");
    let operations = workload.operations(procedure);
    operations.iter().map(|operation| line(workload, procedure, &operations, operation)).collect()
}

fn line(
    workload: &Workload,
    procedure: &Procedure,
    all: &[Operation],
    operation: &Operation,
) -> String {
    let table = &workload.catalog.tables[operation.table];
    let origin = |origin: &Origin| of(workload, procedure, all, origin);
    let action = match &operation.action {
        Action::Read { path, keys, is_for_change, is_reference, .. } => {
            let path = match path {
                Path::Key => "key".to_owned(),
                Path::Lookup(index) => table.indexes[*index].name.clone(),
                Path::Range(index) => {
                    format!("range {}", index.map_or("key", |index| &table.indexes[index].name))
                }
                Path::All => "all".to_owned(),
            };
            let key = |key: &procedure::operations::Key| {
                let sign = if key.is_equal { "=" } else { "~" };
                format!("{}{sign}{}", table.columns[key.column].name, origin(&key.origin))
            };
            let keys: Vec<String> = keys.iter().map(key).collect();
            let change = match (is_for_change, is_reference) {
                (true, _) => " for change",
                (false, true) => " of a reference",
                (false, false) => "",
            };
            format!("read {} by {path} {}{change}", table.name, keys.join(" "))
        }
        Action::Insert { values } => {
            let key = table.primary_key.iter().map(|column| origin(&values[*column]));
            format!("insert {} {}", table.name, key.collect::<Vec<_>>().join(" "))
        }
        Action::Update { read, columns } => {
            assert!(read.is_some_and(|read| all[read].table == operation.table));
            let columns: Vec<&str> =
                columns.iter().map(|column| &*table.columns[*column].name).collect();
            format!("update {} {}", table.name, columns.join(" "))
        }
        Action::Delete { read } => {
            assert!(read.is_some_and(|read| all[read].table == operation.table));
            format!("delete {}", table.name)
        }
    };
    let repeat = |repeat: &procedure::operations::Repeat| match &repeat.times {
        Times::Count(count) => format!(" x{count}"),
        Times::Elements(array) => format!(" x|{}|", origin(array)),
        Times::Number(number) => format!(" x{}", origin(number)),
        Times::Unknown => " x?".to_owned(),
    };
    let repeats: String = operation.repeats.iter().map(repeat).collect();
    let branches: String = operation
        .branches
        .iter()
        .map(|branch| format!(" if {}/{}", branch.branch, branch.count))
        .collect();
    format!("{action}, {}{repeats}{branches}", operation.rows)
}

fn of(workload: &Workload, procedure: &Procedure, all: &[Operation], origin: &Origin) -> String {
    let of = |origin: &Origin| of(workload, procedure, all, origin);
    match origin {
        Origin::Argument(variable) => format!("${}", procedure.routine.variables[*variable].name),
        Origin::Element(array) => format!("{}[]", of(array)),
        Origin::Constant => "constant".to_owned(),
        Origin::Output { operation, column } => {
            workload.catalog.tables[all[*operation].table].columns[*column].name.clone()
        }
        Origin::OneOf(origins) => origins.iter().map(of).collect::<Vec<_>>().join("|"),
        Origin::Computed => "computed".to_owned(),
    }
}

#[test]
fn an_order_takes_items_and_supply_warehouses_from_arrays() {
    let expected = [
        "read warehouse by key w_id=$home_warehouse, 1",
        "read district by key d_w_id=$home_warehouse d_id=$home_district for change, 1",
        "update district d_next_o_id, 1",
        "insert orders $home_warehouse $home_district computed, 1",
        "insert new_order $home_warehouse $home_district computed, 1",
        "read item by key i_id=$items[], 1 x|$items|",
        "read stock by key s_w_id=$supply_warehouses[] s_i_id=$items[] for change, 1 x|$items|",
        "update stock s_quantity s_ytd s_order_cnt s_remote_cnt, 1 x|$items|",
        "insert order_line $home_warehouse $home_district computed computed, 1 x|$items|",
        "read customer by key c_w_id=$home_warehouse c_d_id=$home_district c_id=$customer_number, 1",
    ];
    assert_eq!(shown(&workload("tpcc"), "new_order"), expected);
}

#[test]
fn a_delivery_takes_keys_from_what_it_has_read() {
    let found = shown(&workload("tpcc"), "delivery");
    let expected = [
        "read new_order by range key no_w_id=$home_warehouse no_d_id=computed for change, 1 x10",
        "read new_order by key no_w_id=$home_warehouse no_d_id=computed no_o_id=no_o_id for change, 1 x10 if 0/2",
        "delete new_order, 1 x10 if 0/2",
        "read orders by key o_w_id=$home_warehouse o_d_id=computed o_id=no_o_id for change, 1 x10 if 0/2",
    ];
    assert_eq!(found[..4], expected);
    let customer = "read customer by key c_w_id=$home_warehouse c_d_id=computed c_id=o_c_id for change, 1 x10 if 0/2";
    assert!(found.contains(&customer.to_owned()), "{found:#?}");
}

#[test]
fn a_payment_finds_the_customer_by_number_or_name() {
    let found = shown(&workload("tpcc"), "payment");
    let by_name = "read customer by customer_name c_w_id=$customer_warehouse c_d_id=$customer_district c_last=$customer_last, 3 if 0/2";
    assert_eq!(found.iter().filter(|line| *line == by_name).count(), 2, "{found:#?}");
    let by_key = "read customer by key c_w_id=$customer_warehouse c_d_id=$customer_district c_id=$customer_number|c_id for change, 1";
    assert!(found.contains(&by_key.to_owned()), "{found:#?}");
}

#[test]
fn a_join_repeats_its_inner_side() {
    let found = shown(&workload("tpcc"), "stock_level");
    let expected = [
        "read district by key d_w_id=$home_warehouse d_id=$home_district, 1",
        "read order_line by range key ol_w_id=$home_warehouse ol_d_id=$home_district ol_o_id~computed ol_o_id~d_next_o_id, 150",
        "read stock by key s_w_id=$home_warehouse s_i_id=ol_i_id, 1 x150",
    ];
    assert_eq!(found, expected);
}

#[test]
fn subscribers_are_found_by_the_index_that_others_go_on_from() {
    let tatp = workload("tatp");
    let found = shown(&tatp, "delete_call_forwarding");
    let expected = [
        "read subscriber by subscriber_number sub_nbr=$subscriber_number, 1",
        "read call_forwarding by key s_id=s_id sf_type=$facility_type start_time=$starts for change, 1",
        "delete call_forwarding, 1",
    ];
    assert_eq!(found, expected);
    let found = shown(&tatp, "insert_call_forwarding");
    assert_eq!(
        found.last().map(String::as_str),
        Some("insert call_forwarding s_id $facility_type $starts, 1")
    );
}

#[test]
fn records_are_read_as_often_as_there_are_keys() {
    let ycsb = workload("ycsb");
    let found = shown(&ycsb, "multi_operation");
    assert_eq!(found[0], "read usertable by key ycsb_key=$record_keys[], 1 x|$record_keys|");
    let found = shown(&ycsb, "update_record");
    assert_eq!(found.len(), 20, "a read and an update for each field");
    assert!(found.iter().all(|line| line.ends_with("/11")), "{found:#?}");
}

/// A foreign key check reads the referenced rows after the change, by the written values.
#[test]
fn foreign_keys_ask_for_rows_behind_the_change() {
    let found = shown(&workload("../crates/sql/interpreter/tests/ledger"), "pay");
    let expected = [
        "read account by key id=$payer of a reference, 1",
        "read account by key id=$payee of a reference, 1",
    ];
    let inserted = found.iter().position(|line| line.starts_with("insert transfer"));
    let behind = inserted.map(|at| found[at + 1..].to_vec()).expect("it is inserted");
    assert_eq!(behind, expected, "{found:#?}");
    let references = found.iter().filter(|line| line.contains("of a reference"));
    assert_eq!(references.count(), 2, "a balance is no key: {found:#?}");

    let shop = workload("../crates/sql/codegen/tests/shop");
    let of = |name| {
        let found = shown(&shop, name).into_iter();
        found.filter(|line| line.contains("of a reference")).collect::<Vec<_>>()
    };
    assert_eq!(of("move_purchase"), ["read customer by key id=$p_customer of a reference, 1"]);
    // Rows that may reference the deleted ones.
    let lines = "read line by line_of_purchase purchase=id of a reference, 1";
    let reviews = "read review by review_line line=number purchase=purchase of a reference, 1 x2";
    assert_eq!(of("cancel"), [lines]);
    assert_eq!(of("cancel_all"), [reviews, lines]);
}
