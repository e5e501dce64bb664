//! A database of ours, with our plans or naive ones.

use crate::random::Random;
use crate::statements::Statement;
use crate::{Answer, Call, naive};
use fabric::{LocalEnv, run_now};
use interpreter::{CallError, Procedures, Settings, create, default_design};
use planner::{ColumnStatistics, Costs, ProgramError, Statistics, TableStatistics, plan_program};
use procedure::Workload;
use sql::{Program, Source};
use sql_value::Value;
use txn::Lane;
use txn::local::{OpenConfig, open};

pub struct Ours {
    lane: Lane<LocalEnv>,
    procedures: Procedures,
    has_filled: bool,
}

/// Plans a program with our planner. The statistics and unit costs are random, so that statements
/// get plans of all shapes; every second round has the defaults.
pub fn own_plans(program: &Program, seed: u64) -> Result<Workload, ProgramError> {
    if seed.is_multiple_of(2) {
        return plan_program(program, &Statistics::default(), Costs::default());
    }
    let mut random = Random::new(seed);
    let tables = program.catalog.tables.iter().map(|table| {
        let rows = 10_f64.powi(random.below(6) as i32);
        let columns = table.columns.iter().map(|_| {
            let distinct = Some(10_f64.powi(random.below(5) as i32));
            ColumnStatistics { distinct, ..ColumnStatistics::default() }
        });
        let columns = columns.collect();
        TableStatistics { rows: Some(rows), columns, ..TableStatistics::default() }
    });
    let statistics = Statistics { tables: tables.collect() };
    let costs = Costs::default();
    let round_trip = costs.round_trip * 10_f64.powi(random.below(3) as i32 - 1);
    let byte = costs.byte * 10_f64.powi(random.below(3) as i32 - 1);
    plan_program(program, &statistics, Costs { round_trip, byte, ..costs })
}

impl Ours {
    /// With our plans for the round of a seed, or with naive plans.
    pub fn new(schema: &str, rows: &str, statements: &[Statement], planned: Option<u64>) -> Self {
        let fill = format!(
            "CREATE FUNCTION fill() RETURNS void LANGUAGE plpgsql AS $$\nBEGIN\n{rows}\nEND\n$$;\n"
        );
        let texts = statements.iter().filter(|statement| planned.is_some() || statement.is_naive);
        let procedures: String =
            texts.map(|statement| &*statement.procedure).chain([&*fill]).collect();
        let workload = match planned {
            Some(seed) => {
                let source = Source::new;
                let sources = (source("schema.sql", schema), source("p.sql", &procedures));
                let program = Program::parse(&sources.0, &sources.1);
                let program = program.unwrap_or_else(|error| panic!("{error}"));
                own_plans(&program, seed).unwrap_or_else(|error| panic!("{error}"))
            }
            None => naive::workload(schema, &procedures),
        };
        let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
        let database = open(&config).expect("the memory is there");
        let design = default_design(&workload, &|_| 50);
        run_now(create(&database, &workload.catalog, &design)).expect("the schema is fine");
        let procedures = Procedures::open(&database, &workload, Settings::default());
        let procedures = procedures.unwrap_or_else(|error| panic!("{error}"));
        let lane = run_now(database.lane()).expect("lanes are free");
        Self { lane, procedures, has_filled: false }
    }

    fn named(&mut self, name: &str, arguments: &[Value]) -> Answer {
        let procedure = self.procedures.find(name).expect("the procedure is in the file");
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
                Ok(outcome.rows.iter().map(row).collect())
            }
            Err(CallError::Sql(error)) => Err(error.sqlstate.to_string()),
            Err(error) => panic!("{name}{arguments:?}: {error}"),
        }
    }

    pub fn call(&mut self, call: &Call) -> Answer {
        if !std::mem::replace(&mut self.has_filled, true) {
            self.named("fill", &[]).expect("the rows are fine");
        }
        let (p, q, r) = call.arguments;
        self.named(&call.name, &[Value::Int(p), Value::Int(q), r.into()])
    }
}
