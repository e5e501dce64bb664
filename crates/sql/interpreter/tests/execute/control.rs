//! PL/pgSQL: blocks, loops, branches, results and errors.

use crate::database::{Calls, ints};
use sql_value::Value;

const SCHEMA: &str = "
    CREATE TABLE thing (id integer PRIMARY KEY, name varchar(10), amount numeric(8, 2) NOT NULL);
";

fn calls(body: &str) -> Calls {
    Calls::new(SCHEMA, body)
}

#[test]
fn loops_count_leave_and_go_on() {
    let mut calls = calls(
        "CREATE FUNCTION f(n integer) RETURNS SETOF integer LANGUAGE plpgsql AS $$
         DECLARE total integer := 0;
         BEGIN
             <<outside>>
             FOR i IN 1..n LOOP
                 CONTINUE WHEN i = 2;
                 FOR j IN REVERSE 10..1 BY 4 LOOP
                     CONTINUE outside WHEN i = 3;
                     EXIT outside WHEN i = 5;
                     RETURN NEXT i * 100 + j;
                 END LOOP;
             END LOOP;
             WHILE total < 3 LOOP
                 total := total + 2;
             END LOOP;
             LOOP
                 total := total + 1;
                 EXIT WHEN total > 6;
             END LOOP;
             RETURN NEXT total;
             IF FOUND THEN RETURN NEXT -1; END IF;
         END $$;",
    );
    let rows = calls.call("f", &ints(&[9])).expect("no error");
    let numbers = [110, 106, 102, 410, 406, 402, 7, -1];
    assert_eq!(rows, numbers.map(|number| ints(&[number])));
    assert_eq!(calls.call("f", &ints(&[0])).expect("no error"), [ints(&[7])]);
}

#[test]
fn results_are_values_rows_and_output_parameters() {
    let mut calls = calls(
        "CREATE FUNCTION pair(a integer, OUT twice integer, OUT label varchar(5)) LANGUAGE plpgsql AS $$
         BEGIN twice := a * 2; label := 'n' || a; END $$;
         CREATE FUNCTION nothing() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN NULL; END $$;
         CREATE FUNCTION strict_one(a integer) RETURNS integer STRICT LANGUAGE plpgsql AS $$
         BEGIN RETURN a + 1; END $$;
         CREATE FUNCTION by_default(a integer, b integer DEFAULT 5) RETURNS integer LANGUAGE plpgsql AS $$
         BEGIN RETURN a + b; END $$;
         CREATE FUNCTION in_sql(a integer) RETURNS TABLE (n integer) LANGUAGE sql AS $$
             SELECT g FROM generate_series(1, a) g WHERE g <> 2 $$;
         CREATE PROCEDURE p(INOUT a integer) LANGUAGE plpgsql AS $$ BEGIN a := a + 7; END $$;",
    );
    let rows = calls.call("pair", &ints(&[21])).expect("no error");
    assert_eq!(rows, [vec![Value::Int(42), "n21".into()]]);
    let (code, message) = calls.error("nothing", &[]);
    assert_eq!((&*code, &*message), ("2F005", "control reached end of function without RETURN"));
    assert_eq!(calls.value("strict_one", &[Value::Null]), Value::Null);
    assert_eq!(calls.value("strict_one", &ints(&[1])), Value::Int(2));
    assert_eq!(calls.value("by_default", &ints(&[1])), Value::Int(6));
    assert_eq!(calls.value("by_default", &ints(&[1, 2])), Value::Int(3));
    let rows = calls.call("in_sql", &ints(&[3])).expect("no error");
    assert_eq!(rows, [ints(&[1]), ints(&[3])]);
    assert_eq!(calls.value("p", &ints(&[1])), Value::Int(8));
    let (code, message) = calls.error("strict_one", &["x".into()]);
    assert_eq!((&*code, &*message), ("42883", "function strict_one(text) does not exist"));
    let (code, message) = calls.error("strict_one", &ints(&[1 << 40]));
    assert_eq!((&*code, &*message), ("22003", "integer out of range"));
}

