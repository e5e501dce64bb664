//! Loads rows into PostgreSQL, and prints calls as SQL.

use crate::calls::Call;
use crate::population::Population;
use postgres_plan::{CollectError, Database, is_interrupted};
use sql::{Program, SqlType};
use sql_value::Value;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Size of the write buffer of a file.
const BUFFER_BYTES: usize = 1 << 20;
/// Number of rows between two checks for an interruption by the user.
const PART_ROWS: u64 = 10_000;

/// Loads all tables of a population into a PostgreSQL database with the same, empty tables, and
/// analyzes them.
///
/// # Errors
/// PostgreSQL refuses a row, or the disk has no space for a file of each table.
pub fn load_postgresql(
    population: &Population,
    database: &Database<'_>,
) -> Result<(), CollectError> {
    let mut script = String::new();
    for (table, name) in population.tables().enumerate() {
        let path = database.folder().join(format!("table{table}.copy"));
        let scratch_failed = |error: io::Error| CollectError::Scratch { error: error.to_string() };
        let file = File::create(&path).map_err(scratch_failed)?;
        let mut file = BufWriter::with_capacity(BUFFER_BYTES, file);
        let parts = population.root_rows(table).div_ceil(PART_ROWS).max(1);
        for part in 0..parts {
            if is_interrupted() {
                return Err(CollectError::Interrupted);
            }
            copy_table(population, table, (part, parts), &mut file).map_err(scratch_failed)?;
        }
        file.flush().map_err(scratch_failed)?;
        let path = path.display().to_string().replace('\'', "''");
        // Writing to a string cannot fail.
        let _ = writeln!(script, "\\copy {} FROM '{path}'", quoted(name));
    }
    script.push_str("ANALYZE;\n");
    let script = database.script("load.sql", &script)?;
    database.run("the rows of the workload", &[&script]).map(|_| ())
}

/// Writes the rows of a table in the text format of `COPY table FROM`.
///
/// # Errors
/// The writer fails.
pub fn copy_table(
    population: &Population,
    table: usize,
    (part, parts): (u64, u64),
    to: &mut dyn Write,
) -> io::Result<()> {
    let types = population.column_types(table);
    let mut line = String::new();
    for row in population.rows(table, part, parts) {
        line.clear();
        copy_line(&row, types, &mut line);
        to.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Appends a line in the text format of `COPY`: values separated by tabs, null as `\N`.
pub fn copy_line(row: &[Value], types: &[SqlType], line: &mut String) {
    for (at, (value, sql_type)) in row.iter().zip(types).enumerate() {
        if at > 0 {
            line.push('\t');
        }
        if value.is_null() {
            line.push_str("\\N");
            continue;
        }
        for character in sql_value::output::text(value, sql_type).chars() {
            match character {
                '\\' => line.push_str("\\\\"),
                '\t' => line.push_str("\\t"),
                '\n' => line.push_str("\\n"),
                '\r' => line.push_str("\\r"),
                other => line.push(other),
            }
        }
    }
    line.push('\n');
}

/// A call as an SQL statement without a semicolon: `SELECT * FROM` a function, or `CALL`.
pub fn call_text(program: &Program, call: &Call) -> String {
    let procedure = &program.procedures[call.procedure];
    let literals = procedure.inputs().zip(&call.arguments).map(|((_, variable), value)| {
        if value.is_null() {
            return format!("NULL::{}", variable.sql_type);
        }
        let text = sql_value::output::text(value, &variable.sql_type);
        format!("{}::{}", literal(&text), variable.sql_type)
    });
    let arguments = literals.collect::<Vec<_>>().join(", ");
    let name = quoted(&procedure.name);
    match procedure.kind {
        sql::procedure::RoutineKind::Function => format!("SELECT * FROM {name}({arguments})"),
        sql::procedure::RoutineKind::Procedure => format!("CALL {name}({arguments})"),
    }
}

/// A quoted name.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A quoted text, for any setting of `standard_conforming_strings`.
fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    match text.contains('\\') {
        true => format!("E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::Source;
    use sql_value::Decimal;
    use std::sync::Arc;

    #[test]
    fn lines_differ_whatever_texts_contain() {
        let row = [
            Value::text("a\tb\\c\nd"),
            Value::Null,
            Value::Int(-1),
            Value::Numeric(Decimal { units: -5, scale: 2 }),
            Value::Timestamp(0),
            Value::Bool(false),
        ];
        let scale = sql::Numeric::Declared { precision: 12, scale: 2 };
        let types = [
            SqlType::Text,
            SqlType::Text,
            SqlType::Int4,
            SqlType::Numeric(scale),
            SqlType::Timestamp(None),
            SqlType::Bool,
        ];
        let mut line = String::new();
        copy_line(&row, &types, &mut line);
        assert_eq!(line, "a\\tb\\\\c\\nd\t\\N\t-1\t-0.05\t2000-01-01 00:00:00\tf\n");
    }

    #[test]
    fn calls_are_statements() {
        let procedures =
            "CREATE FUNCTION f(a smallint, b varchar(9), c integer[], d timestamp) RETURNS void
            LANGUAGE plpgsql AS $$ BEGIN END $$;
            CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN END $$;";
        let program = Program::parse(&Source::new("s", ""), &Source::new("p", procedures));
        let program = program.expect("it is right");
        let array = Value::Array(Arc::from([Value::Int(1), Value::Null]));
        let arguments = vec![Value::Int(-3), Value::text("o'\\k"), array, Value::Null];
        let call = Call { procedure: 0, arguments };
        assert_eq!(
            call_text(&program, &call),
            "SELECT * FROM \"f\"('-3'::smallint, E'o''\\\\k'::character varying, '{1,NULL}'::integer[], \
             NULL::timestamp without time zone)"
        );
        let call = Call { procedure: 1, arguments: Vec::new() };
        assert_eq!(call_text(&program, &call), "CALL \"p\"()");
    }
}
