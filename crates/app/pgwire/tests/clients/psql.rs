//! psql over a database.

use crate::programs::World;

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
