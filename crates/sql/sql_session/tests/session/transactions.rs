//! Transactions of sessions.

use crate::support::{Client, new_database, other_process};
use fabric::run_now;
use sql_session::TransactionStatus;

const INSERT: &str = "INSERT INTO t VALUES (1, 1), (2, 2)";

fn two_clients() -> (Client, Client) {
    let database = new_database();
    let (mut client, other) = (Client::of(&database), Client::of(&database));
    client.run("CREATE TABLE t (a int PRIMARY KEY, b int)");
    client.run(INSERT);
    (client, other)
}

/// The second one is in another process: they find their conflicts at the commit.
fn two_processes() -> (Client, Client) {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE t (a int PRIMARY KEY, b int)");
    client.run(INSERT);
    let other = Client::of(&other_process(&database));
    (client, other)
}

#[test]
fn statements_of_a_transaction_take_effect_together() {
    let (mut client, mut other) = two_clients();
    assert_eq!(client.run("BEGIN"), "BEGIN");
    assert_eq!(client.session.status(), TransactionStatus::InTransaction);
    assert_eq!(client.run("UPDATE t SET b = 5 WHERE a = 1"), "UPDATE 1");
    assert_eq!(client.run("INSERT INTO t VALUES (3, 3)"), "INSERT 0 1");
    assert_eq!(client.run("SELECT * FROM t ORDER BY a"), "1|5\n2|2\n3|3\nSELECT 3");
    assert_eq!(other.run("SELECT * FROM t ORDER BY a"), "1|1\n2|2\nSELECT 2");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(client.session.status(), TransactionStatus::Idle);
    assert_eq!(other.run("SELECT sum(b) FROM t"), "10\nSELECT 1");
    client.run("START TRANSACTION; DELETE FROM t");
    assert_eq!(client.run("SELECT count(*) FROM t"), "0\nSELECT 1");
    assert_eq!(client.run("ROLLBACK"), "ROLLBACK");
    assert_eq!(client.run("SELECT count(*) FROM t"), "3\nSELECT 1");
}

#[test]
fn a_failed_transaction_accepts_only_its_end() {
    let (mut client, _) = two_clients();
    client.run("BEGIN; UPDATE t SET b = 9");
    let refused = "23505: duplicate key value violates unique constraint \"t_pkey\"";
    assert_eq!(client.run("INSERT INTO t VALUES (1, 1)"), refused);
    assert_eq!(client.session.status(), TransactionStatus::Failed);
    let failed =
        "25P02: current transaction is aborted, commands ignored until end of transaction block";
    assert_eq!(client.run("SELECT 1"), failed);
    assert_eq!(client.run("COMMIT"), "ROLLBACK");
    assert_eq!(client.run("SELECT sum(b) FROM t"), "3\nSELECT 1");
    client.run("BEGIN");
    assert_eq!(client.run("SELECT nothing"), "42703: column \"nothing\" does not exist");
    assert_eq!(client.run("SELECT 1"), failed);
    assert_eq!(client.run("ROLLBACK"), "ROLLBACK");
}

#[test]
fn conflicts_are_retried_alone_and_reported_in_transactions() {
    let (mut client, mut other) = two_clients();
    client.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM t");
    assert_eq!(other.run("UPDATE t SET b = b + 1"), "UPDATE 2");
    let updated = client.run("UPDATE t SET b = b + 10 WHERE a = 1");
    let ended = client.run("COMMIT");
    let conflict = "40001: could not serialize access due to concurrent update";
    assert!(updated == conflict && ended == "ROLLBACK" || ended == conflict, "{updated}, {ended}");
    assert_eq!(client.session.status(), TransactionStatus::Idle);
    assert_eq!(client.run("SELECT * FROM t ORDER BY a"), "1|2\n2|3\nSELECT 2");
}

#[test]
fn serializable_transactions_do_not_skew() {
    let (mut client, mut other) = two_clients();
    for client in [&mut client, &mut other] {
        client.run("BEGIN ISOLATION LEVEL SERIALIZABLE");
        assert_eq!(client.run("SELECT sum(b) FROM t"), "3\nSELECT 1");
    }
    client.run("UPDATE t SET b = 0 WHERE a = 1");
    other.run("UPDATE t SET b = 0 WHERE a = 2");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    let refused =
        "40001: could not serialize access due to read/write dependencies among transactions";
    assert_eq!(other.run("COMMIT"), refused);
}

