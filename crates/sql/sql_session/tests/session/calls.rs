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
fn recursion_is_refused() {
    let mut client = client();
    let own = create(&mut client, "BEGIN IF n < 2 THEN RETURN 1; END IF; RETURN n * f(n - 1); END");
    assert_eq!(
        own,
        "0A000: a routine that calls itself, as `f` does here or in a routine that it calls, is outside the supported SQL; write a loop"
    );
    assert_eq!(create(&mut client, "BEGIN RETURN g(n); END"), "CREATE FUNCTION");
    assert_eq!(client.run("SELECT f(1)"), "42883: function g(integer) does not exist");
    let mutual = client.run(
        "CREATE FUNCTION g(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN f(n); END $$",
    );
    assert_eq!(
        mutual,
        "0A000: in the routine `f`, line 1: a routine that calls itself, as `g` does here or in a routine that it calls, is outside the supported SQL; write a loop"
    );
    // A dump creates routines in any order.
    client.run("SET check_function_bodies = off");
    let sql = "CREATE FUNCTION g(n int) RETURNS int LANGUAGE sql AS $$ SELECT f(n) $$";
    assert_eq!(client.run(sql), "CREATE FUNCTION");
    assert!(client.run("SELECT f(1)").starts_with("0A000: in the routine `g`, line 1: "));
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
fn calls_that_postgresql_repeats_are_refused() {
    let mut client = client();
    let per_row = "0A000: a call of the VOLATILE function `writes` where PostgreSQL calls it for each row is outside the supported SQL; call it into a variable first, or declare it STABLE if it changes nothing";
    for statement in [
        "PERFORM writes(1) FROM t;",
        "PERFORM id FROM t WHERE id = writes(1);",
        "UPDATE t SET v = writes(1) WHERE id = 1;",
        "DELETE FROM t WHERE id = writes(1);",
        "INSERT INTO t VALUES (3, 1), (4, writes(1));",
        "INSERT INTO t SELECT id + 10, writes(1) FROM t;",
        "INSERT INTO t VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET v = writes(1);",
        "INSERT INTO t VALUES (3, 1) RETURNING writes(1) INTO n;",
        "n := (SELECT writes(1) FROM t LIMIT 1);",
        "IF EXISTS (SELECT writes(1)) THEN n := 1; END IF;",
        "n := (SELECT x FROM (SELECT writes(1) AS x) q);",
        "SELECT count(*) INTO n FROM t, writes(1);",
        "PERFORM 1 UNION SELECT writes(1);",
        "WITH x AS (SELECT writes(1)) SELECT 1 INTO n FROM x;",
        "PERFORM 1 WHERE 1 = writes(1);",
        "SELECT count(*) INTO n FROM (t CROSS JOIN writes(1) AS w);",
        "IF writes(1) BETWEEN 1 AND 10 THEN n := 1; END IF;",
    ] {
        let refused = create(&mut client, &format!("BEGIN {statement} RETURN n; END"));
        assert_eq!(refused, per_row, "{statement}");
    }
    for (statement, what) in [
        ("PERFORM twice(id) FROM t;", "a call of `twice` with columns of rows"),
        ("PERFORM twice(max(id)) FROM t;", "a call of `twice` with columns of rows"),
        ("n := CASE WHEN random() < 0.5 THEN twice(1) END;", "behind such a condition"),
        ("PERFORM CASE WHEN id = 1 THEN twice(1) END FROM t;", "behind such a condition"),
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
    ] {
        client.run(
            "CREATE FUNCTION twice(n int) RETURNS int IMMUTABLE LANGUAGE sql AS $$ SELECT n * 2 $$;
            CREATE FUNCTION adds(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN n + 1; END $$;
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
fn recursion_of_a_routine_with_a_schema_is_refused() {
    let refused = client().run(
        "CREATE FUNCTION public.fact(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN n * fact(n - 1); END $$",
    );
    assert!(refused.starts_with("0A000: a routine that calls itself, as `fact`"), "{refused}");
}
