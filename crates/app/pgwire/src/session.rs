//! The sessions that the server needs: those of `sql_session`, or those of a test.

use crate::clock::STACK_BYTES;
use crate::error::{Result, error, sqlstate};
use crate::message::backend::Column;
use crate::value::types::{modifier_of, oid_of, type_length};
use fabric::{LocalEnv, run_now};
use pg_catalog::{CatalogQuery, OutputColumn, TableInfo, ViewInfo, World};
use sql::types::SqlType;
pub use sql_session::{
    ColumnDescription, CopyFormat, Fetched, Interrupt, Login, Notice, OpenQuery, Outcome,
    ROWS_AT_A_TIME, RowSet, SessionOptions, SilenceLimit, SqlError, StatementText,
    TransactionStatus,
};
use sql_session::{Host, SqlDatabase, SqlSession};
use sql_value::Value;
use sql_value::style::Style;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A database that opens sessions.
pub trait Database: Clone + Send + Sync + 'static {
    type Session: Session;

    fn session(&self, options: SessionOptions) -> Result<Self::Session>;

    /// A session of a client that has satisfied `login`, see [`SqlDatabase::session_after`].
    fn session_after(
        &self,
        _login: &Login,
        _is_local: bool,
        options: SessionOptions,
    ) -> Result<Self::Session> {
        self.session(options)
    }

    /// Whether a client that gives this name may connect, see [`SqlDatabase::login`].
    fn login(&self, _user: &str, _database: &str, _is_local: bool) -> Login {
        Login::Trusted
    }
}

/// A session. Its calls may block; between two calls it may move to another thread.
pub trait Session: Send + 'static {
    type Prepared: Prepared;

    /// See [`sql_session::statements`].
    fn statements(text: &str) -> Result<Vec<StatementText<'_>>> {
        sql_session::statements(text)
    }

    /// See [`SqlSession::prepare`].
    fn prepare(&mut self, text: &str, types: &[u32]) -> Result<Self::Prepared>;
    /// See [`SqlSession::execute`].
    fn execute(&mut self, prepared: &Self::Prepared, parameters: &[Value]) -> Result<Outcome>;
    /// See [`SqlSession::open`].
    fn open(
        &mut self,
        prepared: &Self::Prepared,
        parameters: &[Value],
        _first: usize,
    ) -> Result<Outcome> {
        self.execute(prepared, parameters)
    }
    /// See [`SqlSession::fetch`].
    fn fetch(&mut self, _query: OpenQuery, _most: usize) -> Result<Fetched> {
        Err(error(sqlstate::INVALID_CURSOR_NAME, "no query is open"))
    }
    /// See [`SqlSession::execute_again`].
    fn execute_again(&mut self) {}
    /// See [`SqlSession::close_query`].
    fn close_query(&mut self, _query: OpenQuery) {}
    /// See [`SqlSession::close_queries`].
    fn close_queries(&mut self) {}
    /// See [`SqlSession::begin_implicit`].
    fn begin_implicit(&mut self);
    /// See [`SqlSession::end_implicit`].
    fn end_implicit(&mut self, has_failed: bool) -> Result<()>;
    fn status(&self) -> TransactionStatus;
    fn take_notices(&mut self) -> Vec<Notice>;
    fn take_changed_settings(&mut self) -> Vec<(String, String)>;
    fn setting(&self, name: &str) -> Option<String>;
    /// See [`SqlSession::style`].
    fn style(&self) -> Option<Arc<Style>> {
        None
    }
    /// See [`SqlSession::copy_data`].
    fn copy_data(&mut self, data: &[u8]) -> Result<()>;
    /// See [`SqlSession::copy_done`].
    fn copy_done(&mut self) -> Result<String>;
    /// See [`SqlSession::copy_fail`].
    fn copy_fail(&mut self, message: &str) -> SqlError;
    /// See [`SqlSession::copy_out`].
    fn copy_out(&mut self, data: &mut Vec<u8>) -> Result<Option<String>>;
    /// The columns of the copy in progress, see [`SqlSession::copy_types`].
    fn copy_columns(&self) -> Vec<Column>;
    /// See [`SqlSession::copy_row`].
    fn copy_row(&mut self, values: Vec<Value>) -> Result<()>;
    /// See [`SqlSession::copied_rows`].
    fn copied_rows(&mut self) -> Result<Option<RowSet>>;
    /// See [`SqlSession::set_interrupt`].
    fn set_interrupt(&mut self, interrupt: Arc<Interrupt>);
    /// See [`SqlSession::park`].
    fn park(&mut self) {}
    /// See [`SqlSession::silence_limit`].
    fn silence_limit(&self) -> Option<SilenceLimit>;
    /// See [`SqlSession::log_min`].
    fn log_min(&self) -> Option<Duration>;
    /// See [`SqlSession::close`].
    fn close(&mut self);
}

