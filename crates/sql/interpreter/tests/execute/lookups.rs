//! A repeated index lookup is executed once if nothing changes in between.

use crate::ahead::collapse;
use crate::database::{Calls, ints};
use crate::naive;
use procedure::node::{Access, Node, Operator, Workload};
use sql::expression::ExprKind;
use sql_value::Value;

const SCHEMA: &str = "
    CREATE TABLE thing (id integer PRIMARY KEY, kind integer NOT NULL, amount bigint NOT NULL);
    CREATE INDEX thing_by_kind ON thing (kind);
";
const FILL: &str = "
    CREATE FUNCTION fill() RETURNS void LANGUAGE sql AS $$
        INSERT INTO thing SELECT g, g % 3, 10 * g FROM generate_series(1, 9) g $$;
";

/// A procedure that counts the rows of a kind and sums them up, with a statement in between.
fn counts_and_sums(between: &str) -> Workload {
    let procedure = format!(
        "CREATE FUNCTION f(of_kind integer) RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE counted bigint; total bigint;
         BEGIN
             SELECT count(*) INTO counted FROM thing WHERE kind = of_kind;
             {between}
             SELECT sum(amount)::bigint INTO total FROM thing WHERE kind = of_kind;
             RETURN 1000 * counted + coalesce(total, 0);
         END $$;"
    );
    let mut workload = naive::workload(SCHEMA, &[FILL, &procedure].concat());
    let statements = workload.procedures.iter_mut().flat_map(|of| &mut of.statements);
    statements.for_each(|statement| look_up(&mut statement.root));
    workload
}

/// Uses the index for statements that find rows by their kind.
fn look_up(node: &mut Node) {
    collapse(node);
    match &mut node.operator {
        Operator::Aggregate { input, .. } | Operator::Project { input: Some(input), .. } => {
            look_up(input);
        }
        Operator::Update(update) => look_up(&mut update.input),
        Operator::Scan(scan) => {
            let Some(filter) = &scan.filter else { return };
            if let ExprKind::Binary { right, .. } = &filter.kind
                && matches!(scan.access, Access::All)
            {
                scan.access = Access::Lookup { index: 0, key: vec![(**right).clone()] };
                scan.filter = None;
            }
        }
        _ => {}
    }
}

#[test]
fn a_repeated_lookup_is_reused_unless_rows_change() {
    for (between, expected) in [
        ("counted := counted + 0;", 3000 + 120),
        ("SELECT count(*) INTO counted FROM thing WHERE kind = of_kind + 1;", 3000 + 120),
        ("UPDATE thing SET kind = of_kind WHERE kind = of_kind + 1;", 3000 + 270),
        ("UPDATE thing SET amount = 0 WHERE id = 4;", 3000 + 80),
        ("DELETE FROM thing WHERE id = 4;", 3000 + 80),
        ("DELETE FROM thing WHERE kind = of_kind;", 3000),
        ("INSERT INTO thing VALUES (10, of_kind, 1);", 3000 + 121),
    ] {
        let mut calls = Calls::over(&counts_and_sums(between));
        calls.call("fill", &[]).expect("the table is empty");
        assert_eq!(calls.value("f", &ints(&[1])), Value::Int(expected), "{between}");
    }
}
