//! Read-ahead saves time and does not change the result of a procedure.

use crate::database::{Calls, ints};
use crate::naive;
use fabric::Env;
use interpreter::{Procedures, Settings, create, default_design};
use procedure::node::{Scan, Workload};
use procedure::{Node, Operator};
use sim::{SimConfig, World};
use sql_value::Value;
use txn::server::services;
use txn::{Database, DatabaseConfig};

const SCHEMA: &str = "
    CREATE TABLE thing (id integer PRIMARY KEY, amount bigint NOT NULL);
    CREATE TABLE other (id integer PRIMARY KEY, amount bigint NOT NULL);
";
const FILL: &str = "
    CREATE FUNCTION fill() RETURNS void LANGUAGE sql AS $$
        INSERT INTO thing SELECT g, 10 * g FROM generate_series(1, 9) g $$;
";

/// Plans for statements about one row as PostgreSQL makes them: a scan with a filter, and nothing
/// above it.
fn workload(procedures: &str) -> Workload {
    let mut workload = naive::workload(SCHEMA, &[FILL, procedures].concat());
    let statements = workload.procedures.iter_mut().flat_map(|of| &mut of.statements);
    for statement in statements {
        match &mut statement.root.operator {
            Operator::Update(update) => collapse(&mut update.input),
            Operator::Delete(delete) => collapse(&mut delete.input),
            _ => collapse(&mut statement.root),
        }
    }
    workload
}

/// Moves filters and outputs into the scan below.
pub fn collapse(node: &mut Node) {
    let Operator::Project { condition: None, filter, input: Some(input) } = &mut node.operator
    else {
        return;
    };
    collapse(input);
    if let Operator::Scan(scan) = &input.operator {
        let filter = filter.take().or_else(|| scan.filter.clone());
        node.operator = Operator::Scan(Scan { filter, ..scan.clone() });
    }
}

fn filled(procedures: &str) -> Calls {
    let mut calls = Calls::over(&workload(procedures));
    calls.call("fill", &[]).expect("the table is empty");
    calls
}

fn array(numbers: &[i64]) -> Value {
    Value::Array(ints(numbers).into())
}

#[test]
fn each_round_of_a_loop_gets_the_row_of_its_round() {
    let mut calls = filled(
        "CREATE FUNCTION by_place(ids integer[]) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
         DECLARE n integer := cardinality(ids); value bigint; again bigint;
         BEGIN
             FOR at IN 1..n LOOP
                 SELECT amount INTO value FROM thing WHERE id = ids[at];
                 UPDATE thing SET amount = amount + 1 WHERE id = ids[at] RETURNING amount INTO again;
                 RETURN NEXT value * 1000 + again;
             END LOOP;
         END $$;
         CREATE FUNCTION by_element(ids integer[]) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
         DECLARE one integer; value bigint;
         BEGIN
             FOREACH one IN ARRAY ids LOOP
                 SELECT amount INTO value FROM thing WHERE id = one;
                 RETURN NEXT value;
                 EXIT WHEN value = 30;
             END LOOP;
         END $$;",
    );
    // Rows that do not exist, numbers that no row can have, and a row that the call itself has
    // changed.
    let rows = calls.call("by_place", &[array(&[3, 77, 1, 100_000, 3])]).expect("no error");
    let expected =
        [Value::Int(30_031), Value::Null, Value::Int(10_011), Value::Null, Value::Int(31_032)];
    assert_eq!(rows, expected.map(|value| vec![value]));
    let some = Value::Array(vec![Value::Int(1), Value::Null, Value::Int(2)].into());
    let rows = calls.call("by_element", &[some]).expect("no error");
    assert_eq!(rows, [Value::Int(11), Value::Null, Value::Int(20)].map(|value| vec![value]));
    let rows = calls.call("by_element", &[array(&[3, 4])]).expect("no error");
    assert_eq!(rows, [ints(&[32]), ints(&[40])]);
    let rows = calls.call("by_element", &[array(&[])]).expect("no error");
    assert!(rows.is_empty());
}

#[test]
fn loops_that_are_left_and_begun_again_get_their_own_rows() {
    let mut calls = filled(
        "CREATE FUNCTION f(k integer, m integer) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
         DECLARE value bigint; times integer := 0; shown bigint;
         BEGIN
             SELECT amount INTO shown FROM thing WHERE id = k;
             RETURN NEXT shown;
             SELECT amount INTO shown FROM thing WHERE id = m;
             RETURN NEXT shown;
             LOOP
                 times := times + 1;
                 FOR i IN 1..3 LOOP
                     SELECT amount INTO value FROM thing WHERE id = i;
                     RETURN NEXT value;
                     EXIT WHEN i = times;
                 END LOOP;
                 SELECT amount INTO value FROM thing WHERE id = k;
                 RETURN NEXT value;
                 EXIT WHEN times = 2;
             END LOOP;
             IF k = 4 THEN
                 SELECT amount INTO value FROM thing WHERE id = m;
                 RETURN NEXT value;
             END IF;
         END $$;",
    );
    let rows = calls.call("f", &ints(&[4, 5])).expect("no error");
    let expected = [40, 50, 10, 40, 10, 20, 40, 50];
    assert_eq!(rows, expected.map(|number| ints(&[number])));
}

