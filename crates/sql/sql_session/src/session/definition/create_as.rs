//! `CREATE TABLE ... AS`: a table with the columns of a query, and its rows.

use crate::command::{Command, TableOfQuery};
use crate::error::{Severity, SqlError};
use crate::host::Host;
use crate::outcome::Outcome;
use crate::planned::plan_rows;
use crate::session::SqlSession;
use crate::session::prepared::{Prepared, written_out};
use crate::session::rewrite::quoted;
use crate::session::transaction::done;
use sql::namespace::pinned_name;

/// The command tag without rows.
const TAG: &str = "CREATE TABLE AS";

impl<H: Host> SqlSession<H> {
    /// Creates a table and fills it; outside of a transaction both are one.
    pub(in crate::session) async fn create_table_as(
        &mut self,
        table: &TableOfQuery,
    ) -> Result<Outcome, SqlError> {
        if self.block.is_some() {
            return self.make_table(table).await;
        }
        self.begin_implicit();
        let made = self.make_table(table).await;
        let ended = self.end_implicit(made.is_err()).await;
        let outcome = made?;
        ended?;
        Ok(outcome)
    }

    async fn make_table(&mut self, table: &TableOfQuery) -> Result<Outcome, SqlError> {
        let version = self.version();
        if table.if_not_exists && version.table(&table.name).is_some() {
            let message = format!("relation \"{}\" already exists, skipping", table.name);
            self.notice(Severity::Notice, "42P07", message);
            return Ok(done(TAG));
        }
        let query = written_out(&table.query).unwrap_or_else(|| table.query.clone());
        let path = self.path_in(&version);
        let planned = plan_rows(version.knowledge(), &version.tables, &query, &path)?;
        let fields = planned.query.outputs();
        if table.columns.len() > fields.len() {
            return Err(SqlError::new("42601", "too many column names were specified"));
        }
        let names = fields
            .iter()
            .enumerate()
            .map(|(at, field)| quoted(table.columns.get(at).unwrap_or(&field.name)));
        let columns =
            names.zip(&fields).map(|(name, field)| format!("{name} {}", field.sql_type.written()));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let text = format!("CREATE TABLE {} ({columns})", quoted(&table.name));
        let command = Command::CreateTable { name: pinned_name(&table.name), if_not_exists: false };
        self.define(&command, &text).await?;
        if !table.has_rows {
            return Ok(done(TAG));
        }
        // A comment at the query's end ends before what follows.
        let text = format!("INSERT INTO {} {}\n", quoted(&pinned_name(&table.name)), query);
        let insert = Prepared::inside(&text, &self.version(), &self.identity)?;
        match self.run_query(&insert, &[]).await? {
            Outcome::Done { tag } => Ok(done(&tag.replacen("INSERT 0", "SELECT", 1))),
            other => Ok(other),
        }
    }
}
