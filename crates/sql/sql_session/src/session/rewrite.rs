//! Rows of tables whose storage or constraints change.

use super::SqlSession;
use super::divided::Parts;
use crate::catalog::Version;
use crate::error::SqlError;
use crate::host::Host;
use crate::planned::compile_text;
use interpreter::{Rows, SingleStatement, Tables};
use planner::{Knowledge, Statistics, plan};
use sql::catalog::{Check, ForeignKey};
use sql::expression::{Expr, ExprKind, UnaryOperator};
use sql::query::{From, FromKind, Join, Output, Plain, Query, Select, SelectBody};
use sql::{Catalog, SqlType, Table};
use txn::Isolation;

/// Rows per transaction of the engine.
pub(super) const CHUNK_ROWS: usize = 16_384;

/// A name between double quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `INSERT INTO table (columns) VALUES ($1, ...)`
pub(super) fn insert_text(table: &Table, columns: &[usize]) -> String {
    let names = columns.iter().map(|&column| quoted(&table.columns[column].name));
    let values = (1..=columns.len()).map(|number| format!("${number}"));
    format!(
        "INSERT INTO {} ({}) VALUES ({})",
        quoted(&table.name),
        names.collect::<Vec<_>>().join(", "),
        values.collect::<Vec<_>>().join(", ")
    )
}

impl<H: Host> SqlSession<H> {
    /// Copies the rows of a table into its storage in another version. Nobody reads that storage
    /// yet, so the copy takes several transactions.
    pub(super) async fn copy_rows(
        &mut self,
        from: &Version,
        to: &Version,
        id: i64,
    ) -> Result<(), SqlError> {
        let is_it = |version: &Version, at: usize| version.definition_of(at).id == id;
        let old = (0..from.catalog.tables.len()).find(|&at| is_it(from, at));
        let new = (0..to.catalog.tables.len()).find(|&at| is_it(to, at));
        let (Some(old), Some(new)) = (old, new) else { return Ok(()) };
        let rows = self.all_rows(from, old).await?;
        let table = &to.catalog.tables[new];
        refuse_nulls(&rows, table)?;
        // The rows have satisfied their constraints before.
        let bare = Table { foreign_keys: Vec::new(), checks: Vec::new(), ..table.clone() };
        let catalog = Catalog { tables: vec![bare] };
        let handle = self.database.host().handle();
        let tables = Tables::bind(&handle, &catalog)
            .map_err(|error| SqlError::internal(error.to_string()))?;
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        let statistics = Statistics::default();
        let knowledge = Knowledge { catalog: &catalog, statistics: &statistics, costs: to.costs };
        let (insert, _) = compile_text(knowledge, &tables, &insert_text(table, &columns))?;
        let (parameters, rows) = (&[][..], &rows);
        let parts = Parts { tables: &tables, insert: &insert, parameters, rows, has_query: false };
        self.insert_in_parts(parts, &mut None).await.map(drop).map_err(rewritten)
    }

    async fn all_rows(&mut self, version: &Version, table: usize) -> Result<Rows, SqlError> {
        let table = &version.catalog.tables[table];
        let names = table.columns.iter().map(|column| quoted(&column.name));
        let names = names.collect::<Vec<_>>().join(", ");
        let text = format!("SELECT {names} FROM {}", quoted(&table.name));
        let (select, _) = compile_text(version.knowledge(), &version.tables, &text)?;
        self.run_once(&version.tables, &select).await
    }

    /// Runs a query of ours in a transaction of its own.
    pub(super) async fn run_once(
        &mut self,
        tables: &Tables,
        select: &SingleStatement,
    ) -> Result<Rows, SqlError> {
        let mut transaction = self.begin_engine(Isolation::Snapshot).await?;
        let mut rows = Rows::new(0);
        let statement = &mut transaction.statement();
        let ran = self.runner.run(statement, tables, select, &[], true, &mut rows).await;
        let lane = transaction.abort_and_rest().await;
        self.database.host().give_back_lane(lane);
        ran?;
        Ok(rows)
    }

    /// Checks the rows of tables that have more constraints than before.
    pub(super) async fn check_rows(
        &mut self,
        from: &Version,
        to: &Version,
    ) -> Result<(), SqlError> {
        for (at, table) in to.catalog.tables.iter().enumerate() {
            let id = to.definition_of(at).id;
            let old = (0..from.catalog.tables.len()).find(|&old| from.definition_of(old).id == id);
            let Some(old) = old.map(|old| &from.catalog.tables[old]) else { continue };
            let is_new = |check: &&Check| old.checks.iter().all(|other| other.name != check.name);
            for check in table.checks.iter().filter(is_new) {
                self.require_none(to, &violations(at, table, check)).await.map_err(|error| {
                    error.unwrap_or_else(|| violated("check", &check.name, &table.name, "23514"))
                })?;
            }
            let is_new =
                |key: &&ForeignKey| old.foreign_keys.iter().all(|other| other.name != key.name);
            for key in table.foreign_keys.iter().filter(is_new) {
                let text = orphans(&to.catalog, table, key);
                let (select, _) = compile_text(to.knowledge(), &to.tables, &text)?;
                if !self.run_once(&to.tables, &select).await?.is_empty() {
                    return Err(violated("foreign key", &key.name, &table.name, "23503"));
                }
            }
        }
        Ok(())
    }

