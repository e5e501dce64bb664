//! Runs a workload in our own database, in this process.

use crate::{Answer, masked};
use datagen::{Batches, Population, copy_line, load_part, read_row};
use fabric::{LocalEnv, run_now};
use interpreter::{CallError, Procedures, Settings, create, default_design};
use procedure::Workload;
use sql_value::Value;
use txn::local::{OpenConfig, open};
use txn::{Database, Isolation, Lane};

const SERVER_BYTES: u64 = 256 << 20;
/// Rows per transaction of the load.
const BATCH_ROWS: usize = 50;

/// A database with the tables and procedures of a workload.
pub struct Ours {
    database: Database<LocalEnv>,
    lane: Lane<LocalEnv>,
    procedures: Procedures,
}

impl Ours {
    pub fn load(workload: &Workload, population: &Population) -> Self {
        let config = OpenConfig { servers: 1, server_bytes: SERVER_BYTES, ..OpenConfig::default() };
        let database = open(&config).expect("memory can be mapped");
        let design = default_design(workload, &|_| 10_000);
        run_now(create(&database, &workload.catalog, &design)).expect("the tables are new");
        let mut lane = run_now(database.lane()).expect("lanes are free");
        let batches = Batches::of(BATCH_ROWS);
        for table in 0..population.tables().count() {
            let loaded =
                load_part(population, &database, &mut lane, table, (0, 1), batches, &|_| {});
            run_now(loaded).unwrap_or_else(|error| panic!("{error}"));
        }
        let procedures = Procedures::open(&database, workload, Settings::default());
        let procedures = procedures.unwrap_or_else(|error| panic!("{error}"));
        Self { database, lane, procedures }
    }

    pub fn call(&mut self, name: &str, arguments: &[Value]) -> Answer {
        let procedure = self.procedures.find(name).expect("there is such a procedure");
        let fields = self.procedures.fields(procedure);
        match run_now(self.procedures.call(&mut self.lane, procedure, arguments)) {
            Ok(outcome) => {
                let row = |row: &[Value]| {
                    let values = row.iter().zip(&fields).map(|(value, field)| match value {
                        Value::Null => "\\N".to_owned(),
                        value => sql_value::output::text(value, &field.sql_type).to_string(),
                    });
                    values.collect::<Vec<_>>().join("\t")
                };
                let mut rows: Vec<String> = outcome.rows.iter().map(row).collect();
                if fields.is_empty() {
                    // PostgreSQL returns a row without a value for a function that returns nothing.
                    rows = vec![String::new()];
                }
                Answer::Rows(rows)
            }
            Err(CallError::Sql(error)) => {
                Answer::Error(error.sqlstate.to_string(), error.message.clone())
            }
            Err(error) => panic!("{name}{arguments:?}: {error}"),
        }
    }

    /// Returns the rows of a table as lines of `COPY`, in that order.
    pub fn table(&mut self, population: &Population, table: usize) -> Vec<String> {
        let types = population.column_types(table);
        let name = population.tables().nth(table).expect("there is such a table");
        let id = self.database.table(name).expect("the table was created");
        let mut txn = run_now(self.lane.begin(Isolation::Snapshot)).expect("nobody is in the way");
        let mut lines = Vec::new();
        let add = &mut |row: layout::RecordRef<'_>| {
            let mut line = String::new();
            copy_line(&read_row(row, types), types, &mut line);
            lines.push(masked(line.trim_end_matches('\n')));
        };
        run_now(txn.for_each(id, add)).expect("the table can be read");
        lines.sort_unstable();
        lines
    }
}
