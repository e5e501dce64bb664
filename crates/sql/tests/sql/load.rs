//! `workload.toml`: what is taken, and what is said of what is not.

use sql::load::{ArrayLength, Draw};
use sql::{Load, Program, Source};

const SCHEMA: &str = "CREATE TABLE branch (id integer PRIMARY KEY);
CREATE TABLE account (branch integer, id integer, owner varchar(16), PRIMARY KEY (branch, id));";
const PROCEDURES: &str = "
CREATE FUNCTION pay(branch integer, amounts numeric[], name varchar, by_name boolean, counts integer[], at timestamp)
    RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
CREATE FUNCTION audit() RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;";
const LOAD: &str = r#"name = "bank"
unit = "branch"
units = 4

[machines]
count = 2
memory_gib = 1.5

[tables]
branch = { rows = "units" }

[tables.account]
rows = "100 * branch.rows"
columns.branch = { sequence = [1, "units"], each = 100 }
columns.id = { sequence = [1, 100] }

[procedures.audit]
frequency = 0.5

[procedures.pay]
frequency = 10
[procedures.pay.arguments]
branch = { mixture = [{ weight = 9, draw = { uniform = [1, "units"] } }, { weight = 1, draw = { column = "branch.id" } }] }
amounts = { array = { uniform = [1, 100], decimals = 2 }, length = { uniform = [1, 3] } }
by_name = { chance = 0.6 }
name = { text = [3, 16], alphabet = "letters", null = 0.25 }
counts = { array = { zipf = { range = [1, "account.rows"], theta = 0.9 } }, length_of = "amounts", distinct = true }
at = { now = true }
"#;

fn program() -> Program {
    Program::parse(&Source::new("schema.sql", SCHEMA), &Source::new("procedures.sql", PROCEDURES))
        .expect("it is right")
}

fn read(text: &str) -> Result<Load, String> {
    sql::read_load(&Source::new("workload.toml", text), &program())
        .map_err(|error| error.to_string())
}

/// What is said when `from` is `to` instead.
fn problem(from: &str, to: &str) -> String {
    assert!(LOAD.contains(from), "{from}");
    read(&LOAD.replacen(from, to, 1)).expect_err("it is wrong")
}

#[test]
fn a_load_is_read() {
    let load = read(LOAD).expect("it is right");
    assert_eq!((load.units, load.machines.count, load.machines.threads), (4, 2, 1));
    let names: Vec<&str> = load.procedures.iter().map(|one| &*one.procedure).collect();
    assert_eq!(names, ["pay", "audit"]);
    let pay = &load.procedures[0].arguments;
    let order: Vec<&str> = pay.iter().map(|(name, _)| &**name).collect();
    assert_eq!(order, ["branch", "amounts", "name", "by_name", "counts", "at"]);
    assert_eq!(pay[2].1.null, 0.25);
    let Draw::Array { length, distinct: true, .. } = &pay[4].1.draw else {
        panic!("it is an array")
    };
    assert_eq!(*length, ArrayLength::Same("amounts".to_owned()));
    let rows = |table: &str| (table == "branch").then_some(4);
    assert_eq!(load.tables[1].rows.evaluate(4, &rows), Some(400));
    assert_eq!(load.tables[1].columns.len(), 2);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let cases = [
        ("units = 4", "unitz = 4", "workload.toml:3:1", "unknown field `unitz`"),
        ("units = 4", "units = 0", "workload.toml:3:9", "at least one unit"),
        ("branch = { rows = \"units\" }", "", "workload.toml:1:1", "how many rows `branch` has"),
        (
            "[tables]\n",
            "[tables]\nbrunch = { rows = 1 }\n",
            "workload.toml:10:1",
            "no table `brunch`",
        ),
        (
            "\"100 * branch.rows\"",
            "\"100 * account.rows\"",
            "workload.toml:13:8",
            "no number of rows",
        ),
        (
            "[procedures.audit]\nfrequency = 0.5",
            "",
            "workload.toml:",
            "how often `audit` is called",
        ),
        (
            "[procedures.audit]",
            "[procedures.audits]",
            "workload.toml:17:13",
            "no procedure `audits`",
        ),
        ("frequency = 10", "frequency = -1", "workload.toml:21:13", "0 or more"),
        ("at = { now = true }", "", "workload.toml:20:13", "how the parameter `at` is drawn"),
        ("at = { now", "when = { now", "workload.toml:28:1", "no parameter `when`"),
        ("chance = 0.6", "chance = 1.6", "workload.toml:25:11", "from 0 to 1"),
        (
            "chance = 0.6",
            "uniform = [0, 1]",
            "workload.toml:25:11",
            "draws numbers, and boolean is wanted",
        ),
        (
            "chance = 0.6",
            "chance = 0.6, width = 3",
            "workload.toml:25:11",
            "`width` belongs to `digits`",
        ),
        ("chance = 0.6", "chance = 0.6, now = true", "workload.toml:25:11", "exclude each other"),
        ("chance = 0.6", "", "workload.toml:25:11", "how this is drawn"),
        ("chance = 0.6", "chanse = 0.6", "workload.toml:25:13", "unknown field `chanse`"),
        ("theta = 0.9", "theta = 1.0", "workload.toml:27:", "less than 1"),
        ("length_of = \"amounts\"", "length_of = \"at\"", "workload.toml:27:", "not drawn before"),
        ("branch.id", "branch.number", "workload.toml:23:", "no column `branch.number`"),
        ("\"units\"] } }", "\"units - 9\"] } }", "workload.toml:23:", "above the upper one"),
        ("\"units\"] } }", "\"units +\"] } }", "workload.toml:23:", "missing"),
    ];
    for (from, to, place, sentence) in cases {
        let said = problem(from, to);
        assert!(said.starts_with(place) && said.contains(sentence), "{from} -> {to}: {said}");
    }
}

/// The example in the crate's documentation is one.
#[test]
fn the_documented_example_is_read() {
    let source = include_str!("../../src/load/mod.rs");
    let example = source.split("//! ```").nth(1).expect("there is an example");
    let lines = example
        .lines()
        .skip(1)
        .map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or(""));
    let text: Vec<&str> = lines.collect();
    let schema = "CREATE TABLE branch (id integer PRIMARY KEY); CREATE TABLE item (id integer PRIMARY KEY);
        CREATE TABLE customer (c_branch integer, c_number integer, c_name varchar(16), PRIMARY KEY (c_branch, c_number));";
    let procedures = "
        CREATE FUNCTION buy(branch integer, customer integer, items integer[], quantities smallint[]) RETURNS void
            LANGUAGE plpgsql AS $$ BEGIN END $$;
        CREATE FUNCTION pay(branch integer, amount numeric, by_name boolean, customer integer, name varchar) RETURNS void
            LANGUAGE plpgsql AS $$ BEGIN END $$;";
    let program = Program::parse(
        &Source::new("schema.sql", schema),
        &Source::new("procedures.sql", procedures),
    );
    let load = sql::read_load(
        &Source::new("workload.toml", &text.join("\n")),
        &program.expect("it is right"),
    );
    assert_eq!(load.expect("it is right").procedures.len(), 2);
}
