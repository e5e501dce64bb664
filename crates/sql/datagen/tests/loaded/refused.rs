//! The load refuses rows that violate the schema; the error has the row, the violation, and the
//! line of `workload.toml` to change. A table needs no primary key.

use crate::{SCALE, create, empty, ours};
use datagen::{Batches, LoadError, Population, check_references, load_part};
use fabric::run_now;
use sql::{Program, Source, WorkloadFolder};

const SCHEMA: &str = "
    CREATE TABLE owner (id integer PRIMARY KEY, code char(2) UNIQUE, share numeric(4, 2) UNIQUE);
    CREATE TABLE account (
        id integer PRIMARY KEY,
        owner integer REFERENCES owner (id),
        code char(2) REFERENCES owner (code),
        share numeric(6, 4) REFERENCES owner (share),
        name varchar(8) NOT NULL,
        balance numeric(8, 2) CHECK (balance > 0),
        CONSTRAINT named_or_rich CHECK (balance > 10 OR name <> 'poor')
    );
    CREATE TABLE entry (account integer NOT NULL, amount numeric(8, 2) CHECK (amount <> 0));";
const LOAD: &str = r#"
name = "x"
unit = "row"
units = 2
[tables.owner]
rows = 6
columns.id = { sequence = [1, 6] }
columns.code = { one_of = ["a", "b", "c", "d", "e", "f"], distinct = true }
columns.share = { sequence = [1, 6] }
[tables.account]
rows = 20
columns.id = { sequence = [1, 20] }
columns.owner = { sequence = [1, 6], null = 0.2 }
columns.code = { column = "owner.code" }
columns.share = { constant = "3" }
columns.name = { constant = "poor" }
columns.balance = { uniform = [1001, 2000], decimals = 2 }
[tables.entry]
rows = 30
columns.account = { constant = 7 }
columns.amount = { constant = "1.5" }
[procedures]
f = { frequency = 1 }
"#;

fn folder(load: &str) -> WorkloadFolder {
    let procedures = "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;";
    let program = Program::parse(
        &Source::new("schema.sql", SCHEMA),
        &Source::new("procedures.sql", procedures),
    );
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    let load = sql::read_load(&Source::new("workload.toml", load), &program);
    let load = load.unwrap_or_else(|error| panic!("{error}"));
    WorkloadFolder { load, program, checks: Program::default() }
}

/// Creates the tables and indexes, and loads them in two parts, the last part first.
fn load(load: &str) -> Result<Vec<Vec<String>>, LoadError> {
    let folder = folder(load);
    let population = Population::new(&folder.program, &folder.load, SCALE);
    let population = population.unwrap_or_else(|error| panic!("{error}"));
    let database = empty();
    run_now(create(&database, &folder));
    let mut lane = run_now(database.lane()).expect("lanes are free");
    let tables = 0..population.tables().count();
    for part in [1, 0] {
        for table in tables.clone() {
            let part = (part, 2);
            run_now(load_part(
                &population,
                &database,
                &mut lane,
                table,
                part,
                Batches::of(7),
                &|_| {},
            ))?;
        }
    }
    for table in tables.clone() {
        for part in 0..2 {
            let part = (part, 2);
            run_now(check_references(&population, &database, &mut lane, table, part, 7))?;
        }
    }
    Ok(tables.map(|table| ours(&database, &population, table)).collect())
}

/// The error after `to` replaces `from`.
fn refusal(from: &str, to: &str) -> String {
    assert!(LOAD.contains(from), "{from}");
    load(&LOAD.replacen(from, to, 1)).expect_err("a row is wrong").to_string()
}

#[test]
fn a_table_without_a_primary_key_has_as_many_equal_rows_as_it_should() {
    let rows = load(LOAD).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [6, 20, 30]);
    assert!(rows[2].iter().all(|row| row == "7\t1.50"), "{:?}", rows[2]);
}

#[test]
fn rows_that_the_schema_does_not_take_are_refused() {
    for (from, to, said) in [
        (
            "[1001, 2000]",
            "[0, 0]",
            "account cannot be loaded, because of its row with (id) = (11): its check account_balance_check does not hold for \
             (balance) = (0.00); change the draw of `columns.balance` of [tables.account] in workload.toml",
        ),
        (
            "{ constant = \"3\" }",
            "{ constant = \"-100.00004\" }",
            "its (share) = (-100.0000) is out of range for numeric(6,4); change the draw of `columns.share` of [tables.account] in workload.toml",
        ),
        (
            "[1001, 2000]",
            "[1, 1000]",
            "its check named_or_rich does not hold for (balance, name) = (",
        ),
        (
            "{ constant = \"poor\" }",
            "{ by = \"id\", cases = [{ below = 15, draw = { constant = \"x\" } }] }",
            "with (id) = (15): its name is null, and the column is NOT NULL; change the draw of `columns.name` of [tables.account] in workload.toml",
        ),
        (
            "columns.id = { sequence = [1, 20] }",
            "columns.id = { sequence = [1, 13] }",
            "another row has this key already, and account_pkey is unique; draw `columns.id` of [tables.account] in workload.toml without duplicates",
        ),
        (
            "[\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"], distinct = true",
            "[\"a\"]",
            "another row has (code) = (a ) already, and owner_code_key is unique; draw `columns.code` of [tables.owner] in workload.toml without duplicates",
        ),
        (
            "columns.owner = { sequence = [1, 6], null = 0.2 }",
            "columns.owner = { sequence = [1, 7] }",
            "account cannot be loaded, because of its row with (id) = (7): no row of owner has the id that (owner) = (7) \
             references by the foreign key account_owner_fkey; change the draw of `columns.owner` of [tables.account] in workload.toml",
        ),
        (
            "{ column = \"owner.code\" }",
            "{ constant = \"z\" }",
            "no row of owner has the code that (code) = (z ) references",
        ),
        (
            "{ constant = \"3\" }",
            "{ constant = \"3.004\" }",
            "no row of owner has the share that (share) = (3.0040) references",
        ),
        (
            "\"1.5\"",
            "0",
            "entry cannot be loaded, because of its row with (account, amount) = (7, 0.00)",
        ),
    ] {
        let told = refusal(from, to);
        assert!(told.contains(said), "{from} -> {to}: {told}");
    }
}
