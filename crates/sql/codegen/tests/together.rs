//! Which operations generated code batches, and when it does not.

use codegen::generate;
use procedure::Workload;
use sql::procedure::{Body, Statement, StatementKind};
use sql::{Load, WorkloadFolder};
use std::path::PathBuf;

fn workload(name: &str) -> (Workload, Load) {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let path = match name {
        "shop" => crates.join("tests/shop"),
        shipped => crates.join("../../../workloads").join(shipped),
    };
    let load = WorkloadFolder::read(&path).unwrap_or_else(|error| panic!("{error}")).load;
    (Workload::read(&path).unwrap_or_else(|error| panic!("{error}")), load)
}

/// Returns the code of a procedure.
fn code(workload: &Workload, load: &Load, procedure: &str) -> String {
    let generated = generate(workload, load);
    let file = generated.files.iter().find(|file| file.name == format!("{procedure}.rs"));
    file.unwrap_or_else(|| panic!("there is code for {procedure}")).text.clone()
}

/// Returns the body of the loop with the most statements.
fn longest_loop<'w>(workload: &'w mut Workload, procedure: &str) -> &'w mut Vec<Statement> {
    let mut found = workload.procedures.iter_mut().filter(|of| of.routine.name == procedure);
    let Some(Body::Block(block)) = found.next().map(|of| &mut of.routine.body) else {
        panic!("{procedure} is a block")
    };
    let loops = block.statements.iter_mut().filter_map(|statement| match &mut statement.kind {
        StatementKind::Loop { body, .. } => Some(body),
        _ => None,
    });
    loops.max_by_key(|body| body.len()).expect("it has a loop")
}

#[test]
fn rows_are_inserted_together_unless_a_loop_may_be_left() {
    let (mut workload, load) = workload("tpcc");
    let text = code(&workload, &load, "new_order");
    assert!(text.contains("insert_many") && !text.contains("txn.insert("), "{text}");

    let body = longest_loop(&mut workload, "new_order");
    let line = body[0].line;
    let exit = StatementKind::Leave { label: None, continues: false, when: None };
    body.push(Statement { line, kind: exit });
    let text = code(&workload, &load, "new_order");
    assert!(text.contains("insert_many"), "inserts before the loop are batched: {text}");
    assert_eq!(text.matches("txn.insert(").count(), 1, "lines go one by one: {text}");
}

#[test]
fn rows_that_the_next_statement_wants_are_found_once() {
    let (workload, load) = workload("tpcc");
    for procedure in ["payment", "order_status"] {
        let text = code(&workload, &load, procedure);
        assert_eq!(text.matches("txn.lookup(").count(), 1, "{text}");
    }
}

/// A loop that notes what its iterations have found: they may read in lockstep if nothing is noted
/// before the reads.
#[test]
fn iterations_that_assign_after_their_reads_run_in_lockstep() {
    let (mut workload, load) = workload("tatp");
    let read_one_by_one = |workload: &Workload| {
        let text = code(workload, &load, "insert_call_forwarding");
        assert_ne!(text.contains("txn.read("), text.contains("txn.read_many("), "{text}");
        text.contains("txn.read(")
    };
    assert!(!read_one_by_one(&workload));

    let body = longest_loop(&mut workload, "insert_call_forwarding");
    let StatementKind::If { branches, .. } = &body[1].kind else { panic!("it asks for FOUND") };
    let StatementKind::If { branches, .. } = &branches[0].1[0].kind else { panic!("it compares") };
    let note = branches[0].1[0].clone();
    body.insert(0, note);
    assert!(read_one_by_one(&workload));
}

#[test]
fn calls_prefetch_the_rows_that_they_read_first() {
    let (tatp, load) = workload("tatp");
    for (procedure, hint) in [
        ("get_access_data", "lane.prefetch(&[(tables.access_info,"),
        ("update_location", "lane.prefetch_lookup(tables.subscriber_by_subscriber_number,"),
        ("get_new_destination", "lane.prefetch(&[(tables.special_facility,"),
        ("get_new_destination", ".take(4) {"),
    ] {
        let text = code(&tatp, &load, procedure);
        assert!(text.contains(hint), "{text}");
    }
    let (tpcc, load) = workload("tpcc");
    let text = code(&tpcc, &load, "delivery");
    assert!(!text.contains("prefetch"), "its arguments name no row: {text}");
    let (ycsb, load) = workload("ycsb");
    let text = code(&ycsb, &load, "multi_operation");
    assert!(!text.contains("prefetch"), "an array names too many: {text}");
}

#[test]
fn most_of_a_row_is_given_in_one_piece() {
    let (tatp, load) = workload("tatp");
    for procedure in ["get_subscriber_data", "get_access_data"] {
        let text = code(&tatp, &load, procedure);
        assert_eq!(text.matches("call.results.").count(), 1, "{text}");
        assert!(text.contains("call.results.record("), "{text}");
    }
    let (tpcc, load) = workload("tpcc");
    let text = code(&tpcc, &load, "order_status");
    assert!(!text.contains("record("), "a customer has far more than is asked for: {text}");
}

#[test]
fn duplicate_keys_of_known_numbers_are_reported() {
    let (tatp, load) = workload("tatp");
    let text = code(&tatp, &load, "insert_call_forwarding");
    assert!(
        text.contains("duplicate(error, \"call_forwarding_pkey\", \"s_id, sf_type, start_time\""),
        "{text}"
    );
}

#[test]
fn referenced_rows_are_read_ahead_with_the_others() {
    let (shop, load) = workload("shop");
    let text = code(&shop, &load, "buy");
    let text = text.split("pub fn prefetch").next().unwrap_or_default();
    assert_eq!(text.matches("reads.push((tables.product,").count(), 1, "once a round: {text}");
    assert_eq!(text.matches("(tables.customer,").count(), 2, "buyer, and who gets a gift: {text}");
    assert!(text.contains("known(call.scratch.found[0])?;"), "{text}");
    let text = code(&shop, &load, "enrol");
    assert!(text.contains("read_many") && !text.contains("txn.read("), "{text}");
}

#[test]
fn conditions_that_a_change_does_not_concern_are_left_out() {
    let (shop, load) = workload("shop");
    let text = code(&shop, &load, "reprice");
    assert_eq!(text.matches("check(").count(), 1, "of five conditions one is about prices: {text}");
    let text = code(&shop, &load, "regift");
    assert!(!text.contains("tables.purchase"), "the purchase stays the same: {text}");
}

/// If both were inserted at once, the line's referenced row would already exist.
#[test]
fn rows_that_refer_to_later_ones_are_not_inserted_with_them() {
    let (shop, load) = workload("shop");
    assert!(code(&shop, &load, "buy").contains("inserts.push((tables.purchase,"));
    let text = code(&shop, &load, "too_soon");
    assert_eq!(text.matches("txn.insert(").count(), 2, "{text}");
}
