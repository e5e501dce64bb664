//! Random tables with rows.

use crate::random::Random;
use std::fmt::Write;

/// Number of tables of a schema.
pub const TABLES: u64 = 4;
/// Maximum number of rows of a table; all rows of four tables are combined in the naive plans.
const ROWS_MAX: u64 = 11;
const TEXTS: [&str; 5] = ["a", "ab", "abc", "b", ""];

/// The columns of all tables, and of sub-selects in `FROM`.
pub const COLUMNS: [&str; 7] = ["k", "a", "b", "c", "s", "d", "e"];

/// A schema, and the statements that fill it.
pub struct Tables {
    pub schema: String,
    pub rows: String,
}

pub fn tables(random: &mut Random) -> Tables {
    let (mut schema, mut rows) = (String::new(), String::new());
    for table in 0..TABLES {
        create(random, table, &mut schema);
        for key in 0..random.below(ROWS_MAX + 1) {
            let values: Vec<String> =
                COLUMNS.iter().skip(1).map(|column| value(random, column, table)).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(rows, "INSERT INTO t{table} VALUES ({key}, {});", values.join(", "));
        }
    }
    Tables { schema, rows }
}

fn create(random: &mut Random, table: u64, schema: &mut String) {
    // Tables 0 and 2 have columns without nulls.
    let null = if table.is_multiple_of(2) { " NOT NULL" } else { "" };
    let key = match random.below(3) {
        0 => "PRIMARY KEY (a, k)",
        _ => "PRIMARY KEY (k)",
    };
    // The columns of a key cannot be null.
    let null_of_a = if key.contains('a') { " NOT NULL" } else { null };
    let _ = writeln!(
        schema,
        "CREATE TABLE t{table} (k integer NOT NULL, a integer{null_of_a}, b bigint{null}, c smallint{null}, \
         s varchar(4){null}, d numeric(5,2){null}, e char(3){null}, {key});"
    );
    for index in 0..random.below(4) {
        let columns = *random.pick(&[
            "a", "b", "c", "s", "b, c", "a, b", "s, a", "c, k", "b, k", "d", "e", "e, d", "d, c",
        ]);
        let kind = if !columns.contains(',') && random.chance(20) { "USING hash " } else { "" };
        let _ = writeln!(schema, "CREATE INDEX i{table}_{index} ON t{table} {kind}({columns});");
    }
}

fn value(random: &mut Random, column: &str, table: u64) -> String {
    let never_null = table.is_multiple_of(2) || column == "a";
    if !never_null && random.chance(25) {
        return "NULL".to_owned();
    }
    match column {
        "s" | "e" => format!("'{}'", random.pick(&TEXTS)),
        "d" => format!("{}.{}0", random.below(4), random.pick(&[0, 0, 5])),
        _ => random.below(5).to_string(),
    }
}
