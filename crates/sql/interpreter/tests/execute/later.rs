//! Batching inserts saves time and does not change the result of a procedure.

use crate::ahead::simulated_ns;
use crate::database::{Calls, ints};
use sql_value::Value;

const SCHEMA: &str = "
    CREATE TABLE thing (id integer PRIMARY KEY, name varchar(3), amount bigint NOT NULL);
    CREATE TABLE other (id integer PRIMARY KEY, amount bigint NOT NULL);
";
const PROCEDURES: &str = "
    CREATE FUNCTION put(a integer, b integer, c integer) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE taken bigint;
    BEGIN
        INSERT INTO thing VALUES (a, 'one', 1);
        IF NOT FOUND THEN RETURN 0; END IF;
        GET DIAGNOSTICS taken = ROW_COUNT;
        INSERT INTO other VALUES (b, 2);
        INSERT INTO thing VALUES (b, left('three', c), 10 / c);
        IF c = 2 THEN RAISE EXCEPTION 'late'; END IF;
        RETURN taken;
    END $$;
    CREATE FUNCTION fill(from_id integer, to_id integer) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        FOR number IN from_id..to_id LOOP INSERT INTO thing VALUES (number, NULL, number); END LOOP;
    END $$;
    CREATE FUNCTION sums() RETURNS TABLE (of_thing bigint, of_other bigint) LANGUAGE sql AS $$
        SELECT (SELECT count(*) FROM thing), (SELECT count(*) FROM other) $$;
    CREATE FUNCTION looked_at(a integer) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE value bigint;
    BEGIN
        INSERT INTO other VALUES (a, 7);
        SELECT amount INTO value FROM other WHERE id = a;
        RETURN value;
    END $$;";

#[test]
fn the_first_error_is_reported() {
    let mut calls = Calls::new(SCHEMA, PROCEDURES);
    assert_eq!(calls.value("put", &ints(&[1, 2, 1])), Value::Int(1));
    let taken = |id| Some(format!("Key (id)=({id}) already exists."));
    for (arguments, code, detail) in [
        // An error of a later statement, and one of a later row.
        ([1, 3, 2], "23505", taken(1)),
        ([1, 3, 0], "23505", taken(1)),
        ([3, 2, 1], "23505", taken(2)),
        ([4, 4, 1], "23505", taken(4)),
        ([3, 4, 2], "P0001", None),
        ([3, 4, 0], "22012", None),
        ([3, 4, 4], "22001", None),
        ([1, 4, 4], "23505", taken(1)),
    ] {
        let (found, message, found_detail) =
            calls.call("put", &ints(&arguments)).expect_err("an error is due");
        assert_eq!((&*found, found_detail), (code, detail), "{arguments:?}: {message}");
    }
    let sums = calls.call("sums", &[]).expect("no error");
    assert_eq!(sums, [ints(&[2, 1])], "nothing is left of calls that failed");
}

#[test]
fn any_number_of_rows_is_added() {
    let mut calls = Calls::new(SCHEMA, PROCEDURES);
    calls.call("fill", &ints(&[1, 200])).expect("no error");
    assert_eq!(calls.call("sums", &[]).expect("no error"), [ints(&[200, 0])]);
    let (code, _) = calls.error("fill", &ints(&[101, 300]));
    assert_eq!(code, "23505");
    assert_eq!(calls.call("sums", &[]).expect("no error"), [ints(&[200, 0])]);
}

#[test]
fn a_batched_insert_is_visible_to_later_reads() {
    let mut calls = Calls::new(SCHEMA, PROCEDURES);
    assert_eq!(calls.value("looked_at", &ints(&[5])), Value::Int(7));
}

#[test]
fn rows_of_a_loop_are_added_in_one_round_trip() {
    let body = |before: &str| {
        format!(
            "CREATE FUNCTION f(from_id integer) RETURNS void LANGUAGE plpgsql AS $$
             DECLARE value bigint;
             BEGIN
                 {before}
                 FOR number IN from_id..from_id + 9 LOOP
                     INSERT INTO other VALUES (number, number);
                 END LOOP;
             END $$;"
        )
    };
    let arguments = [ints(&[1]), ints(&[101])];
    let together = simulated_ns(&body(""), [&arguments[0], &arguments[1]]);
    let looking = body("SELECT amount INTO value FROM other WHERE id = 1000;");
    let one_by_one = simulated_ns(&looking, [&arguments[0], &arguments[1]]);
    assert!(2 * together < one_by_one, "{together} ns together, {one_by_one} ns one by one");
}
