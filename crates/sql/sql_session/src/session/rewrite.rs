//! Rows of tables whose storage or constraints change.

use super::divided::Parts;
use super::{Block, SqlSession};
use crate::access::required::{Rights, check_query};
use crate::catalog::Version;
use crate::error::SqlError;
use crate::host::Host;
use crate::planned::{compile_text, compile_typed, plan_rows};
use interpreter::{Rows, SingleStatement, Tables};
use planner::{Knowledge, Statistics, plan};
use sql::catalog::{Check, ForeignKey};
use sql::expression::{Expr, ExprKind, UnaryOperator};
use sql::namespace::{PUBLIC, schema_of};
use sql::query::{From, FromKind, Join, Output, Plain, Query, Select, SelectBody};
use sql::{Catalog, SqlType, Table};
use sql_value::Value;
use std::sync::Arc;
use txn::Isolation;

/// Rows per transaction of the engine.
pub(super) const CHUNK_ROWS: usize = 16_384;

/// A name between double quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `INSERT INTO table (columns) VALUES ($1, ...)`, also for identity columns.
pub(super) fn insert_text(table: &Table, columns: &[usize]) -> String {
    let names = columns.iter().map(|&column| quoted(&table.columns[column].name));
    let values = (1..=columns.len()).map(|number| format!("${number}"));
    format!(
        "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({})",
        quoted(&table.name),
        names.collect::<Vec<_>>().join(", "),
        values.collect::<Vec<_>>().join(", ")
    )
}

impl<H: Host> SqlSession<H> {
    /// Copies the rows of a table into its storage in another version. Nobody else reads that
    /// storage yet, so the copy takes several transactions, unless the block must keep its own.
    /// `values` replace columns, by name; other columns are converted as by an insert.
    pub(super) async fn copy_rows(
        &mut self,
        block: &mut Block<H::Env>,
        (from, to): (&Version, &Arc<Version>),
        id: i64,
        values: &[(String, String)],
    ) -> Result<(), SqlError> {
        let (Some(old), Some(new)) = (from.position_of(id), to.position_of(id)) else {
            return Ok(());
        };
        let table = &to.catalog.tables[new];
        let mut names = Vec::new();
        let mut columns = Vec::new();
        for column in from.catalog.tables[old].visible() {
            let same = table.visible().iter().position(|other| other.number == column.number);
            if let Some(same) = same {
                let given = values.iter().find(|(name, _)| *name == column.name);
                // A comment at the text's end ends before the parenthesis.
                let given = given.map(|(_, text)| format!("({text}\n)"));
                names.push(given.unwrap_or_else(|| quoted(&column.name)));
                columns.push(same);
            }
        }
        let source = &from.catalog.tables[old].name;
        // The path of the session need not have `public`; other full names have their schema.
        let schema = if schema_of(source) == PUBLIC { "public." } else { "" };
        let text = format!("SELECT {} FROM {schema}{}", names.join(", "), quoted(source));
        let path = self.path_in(from);
        let select = plan_rows(from.knowledge(), &from.tables, &text, &path)?;
        if !values.is_empty() {
            require_expressions(&select.query, old, names.len())?;
            check_query(Rights::of(from, self.acting_role(from)), &select.query)?;
        }
        let types: Vec<SqlType> =
            select.query.outputs().into_iter().map(|field| field.sql_type).collect();
        let rows = self.read_rows(block, &from.tables, &select.statement).await?;
        refuse_nulls(&rows, table, &columns)?;
        // The rows have satisfied their constraints before.
        let bare = Table { foreign_keys: Vec::new(), checks: Vec::new(), ..table.clone() };
        let catalog = Catalog { tables: vec![bare], ..Catalog::default() };
        let handle = self.database.host().handle();
        let tables = Tables::bind(&handle, &catalog)
            .map_err(|error| SqlError::internal(error.to_string()))?;
        let statistics = Statistics::default();
        let knowledge = Knowledge { catalog: &catalog, statistics: &statistics, costs: to.costs };
        let text = insert_text(table, &columns);
        let insert = compile_typed(knowledge, &tables, &text, &types);
        let insert = insert.map_err(|error| not_converted(error, table, &columns, &types))?;
        self.sequences.set_version(to, to);
        let (parameters, rows) = (&[][..], &rows);
        let parts = Parts { tables: &tables, insert: &insert, parameters, rows, has_query: false };
        let inserted = match block.keeps_transaction() {
            true => self.insert_in_block(block, parts).await,
            false => self.insert_in_parts(parts, &mut block.began_us).await.map(drop),
        };
        inserted.map_err(rewritten)
    }

