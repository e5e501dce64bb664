//! A client of a session in this process.

use fabric::run_now;
use sql_session::{LocalHost, Outcome, RowSet, SessionOptions, SqlDatabase, SqlError, SqlSession};
use sql_value::{Value, output};
use txn::local::{OpenConfig, open};

pub fn new_database() -> SqlDatabase<LocalHost> {
    let config = OpenConfig { server_bytes: 256 << 20, ..OpenConfig::default() };
    let database = open(&config).expect("the memory is there");
    run_now(SqlDatabase::open(LocalHost::new(database))).expect("it is empty")
}

/// The same database in another process: its sessions take no locks that others see.
pub fn other_process(database: &SqlDatabase<LocalHost>) -> SqlDatabase<LocalHost> {
    run_now(SqlDatabase::open(database.host().clone())).expect("the catalog is readable")
}

/// The refusal of a statement on the table of [`with_roles`].
pub const DENIED: &str = "42501: permission denied for table t";

/// A client of the role `user`.
pub fn connect(database: &SqlDatabase<LocalHost>, user: &str) -> Client {
    let options = SessionOptions { user: user.into(), ..SessionOptions::default() };
    Client { session: database.session(options) }
}

/// The owner `ada` of a table `t (id, v)` with two rows, and clients of the roles `bob` and `eve`.
pub fn with_roles() -> (Client, Client, Client) {
    let database = new_database();
    let mut ada = Client::of(&database);
    ada.run("CREATE ROLE bob LOGIN; CREATE ROLE eve LOGIN; CREATE ROLE staff");
    ada.run("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 10), (2, 20)");
    let (bob, eve) = (connect(&database, "bob"), connect(&database, "eve"));
    (ada, bob, eve)
}

pub struct Client {
    pub session: SqlSession<LocalHost>,
}

impl Client {
    pub fn of(database: &SqlDatabase<LocalHost>) -> Self {
        connect(database, "ada")
    }

    /// Runs the statements of a simple query; returns rows and tags, or the error.
    pub fn run(&mut self, text: &str) -> String {
        match self.query(text) {
            Ok(shown) => shown,
            Err(error) => shown_error(&error),
        }
    }

    pub fn query(&mut self, text: &str) -> Result<String, SqlError> {
        let statements = sql_session::statements(text)?;
        if statements.len() > 1 {
            self.session.begin_implicit();
        }
        let mut lines = Vec::new();
        let mut result = Ok(());
        for statement in &statements {
            let ran = self.statement(statement.text, &[], &[]);
            match ran {
                Ok(shown) => lines.push(shown),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        let ended = run_now(self.session.end_implicit(result.is_err()));
        result?;
        ended?;
        Ok(lines.join("\n"))
    }

    pub fn statement(
        &mut self,
        text: &str,
        types: &[u32],
        parameters: &[Value],
    ) -> Result<String, SqlError> {
        let prepared = run_now(self.session.prepare(text, types))?;
        let outcome = run_now(self.session.execute(&prepared, parameters))?;
        Ok(match outcome {
            Outcome::Rows { rows, tag } => {
                let _entered = sql_value::style::enter(self.session.style());
                let columns = prepared.columns().expect("it returns rows");
                let types: Vec<_> = columns.iter().map(|column| &column.sql_type).collect();
                shown(&rows, &types) + &tag
            }
            Outcome::Done { tag } => tag,
            other => format!("{other:?}"),
        })
    }
}

fn shown(rows: &RowSet, types: &[&sql::SqlType]) -> String {
    let value = |(value, sql_type): (&Value, &&sql::SqlType)| match value {
        Value::Null => "NULL".to_owned(),
        value => output::text(value, sql_type).to_string(),
    };
    let row = |row: &[Value]| row.iter().zip(types).map(value).collect::<Vec<_>>().join("|") + "\n";
    rows.iter().map(row).collect()
}

pub fn shown_error(error: &SqlError) -> String {
    format!("{}: {}", error.sqlstate, error.message)
}
