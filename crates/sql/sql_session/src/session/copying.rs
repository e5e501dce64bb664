//! Runs `COPY`.
//!
//! Many rows of a table whose storage nobody else knows are inserted by several transactions of the
//! engine, see [`super::divided`]. Outside of a transaction block, `COPY` gives an empty table such
//! storage itself.

use super::binary_copy::of_text;
use super::divided::{HINT, Parts};
use super::open::{OpenQuery, ROWS_AT_A_TIME};
use super::query::Ended;
use super::rewrite::{CHUNK_ROWS, insert_text, quoted};
use super::{Block, Prepared, SqlSession};
use crate::access::privilege::Privileges;
use crate::access::required::{Rights, check_table};
use crate::catalog::Version;
use crate::copy::{CopyOptions, CopySource, CopyStatement, Decoder, encode_row};
use crate::error::SqlError;
use crate::host::Host;
use crate::outcome::{CopyDirection, CopyFormat, Outcome, RowSet};
use crate::planned::compile_text;
use interpreter::{Rows, SingleStatement};
use sql::SqlType;
use sql::namespace::pinned_name;
use sql_value::style::within;
use sql_value::{Value, output};
use std::sync::Arc;

/// A copy in progress.
pub(super) enum Copying {
    In(Box<CopyIn>),
    Out(Box<CopyOut>),
}

pub(super) struct CopyIn {
    decoder: Decoder,
    table: String,
    /// Names of the columns.
    columns: Vec<String>,
    version: Arc<Version>,
    insert: SingleStatement,
    /// The types of its parameters.
    types: Vec<SqlType>,
    /// Whether the rows may be inserted by several transactions of the engine.
    may_divide: bool,
    /// Rows that wait, if so.
    waiting: Rows,
    /// Whether several transactions insert them.
    is_divided: bool,
    values: Vec<Value>,
    count: u64,
    /// Whether the copy is a transaction of its own.
    is_alone: bool,
}

impl CopyIn {
    pub fn types(&self) -> &[SqlType] {
        &self.types
    }
}

impl CopyOut {
    pub fn types(&self) -> &[SqlType] {
        &self.types
    }
}

pub(super) struct CopyOut {
    options: CopyOptions,
    /// Rows that wait, and the next one.
    pub rows: RowSet,
    pub at: usize,
    /// The query, if it has more rows.
    pub open: Option<OpenQuery>,
    types: Vec<SqlType>,
    header: Option<Vec<String>>,
    pub count: u64,
}

impl<H: Host> SqlSession<H> {
    pub(super) async fn begin_copy(&mut self, copy: &CopyStatement) -> Result<Outcome, SqlError> {
        match copy.direction {
            CopyDirection::In => self.begin_copy_in(copy).await,
            CopyDirection::Out => self.begin_copy_out(copy).await,
        }
    }

    async fn begin_copy_out(&mut self, copy: &CopyStatement) -> Result<Outcome, SqlError> {
        let text = match &copy.source {
            CopySource::Query(text) => text.clone(),
            CopySource::Table { name, columns: None } => {
                format!("SELECT * FROM {}", quoted(&pinned_name(name)))
            }
            CopySource::Table { name, columns: Some(columns) } => {
                let columns: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
                format!("SELECT {} FROM {}", columns.join(", "), quoted(&pinned_name(name)))
            }
        };
        let query = Prepared::inside(&text, &self.version(), &self.identity)?;
        let Some(columns) = query.columns() else {
            return Err(SqlError::new("0A000", "COPY query must have a RETURNING clause"));
        };
        let (rows, open) = self.open_query(&query, ROWS_AT_A_TIME).await?;
        let types: Vec<SqlType> = columns.iter().map(|column| column.sql_type.clone()).collect();
        let options = copy.options.clone();
        let names = || columns.iter().map(|column| column.name.clone()).collect();
        let header = options.has_header.then(names);
        let format = format(CopyDirection::Out, types.len(), options.is_binary);
        let out = CopyOut { options, rows, at: 0, open, types, header, count: 0 };
        self.copying = Some(Copying::Out(Box::new(out)));
        Ok(Outcome::CopyOut(format))
    }

    /// Appends the next row after [`Outcome::CopyOut`] to `data`; returns the command tag when all
    /// rows were delivered.
    ///
    /// # Errors
    /// No such copy is in progress.
    pub async fn copy_out(&mut self, data: &mut Vec<u8>) -> Result<Option<String>, SqlError> {
        let style = self.settings.style();
        within(style, self.copy_out_now(data)).await
    }

