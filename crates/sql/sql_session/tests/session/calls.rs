//! Routines that call others, beyond the results that `calls.sql` compares with PostgreSQL.

use crate::support::{Client, new_database, with_roles};

fn client() -> Client {
    let mut client = Client::of(&new_database());
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    client.run("INSERT INTO t VALUES (1, 10), (2, 20)");
    client.run("CREATE FUNCTION writes(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET v = v + n; RETURN n; END $$");
    client.run(
        "CREATE FUNCTION reads() RETURNS bigint STABLE LANGUAGE sql AS $$ SELECT sum(v) FROM t $$",
    );
    client
}

/// The answer to `CREATE FUNCTION f` with this body in `plpgsql`.
fn create(client: &mut Client, body: &str) -> String {
    client.run(&format!(
        "CREATE OR REPLACE FUNCTION f(n int) RETURNS int LANGUAGE plpgsql AS $$ {body} $$"
    ))
}

#[test]
fn recursion_is_bounded() {
    let mut client = client();
    let body = "BEGIN IF n < 2 THEN RETURN 1; END IF; RETURN f(n - 1) + 1; END";
    assert_eq!(create(&mut client, body), "CREATE FUNCTION");
    assert_eq!(client.run("SELECT f(60)"), "60\nSELECT 1");
    assert_eq!(client.run("SELECT f(100000)"), "54001: stack depth limit exceeded");
    assert_eq!(client.run("SELECT f(id), f(2) FROM t ORDER BY 1"), "1|2\n2|2\nSELECT 2");
    assert_eq!(create(&mut client, "BEGIN RETURN g(n); END"), "CREATE FUNCTION");
    assert_eq!(client.run("SELECT f(1)"), "42883: function g(integer) does not exist");
    client.run(
        "CREATE FUNCTION g(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF n > 3 THEN RETURN n; END IF; RETURN f(n + 1); END $$",
    );
    assert_eq!(client.run("SELECT f(1)"), "4\nSELECT 1");
    // A handler catches the end of a recursion.
    create(
        &mut client,
        "BEGIN RETURN f(n + 1); EXCEPTION WHEN statement_too_complex THEN RETURN n; END",
    );
    assert!(client.run("SELECT f(1)").ends_with("\nSELECT 1"));
}

/// Each form of a call ends before the stack does: threads of tests have 2 MiB.
#[test]
fn recursion_is_bounded_in_all_its_forms() {
    let mut client = client();
    for body in [
        "BEGIN RETURN QUERY SELECT * FROM r(n + 1); END",
        "BEGIN RETURN QUERY EXECUTE 'SELECT m FROM generate_series(1, 1) g, LATERAL r($1 + g) m' USING n; END",
        "DECLARE x int; BEGIN FOR x IN SELECT * FROM r(n + 1) LOOP RETURN NEXT x; END LOOP; END",
        "BEGIN PERFORM * FROM r(n + 1); END",
        "DECLARE x int; BEGIN SELECT * INTO x FROM r(n + 1); END",
        "DECLARE x int; BEGIN EXECUTE 'SELECT (SELECT max(m) FROM r($1) m)' INTO x USING n + 1; END",
        "BEGIN RETURN QUERY SELECT m FROM t, LATERAL r(t.id + n) m ORDER BY m; END",
    ] {
        let head = "CREATE OR REPLACE FUNCTION r(n int) RETURNS SETOF int LANGUAGE plpgsql AS";
        assert_eq!(client.run(&format!("{head} $${body}$$")), "CREATE FUNCTION", "{body}");
        let ended = client.run("SELECT * FROM r(1)");
        assert_eq!(ended, "54001: stack depth limit exceeded", "{body}");
    }
    let direct = "CREATE OR REPLACE FUNCTION r(n int) RETURNS SETOF int LANGUAGE sql AS";
    client.run(&format!("{direct} $$ SELECT * FROM r(n + 1) $$"));
    assert_eq!(client.run("SELECT * FROM r(1)"), "54001: stack depth limit exceeded");
}

