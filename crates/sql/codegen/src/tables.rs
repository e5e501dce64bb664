//! Prints the tables of a workload: their ids in a database, and the slots of their columns.

use crate::code::Kind;
use crate::names::{constant, identifier};
use crate::needs::Need;
use crate::node::index_name;
use layout::Place;
use sql::{Catalog, Table};
use std::fmt::Write;

/// Returns the module `tables`, with the projections that procedures use.
pub fn module(catalog: &Catalog, needs: &[Need]) -> String {
    let has_index = catalog.tables.iter().any(|table| !table.indexes.is_empty());
    let numbers = match (needs.is_empty(), has_index) {
        (true, true) => "Database, IndexId, TableId",
        (true, false) => "Database, TableId",
        (false, true) => "Columns, Database, IndexId, TableId",
        (false, false) => "Columns, Database, TableId",
    };
    let mut out = format!(
        "//! Tables and indexes by their numbers, and columns by their slots.\n\n\
         use fabric::Env;\nuse layout::Slot;\nuse procedure_runtime::{{BindError, bind}};\nuse txn::{{{numbers}}};\n\n\
         /// The numbers of the tables and indexes in an open database.\n#[derive(Clone, Copy, Debug)]\npub struct Tables {{\n",
    );
    for table in &catalog.tables {
        write(
            &mut out,
            format_args!(
                "/// Table `{}`.\npub {}: TableId,\n",
                table.name,
                identifier(&table.name)
            ),
        );
        for index in &table.indexes {
            let name = index_name(table, &index.name);
            write(
                &mut out,
                format_args!(
                    "/// Index `{}` of table `{}`.\npub {name}: IndexId,\n",
                    index.name, table.name
                ),
            );
        }
    }
    needs.iter().for_each(|need| field_of(&mut out, catalog, need));
    out.push_str(
        "}\n\nimpl Tables {\n/// Finds tables and indexes by name, and checks that the columns have the slots of this code.\n\
         pub fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError> {\nOk(Self {\n",
    );
    for table in &catalog.tables {
        let name = identifier(&table.name);
        write(
            &mut out,
            format_args!("{name}: bind::table(database, {:?}, {name}::SLOTS)?,\n", table.name),
        );
        for index in &table.indexes {
            let field = index_name(table, &index.name);
            write(
                &mut out,
                format_args!(
                    "{field}: bind::index(database, {:?}, {:?})?,\n",
                    table.name, index.name
                ),
            );
        }
    }
    for Need { table, columns, name } in needs {
        let of = &catalog.tables[*table].name;
        write(&mut out, format_args!("{name}: bind::columns(database, {of:?}, &{columns:?})?,\n"));
    }
    out.push_str("})\n}\n}\n");
    for table in &catalog.tables {
        columns(&mut out, table);
    }
    out
}

/// Appends the field of a projection.
fn field_of(out: &mut String, catalog: &Catalog, need: &Need) {
    let of = &catalog.tables[need.table];
    let named = |&column: &usize| format!("`{}`", of.schema.columns()[column].name);
    let named: Vec<String> = need.columns.iter().map(named).collect();
    let what = match named.is_empty() {
        true => "Only the key".to_owned(),
        false => format!("Key and {}", named.join(", ")),
    };
    write(
        out,
        format_args!("/// {what} of rows of table `{}`.\npub {}: Columns,\n", of.name, need.name),
    );
}

fn columns(out: &mut String, table: &Table) {
    let constants: Vec<(usize, String)> = (0..table.columns.len())
        .filter(|&column| is_readable(table, column))
        .map(|column| (column, constant(&table.schema.columns()[column].name)))
        .collect();
    let name = identifier(&table.name);
    write(
        out,
        format_args!(
            "\n/// Columns of table `{}`.\npub mod {name} {{\nuse super::Slot;\n\n",
            table.name
        ),
    );
    for (column, constant) in &constants {
        let slot = table.schema.slot(*column);
        let described = &table.schema.columns()[*column].name;
        write(
            out,
            format_args!("/// Column `{described}`.\npub const {constant}: Slot = {slot};\n"),
        );
    }
    out.push_str("\n/// All columns, with their positions in the table.\npub const SLOTS: &[(usize, Slot)] = &[\n");
    for (column, constant) in &constants {
        write(out, format_args!("({column}, {constant}),\n"));
    }
    out.push_str("];\n}\n");
}

/// Whether generated code can read a column: its slot must be a constant.
pub fn is_readable(table: &Table, column: usize) -> bool {
    let column_type = table.schema.columns()[column].column_type;
    let kind = Kind::of_column(column_type);
    match table.schema.place(column) {
        Place::Key { .. } => kind.is_ok_and(|kind| kind != Kind::Float),
        Place::Payload { .. } => kind.is_ok(),
        Place::OutOfLine { .. } => false,
    }
}

fn write(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes all that is written to it");
}
