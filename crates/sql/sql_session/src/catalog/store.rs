//! The stored definitions: a table of the database, read and written by statements of ours.

use super::sequences::Sequence;
use super::version::Analyzed;
use super::{Definition, DefinitionKind};
use crate::error::{SqlError, catalog_error};
use crate::planned::compile_text;
use fabric::Env;
use interpreter::{Rows, Runner, SingleStatement, StatementError, Tables, create};
use planner::{Costs, Knowledge, Statistics, TableStatistics};
use sql::Catalog;
use sql_value::Value;
use txn::{CatalogError, Database, Transaction};

/// The engine's tables of definitions and of the bounds of sequences. Row 0 of the definitions has
/// the epoch, the number of committed changes.
const SCHEMA: &str = "CREATE TABLE namdb_definition (
    id bigint PRIMARY KEY,
    kind smallint NOT NULL,
    owner bigint NOT NULL,
    name varchar(128) NOT NULL,
    physical varchar(128) NOT NULL,
    body varchar(1048576) NOT NULL
);
CREATE TABLE namdb_sequence (
    owner bigint,
    place smallint,
    last bigint NOT NULL,
    PRIMARY KEY (owner, place)
);
CREATE TABLE namdb_statistics (
    owner bigint,
    part smallint,
    body varchar(1048576) NOT NULL,
    PRIMARY KEY (owner, part)
)";

/// The statements that read and write definitions.
pub(crate) struct Store {
    tables: Tables,
    select: SingleStatement,
    epoch: SingleStatement,
    insert: SingleStatement,
    set_epoch: SingleStatement,
    delete: SingleStatement,
    sequence: SingleStatement,
    add_sequence: SingleStatement,
    set_sequence: SingleStatement,
    drop_sequences: SingleStatement,
    statistics: SingleStatement,
    add_statistics: SingleStatement,
    drop_statistics: SingleStatement,
}

impl Store {
    /// Opens the table of definitions; creates it if the database has none.
    pub async fn open<E: Env>(database: &Database<E>) -> Result<Self, SqlError> {
        let source = sql::Source::new("namdb_definition", SCHEMA);
        let catalog = sql::read_schema(&source)
            .map_err(|errors| SqlError::internal(errors.first().to_string()))?;
        database.refresh().await.map_err(|error| catalog_error(&error))?;
        for table in &catalog.tables {
            if database.table(&table.name).is_some() {
                continue;
            }
            let one = Catalog { tables: vec![table.clone()], ..Catalog::default() };
            match create(database, &one, &[super::design::design(table, SCHEMA)]).await {
                // Another process was faster.
                Ok(()) | Err(CatalogError::Exists(_)) => {}
                Err(error) => return Err(catalog_error(&error)),
            }
        }
        let tables = Tables::bind(database, &catalog)
            .map_err(|error| SqlError::internal(error.to_string()))?;
        let compile = |text: &str| compile(&catalog, &tables, text);
        Ok(Self {
            select: compile(
                "SELECT id, kind, owner, name, physical, body FROM namdb_definition ORDER BY id",
            )?,
            epoch: compile("SELECT owner FROM namdb_definition WHERE id = 0 FOR UPDATE")?,
            insert: compile("INSERT INTO namdb_definition VALUES ($1, $2, $3, $4, $5, $6)")?,
            set_epoch: compile("UPDATE namdb_definition SET owner = $1 WHERE id = 0")?,
            delete: compile("DELETE FROM namdb_definition WHERE id = $1")?,
            sequence: compile("SELECT last FROM namdb_sequence WHERE owner = $1 AND place = $2")?,
            add_sequence: compile("INSERT INTO namdb_sequence VALUES ($1, $2, $3)")?,
            set_sequence: compile(
                "UPDATE namdb_sequence SET last = $3 WHERE owner = $1 AND place = $2",
            )?,
            drop_sequences: compile("DELETE FROM namdb_sequence WHERE owner = $1")?,
            statistics: compile("SELECT owner, part, body FROM namdb_statistics")?,
            add_statistics: compile("INSERT INTO namdb_statistics VALUES ($1, $2, $3)")?,
            drop_statistics: compile("DELETE FROM namdb_statistics WHERE owner = $1")?,
            tables,
        })
    }

    /// Reads the epoch and all definitions.
    pub async fn read<E: Env>(
        &self,
        runner: &mut Runner,
        transaction: &mut Transaction<'_, E>,
    ) -> Result<(i64, Vec<Definition>), SqlError> {
        let mut rows = Rows::new(6);
        let run = runner.run(transaction, &self.tables, &self.select, &[], false, &mut rows);
        run.await.map_err(SqlError::from)?;
        let (mut epoch, mut definitions) = (0, Vec::new());
        for row in rows.iter() {
            let [id, kind, table, name, physical, body] = row else { continue };
            let number = |value: &Value| value.as_int().unwrap_or(0);
            let text = |value: &Value| value.as_text().unwrap_or_default().to_owned();
            if number(id) == 0 {
                epoch = number(table);
                continue;
            }
            let Some(kind) = DefinitionKind::of_number(number(kind)) else {
                let message = "the SQL catalog was written by a newer version of namdb";
                return Err(SqlError::new("XX000", message));
            };
            let (id, table) = (number(id), number(table));
            let (name, physical, body) = (text(name), text(physical), text(body));
            definitions.push(Definition { id, kind, table, name, physical, body });
        }
        Ok((epoch, definitions))
    }

