//! `workload.toml`: valid files, and the errors of invalid ones.

use sql::load::{ArrayLength, Condition, Draw, Expectation, Rows};
use sql::{Load, Program, Source};

const SCHEMA: &str = "CREATE TABLE branch (id integer PRIMARY KEY);
CREATE TABLE account (branch integer, id integer, owner varchar(16), PRIMARY KEY (branch, id));
CREATE TABLE card (branch integer, id integer, number integer, kind integer, expires integer, PRIMARY KEY (branch, id, number));
CREATE TABLE entry (id integer, place integer, PRIMARY KEY (id, place));";
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

[tables.card]
for_each = "account"
rows = { by = "account.id", cases = [{ below = 11, draw = { uniform = [1, 3] } }, { is = 50, draw = { constant = 8 } }] }
columns.branch = { same = "account.branch" }
columns.id = { same = "account.id" }
columns.number = { sequence = [1, 8] }
columns.kind = { one_of = [1, 2, 4], distinct = true }
columns.expires = { by = "account.id", cases = [{ below = 26, draw = { uniform = [1, 12], distinct = true } }] }

[tables.entry]
for_each = "card"
rows = 2

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

/// The error after `to` replaces `from`.
fn problem(from: &str, to: &str) -> String {
    assert!(LOAD.contains(from), "{from}");
    read(&LOAD.replacen(from, to, 1)).expect_err("it is wrong")
}

/// Asserts the position and message of the error after the second text replaces the first.
fn assert_reported(cases: &[(&str, &str, &str, &str)]) {
    for (from, to, place, sentence) in cases {
        let said = problem(from, to);
        // Consequences of an error may be reported as well.
        let is_told = |line: &str| line.starts_with(place) && line.contains(sentence);
        let is_said =
            said.lines().any(is_told) || said.starts_with(place) && said.contains(sentence);
        assert!(is_said, "{from} -> {to}: {said}");
    }
}

#[test]
fn a_load_is_read() {
    let load = read(LOAD).expect("it is right");
    assert_eq!((load.units, load.machines.count, load.machines.threads), (4, Some(2), None));
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
    let Rows::Counted(amount) = &load.tables[1].rows else { panic!("they are counted") };
    assert_eq!(amount.evaluate(4, &rows), Some(400));
    assert_eq!(load.tables[1].columns.len(), 2);
}

#[test]
fn rows_of_another_table_have_rows_each() {
    let load = read(LOAD).expect("it is right");
    let card = load.table("card").expect("it is there");
    let Rows::ForEach { parent, count } = &card.rows else { panic!("they are drawn") };
    let Draw::Cases { by, cases } = &count.draw else { panic!("there are cases") };
    assert_eq!((&**parent, &**by), ("account", "account.id"));
    assert!(matches!(cases[0].0, Condition::Below(_)) && matches!(cases[1].0, Condition::Is(_)));
    let kind = &card.column("kind").expect("it is drawn").draw;
    assert!(matches!(kind, Draw::OneOf { distinct: true, .. }));

    // Each branch has ten accounts with two cards on average, and one account with eight.
    let expectation = Expectation::new(&load, 4);
    let near = |found: Option<f64>, wanted: f64| found.is_some_and(|it| (it - wanted).abs() < 1e-9);
    assert!(near(expectation.rows("card"), 4.0 * (10.0 * 2.0 + 8.0)));
    assert!(near(expectation.rows("entry"), 2.0 * 4.0 * 28.0));
    assert_eq!(expectation.rows("nothing"), None);
    let expires = card.column("expires").expect("it is drawn");
    assert!(near(expectation.null_share("card", expires), 0.75));
}