    async fn copy_out_now(&mut self, data: &mut Vec<u8>) -> Result<Option<String>, SqlError> {
        let Some(Copying::Out(mut out)) = self.copying.take() else { return Err(no_copy()) };
        if let Some(header) = out.header.take() {
            encode_row(&out.options, header.iter().map(Some), data);
        } else if self.refill(&mut out).await? {
            let row = out.rows.row(out.at).iter().zip(&out.types);
            let text = |(value, sql_type): (&Value, &SqlType)| {
                (!value.is_null()).then(|| output::text(value, sql_type))
            };
            encode_row(&out.options, row.map(text), data);
            out.at += 1;
        } else {
            return Ok(Some(format!("COPY {}", out.count)));
        }
        self.copying = Some(Copying::Out(out));
        Ok(None)
    }

    /// Makes sure that a row waits; returns false if there are no more.
    pub(super) async fn refill(&mut self, out: &mut CopyOut) -> Result<bool, SqlError> {
        while out.at == out.rows.len() {
            out.count += out.rows.len() as u64;
            (out.rows, out.at) = (RowSet::new(out.rows.width()), 0);
            let Some(query) = out.open else { return Ok(false) };
            let fetched = self.fetch(query, ROWS_AT_A_TIME).await?;
            out.rows = fetched.rows;
            out.open = out.open.filter(|_| !fetched.has_ended);
        }
        Ok(true)
    }

    async fn begin_copy_in(&mut self, copy: &CopyStatement) -> Result<Outcome, SqlError> {
        let CopySource::Table { name, columns } = &copy.source else { return Err(no_copy()) };
        let is_alone = self.block.is_none();
        if is_alone {
            self.begin_implicit();
        }
        let mut block = self.block.take().expect("it was begun");
        let begun = self.copy_into(&mut block, (name, columns.as_deref()), copy, is_alone).await;
        self.block = Some(block);
        match begun {
            Ok(begun) => {
                let is_binary = copy.options.is_binary;
                let format = format(CopyDirection::In, begun.columns.len(), is_binary);
                self.copying = Some(Copying::In(Box::new(begun)));
                Ok(Outcome::CopyIn(format))
            }
            Err(error) => {
                if is_alone {
                    // The first error is the one to report.
                    let _ = self.end_implicit(true).await;
                }
                Err(error)
            }
        }
    }

    async fn copy_into(
        &mut self,
        block: &mut Block<H::Env>,
        (name, columns): (&str, Option<&[String]>),
        copy: &CopyStatement,
        is_alone: bool,
    ) -> Result<CopyIn, SqlError> {
        if block.is_read_only {
            let message = "cannot execute COPY FROM in a read-only transaction";
            return Err(SqlError::new("25006", message));
        }
        block.see_current_catalog(&self.database);
        let renewed = self.renew_in_block(block).await;
        renewed.map_err(|ended| block.failed_by(ended))?;
        let version = block.version.clone().unwrap_or_else(|| self.database.version());
        let granted = self.granted_in(Some(block), &version);
        self.check_copy((&version, &granted), name, columns)?;
        if is_alone {
            self.renew_empty(block, name).await?;
        }
        let (version, at, positions) = self.share_copied(block, name, columns)?;
        let definition = version.definition_of(at);
        let may_divide = block.has_created(&definition.physical) && block.may_divide();
        let table = &version.catalog.tables[at];
        let text = insert_text(table, &positions);
        let (insert, types) = compile_text(version.knowledge(), &version.tables, &text)?;
        let names = positions.iter().map(|&column| table.columns[column].name.clone());
        Ok(CopyIn {
            decoder: Decoder::new(copy.options.clone()),
            table: name.to_owned(),
            columns: names.collect(),
            waiting: Rows::new(positions.len()),
            insert,
            types,
            version: version.clone(),
            may_divide,
            is_divided: false,
            values: Vec::new(),
            count: 0,
            is_alone,
        })
    }

    /// The position of the table that a `COPY` changes, and those of its columns.
    fn check_copy(
        &self,
        (version, granted): (&Version, &Version),
        name: &str,
        columns: Option<&[String]>,
    ) -> Result<(usize, Vec<usize>), SqlError> {
        let (at, _) = version.table(name).ok_or_else(|| no_relation(name))?;
        let rights = Rights { version, granted, role: self.acting_role(granted) };
        check_table(rights, at, Privileges::INSERT)?;
        let table = &version.catalog.tables[at];
        let positions = match columns {
            None => (0..table.visible().len()).collect(),
            Some(names) => positions(table, names)?,
        };
        Ok((at, positions))
    }