/// A prepared statement.
pub trait Prepared: Clone + Send + Sync {
    /// The numbers of the parameters' types.
    fn parameters(&self) -> Vec<u32>;
    /// The columns of its rows; `None` if it returns no rows.
    fn columns(&self) -> Option<Vec<Column>>;
}

/// A statement of a session, or a query on the system catalog.
#[derive(Clone)]
pub enum AnyPrepared {
    Statement(sql_session::Prepared),
    Catalog(Arc<CatalogQuery>),
    /// `PREPARE` of such a query: name and text.
    Named(Arc<(String, String)>),
}

impl<H: Host<Env = LocalEnv>> Database for SqlDatabase<H> {
    type Session = SqlSession<H>;

    fn session(&self, options: SessionOptions) -> Result<SqlSession<H>> {
        let mut session = Self::session(self, options);
        session.set_stack_bytes(STACK_BYTES);
        Ok(session)
    }

    fn session_after(
        &self,
        login: &Login,
        is_local: bool,
        options: SessionOptions,
    ) -> Result<Self::Session> {
        let mut session = Self::session_after(self, login, is_local, options)?;
        session.set_stack_bytes(STACK_BYTES);
        Ok(session)
    }

    fn login(&self, user: &str, database: &str, is_local: bool) -> Login {
        Self::login(self, user, database, is_local)
    }
}

impl Prepared for AnyPrepared {
    fn parameters(&self) -> Vec<u32> {
        match self {
            Self::Statement(statement) => statement.parameters().iter().map(oid_of).collect(),
            Self::Catalog(query) => query.parameters().to_vec(),
            Self::Named(_) => Vec::new(),
        }
    }

    fn columns(&self) -> Option<Vec<Column>> {
        match self {
            Self::Statement(statement) => statement.columns().map(described),
            Self::Catalog(query) => Some(query.columns().iter().map(catalog_column).collect()),
            Self::Named(_) => None,
        }
    }
}

/// The columns of a statement, as messages describe them.
pub fn described(columns: &[ColumnDescription]) -> Vec<Column> {
    let column = |column: &ColumnDescription| Column {
        name: column.name.clone(),
        table: column.table,
        attribute: column.attribute,
        type_oid: oid_of(&column.sql_type),
        type_length: column.type_length(),
        type_modifier: column.type_modifier(),
    };
    columns.iter().map(column).collect()
}

fn catalog_column(column: &OutputColumn) -> Column {
    Column {
        name: column.name.clone(),
        type_oid: column.oid,
        type_length: type_length(column.oid),
        type_modifier: -1,
        ..Column::default()
    }
}

/// The user's tables as the catalog shows them.
fn world<H: Host<Env = LocalEnv>>(session: &SqlSession<H>) -> World {
    let tables = session.tables().into_iter().zip(session.table_statistics());
    let tables = tables.map(|((oid, table), statistics)| TableInfo { oid, table, statistics });
    let views = session.views().into_iter();
    let views = views.map(|(oid, view, query)| ViewInfo { oid, view, query });
    let (schemas, path) = session.schemas();
    World {
        schemas,
        path,
        types: session.catalog().types(),
        tables: tables.collect(),
        views: views.collect(),
        routines: session.catalog().routines().map(|(oid, _)| i64::from(oid)).collect(),
        routine_facts: session.catalog().routine_facts(),
        sequences: session.catalog().sequence_facts(),
        sequence_states: BTreeMap::new(),
        comments: session.comments(),
        user: session.current_user().to_owned(),
        session_user: session.session_user().to_owned(),
        role: session.current_role(),
        roles: session.roles(),
        catalog: Some(session.catalog()),
        database: session.options().database.clone(),
        settings: session.settings(),
    }
}

/// Verbs on local memory complete at once, so calls end without a runtime.
impl<H: Host<Env = LocalEnv>> Session for SqlSession<H> {
    type Prepared = AnyPrepared;