#[test]
fn errors_are_reported_with_their_line() {
    let cases = [
        ("units = 4", "unitz = 4", "workload.toml:3:1", "unknown field `unitz`"),
        ("units = 4", "units = 0", "workload.toml:3:9", "must be at least 1"),
        ("branch = { rows = \"units\" }", "", "workload.toml:1:1", "no entry for `branch`"),
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
            "not a valid row count",
        ),
        ("[procedures.audit]\nfrequency = 0.5", "", "workload.toml:", "no entry for `audit`"),
        (
            "[procedures.audit]",
            "[procedures.audits]",
            "workload.toml:30:13",
            "no procedure `audits`",
        ),
        ("frequency = 10", "frequency = -1", "workload.toml:34:13", "at least 0"),
        ("= 10\n[pro", "= 10\nsucceeds = 1.5\n[pro", "workload.toml:35:12", "from 0 to 1"),
        (
            "= 10\n[pro",
            "= 10\nsucceeds = [0.9, 0.8]\n[pro",
            "workload.toml:35:12",
            "smaller one first",
        ),
        ("at = { now = true }", "", "workload.toml:33:13", "the parameter `at` has no draw"),
        ("at = { now", "when = { now", "workload.toml:41:1", "no parameter `when`"),
        ("chance = 0.6", "chance = 1.6", "workload.toml:38:11", "from 0 to 1"),
        ("chance = 0.6", "uniform = [0, 1]", "workload.toml:38:11", "but boolean is required"),
        (
            "chance = 0.6",
            "chance = 0.6, width = 3",
            "workload.toml:38:11",
            "`width` belongs to `digits`",
        ),
        ("chance = 0.6", "chance = 0.6, now = true", "workload.toml:38:11", "cannot be combined"),
        ("chance = 0.6", "", "workload.toml:38:11", "has no draw"),
        ("chance = 0.6", "chanse = 0.6", "workload.toml:38:13", "unknown field `chanse`"),
        ("theta = 0.9", "theta = 1.0", "workload.toml:40:", "less than 1"),
        (
            "length_of = \"amounts\"",
            "length_of = \"at\"",
            "workload.toml:40:",
            "not among the values",
        ),
        ("branch.id", "branch.number", "workload.toml:36:", "no column `branch.number`"),
        ("\"units\"] } }", "\"units - 9\"] } }", "workload.toml:36:", "greater than"),
        ("\"units\"] } }", "\"units +\"] } }", "workload.toml:36:", "missing"),
    ];
    assert_reported(&cases);
}

/// Errors about misspelled names have their line, and suggest a similar name.
#[test]
fn similar_names_are_suggested() {
    let cases = [
        ("units = 4", "unts = 4", "workload.toml:3:1", "is `units` meant?"),
        ("frequency = 10", "frequenzy = 10", "workload.toml:34:1", "is `frequency` meant?"),
        ("= 10\n[pro", "= 10\nsucceds = 1\n[pro", "workload.toml:35:1", "is `succeeds` meant?"),
        (
            "= 10\n[pro",
            "= 10\nsucceeds = \"0.5\"\n[pro",
            "workload.toml:35:12",
            "a share of calls from 0 to 1, such as 0.98",
        ),
        ("= 10\n[pro", "= 10\nsucceeds = [0.5]\n[pro", "workload.toml:35:12", "invalid length 1"),
        (
            "= 10\n[pro",
            "= 10\nsucceeds = [0.5, 0.6, 0.7]\n[pro",
            "workload.toml:35:12",
            "invalid length 3, expected two bounds, such as [1, 10]",
        ),
        ("chance = 0.6", "uniform = [1, 2, 3, 4]", "workload.toml:38:", "invalid length 4"),
        (
            "range = [1, \"account.rows\"]",
            "range = [1, \"account.rows\", 5]",
            "workload.toml:40:",
            "invalid length 3",
        ),
        ("{ chance = 0.6 }", "5", "workload.toml:38:11", "expected a draw such as { uniform"),
        ("count = 2", "cuont = 2", "workload.toml:6:1", "is `count` meant?"),
        ("[tables.account]", "[tables.acount]", "workload.toml:12:9", "is `account` meant?"),
        (
            "\"100 * branch.rows\"",
            "\"100 * brnach.rows\"",
            "workload.toml:13:8",
            "no table `brnach`; is `branch` meant?",
        ),
        (
            "\"100 * branch.rows\"",
            "\"100 * branch.row\"",
            "workload.toml:13:8",
            "`branch.row` is not a number; is `branch.rows` meant?",
        ),
        ("\"units\"], each", "\"unit\"], each", "workload.toml:14:", "is `units` meant?"),
        (
            "[1, \"account.rows\"]",
            "[1, \"accont.rows\"]",
            "workload.toml:40:",
            "no table `accont`; is `account` meant?",
        ),
        ("each = 100", "each = \"acount.rows\"", "workload.toml:14:", "is `account` meant?"),
        ("columns.number =", "columns.nunber =", "workload.toml:22:9", "is `number` meant?"),
        ("each = \"account\"", "each = \"acount\"", "workload.toml:18:12", "is `account` meant?"),
        ("account.branch", "account.brnach", "workload.toml:20:", "is `account.branch` meant?"),
        ("branch.id", "branch.di", "workload.toml:36:", "is `branch.id` meant?"),
        ("[procedures.audit]", "[procedures.adit]", "workload.toml:30:13", "is `audit` meant?"),
        ("amounts = {", "amount = {", "workload.toml:37:1", "is `amounts` meant?"),
        ("\"amounts\"", "\"ammounts\"", "workload.toml:40:", "is `amounts` meant?"),
        ("\"letters\"", "\"leters\"", "workload.toml:39:", "is `letters` meant?"),
        ("chance = 0.6", "chanse = 0.6", "workload.toml:38:13", "is `chance` meant?"),
    ];
    assert_reported(&cases);
}