    /// Takes a share in the table of a `COPY`, and checks it in the version of the catalog that is
    /// used: it may have changed while the session waited.
    fn share_copied(
        &self,
        block: &mut Block<H::Env>,
        name: &str,
        columns: Option<&[String]>,
    ) -> Result<(Arc<Version>, usize, Vec<usize>), SqlError> {
        loop {
            let version = block.version.get_or_insert_with(|| self.database.version()).clone();
            let granted = self.granted_in(Some(block), &version);
            let versions = (&*version, &*granted);
            let (at, positions) = self.check_copy(versions, name, columns)?;
            let keys = version.catalog.tables[at].foreign_keys.iter().map(|key| key.table);
            for table in std::iter::once(at).chain(keys) {
                block.locks.share(self.database.locks(), version.definition_of(table).id, self)?;
            }
            if block.change.is_some() || self.database.serial() == version.serial {
                return Ok((version, at, positions));
            }
            if block.has_begun {
                let current = self.database.version();
                let (own, now) = (version.definition_of(at), current.table(name));
                if now.is_none_or(|(_, now)| now.physical != own.physical) {
                    let message =
                        "could not serialize access due to a concurrent change of the table";
                    return Err(SqlError::new("40001", message));
                }
                self.check_copy((&current, &current), name, columns)?;
                return Ok((version, at, positions));
            }
            block.version = None;
        }
    }

    /// Data of the client after [`Outcome::CopyIn`], in pieces of any size.
    ///
    /// # Errors
    /// A row is malformed or violates a constraint. The copy has then ended.
    pub async fn copy_data(&mut self, data: &[u8]) -> Result<(), SqlError> {
        let style = self.settings.style();
        within(style, self.copy_data_now(data)).await
    }

    async fn copy_data_now(&mut self, data: &[u8]) -> Result<(), SqlError> {
        let Some(Copying::In(mut copy)) = self.copying.take() else { return Err(no_copy()) };
        let taken = match copy.decoder.push(data) {
            Ok(()) => self.take_rows(&mut copy, false).await,
            refused => refused,
        };
        match taken {
            Ok(()) => {
                self.copying = Some(Copying::In(copy));
                Ok(())
            }
            Err(error) => Err(self.stop_copy(&copy, error).await),
        }
    }

    /// The end of the client's data; returns the command tag.
    ///
    /// # Errors
    /// As [`SqlSession::copy_data`], and those of the commit.
    pub async fn copy_done(&mut self) -> Result<String, SqlError> {
        let style = self.settings.style();
        within(style, self.copy_done_now()).await
    }

    async fn copy_done_now(&mut self) -> Result<String, SqlError> {
        let Some(Copying::In(mut copy)) = self.copying.take() else { return Err(no_copy()) };
        let mut taken = self.take_rows(&mut copy, true).await;
        if taken.is_ok() {
            taken = self.insert_rest(&mut copy).await;
        }
        if let Err(error) = taken {
            return Err(self.stop_copy(&copy, error).await);
        }
        if copy.is_alone {
            self.end_implicit(false).await?;
        }
        Ok(format!("COPY {}", copy.count))
    }

    /// The client has given up its copy, with this message; returns the error to report.
    pub async fn copy_fail(&mut self, message: &str) -> SqlError {
        let error = SqlError::new("57014", format!("COPY from stdin failed: {message}"));
        match self.copying.take() {
            Some(Copying::In(copy)) => self.stop_copy(&copy, error).await,
            _ => error,
        }
    }

    pub(super) async fn stop_copy(&mut self, copy: &CopyIn, error: SqlError) -> SqlError {
        let mut error = self.without_values(error);
        if error.detail.is_none() {
            let line = copy.decoder.line;
            error.detail = Some(format!("COPY {}, line {line}", copy.table));
        }
        self.fail();
        if copy.is_alone {
            // The first error is the one to report.
            let _ = self.end_implicit(true).await;
        }
        error
    }

    /// Inserts all rows that have arrived.
    async fn take_rows(&mut self, copy: &mut CopyIn, is_last: bool) -> Result<(), SqlError> {
        while let Some(fields) = copy.decoder.next(is_last)? {
            self.runner.check_sometimes(&self.env)?;
            if fields.len() != copy.columns.len() {
                let message = match fields.get(copy.columns.len()) {
                    Some(_) => "extra data after last expected column".to_owned(),
                    None => format!("missing data for column \"{}\"", copy.columns[fields.len()]),
                };
                return Err(SqlError::new("22P04", message));
            }
            copy.values.clear();
            copy.count += 1;
            for (field, sql_type) in fields.into_iter().zip(&copy.types) {
                copy.values.push(match field {
                    None => Value::Null,
                    Some(text) => of_text(&text, sql_type)?,
                });
            }
            self.take_values(copy).await?;
        }
        Ok(())
    }