/// Such inserts go through one transaction, as the routine may change rows, too.
#[test]
fn inserts_of_calls_are_not_divided() {
    let database = new_database();
    let (mut client, mut other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE log (id int); CREATE TABLE src (id int)");
    client.run("INSERT INTO src SELECT g FROM generate_series(1, 20000) g");
    client.run(
        "CREATE FUNCTION logs(n int) RETURNS int LANGUAGE plpgsql AS
         $$ BEGIN INSERT INTO log VALUES (n); RETURN n; END $$",
    );
    client.run("BEGIN; CREATE TABLE d (id int)");
    assert_eq!(client.run("INSERT INTO d SELECT logs(id) FROM src"), "INSERT 0 20000");
    assert_eq!(client.run("SELECT count(*) FROM d"), "20000\nSELECT 1");
    assert_eq!(client.run("SELECT count(*) FROM log"), "20000\nSELECT 1");
    assert_eq!(other.run("SELECT count(*) FROM log"), "0\nSELECT 1");
    client.run("ROLLBACK");
    assert_eq!(client.run("SELECT count(*) FROM log"), "0\nSELECT 1");
    client.run("BEGIN; TRUNCATE src; CREATE OR REPLACE FUNCTION logs(n int) RETURNS int LANGUAGE sql AS 'SELECT -n'");
    client.run("INSERT INTO src VALUES (1), (2)");
    assert_eq!(
        client.run("CREATE TABLE d (id int); INSERT INTO d SELECT logs(id) FROM src"),
        "CREATE TABLE\nINSERT 0 2"
    );
    client.run("COMMIT");
    assert_eq!(other.run("SELECT * FROM d ORDER BY id"), "-2\n-1\nSELECT 2");
}

#[test]
fn calls_are_bounded() {
    let mut client = client();
    client.run("CREATE FUNCTION c0() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$");
    let mut refused = String::new();
    for depth in 1..20 {
        let below = depth - 1;
        let created = client.run(&format!(
            "CREATE FUNCTION c{depth}() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN c{below}(); END $$"
        ));
        if created != "CREATE FUNCTION" {
            refused = created;
            break;
        }
    }
    assert!(refused.contains("more than 16 calls inside of each other"), "{refused}");
    assert_eq!(client.run("SELECT c16()"), "1\nSELECT 1");
    client.run("CREATE FUNCTION d0() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$");
    let mut sums = Vec::new();
    for depth in 1..12 {
        let below = depth - 1;
        sums.push(client.run(&format!(
            "CREATE FUNCTION d{depth}() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN d{below}() + d{below}(); END $$"
        )));
    }
    let refused = sums.iter().find(|created| *created != "CREATE FUNCTION");
    assert!(refused.is_some_and(|one| one.contains("more than 200 calls")), "{sums:?}");
    assert_eq!(client.run("SELECT d6()"), "64\nSELECT 1");
}

#[test]
fn calls_that_change_what_their_statement_reads_are_refused() {
    let mut client = client();
    let refused = "0A000: a statement that reads the table \"t\" and calls \"writes\", which changes it, is not supported";
    for statement in [
        "PERFORM writes(1) FROM t;",
        "PERFORM id FROM t WHERE id = writes(1);",
        "UPDATE t SET v = writes(1) WHERE id = 1;",
        "DELETE FROM t WHERE id = writes(1);",
        "INSERT INTO t SELECT id + 10, writes(1) FROM t;",
        "n := (SELECT writes(1) FROM t LIMIT 1);",
        "SELECT count(*) INTO n FROM t, writes(1);",
    ] {
        let created = create(&mut client, &format!("BEGIN {statement} RETURN n; END"));
        assert_eq!(created, "CREATE FUNCTION", "{statement}");
        assert_eq!(client.run("SELECT f(1)"), refused, "{statement}");
    }
    assert_eq!(client.run("SELECT writes(id) FROM t"), refused);
    assert_eq!(client.run("SELECT writes(x) + reads() FROM (VALUES (1)) v (x)"), refused);
    assert_eq!(client.run("SELECT sum(v) FROM t"), "30\nSELECT 1");
    for (statement, what) in [
        ("n := writes(1) + reads();", "a call of a STABLE function behind one that changes rows"),
        ("n := (SELECT writes(1));", "a sub-select beside a call that changes"),
        ("n := writes(1) + (SELECT max(v) FROM t);", "a sub-select beside a call that changes"),
        (
            "n := writes(1) + adds((SELECT max(v) FROM t));",
            "a sub-select beside a call that changes",
        ),
        (
            "INSERT INTO t VALUES (writes(3), 0) RETURNING (SELECT max(v) FROM t) INTO n;",
            "a sub-select beside a call that changes",
        ),
        ("SELECT w INTO n FROM writes(1) AS w WHERE n > 0;", "beside a condition without its"),
        ("n := (SELECT count(*) FROM t WHERE v > hides());", "a change of rows in `hides`"),
        ("PERFORM adds(max(id)) FROM t;", "an aggregate or window function as an argument"),
    ] {
        client.run(
            "CREATE FUNCTION adds(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN n + 1; END $$;
            CREATE FUNCTION hides() RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET v = v + 1; RETURN 1; END $$",
        );
        let refused = create(&mut client, &format!("BEGIN {statement} RETURN n; END"));
        assert!(refused.starts_with("0A000") && refused.contains(what), "{statement}: {refused}");
    }
    let kept = "SELECT sum(v) FROM t";
    assert_eq!(client.run(kept), "30\nSELECT 1");
    let created = create(&mut client, "BEGIN n := reads() + writes(1); RETURN n; END");
    assert_eq!(created, "CREATE FUNCTION");
    assert_eq!(client.run("SELECT f(1)"), "31\nSELECT 1");
}

#[test]
fn notices_of_calls_over_rows_arrive_in_order() {
    let mut client = client();
    client.run("CREATE FUNCTION says(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'says %', n; RETURN n; END $$");
    create(
        &mut client,
        "BEGIN PERFORM says(id) FROM t ORDER BY id; RAISE NOTICE 'f'; RETURN n; END",
    );
    assert_eq!(client.run("SELECT f(7), says(8)"), "7|8\nSELECT 1");
    let notices = client.session.take_notices();
    let messages: Vec<&str> = notices.iter().map(|notice| &*notice.message).collect();
    assert_eq!(messages, ["says 1", "says 2", "f", "says 8"]);
}

#[test]
fn callers_over_rows_need_privileges_for_all_routines_and_tables() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("CREATE FUNCTION inner_one(n int) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM t) + n; END $$");
    ada.run("CREATE FUNCTION outer_one(k int) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT sum(inner_one(g)) FROM generate_series(1, k) g); END $$");
    let call = "SELECT outer_one(g) FROM generate_series(1, 1) g";
    assert_eq!(bob.run(call), "42501: permission denied for table t");
    ada.run("GRANT SELECT ON t TO bob");
    assert_eq!(bob.run(call), "3\nSELECT 1");
    ada.run("REVOKE EXECUTE ON FUNCTION inner_one FROM PUBLIC");
    assert_eq!(bob.run(call), "42501: permission denied for function inner_one");
    ada.run("GRANT EXECUTE ON FUNCTION inner_one TO bob");
    assert_eq!(bob.run(call), "3\nSELECT 1");
    ada.run("REVOKE EXECUTE ON FUNCTION outer_one FROM PUBLIC");
    assert_eq!(bob.run(call), "42501: permission denied for function outer_one");
}

