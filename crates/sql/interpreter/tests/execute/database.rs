//! A database with the tables of a schema, and procedures over it.

use crate::naive;
use fabric::{LocalEnv, run_now};
use interpreter::{CallError, Notice, Procedures, Settings, create, default_design};
use procedure::node::Workload;
use sql_value::Value;
use txn::local::{OpenConfig, open};
use txn::{Database, Lane};

/// The result of a call: rows and notices, or code, message and detail.
pub type Answer = Result<Vec<Vec<Value>>, (String, String, Option<String>)>;

/// Procedures on a local database.
pub struct Calls {
    pub database: Database<LocalEnv>,
    pub lane: Lane<LocalEnv>,
    pub procedures: Procedures,
    pub notices: Vec<Notice>,
}

impl Calls {
    /// Creates empty tables of a schema, and procedures.
    pub fn new(schema: &str, procedures: &str) -> Self {
        Self::over(&naive::workload(schema, procedures))
    }

    pub fn over(workload: &Workload) -> Self {
        let config = OpenConfig { server_bytes: 256 << 20, ..OpenConfig::default() };
        let database = open(&config).expect("the memory is there");
        let design = default_design(workload, &|_| 100);
        run_now(create(&database, &workload.catalog, &design)).expect("the schema is fine");
        let procedures = Procedures::open(&database, workload, Settings::default());
        let procedures = procedures.unwrap_or_else(|error| panic!("{error}"));
        let lane = run_now(database.lane()).expect("lanes are free");
        Self { database, lane, procedures, notices: Vec::new() }
    }

    pub fn call(&mut self, name: &str, arguments: &[Value]) -> Answer {
        let procedure = self.procedures.find(name).expect("the procedure is in the file");
        match run_now(self.procedures.call(&mut self.lane, procedure, arguments)) {
            Ok(outcome) => {
                self.notices = outcome.notices.clone();
                Ok(outcome.rows.iter().map(<[Value]>::to_vec).collect())
            }
            Err(CallError::Sql(error)) => {
                Err((error.sqlstate.to_string(), error.message, error.detail))
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the single value that a procedure returns.
    pub fn value(&mut self, name: &str, arguments: &[Value]) -> Value {
        let rows = self.call(name, arguments);
        match rows.as_deref() {
            Ok([row]) if row.len() == 1 => row[0].clone(),
            other => panic!("{name} gives {other:?}"),
        }
    }

    /// Returns code and message of the error with which a call fails.
    pub fn error(&mut self, name: &str, arguments: &[Value]) -> (String, String) {
        let (sqlstate, message, _) = self.call(name, arguments).expect_err("an error is due");
        (sqlstate, message)
    }
}

pub fn ints(numbers: &[i64]) -> Vec<Value> {
    numbers.iter().map(|number| Value::Int(*number)).collect()
}
