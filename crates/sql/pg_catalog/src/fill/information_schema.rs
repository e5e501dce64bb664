//! Rows of the relations of `information_schema`.

use super::{Filler, Row, text};
use crate::world::{TableInfo, ViewInfo};
use sql_value::Value;

impl Filler<'_> {
    pub(super) fn schema_tables(&self) -> Vec<Row> {
        let row = |(name, kind, takes_rows): (&str, &str, &str)| {
            self.row(&[
                ("table_catalog", text(&self.world.database)),
                ("table_schema", self.schema(name)),
                ("table_name", text(name)),
                ("table_type", text(kind)),
                ("is_insertable_into", text(takes_rows)),
                ("is_typed", text("NO")),
            ])
        };
        let tables = self.world.tables.iter();
        let tables = tables.map(|table| (&*table.table.name, "BASE TABLE", "YES"));
        let views = self.world.views.iter().map(|view| (&*view.view.name, "VIEW", "NO"));
        tables.chain(views).map(row).collect()
    }

    pub(super) fn schema_columns(&self) -> Vec<Row> {
        let of_table = |table: &TableInfo| {
            let columns = table.table.visible().iter().enumerate();
            let row =
                |column| self.row(&crate::schema_columns::values(self.world, &table.table, column));
            columns.map(row).collect::<Vec<_>>()
        };
        self.world.tables.iter().flat_map(of_table).collect()
    }

    pub(super) fn schema_views(&self) -> Vec<Row> {
        let row = |view: &ViewInfo| {
            self.row(&[
                ("table_catalog", text(&self.world.database)),
                ("table_schema", self.schema(&view.view.name)),
                ("table_name", text(&view.view.name)),
                ("view_definition", text(format!("{};", view.query))),
                ("check_option", text("NONE")),
                ("is_updatable", text("NO")),
                ("is_insertable_into", text("NO")),
            ])
        };
        self.world.views.iter().map(row).collect()
    }

    pub(super) fn schemata(&self) -> Vec<Row> {
        let row = |name: &str| {
            self.row(&[
                ("catalog_name", text(&self.world.database)),
                ("schema_name", text(name)),
                ("schema_owner", text(&self.world.user)),
            ])
        };
        let of_user = self.world.schemas.iter().map(|(_, name)| name);
        ["pg_catalog", "information_schema"].into_iter().chain(of_user).map(row).collect()
    }

    pub(super) fn table_constraints(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for table in &self.world.tables {
            for constraint in table.constraints() {
                let kind = match constraint.kind {
                    "p" => "PRIMARY KEY",
                    "u" => "UNIQUE",
                    "f" => "FOREIGN KEY",
                    _ => "CHECK",
                };
                rows.push(self.row(&[
                    ("constraint_schema", self.schema(&table.table.name)),
                    ("constraint_name", text(&constraint.name)),
                    ("table_schema", self.schema(&table.table.name)),
                    ("table_name", text(&table.table.name)),
                    ("constraint_type", text(kind)),
                    ("is_deferrable", text("NO")),
                    ("enforced", text("YES")),
                ]));
            }
        }
        rows
    }

    pub(super) fn key_columns(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for table in &self.world.tables {
            for constraint in table.constraints() {
                for (at, column) in constraint.columns.iter().enumerate() {
                    let name = table.table.columns.get(*column).map(|column| column.name.as_str());
                    rows.push(self.row(&[
                        ("constraint_schema", self.schema(&table.table.name)),
                        ("constraint_name", text(&constraint.name)),
                        ("table_schema", self.schema(&table.table.name)),
                        ("table_name", text(&table.table.name)),
                        ("column_name", text(name.unwrap_or_default())),
                        ("ordinal_position", Value::Int(at as i64 + 1)),
                    ]));
                }
            }
        }
        rows
    }
}
