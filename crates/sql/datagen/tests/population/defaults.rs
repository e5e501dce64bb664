//! Columns without a draw have the schema's defaults.

use crate::scale;
use datagen::{Population, PopulationError};
use sql::{Program, Source};
use sql_value::{Decimal, Value};

const LOAD: &str = "name = \"x\"
unit = \"row\"
units = 1
[tables.t]
rows = 3
columns.id = { sequence = [1, 3] }
[procedures.f]
frequency = 1
";

fn population(columns: &str) -> Result<Population, PopulationError> {
    let schema = format!("CREATE TABLE t (id integer PRIMARY KEY, {columns});");
    let procedures = "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ DELETE FROM t $$;";
    let program = Program::parse(
        &Source::new("schema.sql", &schema),
        &Source::new("procedures.sql", procedures),
    );
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    let load = sql::read_load(&Source::new("workload.toml", LOAD), &program);
    Population::new(&program, &load.unwrap_or_else(|error| panic!("{error}")), scale(1, 1))
}

#[test]
fn a_column_without_a_draw_has_its_default() {
    let columns =
        "price numeric(8, 2) NOT NULL DEFAULT 1.5, sold integer DEFAULT 2 + 3, name varchar(5)";
    let population = population(columns).unwrap_or_else(|error| panic!("{error}"));
    let rows: Vec<Vec<Value>> = population.rows(0, 0, 1).collect();
    assert_eq!(rows.len(), 3);
    for (number, row) in (1..).zip(rows) {
        let price = Value::Numeric(Decimal { units: 150, scale: 2 });
        assert_eq!(row, [Value::Int(number), price, Value::Int(5), Value::Null]);
    }
}

#[test]
fn a_default_that_differs_from_row_to_row_needs_a_draw() {
    for columns in ["price integer NOT NULL", "price double precision NOT NULL DEFAULT random()"] {
        let error = population(columns).expect_err("nothing says which values").to_string();
        assert!(error.starts_with("workload.toml:4: ") && error.contains("t.price"), "{error}");
    }
}