#[test]
fn inserted_deleted_and_moved_rows_are_read_by_their_statements() {
    let mut calls = filled(
        "CREATE FUNCTION moved(a integer, b integer) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
         DECLARE value bigint;
         BEGIN
             UPDATE thing SET id = b WHERE id = a;
             SELECT amount INTO value FROM thing WHERE id = b;
             RETURN NEXT value;
             SELECT amount INTO value FROM thing WHERE id = a;
             RETURN NEXT value;
         END $$;
         CREATE FUNCTION added(a integer, b integer) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
         DECLARE value bigint;
         BEGIN
             INSERT INTO other VALUES (a, 7);
             SELECT amount INTO value FROM other WHERE id = a;
             RETURN NEXT value;
             DELETE FROM other WHERE id = a;
             SELECT amount INTO value FROM other WHERE id = a;
             RETURN NEXT value;
         END $$;",
    );
    let rows = calls.call("moved", &ints(&[1, 100])).expect("no error");
    assert_eq!(rows, [Value::Int(10), Value::Null].map(|value| vec![value]));
    let rows = calls.call("added", &ints(&[1, 2])).expect("no error");
    assert_eq!(rows, [Value::Int(7), Value::Null].map(|value| vec![value]));
}

#[test]
fn an_error_of_a_key_is_one_of_the_statement() {
    let mut calls = filled(
        "CREATE FUNCTION f(a integer, b integer) RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE value bigint;
         BEGIN
             SELECT amount INTO value FROM thing WHERE id = a;
             IF value = 10 THEN RETURN value; END IF;
             SELECT amount INTO value FROM thing WHERE id = a / b;
             RETURN value;
         END $$;",
    );
    assert_eq!(calls.value("f", &ints(&[1, 0])), Value::Int(10));
    assert_eq!(calls.error("f", &ints(&[2, 0])).0, "22012");
    assert_eq!(calls.value("f", &ints(&[2, 1])), Value::Int(20));
}

/// Returns the time that a second call takes in a simulated world with rows on two servers.
pub fn simulated_ns(body: &str, [first, second]: [&[Value]; 2]) -> u64 {
    let world = World::new(SimConfig::new(7).with_servers(&[16 << 20, 16 << 20]));
    let nodes = world.serve(services);
    let admin = world.endpoint(world.compute_node(0));
    let database = Database::create(admin.clone().into_dyn(), nodes, DatabaseConfig::default());
    let database = world.block_on(&admin, database).expect("the servers are empty");
    let workload = workload(body);
    world.block_on(&admin, async {
        let design = default_design(&workload, &|_| 100);
        create(&database, &workload.catalog, &design).await.expect("the schema is fine");
        let procedures = Procedures::open(&database, &workload, Settings::default());
        let mut procedures = procedures.expect("all is there");
        let mut lane = database.lane().await.expect("lanes are free");
        let named = |name: &str| procedures.find(name).expect("it is in the file");
        let (fill, read) = (named("fill"), named("f"));
        procedures.call(&mut lane, fill, &[]).await.expect("the table is empty");
        procedures.call(&mut lane, read, first).await.expect("the tables are open then");
        let start = admin.now_ns();
        procedures.call(&mut lane, read, second).await.expect("no error");
        admin.now_ns() - start
    })
}

#[test]
fn rows_of_a_loop_take_one_round_trip() {
    let body = |loops: &str| {
        format!(
            "CREATE FUNCTION f(ids integer[]) RETURNS bigint LANGUAGE plpgsql AS $$
             DECLARE value bigint; total bigint := 0; one integer;
             BEGIN
                 FOREACH one IN ARRAY ids {loops}
                     SELECT amount INTO value FROM thing WHERE id = one;
                     total := total + value;
                 END LOOP;
                 RETURN total;
             END $$;"
        )
    };
    let ids = [array(&[1, 2, 3, 4, 5, 6, 7, 8])];
    let together = simulated_ns(&body("LOOP"), [&ids; 2]);
    // A value assigned in the loop is not known before the loop.
    let one_by_one = simulated_ns(&body("LOOP one := one + 0;"), [&ids; 2]);
    assert!(2 * together < one_by_one, "{together} ns together, {one_by_one} ns one by one");
}
