//! Which rows generated code reads together, which columns of them, and when it does not.

use codegen::generate;
use procedure::Workload;
use sql::expression::{Expr, ExprKind};
use sql::procedure::{Block, Body, Formula, Over, Statement, StatementKind, Target};
use sql::{Load, SqlType, WorkloadFolder};
use std::path::PathBuf;

fn workload(name: &str) -> (Workload, Load) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(name);
    let load = WorkloadFolder::read(&path).unwrap_or_else(|error| panic!("{error}")).load;
    (Workload::read(&path).unwrap_or_else(|error| panic!("{error}")), load)
}

/// Generates the code of a procedure of a shipped workload, after a change of its outermost block.
fn code(
    of: &str,
    procedure: &str,
    change: impl FnOnce(&mut Block, &dyn Fn(&str) -> usize),
) -> String {
    let (mut workload, load) = workload(of);
    let mut procedures = workload.procedures.iter_mut();
    let found = procedures.find(|found| found.routine.name == procedure).expect("it is there");
    let variables = found.routine.variables.clone();
    let variable = |name: &str| {
        variables.iter().position(|variable| variable.name == name).expect("it is declared")
    };
    let Body::Block(block) = &mut found.routine.body else { panic!("{procedure} is a block") };
    change(block, &variable);
    let generated = generate(&workload, &load);
    let file = generated.files.iter().find(|file| file.name == format!("{procedure}.rs"));
    file.unwrap_or_else(|| panic!("{procedure} has code: {:?}", generated.left)).text.clone()
}

fn unchanged(of: &str, procedure: &str) -> String {
    code(of, procedure, |_, _| {})
}

fn statement(kind: StatementKind) -> Statement {
    Statement { line: 1, kind }
}

fn integer(value: i64) -> Formula {
    let expr = Expr { kind: ExprKind::Integer(value), sql_type: SqlType::Int4 };
    Formula { expr, number: None }
}

fn assignment(variable: usize, value: Formula) -> Statement {
    statement(StatementKind::Assign { target: Target::Variable(variable), value })
}

/// Returns the bounds and the body of the first loop.
fn first_loop(block: &mut Block) -> (&mut Over, &mut Vec<Statement>) {
    let mut loops = block.statements.iter_mut().filter_map(|statement| match &mut statement.kind {
        StatementKind::Loop { over, body, .. } => Some((over, body)),
        _ => None,
    });
    loops.next().expect("there is a loop")
}

/// Returns the branch in which the first statement of a loop has found a row.
fn found_branch(body: &mut [Statement]) -> &mut Vec<Statement> {
    let mut branches = body.iter_mut().filter_map(|statement| match &mut statement.kind {
        StatementKind::If { branches, .. } => branches.first_mut(),
        _ => None,
    });
    &mut branches.next().expect("there is a test").1
}

fn is_in_lockstep(text: &str) -> bool {
    let has_many = text.contains("scan_many(");
    assert_eq!(has_many, !text.contains("txn.scan("), "all readings or none: {text}");
    has_many
}

#[test]
fn iterations_on_different_rows_run_in_lockstep() {
    let text = unchanged("tpcc", "delivery");
    assert!(is_in_lockstep(&text), "{text}");
    assert_eq!(text.matches("await").count(), 5, "all rounds wait once for each reading: {text}");
}

#[test]
fn iterations_on_the_same_rows_run_one_by_one() {
    // Without the iteration's number in their keys, iterations would change the same rows.
    let text = code("tpcc", "delivery", |block, variable| {
        let district = variable("delivered_district");
        first_loop(block).1[0] = assignment(district, integer(1));
    });
    assert!(!is_in_lockstep(&text), "{text}");
    // The same if a variable first has the number, and later something else.
    let text = code("tpcc", "delivery", |block, variable| {
        let district = variable("delivered_district");
        first_loop(block).1.insert(1, assignment(district, integer(2)));
    });
    assert!(!is_in_lockstep(&text), "{text}");
}

#[test]
fn iterations_that_carry_a_value_over_run_one_by_one() {
    let text = code("tpcc", "delivery", |block, variable| {
        let amount = variable("order_amount");
        let inside = found_branch(first_loop(block).1);
        let is_start = |statement: &Statement| {
            matches!(&statement.kind,
                StatementKind::Assign { target: Target::Variable(of), .. } if *of == amount)
        };
        let at = inside.iter().position(is_start).expect("it begins with 0");
        let start = inside.remove(at);
        // Before the loop instead, so that the sum carries over from iteration to iteration.
        block.statements.insert(0, start);
    });
    assert!(!is_in_lockstep(&text), "{text}");
    let text = code("tpcc", "delivery", |block, _| {
        block.statements.push(statement(StatementKind::ReturnNext(None)));
    });
    assert!(!is_in_lockstep(&text), "the last round's outputs are given again: {text}");
}

#[test]
fn iterations_that_return_rows_between_reads_run_one_by_one() {
    let text = code("tpcc", "delivery", |block, _| {
        let inside = found_branch(first_loop(block).1);
        inside.insert(0, statement(StatementKind::ReturnNext(None)));
    });
    assert!(!is_in_lockstep(&text), "{text}");
}

#[test]
fn loops_that_are_long_or_may_be_left_run_one_by_one() {
    let text = code("tpcc", "delivery", |block, _| {
        let Over::Range { to, .. } = first_loop(block).0 else { panic!("it is over a range") };
        *to = integer(1000);
    });
    assert!(!is_in_lockstep(&text), "{text}");
    let text = code("tpcc", "delivery", |block, _| {
        let exit = StatementKind::Leave { label: None, continues: false, when: None };
        found_branch(first_loop(block).1).push(statement(exit));
    });
    assert!(!is_in_lockstep(&text), "{text}");
}