#[test]
fn errors_of_child_tables_are_reported() {
    let cases = [
        ("for_each = \"account\"\n", "", "workload.toml:18:8", "needs `for_each`"),
        ("each = \"account\"", "each = \"accounts\"", "workload.toml:18:12", "no table `accounts`"),
        (
            "for_each = \"account\"",
            "for_each = \"card\"",
            "workload.toml:19:",
            "not among the values drawn before",
        ),
        (
            "uniform = [1, 3] }",
            "zipf = { range = [1, 3], theta = 0.5 } }",
            "workload.toml:19:8",
            "row count is unknown",
        ),
        (
            "account.branch",
            "account.owner",
            "workload.toml:20:",
            "not among the values drawn before",
        ),
        ("is = 50, ", "is = 50, below = 3, ", "workload.toml:19:", "cannot be combined"),
        ("below = 11, draw", "draw", "workload.toml:19:", "unreachable"),
        ("below = 26", "below = \"card.rows\"", "workload.toml:24:", "a formula cannot use it"),
        (
            "4], distinct",
            "4], weights = [1, 1, 2], distinct",
            "workload.toml:23:",
            "cannot be combined",
        ),
        (
            "[1, 12], distinct",
            "[1, 2000000], distinct",
            "workload.toml:24:",
            "at most 1048576 values",
        ),
        ("chance = 0.6", "uniform = [1, 2], distinct = true", "workload.toml:38:", "is required"),
        (
            "range = [1, \"account.rows\"]",
            "range = [1, \"card.rows\"]",
            "workload.toml:40:",
            "a formula cannot use it",
        ),
        (
            "column = \"branch.id\"",
            "column = \"card.id\"",
            "workload.toml:36:",
            "cannot choose one of its rows",
        ),
        (
            "alphabet = \"letters\"",
            "containing = \"FOUR\"",
            "workload.toml:39:",
            "too short for `containing`",
        ),
    ];
    assert_reported(&cases);
}

/// The example in the documentation of the module is valid.
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
        CREATE TABLE customer (c_branch integer, c_number integer, c_name varchar(16), PRIMARY KEY (c_branch, c_number));
        CREATE TABLE basket (b_branch integer, b_customer integer, b_number integer, b_shelf integer, b_paid boolean,
            PRIMARY KEY (b_branch, b_customer, b_number));";
    let procedures = "
        CREATE FUNCTION buy(branch integer, customer integer, items integer[], quantities smallint[]) RETURNS void
            LANGUAGE plpgsql AS $$ BEGIN DELETE FROM basket WHERE b_customer = customer AND b_number = 1; END $$;
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

#[test]
fn shares_of_success_are_numbers_or_bounds() {
    let share = |text: &str| {
        let load = read(&LOAD.replacen("= 10\n[pro", &format!("= 10\n{text}[pro"), 1));
        let procedures = load.unwrap_or_else(|error| panic!("{error}")).procedures;
        procedures.iter().find(|one| one.procedure == "pay").and_then(|one| one.succeeds)
    };
    assert_eq!(share(""), None);
    assert_eq!(share("succeeds = 0.5\n"), Some((0.5, 0.5)));
    assert_eq!(share("succeeds = [0.25, 1.0]\n"), Some((0.25, 1.0)));
}

