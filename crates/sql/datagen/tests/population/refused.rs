//! Loads that are valid but cannot be drawn.

use crate::scale;
use datagen::Population;
use sql::{Program, Source};

const SCHEMA: &str = "CREATE TABLE a (id smallint PRIMARY KEY, other integer, name varchar(5));
    CREATE TABLE b (id integer PRIMARY KEY, other integer, price numeric(4, 2));";
const PROCEDURES: &str =
    "CREATE FUNCTION f(n smallint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;";

const LOAD_OF_NOTHING: &str = "name = \"x\"
unit = \"row\"
units = 1
tables.a = { rows = 0 }
tables.b = { rows = \"ROWS\" }
procedures.f = { frequency = 1, arguments = { n = { constant = 1 } } }";

/// The error of a load with these lines at `units` of scale.
fn problem(a: &str, b: &str, units: u64) -> String {
    let text = format!(
        "name = \"x\"\nunit = \"row\"\nunits = 1\n[tables.a]\nrows = \"10 * units\"\n{a}\n[tables.b]\nrows = \"10 * units\"\n{b}\n\
         [procedures.f]\nfrequency = 1\narguments.n = {{ uniform = [1, \"a.rows\"] }}\n"
    );
    told(&text, units)
}

/// The error of a load at `units` of scale.
fn told(text: &str, units: u64) -> String {
    let program = Program::parse(
        &Source::new("schema.sql", SCHEMA),
        &Source::new("procedures.sql", PROCEDURES),
    );
    let program = program.expect("it is right");
    let load = sql::read_load(&Source::new("workload.toml", text), &program);
    let load = load.unwrap_or_else(|error| panic!("{error}"));
    Population::new(&program, &load, scale(units, 1))
        .err()
        .map_or(String::new(), |it| it.to_string())
}

#[test]
fn undrawable_loads_are_reported_with_their_position() {
    let id = "columns.id = { sequence = [1, 10] }";
    assert_eq!(problem(id, id, 1), "", "columns that may be null need no line");
    let empty = LOAD_OF_NOTHING.replace("ROWS", "0");
    assert_eq!(told(&empty, 1), "", "nor do columns of tables that begin empty");
    assert!(told(&LOAD_OF_NOTHING.replace("ROWS", "1"), 1).contains("b.id"));
    assert!(problem(id, id, 0).contains("the scale must be at least 1"));
    let said = problem("", id, 1);
    assert!(said.starts_with("workload.toml:4: ") && said.contains("a.id"), "{said}");
    assert!(said.contains("columns.id = "), "{said}");
    let said = problem(&format!("{id}\ncolumns.name = {{ text = [3, 6] }}"), id, 1);
    assert!(said.starts_with("a.name of workload.toml") && said.contains("6 characters"), "{said}");
    let said = problem("columns.id = { sequence = [1, \"a.rows\"] }", id, 10_000);
    assert!(said.starts_with("a.id") && said.contains("out of range for smallint"), "{said}");
    let price = |range: &str| {
        let price = format!("columns.price = {{ uniform = {range}, decimals = 1 }}");
        problem(id, &format!("{id}\n{price}"), 1)
    };
    assert_eq!(price("[-999, 999]"), "");
    for range in ["[0, 1000]", "[-1000, 0]", "[1, 9223372036854775807]"] {
        let said = price(range);
        assert!(
            said.starts_with("b.price") && said.contains("out of range for numeric(4,2)"),
            "{said}"
        );
    }
    let said = problem(id, id, 10_000);
    assert!(said.starts_with("f.n") && said.contains("out of range for smallint"), "{said}");
    let said = problem(
        &format!(
            "{id}\ncolumns.name = {{ constant = \"x\" }}\ncolumns.other = {{ uniform = [5, \"9 / units\"] }}"
        ),
        id,
        3,
    );
    assert!(
        said.starts_with("a.other") && said.contains("greater than the upper bound 3"),
        "{said}"
    );
}

#[test]
fn tables_that_need_each_other_are_refused() {
    let id = "columns.id = { sequence = [1, 10] }";
    let other = |table: &str| format!("{id}\ncolumns.other = {{ column = \"{table}.other\" }}");
    let said = problem(&other("b"), &other("a"), 1);
    assert!(said.contains("rows of a and b depend on each other"), "{said}");
    assert!(problem(&other("a"), id, 1).contains("depend on each other"));
    assert_eq!(problem(&other("b"), id, 1), "");
}

/// More rows than can be drawn are counted, so that their memory can be computed.
#[test]
fn rows_without_number_are_counted_without_drawing_them() {
    let text = "name = \"x\"\nunit = \"row\"\nunits = 1\n[tables.a]\nrows = 10\ncolumns.id = { sequence = [1, 10] }\n[tables.b]\nfor_each = \"a\"\n\
                rows = { uniform = [1000000000000, 1000000000002] }\ncolumns.id = { sequence = [1, 10] }\n\
                [procedures.f]\nfrequency = 1\narguments.n = { constant = 1 }\n";
    let program = Program::parse(
        &Source::new("schema.sql", SCHEMA),
        &Source::new("procedures.sql", PROCEDURES),
    );
    let program = program.expect("it is right");
    let load = sql::read_load(&Source::new("workload.toml", text), &program);
    let load = load.unwrap_or_else(|error| panic!("{error}"));
    let population = Population::new(&program, &load, scale(1, 1)).expect("it can be drawn");
    let counted = population.row_count(population.table("b").expect("it is there"));
    assert!((10_000_000_000_000..=10_000_000_000_020).contains(&counted), "{counted}");
    assert_eq!(population.row_count(population.table("a").expect("it is there")), 10);
}