#[test]
fn statements_of_a_simple_query_take_effect_together() {
    let (mut client, _) = two_clients();
    let text = "INSERT INTO t VALUES (3, 3); INSERT INTO t VALUES (3, 3)";
    assert!(client.run(text).starts_with("23505"));
    assert_eq!(client.run("SELECT count(*) FROM t"), "2\nSELECT 1");
    let text = "INSERT INTO t VALUES (3, 3); COMMIT; INSERT INTO t VALUES (3, 3)";
    assert!(client.run(text).starts_with("23505"));
    assert_eq!(client.run("SELECT count(*) FROM t"), "3\nSELECT 1");
    client.run("INSERT INTO t VALUES (4, 4); BEGIN; INSERT INTO t VALUES (5, 5)");
    assert_eq!(client.session.status(), TransactionStatus::InTransaction);
    client.run("ROLLBACK");
    assert_eq!(client.run("SELECT count(*) FROM t"), "3\nSELECT 1");
}

#[test]
fn settings_and_prepared_statements_are_those_of_sql() {
    let (mut client, _) = two_clients();
    assert_eq!(client.run("SHOW transaction isolation level"), "read committed\nSHOW");
    client.run("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    assert_eq!(client.run("SHOW transaction_isolation"), "serializable\nSHOW");
    assert_eq!(client.run("SET extra_float_digits = 3"), "SET");
    assert_eq!(
        client.run("SET nonsense TO 1"),
        "42704: unrecognized configuration parameter \"nonsense\""
    );
    assert_eq!(client.run("PREPARE p (int) AS SELECT b FROM t WHERE a = $1"), "PREPARE");
    assert_eq!(client.run("EXECUTE p (1 + 1)"), "2\nSELECT 1");
    assert_eq!(client.run("DEALLOCATE p"), "DEALLOCATE");
    assert_eq!(client.run("EXECUTE p (1)"), "26000: prepared statement \"p\" does not exist");
    client.run("BEGIN READ ONLY");
    let refused = "25006: cannot execute DELETE in a read-only transaction";
    assert_eq!(client.run("DELETE FROM t"), refused);
    client.run("ROLLBACK");
    assert_eq!(client.run("DISCARD ALL"), "DISCARD ALL");
}

#[test]
fn a_session_that_ends_rolls_back() {
    let (mut client, mut other) = two_clients();
    client.run("BEGIN; DELETE FROM t; ");
    drop(client);
    assert_eq!(other.run("TRUNCATE t"), "TRUNCATE TABLE");
    assert_eq!(other.run(INSERT), "INSERT 0 2");
    run_now(other.session.close());
}

#[test]
fn savepoints_undo_a_part_of_a_transaction() {
    let (mut client, _) = two_clients();
    client.run("BEGIN; UPDATE t SET b = 5 WHERE a = 1; SAVEPOINT one");
    client.run("INSERT INTO t VALUES (3, 3); SAVEPOINT two; DELETE FROM t");
    assert_eq!(client.run("SELECT count(*) FROM t"), "0\nSELECT 1");
    assert_eq!(client.run("ROLLBACK TO two"), "ROLLBACK");
    assert_eq!(client.run("SELECT * FROM t ORDER BY a"), "1|5\n2|2\n3|3\nSELECT 3");
    assert!(client.run("INSERT INTO t VALUES (3, 3)").starts_with("23505"));
    assert_eq!(client.session.status(), TransactionStatus::Failed);
    assert_eq!(client.run("ROLLBACK TO SAVEPOINT one"), "ROLLBACK");
    assert_eq!(client.session.status(), TransactionStatus::InTransaction);
    assert_eq!(client.run("ROLLBACK TO two"), "3B001: savepoint \"two\" does not exist");
    client.run("ROLLBACK TO one");
    assert_eq!(client.run("SELECT * FROM t ORDER BY a"), "1|5\n2|2\nSELECT 2");
    assert_eq!(client.run("RELEASE one"), "RELEASE");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(client.run("SELECT * FROM t ORDER BY a"), "1|5\n2|2\nSELECT 2");
    let outside = "25P01: SAVEPOINT can only be used in transaction blocks";
    assert_eq!(client.run("SAVEPOINT one"), outside);
}

/// Statements that cannot be repeated stay, too.
#[test]
fn savepoints_follow_any_number_of_statements() {
    let (mut client, mut other) = two_clients();
    client.run("BEGIN");
    for id in 100..1200 {
        client.run(&format!("INSERT INTO t VALUES ({id}, 0)"));
    }
    client
        .run("UPDATE t SET b = 1 WHERE a = 1000; SAVEPOINT one; UPDATE t SET b = 2 WHERE a < 1001");
    assert!(client.run("INSERT INTO t VALUES (7, 7), (1000, 0)").starts_with("23505"));
    assert_eq!(client.run("ROLLBACK TO one"), "ROLLBACK");
    let counted = "SELECT count(*), sum(b) FROM t WHERE a >= 7";
    assert_eq!(client.run(counted), "1100|1\nSELECT 1");
    client.run("SAVEPOINT two; DELETE FROM t WHERE a >= 100; SAVEPOINT three; INSERT INTO t VALUES (100, 9)");
    assert_eq!(client.run("ROLLBACK TO three"), "ROLLBACK");
    assert_eq!(client.run(counted), "0|NULL\nSELECT 1");
    client.run("INSERT INTO t VALUES (8, 8)");
    assert_eq!(client.run("ROLLBACK TO two"), "ROLLBACK");
    assert_eq!(client.run(counted), "1100|1\nSELECT 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run(counted), "1100|1\nSELECT 1");
}

/// A change of rows that others refer to begins the transaction of the engine again.
#[test]
fn savepoints_outlive_a_second_beginning() {
    let (mut client, _) = two_clients();
    client.run("CREATE TABLE child (a int REFERENCES t)");
    client.run("BEGIN; DECLARE c CURSOR FOR SELECT a FROM t ORDER BY a; FETCH c; SAVEPOINT one");
    assert!(client.run("DELETE FROM t WHERE a = 1; INSERT INTO t VALUES (2, 2)").contains("23505"));
    assert_eq!(client.run("ROLLBACK TO one; FETCH c"), "ROLLBACK\n2\nFETCH 1");
    assert_eq!(client.run("SELECT a FROM t ORDER BY a"), "1\n2\nSELECT 2");
    assert_eq!(client.run("COMMIT"), "COMMIT");
}

/// The statements before a savepoint run again, and so does the savepoint.
#[test]
fn savepoints_outlive_hidden_conflicts() {
    let (mut client, mut other) = two_processes();
    client.run("BEGIN; UPDATE t SET b = b + 10 WHERE a = 1; SAVEPOINT one");
    assert_eq!(other.run("UPDATE t SET b = b + 100 WHERE a = 1"), "UPDATE 1");
    client.run("UPDATE t SET b = b + 10 WHERE a = 2; SAVEPOINT two");
    // This one finds the conflict, or the commit.
    client.run("DELETE FROM t WHERE a = 2; ROLLBACK TO two; SAVEPOINT three; DELETE FROM t");
    assert_eq!(client.run("ROLLBACK TO one"), "ROLLBACK");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(other.run("SELECT b FROM t ORDER BY a"), "111\n2\nSELECT 2");
}

#[test]
fn read_committed_hides_conflicts_that_change_no_result() {
    let (mut client, mut other) = two_processes();
    // The rows that conflict were not shown to the client.
    client.run("BEGIN; UPDATE t SET b = b + 10 WHERE a = 1");
    assert_eq!(client.run("SELECT b FROM t WHERE a = 2"), "2\nSELECT 1");
    assert_eq!(other.run("UPDATE t SET b = b + 100 WHERE a = 1"), "UPDATE 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(client.run("SELECT b FROM t WHERE a = 1"), "111\nSELECT 1");
    // Now they were.
    client.run("BEGIN; UPDATE t SET b = b + 10 WHERE a = 1 RETURNING b");
    assert_eq!(other.run("UPDATE t SET b = b + 100 WHERE a = 1"), "UPDATE 1");
    assert!(client.run("COMMIT").starts_with("40001"));
    assert_eq!(client.run("SELECT b FROM t WHERE a = 1"), "211\nSELECT 1");
    // A statement may meet the conflict, too.
    client.run("BEGIN; SELECT b FROM t WHERE a = 2");
    assert_eq!(other.run("UPDATE t SET b = 0 WHERE a = 1"), "UPDATE 1");
    assert_eq!(client.run("UPDATE t SET b = b + 1 WHERE a = 1"), "UPDATE 1");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(client.run("SELECT b FROM t WHERE a = 1"), "1\nSELECT 1");
}

#[test]
fn foreign_keys_are_checked_in_the_middle_of_a_snapshot() {
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let (mut client, mut other) = two_processes();
        client.run("CREATE TABLE child (a int REFERENCES t)");
        run_now(other.session.database().refresh()).expect("the catalog is readable");
        client.run(&format!("BEGIN ISOLATION LEVEL {level}; UPDATE t SET b = 7 WHERE a = 2"));
        assert_eq!(client.run("SELECT b FROM t WHERE a = 1"), "1\nSELECT 1");
        assert_eq!(client.run("INSERT INTO child VALUES (1)"), "INSERT 0 1");
        // The parent goes between the check and the commit.
        assert_eq!(other.run("DELETE FROM t WHERE a = 1"), "DELETE 1");
        let ended = client.run("COMMIT");
        assert!(ended.starts_with("40001"), "{level}: {ended}");
        assert_eq!(client.run("SELECT count(*) FROM child"), "0\nSELECT 1");
    }
}

/// A row that each statement finds by reading all rows, in a block with many such statements.
#[test]
fn a_block_does_not_keep_what_its_statements_have_read() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE t (id int PRIMARY KEY, name text, v int)");
    client.run("INSERT INTO t SELECT g, 'row ' || g, 0 FROM generate_series(1, 10000) g");
    client.run("BEGIN; SAVEPOINT early; UPDATE t SET v = 1 WHERE id = 9999");
    // 1,300,000 rows are read.
    for number in 1..=130 {
        let text = format!("UPDATE t SET v = v + 1 WHERE name = 'row {}'", number * 50);
        assert_eq!(client.run(&text), "UPDATE 1", "statement {number}");
        if number == 100 {
            client.run("SAVEPOINT late");
        }
    }
    assert_eq!(client.run("SELECT sum(v) FROM t"), "131\nSELECT 1");
    client.run("ROLLBACK TO late");
    assert_eq!(client.run("SELECT sum(v) FROM t"), "101\nSELECT 1");
    client.run("ROLLBACK TO early");
    assert_eq!(client.run("SELECT sum(v) FROM t"), "0\nSELECT 1");
    client.run("UPDATE t SET v = 7 WHERE name = 'row 3'");
    assert_eq!(client.run("COMMIT"), "COMMIT");
    assert_eq!(client.run("SELECT id, v FROM t WHERE v <> 0"), "3|7\nSELECT 1");
}

#[test]
fn a_block_does_not_keep_values_that_it_has_replaced() {
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        let database = new_database();
        let mut client = Client::of(&database);
        client.run("CREATE TABLE doc (id int PRIMARY KEY, body text)");
        client.run("INSERT INTO doc VALUES (1, '')");
        client.run(&format!("BEGIN ISOLATION LEVEL {level}"));
        // 600 MB are written.
        for number in 1..=600 {
            let text = format!("UPDATE doc SET body = repeat('{}', 1000000)", number % 10);
            assert_eq!(client.run(&text), "UPDATE 1", "{level}, statement {number}");
        }
        assert_eq!(client.run("COMMIT"), "COMMIT", "{level}");
        let found = client.run("SELECT length(body), left(body, 1) FROM doc");
        assert_eq!(found, "1000000|0\nSELECT 1", "{level}");
    }
}