    /// Fails with `None` if a query returns a row.
    async fn require_none(
        &mut self,
        version: &Version,
        query: &Query,
    ) -> Result<(), Option<SqlError>> {
        let planned = plan(version.knowledge(), query)
            .map_err(|error| Some(SqlError::unsupported(error.to_string())))?;
        let select = SingleStatement::compile(&planned.statement, &version.tables)
            .map_err(|error| Some(SqlError::unsupported(error.to_string())))?;
        let rows = self.run_once(&version.tables, &select).await.map_err(Some)?;
        match rows.is_empty() {
            true => Ok(()),
            false => Err(None),
        }
    }
}

/// The rows of a table that a check refuses; at most one.
fn violations(at: usize, table: &Table, check: &Check) -> Query {
    let truth = |kind| Expr { kind, sql_type: SqlType::Bool };
    let operand = Box::new(check.condition.clone());
    let filter = truth(ExprKind::Unary { operator: UnaryOperator::Not, operand });
    let one = Expr { kind: ExprKind::Integer(1), sql_type: SqlType::Int4 };
    let source =
        From { alias: table.name.clone(), columns: table.fields(), kind: FromKind::Table(at) };
    let plain = Plain {
        sources: vec![source],
        joins: vec![Join::Source(0)],
        filter: Some(filter),
        group: Vec::new(),
        is_grouped: false,
        having: None,
        distinct: false,
        outputs: vec![Output { name: "one".to_owned(), expr: one.clone() }],
    };
    let limit = Some(Expr { sql_type: SqlType::Int8, ..one });
    let body = SelectBody::Plain(plain);
    let select = Select { body, order: Vec::new(), limit, offset: None, lock: None };
    Query::Select(Box::new(select))
}

/// A query for a row that references none.
fn orphans(catalog: &Catalog, table: &Table, key: &ForeignKey) -> String {
    let other = &catalog.tables[key.table];
    let own = |column: &usize| format!("a.{}", quoted(&table.columns[*column].name));
    let known = key.columns.iter().map(|column| format!("{} IS NOT NULL", own(column)));
    let equal = key.columns.iter().zip(&key.references).map(|(column, reference)| {
        format!("b.{} = {}", quoted(&other.columns[*reference].name), own(column))
    });
    format!(
        "SELECT 1 FROM {} a WHERE {} AND NOT EXISTS (SELECT 1 FROM {} b WHERE {}) LIMIT 1",
        quoted(&table.name),
        known.collect::<Vec<_>>().join(" AND "),
        quoted(&other.name),
        equal.collect::<Vec<_>>().join(" AND ")
    )
}

fn violated(kind: &str, name: &str, table: &str, sqlstate: &'static str) -> SqlError {
    let message = match kind {
        "check" => {
            format!("check constraint \"{name}\" of relation \"{table}\" is violated by some row")
        }
        _ => format!("insert or update on table \"{table}\" violates {kind} constraint \"{name}\""),
    };
    let mut error = SqlError::new(sqlstate, message);
    error.constraint = Some(name.to_owned());
    error.table = Some(table.to_owned());
    error
}

/// Refuses nulls in columns that may have none, before duplicates are found, as in PostgreSQL.
fn refuse_nulls(rows: &Rows, table: &Table) -> Result<(), SqlError> {
    for (at, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.nullable) {
        if rows.iter().any(|row| row[at].is_null()) {
            let name = &column.name;
            let message =
                format!("column \"{name}\" of relation \"{}\" contains null values", table.name);
            let mut error = SqlError::new("23502", message);
            error.column = Some(name.clone());
            return Err(error);
        }
    }
    Ok(())
}

/// The error of a row that does not fit the new storage, as of the command that changes it.
fn rewritten(mut error: SqlError) -> SqlError {
    if error.sqlstate == "23505" {
        let name = error.constraint.clone().unwrap_or_default();
        error.message = format!("could not create unique index \"{name}\"");
        let detail = error.detail.take().unwrap_or_default();
        error.detail = Some(detail.replace("already exists", "is duplicated"));
    }
    error
}