#[test]
fn notices_of_called_routines_arrive_in_order() {
    let mut client = client();
    client.run("CREATE FUNCTION says(t text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'says %', t; RETURN t; END $$");
    create(
        &mut client,
        "DECLARE s text := says('a'); BEGIN RAISE NOTICE 'f %', says('b'); PERFORM says('c'); RETURN n; END",
    );
    assert_eq!(client.run("SELECT f(1)"), "1\nSELECT 1");
    let notices = client.session.take_notices();
    let messages: Vec<&str> = notices.iter().map(|notice| &*notice.message).collect();
    assert_eq!(messages, ["says a", "says b", "f b", "says c"]);
}

#[test]
fn a_replaced_routine_takes_effect_in_prepared_callers() {
    let mut client = client();
    let callee = |n: i32| {
        format!("CREATE OR REPLACE FUNCTION g() RETURNS int LANGUAGE sql AS $$ SELECT {n} $$")
    };
    client.run(&callee(1));
    create(&mut client, "BEGIN RETURN g() + n; END");
    client.run("PREPARE p AS SELECT f(10)");
    assert_eq!(client.run("EXECUTE p"), "11\nSELECT 1");
    client.run(&callee(2));
    assert_eq!(client.run("EXECUTE p"), "12\nSELECT 1");
    assert_eq!(
        client.run(&format!("BEGIN; {}; EXECUTE p; ROLLBACK", callee(3))),
        "BEGIN\nCREATE FUNCTION\n13\nSELECT 1\nROLLBACK"
    );
    assert_eq!(client.run("EXECUTE p"), "12\nSELECT 1");
    client.run("DROP FUNCTION g");
    assert_eq!(client.run("EXECUTE p"), "42883: function g() does not exist");
}