/// A routine whose loop catches errors sets a savepoint for each turn.
#[test]
fn a_routine_undoes_the_handled_blocks_that_have_failed() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE c (id int PRIMARY KEY, n int, pad text)");
    client.run("INSERT INTO c VALUES (1, 0, repeat('x', 400))");
    client.run(
        "CREATE PROCEDURE count_up(turns int) LANGUAGE plpgsql AS $$
         BEGIN
           FOR i IN 1..turns LOOP
             BEGIN
               UPDATE c SET n = n + 1 WHERE id = 1;
               IF i % 2 = 0 THEN RAISE EXCEPTION 'undone'; END IF;
             EXCEPTION WHEN raise_exception THEN NULL;
             END;
           END LOOP;
         END $$",
    );
    assert_eq!(client.run("CALL count_up(3000)"), "CALL");
    assert_eq!(client.run("SELECT n FROM c"), "1500\nSELECT 1");
}

/// More rows than one transaction of the engine could once change.
#[test]
fn statements_change_hundreds_of_thousands_of_rows() {
    let database = new_database();
    let mut client = Client::of(&database);
    client.run("CREATE TABLE big (id int PRIMARY KEY, v int, w int)");
    client.run("INSERT INTO big VALUES (0, 0, 0)");
    let fill = "INSERT INTO big SELECT g, g % 7, 1 FROM generate_series(1, 149999) g";
    assert_eq!(client.run(fill), "INSERT 0 149999");
    assert_eq!(client.run("BEGIN; UPDATE big SET v = v + 1"), "BEGIN\nUPDATE 150000");
    assert_eq!(client.run("SELECT sum(v) FROM big"), "599994\nSELECT 1");
    client.run("ROLLBACK");
    assert_eq!(client.run("UPDATE big SET v = v + 1, id = -id"), "UPDATE 150000");
    assert_eq!(client.run("SELECT sum(v), min(id) FROM big"), "599994|-149999\nSELECT 1");
    assert_eq!(client.run("DELETE FROM big WHERE id < 0"), "DELETE 149999");
    assert_eq!(client.run("SELECT id FROM big"), "0\nSELECT 1");
}
