//! psql over a database.

use crate::programs::World;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Stdio;

#[test]
fn statements_of_all_kinds_run() {
    let world = World::new();
    let Some(told) = world.psql(&[
        "create table account (id int primary key, balance numeric(12,2), town varchar(20))",
        "insert into account values (1, 10.5, 'Ghent'), (2, null, 'L\u{fc}beck')",
        "select * from account order by id",
        "update account set balance = 0 where balance is null returning id",
        "delete from account where id = 1",
        "select count(*), sum(balance) from account",
    ]) else {
        return;
    };
    let expected = "CREATE TABLE\nINSERT 0 2\n id | balance |  town  \n----+---------+--------\n  \
                    1 |   10.50 | Ghent\n  2 |         | L\u{fc}beck\n(2 rows)\n\n id \n----\n  \
                    2\n(1 row)\n\nUPDATE 1\nDELETE 1\n count | sum  \n-------+------\n     \
                    1 | 0.00\n(1 row)\n\n";
    assert_eq!(told, expected);
}

#[test]
fn errors_have_their_place_and_state() {
    let world = World::new();
    let verbose = "\\set VERBOSITY verbose";
    let Some(told) = world.psql(&["create table t (id int primary key)", verbose, "selec 1"])
    else {
        return;
    };
    assert!(
        told.contains("ERROR:  42601") && told.contains("LINE 1: selec 1\n        ^"),
        "{told}"
    );
    let twice = world.psql(&[verbose, "insert into t values (1)", "insert into t values (1)"]);
    let twice = twice.expect("it has run");
    assert!(twice.contains("23505") && twice.contains("Key (id)=(1) already exists."), "{twice}");
    let position = world.psql(&["insert into t values (2); select nothing from t"]);
    let position = position.expect("it has run");
    assert!(position.contains("LINE 1: insert into t values (2); select nothing"), "{position}");
    // Both statements were one transaction.
    let count = world.psql(&["select count(*) from t"]).expect("it has run");
    assert!(count.contains("     1\n"), "{count}");
}

#[test]
fn rows_are_copied_in_both_directions() {
    let world = World::new();
    let file = std::env::temp_dir().join(format!("pgwire-{}-copy", std::process::id()));
    std::fs::write(&file, "1\tGhent\n2\t\\N\n").expect("there is room");
    let path = file.display();
    let Some(told) = world.psql(&[
        "create table town (id int primary key, name text)",
        &format!("\\copy town from {path}"),
        "copy town to stdout",
        "copy town to stdout with (format csv, header)",
        "copy (select id from town where id > 1) to stdout",
    ]) else {
        return;
    };
    std::fs::remove_file(&file).expect("it is ours");
    let expected = "CREATE TABLE\nCOPY 2\n1\tGhent\n2\t\\N\nid,name\n1,Ghent\n2,\n2\n";
    assert_eq!(told, expected);
}

#[test]
fn transactions_commit_and_roll_back() {
    let world = World::new();
    let Some(told) = world.psql(&[
        "create table t (id int primary key)",
        "begin; insert into t values (1); rollback",
        "begin",
        "insert into t values (2)",
        "commit",
        "select id from t",
    ]) else {
        return;
    };
    assert!(told.ends_with(" id \n----\n  2\n(1 row)\n\n"), "{told}");
}

#[test]
fn an_interrupt_of_psql_ends_the_statement() {
    let world = World::new();
    world.psql(&["create table t (a int)"]);
    let endless = "select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b \
                   where a + b < 0";
    let texts = [
        endless,
        "insert into t select 1 from generate_series(1, 100000) a, \
                           generate_series(1, 100000) b where a + b < 0",
    ];
    for text in texts {
        let mut command = std::process::Command::new("psql");
        command.args(["-X", "-h", "127.0.0.1", "-p", &world.port().to_string(), "-U", "me"]);
        command.args(["-d", "postgres", "-c", text]);
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let Ok(child) = output else {
            eprintln!("skipped: psql is not installed");
            return;
        };
        let before = world.server.gauges().counts();
        while world.server.gauges().counts().statements == before.statements {
            world.psql(&[]);
        }
        // The statement has begun; psql forwards Ctrl-C as a cancel request.
        kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
        let told = crate::programs::text(&child.wait_with_output().expect("it ends"));
        assert!(told.contains("ERROR:  canceling statement due to user request"), "{told}");
        assert_eq!(world.server.gauges().counts().cancels, before.cancels + 1);
    }
}

#[test]
fn time_outs_are_those_of_postgresql() {
    let world = World::new();
    let file = std::env::temp_dir().join(format!("pgwire-{}-timeouts", std::process::id()));
    let script = "create table t (a int);\nset statement_timeout = '100ms';\n\
                  select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b \
                  where a + b < 0;\nshow statement_timeout;\n\
                  set idle_in_transaction_session_timeout = '200ms';\nbegin;\n\
                  insert into t values (1);\n\\! sleep 2\nselect 1 as one;\n";
    std::fs::write(&file, script).expect("there is room");
    let path = file.to_str().expect("it is UTF-8");
    let Some(ran) = world.run("psql", &["-X", "-d", "postgres", "-f", path]) else { return };
    std::fs::remove_file(&file).expect("it is ours");
    let told = crate::programs::text(&ran);
    for part in [
        "ERROR:  canceling statement due to statement timeout",
        " 100ms\n",
        "FATAL:  terminating connection due to idle-in-transaction timeout",
    ] {
        assert!(told.contains(part), "no {part} in {told}");
    }
    let left = world.psql(&["select count(*) from t"]).expect("it is installed");
    assert!(left.contains("     0\n"), "its transaction was rolled back: {left}");
}

#[test]
fn plans_are_explained() {
    let world = World::new();
    let setting = "\\pset format unaligned";
    let Some(told) = world.psql(&[
        setting,
        "create table t (id int primary key, n int)",
        "insert into t select g, g % 10 from generate_series(1, 100) g",
        "explain (analyze, costs off, timing off) select id from t where n < 3 order by n limit 2",
        "explain (format json, costs off) delete from t where id = 1",
    ]) else {
        return;
    };
    for expected in [
        "QUERY PLAN\nLimit (actual rows=2 loops=1)\n",
        "\n  ->  Sort (actual rows=2 loops=1)\n        Sort Key: n\n        Sort Method: ",
        "\n        ->  Seq Scan on t (actual rows=30 loops=1)\n              Filter: (n < 3)\n",
        "\nPlanning Time: ",
        "\nExecution Time: ",
        "\"Node Type\": \"ModifyTable\",\n",
        "\"Operation\": \"Delete\",\n",
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
}

#[test]
fn statistics_are_shown() {
    let world = World::new();
    let Some(told) = world.psql(&[
        "\\pset format unaligned",
        "\\pset tuples_only",
        "create table t (id int primary key, town varchar(9), n int)",
        "insert into t select g, case when g <= 60 then 'a b' else 'c' || g end, cast(null as int) from generate_series(1, 100) g",
        "select reltuples from pg_class where relname = 't'",
        "analyze t",
        "select reltuples from pg_class where relname = 't'",
        "select attname, null_frac, n_distinct, most_common_vals, most_common_freqs from pg_stats where tablename = 't' and attname <> 'id' order by attname",
        "select histogram_bounds from pg_stats where tablename = 't' and attname = 'id'",
    ]) else {
        return;
    };
    for expected in
        ["\n-1\nANALYZE\n100\n", "n|1|0||\n", "town|0|-0.41|{\"a b\"}|{0.6}\n", "\n{1,2,3,4,"]
    {
        assert!(told.contains(expected), "{expected}: {told}");
    }
}