    fn prepare(&mut self, text: &str, types: &[u32]) -> Result<AnyPrepared> {
        // A failed transaction refuses queries on the catalog as well: the session says so.
        if Self::status(self) != TransactionStatus::Failed {
            let named = self.executed_text(text);
            let shown = named.as_deref().unwrap_or(text);
            if let Some(query) = CatalogQuery::prepare(shown, types, || world(self)) {
                return Ok(AnyPrepared::Catalog(Arc::new(query?)));
            }
            if let Some((name, text)) = sql_session::prepared_text(text)
                && let Some(query) = CatalogQuery::prepare(&text, &[], || world(self))
            {
                query?;
                return Ok(AnyPrepared::Named(Arc::new((name, text))));
            }
        }
        run_now(Self::prepare(self, text, types)).map(AnyPrepared::Statement)
    }

    fn execute(&mut self, prepared: &AnyPrepared, parameters: &[Value]) -> Result<Outcome> {
        let query = match prepared {
            AnyPrepared::Statement(statement) => {
                return run_now(Self::execute(self, statement, parameters));
            }
            AnyPrepared::Catalog(query) => query,
            AnyPrepared::Named(named) => return self.keep_text(&named.0, &named.1),
        };
        if Self::status(self) == TransactionStatus::Failed {
            let message = "current transaction is aborted, commands ignored until end of \
                           transaction block";
            return Err(error(sqlstate::FAILED_TRANSACTION, message));
        }
        self.require_role()?;
        let mut rows = RowSet::new(query.columns().len());
        let mut world = world(self);
        for name in query.sequences() {
            let state = run_now(self.sequence_state(name))?;
            world.sequence_states.insert(name.clone(), state);
        }
        query.run(&world, parameters)?.into_iter().for_each(|row| rows.push(row));
        Ok(Outcome::Rows { tag: format!("SELECT {}", rows.len()), rows })
    }

    fn open(
        &mut self,
        prepared: &AnyPrepared,
        parameters: &[Value],
        first: usize,
    ) -> Result<Outcome> {
        match prepared {
            AnyPrepared::Statement(statement) => {
                run_now(Self::open(self, statement, parameters, first))
            }
            AnyPrepared::Catalog(_) | AnyPrepared::Named(_) => {
                Session::execute(self, prepared, parameters)
            }
        }
    }

    fn fetch(&mut self, query: OpenQuery, most: usize) -> Result<Fetched> {
        run_now(Self::fetch(self, query, most))
    }

    fn execute_again(&mut self) {
        Self::execute_again(self);
    }

    fn close_query(&mut self, query: OpenQuery) {
        run_now(Self::close_query(self, query));
    }

    fn close_queries(&mut self) {
        run_now(Self::close_queries(self));
    }

    fn begin_implicit(&mut self) {
        self.begin_implicit();
    }

    fn end_implicit(&mut self, has_failed: bool) -> Result<()> {
        run_now(self.end_implicit(has_failed))
    }

    fn status(&self) -> TransactionStatus {
        self.status()
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        self.take_notices()
    }

    fn take_changed_settings(&mut self) -> Vec<(String, String)> {
        self.take_changed_settings()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.setting(name)
    }

    fn style(&self) -> Option<Arc<Style>> {
        self.style()
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        run_now(self.copy_data(data))
    }

    fn copy_done(&mut self) -> Result<String> {
        run_now(self.copy_done())
    }

    fn copy_fail(&mut self, message: &str) -> SqlError {
        run_now(self.copy_fail(message))
    }

    fn copy_out(&mut self, data: &mut Vec<u8>) -> Result<Option<String>> {
        run_now(self.copy_out(data))
    }

    fn copy_columns(&self) -> Vec<Column> {
        let column = |sql_type: &SqlType| Column {
            type_oid: oid_of(sql_type),
            type_modifier: modifier_of(sql_type),
            ..Column::default()
        };
        self.copy_types().iter().map(column).collect()
    }

    fn copy_row(&mut self, values: Vec<Value>) -> Result<()> {
        run_now(self.copy_row(values))
    }

    fn copied_rows(&mut self) -> Result<Option<RowSet>> {
        run_now(self.copied_rows())
    }

    fn set_interrupt(&mut self, interrupt: Arc<Interrupt>) {
        self.set_interrupt(interrupt);
    }

    fn park(&mut self) {
        run_now(Self::park(self));
    }

    fn silence_limit(&self) -> Option<SilenceLimit> {
        self.silence_limit()
    }

    fn log_min(&self) -> Option<Duration> {
        self.log_min()
    }

    fn close(&mut self) {
        run_now(self.close());
    }
}