#[test]
fn rows_go_into_variables_and_records() {
    let mut calls = calls(
        "CREATE FUNCTION fill() RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE counted bigint;
         BEGIN
             INSERT INTO thing VALUES (1, 'one', 1.5), (2, NULL, 2.25), (3, 'three', 3);
             GET DIAGNOSTICS counted = ROW_COUNT;
             RETURN counted;
         END $$;
         CREATE FUNCTION show(n integer) RETURNS SETOF varchar LANGUAGE plpgsql AS $$
         DECLARE seen thing%ROWTYPE; other record; names varchar(10)[];
         BEGIN
             SELECT * INTO seen FROM thing WHERE id = n;
             RETURN NEXT coalesce(seen.name, 'none') || ' ' || FOUND;
             FOR other IN SELECT t.id, t.amount AS a FROM thing t ORDER BY t.id DESC LOOP
                 RETURN NEXT other.id || ':' || other.a;
             END LOOP;
             seen.name := 'new';
             names[1] := '+';
             names[3] := seen.name;
             RETURN NEXT coalesce(names[1], '-') || names[3] || cardinality(names);
             RETURN QUERY SELECT t.name FROM thing t WHERE t.name IS NOT NULL ORDER BY 1;
         END $$;
         CREATE FUNCTION counted_before(n integer) RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE counted bigint; other record;
         BEGIN
             UPDATE thing SET amount = amount WHERE id < 3;
             FOR other IN SELECT t.id FROM thing t WHERE t.id >= n LOOP NULL; END LOOP;
             GET DIAGNOSTICS counted = ROW_COUNT;
             RETURN counted;
         END $$;
         CREATE FUNCTION strictly(n integer) RETURNS integer LANGUAGE plpgsql AS $$
         DECLARE found_id integer;
         BEGIN
             SELECT id INTO STRICT found_id FROM thing WHERE id >= n;
             RETURN found_id;
         END $$;
         CREATE FUNCTION elsewhere(n integer) RETURNS integer LANGUAGE plpgsql AS $$
         DECLARE numbers integer[];
         BEGIN
             numbers[n] := 5;
             RETURN numbers[n];
         END $$;",
    );
    assert_eq!(calls.value("fill", &[]), Value::Int(3));
    let rows = calls.call("show", &ints(&[1])).expect("no error");
    let texts = ["one true", "3:3.00", "2:2.25", "1:1.50", "+new3", "one", "three"];
    assert_eq!(rows, texts.map(|text| vec![Value::from(text)]));
    let rows = calls.call("show", &ints(&[9])).expect("no error");
    assert_eq!(rows[0], [Value::from("none false")]);
    // As in PostgreSQL, the rows of a loop are not counted, whether there are any or not.
    for n in [1, 9] {
        assert_eq!(calls.value("counted_before", &ints(&[n])), Value::Int(2));
    }
    assert_eq!(calls.value("strictly", &ints(&[3])), Value::Int(3));
    assert_eq!(calls.error("strictly", &ints(&[4])).0, "P0002");
    let (code, message) = calls.error("strictly", &ints(&[2]));
    assert_eq!((&*code, &*message), ("P0003", "query returned more than one row"));
    assert_eq!(calls.value("elsewhere", &ints(&[1])), Value::Int(5));
    let (code, message) = calls.error("elsewhere", &ints(&[2]));
    assert_eq!((&*code, &*message), ("2202E", "array subscript 2 is out of range here"));
}

#[test]
fn errors_have_codes_and_undo_all_changes() {
    let mut calls = calls(
        "CREATE FUNCTION f(n integer) RETURNS integer LANGUAGE plpgsql AS $$
         DECLARE fixed integer NOT NULL := 1;
         BEGIN
             INSERT INTO thing VALUES (n, 'x', 0);
             RAISE NOTICE 'at % of 100%%', n;
             RAISE NOTICE '%, %|', n > 0, 'ab'::char(4);
             CASE n
                 WHEN 1, 2 THEN RETURN 0;
                 WHEN 3 THEN RAISE EXCEPTION 'no % here', n USING ERRCODE = '22012', HINT = 'go';
                 WHEN 4 THEN fixed := NULL;
                 WHEN 5 THEN RETURN 1 / (n - 5);
                 WHEN 6 THEN RAISE division_by_zero;
             END CASE;
         END $$;
         CREATE FUNCTION counted() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM thing $$;",
    );
    assert_eq!(calls.value("f", &ints(&[1])), Value::Int(0));
    let notices: Vec<&str> = calls.notices.iter().map(|notice| &*notice.message).collect();
    assert_eq!(notices, ["at 1 of 100%", "t, ab  |"]);
    for (n, code, message) in [
        (3, "22012", "no 3 here"),
        (4, "22004", "null value cannot be assigned to variable \"fixed\" declared NOT NULL"),
        (5, "22012", "division by zero"),
        (6, "22012", "division_by_zero"),
        (7, "20000", "case not found"),
        (1, "23505", "duplicate key value violates unique constraint \"thing_pkey\""),
    ] {
        let found = calls.error("f", &ints(&[n]));
        assert_eq!((&*found.0, &*found.1), (code, message));
    }
    assert_eq!(calls.value("counted", &[]), Value::Int(1));
}

#[test]
fn arrays_are_iterated_and_sub_selects_executed() {
    let mut calls = calls(
        "CREATE FUNCTION total(numbers integer[]) RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE n integer; total bigint := 0;
         BEGIN
             FOREACH n IN ARRAY numbers LOOP
                 INSERT INTO thing VALUES (n, 't', n * 10);
                 total := total + (SELECT count(*) FROM thing WHERE amount > 15);
             END LOOP;
             IF EXISTS (SELECT 1 FROM thing t WHERE t.id = 3) THEN total := total + 100; END IF;
             RETURN total;
         END $$;",
    );
    let numbers = Value::Array(ints(&[1, 2, 3]).into());
    assert_eq!(calls.value("total", &[numbers]), Value::Int(103));
    let (code, message) = calls.error("total", &[Value::Null]);
    assert_eq!((&*code, &*message), ("22004", "FOREACH expression must not be null"));
}