#[test]
fn callers_need_privileges_for_called_routines() {
    let (mut ada, mut bob, _) = with_roles();
    ada.run("CREATE FUNCTION inner_one() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM t); END $$");
    ada.run("CREATE FUNCTION outer_one() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN inner_one(); END $$");
    assert_eq!(bob.run("SELECT outer_one()"), "42501: permission denied for table t");
    ada.run("GRANT SELECT ON t TO bob");
    assert_eq!(bob.run("SELECT outer_one()"), "2\nSELECT 1");
    ada.run("REVOKE EXECUTE ON FUNCTION inner_one FROM PUBLIC");
    let denied = "42501: permission denied for function inner_one";
    assert_eq!(bob.run("SELECT outer_one()"), denied);
    ada.run("GRANT EXECUTE ON FUNCTION inner_one TO bob");
    assert_eq!(bob.run("SELECT outer_one()"), "2\nSELECT 1");
}

#[test]
fn an_error_in_a_called_routine_names_it() {
    let mut client = client();
    client.run("CREATE TABLE gone (id int)");
    client.run("CREATE FUNCTION g() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN\nRETURN (SELECT count(*) FROM gone); END $$");
    create(&mut client, "BEGIN RETURN g(); END");
    assert_eq!(client.run("SELECT f(1)"), "0\nSELECT 1");
    client.run("DROP TABLE gone");
    let error = client.query("SELECT f(1)").expect_err("the table is gone");
    assert_eq!((&*error.sqlstate, &*error.message), ("42P01", "relation \"gone\" does not exist"));
    assert_eq!(error.detail.as_deref(), Some("The error is in the routine \"g\"."));
    // PostgreSQL creates callers of such routines.
    assert_eq!(create(&mut client, "BEGIN RETURN g() + 1; END"), "CREATE FUNCTION");
    client.run("CREATE TABLE gone (id int)");
    assert_eq!(client.run("SELECT f(1)"), "1\nSELECT 1");
}

#[test]
fn errors_beside_calls_in_sql_are_reported() {
    let mut client = client();
    let created = client.run(
        "CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS $$ SELECT nosuch; SELECT reads() $$",
    );
    assert_eq!(created, "42703: column \"nosuch\" does not exist");
    client.run("CREATE TABLE gone (a int)");
    client.run(
        "CREATE FUNCTION empties() RETURNS int LANGUAGE sql AS $$ DELETE FROM gone; SELECT 1 $$",
    );
    assert_eq!(create(&mut client, "BEGIN RETURN empties(); END"), "CREATE FUNCTION");
    assert_eq!(client.run("SELECT f(1)"), "1\nSELECT 1");
    assert_eq!(client.run("DROP TABLE gone"), "DROP TABLE");
    assert_eq!(client.run("SELECT f(1)"), "42P01: relation \"gone\" does not exist");
}

#[test]
fn a_routine_with_a_schema_calls_itself() {
    let mut client = client();
    let created = client.run(
        "CREATE FUNCTION public.fact(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF n < 2 THEN RETURN 1; END IF; RETURN n * public.fact(n - 1); END $$",
    );
    assert_eq!(created, "CREATE FUNCTION");
    assert_eq!(client.run("SELECT public.fact(5)"), "120\nSELECT 1");
}