#[test]
fn a_row_that_a_condition_on_arguments_names_is_read_ahead() {
    let text = unchanged("tpcc", "payment");
    let ahead = "let customer_at = if !by_name && customer_number.is_some() {";
    assert!(text.contains(ahead), "{text}");
    // After another assignment the key is not known early enough.
    let text = code("tpcc", "payment", |block, variable| {
        let customer = variable("customer_id");
        let is_choice = |statement: &Statement| matches!(statement.kind, StatementKind::If { .. });
        let at = block.statements.iter().position(is_choice).expect("by name or by number");
        let same = Expr { kind: ExprKind::Variable(customer), sql_type: SqlType::Int4 };
        let same = Formula { expr: same, number: None };
        block.statements.insert(at + 1, assignment(customer, same));
    });
    assert!(!text.contains("customer_at"), "{text}");
}

#[test]
fn a_row_that_two_statements_want_is_read_once() {
    let text = unchanged("smallbank", "amalgamate");
    assert_eq!(text.matches("reads.push((tables.savings").count(), 1, "{text}");
    assert_eq!(text.matches("reads.push((tables.checking").count(), 2, "of two customers: {text}");
}

#[test]
fn rows_come_as_far_as_they_are_looked_at() {
    let text = unchanged("tpcc", "new_order");
    assert!(text.contains("tables.columns_of_customer_c_last_c_credit_c_discount"), "{text}");
    assert!(!text.contains("tables.columns_of_item"), "items are wanted to their end: {text}");
    assert!(!text.contains("tables.columns_of_stock"), "stock is changed: {text}");
    let text = unchanged("tpcc", "stock_level");
    assert!(text.contains("&[tables.columns_of_stock_s_quantity]"), "{text}");
    let text = unchanged("tpcc", "payment");
    assert!(!text.contains("read_columns"), "all of them are changed: {text}");
    let (workload, load) = workload("tpcc");
    let tables = &generate(&workload, &load).files[0].text;
    let bound = "columns_of_stock_s_quantity: bind::columns(database, \"stock\", &[2])?";
    assert!(tables.contains(bound), "{tables}");
}

#[test]
fn texts_stay_in_rows_that_are_at_hand() {
    let text = unchanged("tpcc", "payment");
    let address = "call.results.texts(&[warehouse.bytes_in(warehouse::W_STREET_1), ";
    assert!(text.contains(address), "{text}");
    assert!(text.contains(", warehouse.bytes_in(warehouse::W_CITY), "), "{text}");
    assert!(!text.contains("warehouse_city"), "the variable is not needed: {text}");
    assert!(text.contains("all_data = Text::new("), "a column that is changed is copied: {text}");
    // The row of the customer is available in one of two branches only.
    let text = unchanged("tpcc", "order_status");
    assert!(text.contains("text::set(&mut last_name, customer"), "{text}");
}

#[test]
fn texts_of_variables_that_change_are_copied() {
    // A variable that the loop changes has another value in the second iteration than before the
    // loop.
    let text = code("tpcc", "payment", |block, variable| {
        let city = variable("warehouse_city");
        let kind = ExprKind::Text("elsewhere".to_owned());
        let expr = Expr { kind, sql_type: SqlType::Varchar(Some(20)) };
        let changed = assignment(city, Formula { expr, number: None });
        let body = vec![statement(StatementKind::ReturnNext(None)), changed];
        let over = Over::Range {
            variable: variable("name_count"),
            from: integer(1),
            to: integer(2),
            by: None,
            reverse: false,
        };
        block.statements.push(statement(StatementKind::Loop { label: None, over, body }));
    });
    assert!(text.contains("warehouse_city.set(warehouse.bytes_in("), "{text}");
    assert!(text.contains(", &warehouse_city, "), "{text}");
}

#[test]
fn nulls_are_given_together() {
    let text = unchanged("tpcc", "new_order");
    assert!(
        text.contains("call.results.decimal_or_null(line_amount, 2);\ncall.results.nulls::<8>();")
    );
    assert!(text.contains("call.results.row();\ncall.results.nulls::<5>();"), "{text}");
    assert!(!text.contains("item_name"), "it is null or in a row wherever it is given: {text}");
}

#[test]
fn a_variable_that_a_loop_assigns_is_read_instead_of_null() {
    // The loop changes it after returning it, so that the second iteration returns another value.
    let text = code("tpcc", "new_order", |block, variable| {
        let kind = ExprKind::Text("another".to_owned());
        let expr = Expr { kind, sql_type: SqlType::Varchar(Some(20)) };
        let changed = assignment(variable("item_name"), Formula { expr, number: None });
        let body = vec![statement(StatementKind::ReturnNext(None)), changed];
        let over = Over::Range {
            variable: variable("line_count"),
            from: integer(1),
            to: integer(2),
            by: None,
            reverse: false,
        };
        block.statements.push(statement(StatementKind::Loop { label: None, over, body }));
    });
    let (_, behind) = text.rsplit_once("for line_count").expect("the loop");
    assert!(behind.contains("call.results.text_or_null(item_name.as_deref());"), "{text}");
    assert!(text.contains("item_name = None;"), "it is null where the loop begins: {text}");
}
