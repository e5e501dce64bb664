//! Constraint violations have PostgreSQL's messages.

use crate::database::{Calls, ints};
use sql_value::{Decimal, Value};
use txn::Isolation;

const SCHEMA: &str = "
    CREATE TABLE parent (a integer, b smallint, name varchar(4) NOT NULL, PRIMARY KEY (a, b));
    CREATE TABLE child (
        id integer PRIMARY KEY,
        a integer,
        b smallint,
        code char(3) UNIQUE,
        amount numeric(5, 2) CHECK (amount > 0),
        FOREIGN KEY (a, b) REFERENCES parent (a, b)
    );
    CREATE TABLE pair (id integer PRIMARY KEY, low smallint NOT NULL, high smallint NOT NULL);
";
const PROCEDURES: &str = "
    CREATE FUNCTION parent(a integer, b smallint, name varchar) RETURNS void LANGUAGE sql AS $$
        INSERT INTO parent VALUES ($1, $2, $3) $$;
    CREATE FUNCTION child(id integer, a integer, b smallint, code varchar, amount numeric)
    RETURNS void LANGUAGE sql AS $$ INSERT INTO child VALUES ($1, $2, $3, $4, $5) $$;
    CREATE FUNCTION recode(n integer, c varchar) RETURNS void LANGUAGE sql AS $$
        UPDATE child SET code = c WHERE id = n $$;
    CREATE FUNCTION revalue(n integer, v numeric) RETURNS void LANGUAGE sql AS $$
        UPDATE child SET amount = v WHERE id = n $$;
    CREATE FUNCTION unname(n integer) RETURNS void LANGUAGE sql AS $$
        UPDATE parent SET name = NULL WHERE a = n $$;
    CREATE FUNCTION look(n integer) RETURNS void LANGUAGE sql AS $$ SELECT id FROM child WHERE id = n FOR UPDATE $$;
    CREATE FUNCTION pair(n integer) RETURNS void LANGUAGE sql AS $$
        INSERT INTO pair VALUES (n, 1, 2) $$;
    CREATE FUNCTION unpair(n integer) RETURNS void LANGUAGE sql AS $$
        UPDATE pair SET high = NULL, low = 7 WHERE id = n $$;
    CREATE FUNCTION move(n integer, m integer) RETURNS void LANGUAGE sql AS $$
        UPDATE parent SET a = m WHERE a = n $$;
    CREATE FUNCTION drop_parent(n integer) RETURNS void LANGUAGE sql AS $$
        DELETE FROM parent WHERE a = n $$;
";

fn money(units: i128) -> Value {
    Value::Numeric(Decimal { units, scale: 2 })
}

fn parent(a: i64, name: &str) -> Vec<Value> {
    vec![Value::Int(a), Value::Int(2), name.into()]
}

fn child(id: i64, a: i64, code: &str, amount: i128) -> Vec<Value> {
    vec![Value::Int(id), Value::Int(a), Value::Int(2), code.into(), money(amount)]
}

/// A parent with two children.
fn family() -> Calls {
    let mut calls = Calls::new(SCHEMA, PROCEDURES);
    calls.call("parent", &parent(1, "one")).expect("a new row");
    calls.call("child", &child(1, 1, "x", 100)).expect("a new row");
    calls.call("child", &child(2, 1, "y", 100)).expect("a new row");
    calls
}

/// Asserts that a call fails with a code, a message and a detail.
fn refused(calls: &mut Calls, name: &str, arguments: &[Value], expected: [&str; 3]) {
    let (code, message, detail) = calls.call(name, arguments).expect_err("an error is due");
    assert_eq!([&code, &message, &*detail.unwrap_or_default()], expected, "{name} {arguments:?}");
}

#[test]
fn keys_are_unique() {
    let mut calls = family();
    let of_parent = "duplicate key value violates unique constraint \"parent_pkey\"";
    let of_child = "duplicate key value violates unique constraint \"child_code_key\"";
    let same_key = ["23505", of_parent, "Key (a, b)=(1, 2) already exists."];
    refused(&mut calls, "parent", &parent(1, "two"), same_key);
    let same_code = ["23505", of_child, "Key (code)=(x  ) already exists."];
    refused(&mut calls, "child", &child(3, 1, "x", 100), same_code);
    refused(&mut calls, "recode", &[Value::Int(2), "x".into()], same_code);
    calls.call("recode", &[Value::Int(2), "y".into()]).expect("its own code is no duplicate");
    calls.call("recode", &[Value::Int(2), "z".into()]).expect("nobody has it");
    calls.call("child", &child(3, 1, "y", 100)).expect("nobody has it any more");
}

#[test]
fn columns_have_types_and_conditions() {
    let mut calls = family();
    let too_long = ["22001", "value too long for type character varying(4)", ""];
    refused(&mut calls, "parent", &parent(2, "longer"), too_long);
    let no_name =
        "null value in column \"name\" of relation \"parent\" violates not-null constraint";
    let nameless = [Value::Int(2), Value::Int(2), Value::Null];
    let expected = ["23502", no_name, "Failing row contains (2, 2, null)."];
    refused(&mut calls, "parent", &nameless, expected);
    let expected = ["23502", no_name, "Failing row contains (1, 2, null)."];
    refused(&mut calls, "unname", &ints(&[1]), expected);
    calls.call("pair", &ints(&[4])).expect("a new row");
    let no_high = "null value in column \"high\" of relation \"pair\" violates not-null constraint";
    let expected = ["23502", no_high, "Failing row contains (4, 7, null)."];
    refused(&mut calls, "unpair", &ints(&[4]), expected);
    let check = "new row for relation \"child\" violates check constraint \"child_amount_check\"";
    let expected = ["23514", check, "Failing row contains (3, 1, 2, z  , -0.05)."];
    refused(&mut calls, "child", &child(3, 1, "z", -5), expected);
    let expected = ["23514", check, "Failing row contains (2, 1, 2, y  , -1.00)."];
    refused(&mut calls, "revalue", &[Value::Int(2), money(-100)], expected);
}

#[test]
fn references_lead_to_rows() {
    let mut calls = family();
    let of_child =
        "insert or update on table \"child\" violates foreign key constraint \"child_a_b_fkey\"";
    let missing = ["23503", of_child, "Key (a, b)=(7, 2) is not present in table \"parent\"."];
    refused(&mut calls, "child", &child(3, 7, "z", 100), missing);
    let of_parent = "update or delete on table \"parent\" violates foreign key constraint \"child_a_b_fkey\" on table \"child\"";
    let detail = "Key (a, b)=(1, 2) is still referenced from table \"child\".";
    refused(&mut calls, "move", &ints(&[1, 5]), ["23503", of_parent, detail]);
    refused(&mut calls, "drop_parent", &ints(&[1]), ["23503", of_parent, detail]);
    calls.call("parent", &parent(3, "free")).expect("a new row");
    calls.call("move", &ints(&[3, 4])).expect("nobody refers to it");
    calls.call("drop_parent", &ints(&[4])).expect("nobody refers to it");
}

#[test]
fn procedures_that_change_tables_with_references_are_serializable_and_others_are_not() {
    let calls = family();
    let isolation = |name: &str| {
        let procedure = calls.procedures.find(name).expect("it is in the file");
        calls.procedures.isolation(procedure)
    };
    for name in ["parent", "child", "recode", "unname", "move", "drop_parent"] {
        assert_eq!(isolation(name), Isolation::Serializable, "{name}");
    }
    for name in ["pair", "unpair", "look"] {
        assert_eq!(isolation(name), Isolation::Snapshot, "{name}");
    }
}