/// A bank with procedures that open and close accounts.
fn with_accounts(rows: &str) -> Result<Load, String> {
    let procedures = "
        CREATE FUNCTION open(b integer, n integer) RETURNS void LANGUAGE plpgsql AS $$
            BEGIN INSERT INTO account (branch, id) VALUES (b, n); END $$;
        CREATE FUNCTION close(b integer, n integer) RETURNS void LANGUAGE plpgsql AS $$
            BEGIN IF n > 0 THEN DELETE FROM account WHERE branch = b AND id = n; END IF; END $$;
        CREATE FUNCTION replace(b integer, n integer) RETURNS void LANGUAGE sql AS $$
            DELETE FROM account WHERE branch = b AND id = n; INSERT INTO account (branch, id) VALUES (b, n + 1) $$;";
    let tables =
        ["branch", "account", "card", "entry"].map(|table| format!("[tables.{table}]\nrows = 1\n"));
    let text = format!(
        "name = \"bank\"\nunit = \"branch\"\nunits = 1\n{}[procedures.open]\nfrequency = 1\n\
         arguments.b = {{ constant = 1 }}\narguments.n = {{ constant = 1 }}\n[procedures.close]\nfrequency = 0\n\
         [procedures.replace]\nfrequency = 0\n",
        tables.concat()
    );
    let (procedure, keys) = rows.split_once(": ").expect("it says of which procedure");
    let section = format!("[procedures.{procedure}]\n");
    let text = text.replace(&section, &format!("{section}{keys}\n"));
    let sources = [Source::new("schema.sql", SCHEMA), Source::new("procedures.sql", procedures)];
    let program = Program::parse(&sources[0], &sources[1]).expect("it is right");
    let load = sql::read_load(&Source::new("workload.toml", &text), &program);
    load.map_err(|error| error.to_string())
}

#[test]
fn rows_that_calls_add_are_of_tables_that_they_can_change() {
    let rows = |text: &str| {
        let procedures = with_accounts(text).unwrap_or_else(|error| panic!("{error}")).procedures;
        procedures.into_iter().flat_map(|one| one.rows).collect::<Vec<_>>()
    };
    assert_eq!(rows("open: rows.account = 1"), [("account".to_owned(), 1)]);
    assert_eq!(rows("close: rows = { account = -2 }"), [("account".to_owned(), -2)]);
    assert_eq!(rows("replace: rows.account = 0"), [("account".to_owned(), 0)]);
    for (text, expected) in [
        (
            "open: rows.acount = 1",
            "at `acount`: schema.sql has no table `acount`; is `account` meant?",
        ),
        ("open: rows.card = 1", "at `1`: `open` has no INSERT into `card`"),
        ("open: rows.account = -1", "at `-1`: `open` has no DELETE from `account`"),
        ("close: rows.account = 1", "at `1`: `close` has no INSERT into `account`"),
        ("close: rows.card = 0", "at `0`: `close` has neither INSERT into nor DELETE from `card`"),
        ("open: rows.account = 1.5", "at `1.5`: invalid type: floating point `1.5`, expected i64"),
        ("open: row.account = 1", "is `rows` meant?"),
    ] {
        let said = with_accounts(text).expect_err("it is wrong");
        assert!(said.starts_with("workload.toml:") && said.contains(expected), "{text}: {said}");
    }
}

#[test]
fn names_that_no_terminal_should_be_sent_are_refused() {
    let long = format!("name = \"{}\"", "n".repeat(129));
    assert_reported(&[
        (
            "name = \"bank\"",
            "name = \"ba\\u001b[31mnk\"",
            "workload.toml:1:8",
            "invisible characters",
        ),
        ("unit = \"branch\"", "unit = \"bra\\nnch\"", "workload.toml:2:8", "invisible characters"),
        ("name = \"bank\"", "name = \"\"", "workload.toml:1:8", "this name is empty"),
        ("name = \"bank\"", &long, "workload.toml:1:8", "129 bytes; the maximum is 128"),
    ]);
}

#[test]
fn files_may_begin_with_a_byte_order_mark_and_say_where_they_are_no_text() {
    let folder = std::env::temp_dir().join(format!("namdb-marked-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is room");
    let write = |name: &str, text: &[u8]| {
        std::fs::write(folder.join(name), text).expect("there is room");
    };
    let marked = |text: &str| [b"\xef\xbb\xbf", text.as_bytes()].concat();
    write("schema.sql", &marked(SCHEMA));
    write("procedures.sql", &marked(PROCEDURES));
    write("workload.toml", &marked(LOAD));
    let read = sql::WorkloadFolder::read(&folder).map(|folder| folder.load.name);
    assert_eq!(read.expect("marks are no part of a text"), "bank");
    write("schema.sql", &[SCHEMA.as_bytes(), b"\n-- caf\xe9"].concat());
    let told = sql::WorkloadFolder::read(&folder).expect_err("that is Latin-1").to_string();
    assert!(told.ends_with("schema.sql:5:7: is not text in UTF-8"), "{told}");
    std::fs::remove_dir_all(folder).expect("it is ours");
}