    /// Inserts rows in the transaction of a block.
    async fn insert_in_block(
        &mut self,
        block: &mut Block<H::Env>,
        parts: Parts<'_>,
    ) -> Result<(), SqlError> {
        self.start_in_block(block).await?;
        (block.has_written, block.writes) = (true, block.writes + 1);
        let transaction = block.engine.as_mut().expect("it was started");
        let ran = self.run_part(transaction, parts, 0..parts.rows.len()).await;
        let ran = ran.map(drop).map_err(|ended| block.failed_by(ended));
        ran.map_err(|error| match &*error.sqlstate {
            "54000" if error.hint.is_none() => {
                error.hint("Change the catalog in a transaction that has not changed rows before.")
            }
            _ => error,
        })
    }

    /// Runs a query of ours: in the transaction of a block that must keep it, or in one of its own.
    async fn read_rows(
        &mut self,
        block: &mut Block<H::Env>,
        tables: &Tables,
        select: &SingleStatement,
    ) -> Result<Rows, SqlError> {
        if !block.keeps_transaction() {
            return self.run_once(tables, select).await;
        }
        self.start_in_block(block).await?;
        let transaction = block.engine.as_mut().expect("it was started");
        let mut rows = Rows::new(0);
        let statement = &mut transaction.statement();
        let ran = self.runner.run(statement, tables, select, &[], false, &mut rows).await;
        ran.map_err(|error| block.failed_by(error.into()))?;
        Ok(rows)
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
        block: &mut Block<H::Env>,
        from: &Version,
        to: &Version,
    ) -> Result<(), SqlError> {
        for (at, table) in to.catalog.tables.iter().enumerate() {
            let id = to.definition_of(at).id;
            let old = from.position_of(id);
            let Some(old) = old.map(|old| &from.catalog.tables[old]) else { continue };
            let is_new =
                |check: &&Check| old.checks.iter().all(|other| other.condition != check.condition);
            for check in table.checks.iter().filter(is_new) {
                self.require_none(block, to, &violations(at, table, check)).await.map_err(
                    |error| {
                        error
                            .unwrap_or_else(|| violated("check", &check.name, &table.name, "23514"))
                    },
                )?;
            }
        }
        Ok(())
    }

    /// Checks the rows of foreign keys, which are those of these tables by position.
    pub(super) async fn check_keys(
        &mut self,
        block: &mut Block<H::Env>,
        from: &Version,
        to: &Version,
        keys: &[(usize, &ForeignKey)],
    ) -> Result<(), SqlError> {
        for &(at, key) in keys {
            let table = &to.catalog.tables[at];
            if from.position_of(to.definition_of(at).id).is_none() {
                continue;
            }
            let text = orphans(&to.catalog, table, key);
            let (select, _) = compile_text(to.knowledge(), &to.tables, &text)?;
            if !self.read_rows(block, &to.tables, &select).await?.is_empty() {
                return Err(violated("foreign key", &key.name, &table.name, "23503"));
            }
        }
        Ok(())
    }