    /// Takes a row of the client's values.
    pub(super) async fn take_row(
        &mut self,
        copy: &mut CopyIn,
        values: Vec<Value>,
    ) -> Result<(), SqlError> {
        self.runner.check_sometimes(&self.env)?;
        copy.values = values;
        copy.count += 1;
        copy.decoder.line += 1;
        self.take_values(copy).await
    }

    /// Inserts the values of a row.
    async fn take_values(&mut self, copy: &mut CopyIn) -> Result<(), SqlError> {
        if !copy.may_divide {
            return self.insert_row(copy, &copy.values).await;
        }
        copy.waiting.push_values(&copy.values);
        match copy.waiting.len() < CHUNK_ROWS {
            true => Ok(()),
            false => self.insert_waiting(copy).await,
        }
    }

    /// Inserts the waiting rows by a transaction of their own.
    async fn insert_waiting(&mut self, copy: &mut CopyIn) -> Result<(), SqlError> {
        let rows = std::mem::replace(&mut copy.waiting, Rows::new(copy.columns.len()));
        let mut block = self.block.take().ok_or_else(no_copy)?;
        let settled = match copy.is_divided {
            true => Ok(()),
            false => self.settle(&mut block).await,
        };
        (copy.is_divided, block.writes) = (true, block.writes + 1);
        let ran = match settled {
            Ok(()) => {
                block.begin_anew();
                let granted = self.granted_in(Some(&block), &copy.version);
                self.sequences.set_version(&copy.version, &granted);
                let (tables, insert) = (&*copy.version.tables, &copy.insert);
                let (parameters, rows) = (&[][..], &rows);
                let parts = Parts { tables, insert, parameters, rows, has_query: false };
                self.insert_in_parts(parts, &mut block.began_us).await.map(drop)
            }
            Err(error) => Err(error),
        };
        self.block = Some(block);
        ran
    }

    /// Inserts the waiting rows at the end of the data.
    async fn insert_rest(&mut self, copy: &mut CopyIn) -> Result<(), SqlError> {
        if copy.is_divided {
            return self.insert_waiting(copy).await;
        }
        for row in copy.waiting.iter() {
            self.insert_row(copy, row).await?;
        }
        Ok(())
    }

    /// Inserts a row in the transaction of the block.
    async fn insert_row(&mut self, copy: &CopyIn, values: &[Value]) -> Result<(), SqlError> {
        let mut block = self.block.take().ok_or_else(no_copy)?;
        let statement = &copy.insert;
        let granted = self.granted_in(Some(&block), &copy.version);
        let started = self.start_in_block(&mut block).await;
        let ran = match (started, &mut block.engine) {
            (Ok(()), Some(transaction)) => {
                block.has_written = true;
                block.has_written_shared |= !copy.may_divide;
                block.writes += 1;
                block.log.lose();
                let transaction = &mut transaction.statement();
                let tables = &copy.version.tables;
                self.sequences.set_version(&copy.version, &granted);
                let rows = &mut self.rows;
                let ran = self.runner.run(transaction, tables, statement, values, false, rows);
                ran.await.map(drop).map_err(Ended::from)
            }
            (started, _) => started,
        };
        let ran = ran.map_err(|ended| block.failed_by(ended));
        self.block = Some(block);
        ran.map_err(|error| match &*error.sqlstate {
            "54000" if error.hint.is_none() => error.hint(HINT),
            _ => error,
        })
    }
}

fn format(direction: CopyDirection, columns: usize, is_binary: bool) -> CopyFormat {
    CopyFormat { direction, columns, is_binary }
}

pub(super) fn no_copy() -> SqlError {
    SqlError::new("08P01", "no COPY is in progress")
}

pub(super) fn no_relation(name: &str) -> SqlError {
    SqlError::new("42P01", format!("relation \"{name}\" does not exist"))
}

fn positions(table: &sql::Table, names: &[String]) -> Result<Vec<usize>, SqlError> {
    let mut positions = Vec::new();
    for name in names {
        let position = table.column(name).ok_or_else(|| {
            let message =
                format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
            SqlError::new("42703", message)
        })?;
        if positions.contains(&position) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new("42701", message));
        }
        positions.push(position);
    }
    Ok(positions)
}
