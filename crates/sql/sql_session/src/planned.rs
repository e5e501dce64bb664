//! Statements with their plans.

use crate::access::required::{Rights, check_call, check_query};
use crate::catalog::Version;
use crate::error::SqlError;
use crate::parse_error::parse_error;
use interpreter::{SingleStatement, Tables};
use planner::{Knowledge, PlanError};
use sql::query::Query;
use sql::{Action, Call, Source, SqlType, Surroundings, read_statement};

/// A resolved and planned statement.
pub(crate) struct Planned {
    pub parameters: Vec<SqlType>,
    pub action: PlannedAction,
}

pub(crate) enum PlannedAction {
    Query(Box<PlannedQuery>),
    Call(Call),
}

pub(crate) struct PlannedQuery {
    pub query: Query,
    /// The plan, for `EXPLAIN`.
    pub plan: procedure::node::Statement,
    /// The estimated time, in nanoseconds.
    pub cost: f64,
    pub statement: SingleStatement,
}

impl Planned {
    /// The estimated time, in nanoseconds.
    pub fn cost(&self) -> f64 {
        match &self.action {
            PlannedAction::Query(query) => query.cost,
            PlannedAction::Call(_) => 0.0,
        }
    }

    /// Requires the privileges of a role for it.
    pub fn check(&self, rights: Rights<'_>) -> Result<(), SqlError> {
        match &self.action {
            PlannedAction::Query(query) => check_query(rights, &query.query),
            PlannedAction::Call(call) => check_call(rights, call),
        }
    }

    /// Whether it changes or locks rows.
    pub fn writes(&self, version: &Version) -> bool {
        match &self.action {
            PlannedAction::Query(query) => query.statement.writes(),
            PlannedAction::Call(call) => {
                version.routines[call.routine].compiled.as_ref().is_ok_and(|one| one.writes())
            }
        }
    }

    /// The tables whose storage must stay until the transaction ends, by position in the catalog.
    pub fn shared<'p>(&'p self, version: &'p Version) -> &'p [usize] {
        match &self.action {
            PlannedAction::Query(query) => query.statement.shared(),
            PlannedAction::Call(call) => match &version.routines[call.routine].compiled {
                Ok(routine) => routine.shared(),
                Err(_) => &[],
            },
        }
    }

    /// Whether it only changes rows of these tables of the engine, and locks none of others.
    pub fn only_changes(&self, version: &Version, physical: &[String]) -> bool {
        let PlannedAction::Query(query) = &self.action else { return false };
        let changed = query.statement.changed();
        let is_one = |&table: &usize| physical.contains(&version.definition_of(table).physical);
        !changed.is_empty() && !query.statement.locks() && changed.iter().all(is_one)
    }

    /// The statement, if it inserts the rows of a query and several transactions can insert them.
    pub fn divisible(&self) -> Option<&SingleStatement> {
        match &self.action {
            PlannedAction::Query(query) if query.statement.is_divisible() => Some(&query.statement),
            _ => None,
        }
    }
}

/// Resolves and plans a statement.
pub(crate) fn plan_text(
    knowledge: Knowledge<'_>,
    tables: &Tables,
    surroundings: Surroundings<'_>,
    text: &str,
    types: &[SqlType],
) -> Result<Planned, SqlError> {
    let source = Source::new("statement", text);
    let resolved = read_statement(&source, knowledge.catalog, surroundings, types)
        .map_err(|error| parse_error(&error, text))?;
    let action = match resolved.action {
        Action::Query(query) => {
            PlannedAction::Query(Box::new(plan_query(knowledge, tables, query)?))
        }
        Action::Call(call) => PlannedAction::Call(call),
    };
    Ok(Planned { parameters: resolved.parameters, action })
}

fn plan_query(
    knowledge: Knowledge<'_>,
    tables: &Tables,
    query: Query,
) -> Result<PlannedQuery, SqlError> {
    let planned = planner::plan(knowledge, &query)
        .map_err(|error| SqlError::new(PlanError::SQLSTATE, error.to_string()))?;
    let statement = SingleStatement::compile(&planned.statement, tables)
        .map_err(|error| SqlError::unsupported(error.to_string()))?;
    Ok(PlannedQuery { query, plan: planned.statement, cost: planned.cost, statement })
}

/// Plans a query of ours; returns also the types of its parameters.
pub(crate) fn compile_text(
    knowledge: Knowledge<'_>,
    tables: &Tables,
    text: &str,
) -> Result<(SingleStatement, Vec<SqlType>), SqlError> {
    let planned = plan_own(knowledge, tables, text, &[])?;
    Ok((planned.1.statement, planned.0))
}

/// Plans a query of ours whose parameters have these types.
pub(crate) fn compile_typed(
    knowledge: Knowledge<'_>,
    tables: &Tables,
    text: &str,
    types: &[SqlType],
) -> Result<SingleStatement, SqlError> {
    plan_own(knowledge, tables, text, types).map(|(_, planned)| planned.statement)
}

/// Plans a query of ours without parameters.
pub(crate) fn plan_rows(
    knowledge: Knowledge<'_>,
    tables: &Tables,
    text: &str,
) -> Result<PlannedQuery, SqlError> {
    plan_own(knowledge, tables, text, &[]).map(|(_, planned)| planned)
}

fn plan_own(
    knowledge: Knowledge<'_>,
    tables: &Tables,
    text: &str,
    types: &[SqlType],
) -> Result<(Vec<SqlType>, PlannedQuery), SqlError> {
    let constants = std::sync::Arc::default();
    let surroundings = Surroundings { routines: &[], constants: &constants };
    let planned = plan_text(knowledge, tables, surroundings, text, types)?;
    match planned.action {
        PlannedAction::Query(query) => Ok((planned.parameters, *query)),
        PlannedAction::Call(_) => Err(SqlError::internal("a call is no query")),
    }
}
