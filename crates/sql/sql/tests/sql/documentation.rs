//! Checks `docs/workload.md` and `docs/sql.md`: every block is valid, and the pages have exactly
//! the keys that the crate accepts.

use sql::{Program, Source};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The tables and procedures that the blocks of `docs/workload.md` use.
const SCHEMA: &str = "
    CREATE TABLE account (id integer PRIMARY KEY, balance bigint NOT NULL);
    CREATE TABLE transfer (sender integer, receiver integer, number integer, amount numeric(12, 2));
    CREATE TABLE special (account integer, kind integer, colour varchar(5));";
const PROCEDURES: &str = "
    CREATE FUNCTION deposit(number integer, amount bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
    CREATE FUNCTION transfer(payer integer, payee integer, amount bigint) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO transfer VALUES (payer, payee, 1, amount); END $$;
    CREATE FUNCTION numbers(a integer, b numeric, c integer, d integer, e integer, f integer, g integer, h integer) RETURNS void
        LANGUAGE plpgsql AS $$ BEGIN END $$;
    CREATE FUNCTION constants(a integer, b timestamp, c varchar, d boolean, e timestamp, f integer) RETURNS void
        LANGUAGE plpgsql AS $$ BEGIN END $$;
    CREATE FUNCTION texts(a varchar, b varchar, c varchar, d varchar, e varchar, f varchar) RETURNS void
        LANGUAGE plpgsql AS $$ BEGIN END $$;
    CREATE FUNCTION others(a integer, b integer, c integer, d integer, e integer, f integer) RETURNS void
        LANGUAGE plpgsql AS $$ BEGIN END $$;
    CREATE FUNCTION audit() RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
    CREATE FUNCTION arrays(items integer[], amounts integer[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;";
const PROCEDURE_NAMES: [&str; 7] =
    ["deposit", "transfer", "numbers", "constants", "texts", "others", "arrays"];

fn page(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs").join(name);
    std::fs::read_to_string(path).expect("the page is there")
}

/// The code blocks of a page in this language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let begin = format!("```{language}\n");
    let found = page.split(&*begin).skip(1);
    found.map(|rest| rest.split("```").next().expect("there is an end")).collect()
}

/// Completes a block to a whole file.
fn whole(block: &str) -> String {
    let mut text = String::new();
    if !block.starts_with("name = ") {
        text.push_str("name = \"x\"\nunit = \"x\"\nunits = 1\n");
    }
    text.push_str(block);
    let columns = "columns.id = { sequence = [1, 100] }\n";
    for (table, columns) in [("account", columns), ("transfer", ""), ("special", "")] {
        if !block.contains(&format!("[tables.{table}]")) {
            text.push_str(&format!("\n[tables.{table}]\nrows = 100\n{columns}"));
        }
    }
    for procedure in PROCEDURE_NAMES {
        let section = format!("[procedures.{procedure}]");
        if !block.contains(&section) {
            let frequency = u32::from(block.contains(&format!("[procedures.{procedure}.")));
            text.push_str(&format!("\n{section}\nfrequency = {frequency}\n"));
        }
    }
    text.push_str("\n[procedures.audit]\nfrequency = 1\n");
    text
}

fn read(text: &str) -> Result<sql::Load, String> {
    let program = Program::parse(
        &Source::new("schema.sql", SCHEMA),
        &Source::new("procedures.sql", PROCEDURES),
    );
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    sql::read_load(&Source::new("workload.toml", text), &program).map_err(|error| error.to_string())
}

#[test]
fn every_block_of_the_page_about_loads_is_read() {
    let page = page("workload.md");
    let blocks = blocks(&page, "toml");
    assert!(blocks.len() >= 10, "{}", blocks.len());
    for block in blocks {
        let text = whole(block);
        read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
}

/// The folder at the beginning of the page is valid.
#[test]
fn the_smallest_folder_of_the_page_is_read() {
    let page = page("workload.md");
    let first = |language| *blocks(&page, language).first().expect("there is a block");
    let program = Program::parse(
        &Source::new("schema.sql", first("sql schema")),
        &Source::new("procedures.sql", first("sql procedures")),
    );
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    let load = sql::read_load(&Source::new("workload.toml", first("toml")), &program);
    let load = load.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((load.tables.len(), load.procedures.len()), (1, 1));
}

/// The keys that an error about an unknown key lists.
fn known_keys(section: &str) -> BTreeSet<String> {
    let error = read(section).expect_err("there is an unknown key");
    let known = error.split("expected").nth(1).unwrap_or_else(|| panic!("{error}"));
    let known = known.split(';').next().unwrap_or_default();
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_key_is_documented() {
    let page = page("workload.md");
    let head = "name = \"x\"\nunit = \"x\"\nunits = 1\n";
    let sections = [
        ("unknown = 1\n".to_owned(), 6),
        (format!("{head}[machines]\nunknown = 1\n"), 4),
        (format!("{head}[tables.account]\nunknown = 1\n"), 3),
        (format!("{head}[tables.account]\nrows = 1\n[procedures.deposit]\nunknown = 1\n"), 4),
        (format!("{head}[tables.account]\nrows = 1\ncolumns.id = {{ unknown = 1 }}\n"), 29),
        (
            format!(
                "{head}[tables.account]\nrows = 1\ncolumns.id = {{ nurand = {{ unknown = 1 }} }}\n"
            ),
            3,
        ),
        (
            format!(
                "{head}[tables.account]\nrows = 1\ncolumns.id = {{ zipf = {{ unknown = 1 }} }}\n"
            ),
            3,
        ),
        (
            format!(
                "{head}[tables.account]\nrows = 1\ncolumns.id = {{ mixture = [{{ unknown = 1 }}] }}\n"
            ),
            2,
        ),
        (
            format!(
                "{head}[tables.account]\nrows = 1\ncolumns.id = {{ by = \"x\", cases = [{{ unknown = 1 }}] }}\n"
            ),
            3,
        ),
    ];
    let words: BTreeSet<&str> =
        page.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).collect();
    for (section, count) in sections {
        let keys = known_keys(&section);
        assert!(keys.len() >= count, "{} keys of {section}: {keys:?}", keys.len());
        for key in keys {
            assert!(words.contains(&*key), "docs/workload.md does not tell of `{key}`");
        }
    }
    let alphabets = known_keys(&format!(
        "{head}[tables.account]\nrows = 1\ncolumns.id = {{ text = [1, 2], alphabet = \"unknown\" }}\n"
    ));
    assert!(alphabets.len() == 3 && alphabets.iter().all(|name| words.contains(&**name)));
}

#[test]
fn every_block_of_the_page_about_sql_is_read() {
    let page = page("sql.md");
    let parts =
        ["schema", "procedures", "checks"].map(|part| blocks(&page, &format!("sql {part}")));
    assert!(parts.iter().all(|blocks| !blocks.is_empty()));
    let [schema, procedures, checks] = parts.map(|blocks| blocks.join("\n"));
    for routines in [procedures, checks] {
        Program::parse(
            &Source::new("schema.sql", &schema),
            &Source::new("procedures.sql", &routines),
        )
        .unwrap_or_else(|error| panic!("{error}"));
    }
}