    /// Fails with `None` if a query returns a row.
    async fn require_none(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        query: &Query,
    ) -> Result<(), Option<SqlError>> {
        let planned = plan(version.knowledge(), query)
            .map_err(|error| Some(SqlError::unsupported(error.to_string())))?;
        let select = SingleStatement::compile(&planned.statement, &version.tables)
            .map_err(|error| Some(SqlError::unsupported(error.to_string())))?;
        let rows = self.read_rows(block, &version.tables, &select).await.map_err(Some)?;
        match rows.is_empty() {
            true => Ok(()),
            false => Err(None),
        }
    }
}

/// Requires that the texts behind `USING` are expressions of the row's columns, so that the query
/// has a row for each one of the table, and reads nothing else.
fn require_expressions(query: &Query, table: usize, count: usize) -> Result<(), SqlError> {
    let refused = || SqlError::new("42601", "syntax error: USING needs one expression");
    let Query::Select(select) = query else { return Err(refused()) };
    let SelectBody::Plain(plain) = &select.body else { return Err(refused()) };
    if plain.outputs.iter().any(|output| output.expr.has_subquery()) {
        return Err(SqlError::new("0A000", "cannot use subquery in transform expression"));
    }
    if plain.is_grouped {
        let message = "aggregate functions are not allowed in transform expressions";
        return Err(SqlError::new("42803", message));
    }
    let is_table =
        matches!(&plain.sources[..], [From { kind: FromKind::Table(at), .. }] if *at == table);
    let has_clauses = plain.filter.is_some()
        || plain.having.is_some()
        || plain.distinct
        || !select.order.is_empty()
        || select.limit.is_some()
        || select.offset.is_some()
        || select.lock.is_some();
    match is_table && !has_clauses && plain.outputs.len() == count {
        true => Ok(()),
        false => Err(refused()),
    }
}

/// The rows of a table that a check refuses; at most one.
fn violations(at: usize, table: &Table, check: &Check) -> Query {
    let truth = |kind| Expr { kind, sql_type: SqlType::Bool };
    let operand = Box::new(check.condition.clone());
    let filter = truth(ExprKind::Unary { operator: UnaryOperator::Not, operand });
    let one = Expr { kind: ExprKind::Integer(1), sql_type: SqlType::Int4 };
    let source = From {
        alias: table.name.clone(),
        columns: table.fields(),
        kind: FromKind::Table(at),
        is_common: false,
    };
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
    let select =
        Select { body, order: Vec::new(), limit, offset: None, lock: None, locked: Vec::new() };
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
/// `columns` are the positions of the rows' values in the table.
fn refuse_nulls(rows: &Rows, table: &Table, columns: &[usize]) -> Result<(), SqlError> {
    for (at, column) in table.columns.iter().enumerate().filter(|(_, column)| !column.nullable) {
        let value = columns.iter().position(|&own| own == at);
        let is_null = |row: &[Value]| value.is_some_and(|value| row[value].is_null());
        let lacks = value.is_none() && column.default.is_none() && !rows.is_empty();
        if lacks || rows.iter().any(is_null) {
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

/// The error of a value that does not become one of the column's new type.
fn not_converted(error: SqlError, table: &Table, columns: &[usize], types: &[SqlType]) -> SqlError {
    let named = |at: &&usize| error.message.contains(&format!("\"{}\"", table.columns[**at].name));
    let differs =
        |(at, from): &(&usize, &SqlType)| table.columns[**at].sql_type.base() != from.base();
    let pairs = || columns.iter().zip(types);
    let found = pairs().filter(differs).find(|(at, _)| named(at));
    match found.filter(|_| error.sqlstate == "42804") {
        None => error,
        Some((&at, _)) => {
            let (name, to) = (&table.columns[at].name, &table.columns[at].sql_type);
            let message = format!("column \"{name}\" cannot be cast automatically to type {to}");
            let hint = format!("You might need to specify \"USING {name}::{to}\".");
            SqlError::new("42804", message).hint(&hint)
        }
    }
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