    /// Stores the difference between two lists of definitions, if nobody has changed the catalog
    /// since `epoch`. It takes effect with the transaction.
    pub async fn write<E: Env>(
        &self,
        runner: &mut Runner,
        transaction: &mut Transaction<'_, E>,
        epoch: i64,
        (before, after): (&[Definition], &[Definition]),
    ) -> Result<(), SqlError> {
        let mut rows = Rows::new(1);
        let tables = &self.tables;
        let found = runner.run(transaction, tables, &self.epoch, &[], false, &mut rows).await;
        found.map_err(SqlError::from)?;
        let stored = rows.iter().next().and_then(|row| row[0].as_int());
        if stored.unwrap_or(0) != epoch {
            let message = "could not serialize access due to a concurrent change of the catalog";
            return Err(SqlError::new("40001", message));
        }
        let mut run = async |statement: &SingleStatement, parameters: &[Value]| {
            let ran = runner.run(transaction, tables, statement, parameters, false, &mut rows);
            ran.await.map(drop).map_err(SqlError::from)
        };
        match stored {
            Some(_) => run(&self.set_epoch, &[Value::Int(epoch + 1)]).await?,
            None => run(&self.insert, &row(0, 0, epoch + 1, ["epoch", "", ""])).await?,
        }
        for old in before.iter().filter(|old| !after.contains(old)) {
            run(&self.delete, &[Value::Int(old.id)]).await?;
        }
        // Later definitions may have these numbers again.
        for owner in sequence_owners(before, after) {
            run(&self.drop_sequences, &[Value::Int(owner)]).await?;
            run(&self.drop_statistics, &[Value::Int(owner)]).await?;
        }
        for new in after.iter().filter(|new| !before.contains(new)) {
            let texts = [&*new.name, &*new.physical, &*new.body];
            run(&self.insert, &row(new.id, new.kind as i64, new.table, texts)).await?;
        }
        Ok(())
    }
}

impl Store {
    /// Reads the statistics of all tables.
    pub async fn read_statistics<E: Env>(
        &self,
        runner: &mut Runner,
        transaction: &mut Transaction<'_, E>,
    ) -> Result<Analyzed, SqlError> {
        let mut rows = Rows::new(3);
        let run = runner.run(transaction, &self.tables, &self.statistics, &[], false, &mut rows);
        run.await.map_err(SqlError::from)?;
        let mut analyzed = Analyzed::new();
        for row in rows.iter() {
            if let [Value::Int(table), Value::Int(part), Value::Text(body)] = row {
                super::statistics::add(&mut analyzed, *table, *part, body);
            }
        }
        Ok(analyzed)
    }

    /// Replaces the statistics of a table, as a part of a transaction.
    pub async fn write_statistics<E: Env>(
        &self,
        runner: &mut Runner,
        transaction: &mut Transaction<'_, E>,
        table: i64,
        statistics: &TableStatistics,
    ) -> Result<(), StatementError> {
        let (mut rows, tables) = (Rows::new(0), &self.tables);
        let mut key = vec![Value::Int(table)];
        runner.run(transaction, tables, &self.drop_statistics, &key, false, &mut rows).await?;
        for (part, body) in super::statistics::stored(statistics) {
            key.truncate(1);
            key.extend([Value::Int(part), Value::text(&body)]);
            runner.run(transaction, tables, &self.add_statistics, &key, false, &mut rows).await?;
        }
        Ok(())
    }

    /// Changes the bound of a sequence, as a part of a transaction; returns the new one.
    pub async fn change_sequence<E: Env>(
        &self,
        runner: &mut Runner,
        transaction: &mut Transaction<'_, E>,
        sequence: Sequence,
        change: &dyn Fn(i64) -> i64,
    ) -> Result<i64, StatementError> {
        let mut rows = Rows::new(1);
        let (tables, (owner, place)) = (&self.tables, sequence.place);
        let mut key = vec![Value::Int(owner), Value::Int(place)];
        runner.run(transaction, tables, &self.sequence, &key, false, &mut rows).await?;
        let stored = rows.iter().next().and_then(|row| row[0].as_int());
        let last = change(stored.unwrap_or(sequence.start - 1));
        key.push(Value::Int(last));
        let statement = if stored.is_some() { &self.set_sequence } else { &self.add_sequence };
        runner.run(transaction, tables, statement, &key, false, &mut rows).await?;
        Ok(last)
    }
}

/// The numbers of tables and sequences that are gone.
pub(crate) fn sequence_owners(before: &[Definition], after: &[Definition]) -> Vec<i64> {
    let is_owner =
        |one: &&Definition| matches!(one.kind, DefinitionKind::Table | DefinitionKind::Sequence);
    let is_gone = |one: &&Definition| {
        !after
            .iter()
            .any(|other| other.id == one.id && other.kind == one.kind && other.body == one.body)
    };
    before.iter().filter(is_owner).filter(is_gone).map(|one| one.id).collect()
}

fn row(id: i64, kind: i64, owner: i64, texts: [&str; 3]) -> Vec<Value> {
    let numbers = [id, kind, owner].into_iter().map(Value::Int);
    numbers.chain(texts.into_iter().map(Value::text)).collect()
}

fn compile(catalog: &Catalog, tables: &Tables, text: &str) -> Result<SingleStatement, SqlError> {
    let knowledge =
        Knowledge { catalog, statistics: &Statistics::default(), costs: Costs::default() };
    compile_text(knowledge, tables, text).map(|(statement, _)| statement)
}
