//! Statements with their plans.

use crate::access::required::{Rights, check_body, check_call, check_query};
use crate::catalog::{Version, VersionRoutine};
use crate::error::SqlError;
use crate::lexer::{Kind, tokens};
use crate::parse_error::parse_error;
use interpreter::{Effects, Routine, SingleStatement, Tables};
use planner::{Knowledge, PlanError};
use sql::query::Query;
use sql::{
    Action, Call, Constants, SearchPath, Source, SqlType, Surroundings, read_changing_statement,
    read_statement,
};

/// A resolved and planned statement.
pub(crate) struct Planned {
    pub parameters: Vec<SqlType>,
    pub action: PlannedAction,
}

pub(crate) enum PlannedAction {
    Query(Box<PlannedQuery>),
    Call(Call),
    /// `DO`: a routine without a name.
    Block(Box<VersionRoutine>),
    /// A statement with changes in `WITH`, as a routine without a name.
    Changes(Box<PlannedChanges>),
}

/// A statement with changes in `WITH`.
pub(crate) struct PlannedChanges {
    pub routine: VersionRoutine,
    /// The statement behind `WITH`: the rows, and the number of rows, are its ones.
    pub query: Query,
    /// The plans, for `EXPLAIN`.
    pub plans: procedure::node::Procedure,
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
            _ => 0.0,
        }
    }

    /// The routine that it runs.
    pub fn routine<'p>(&'p self, version: &'p Version) -> Option<&'p VersionRoutine> {
        match &self.action {
            PlannedAction::Query(_) => None,
            PlannedAction::Call(call) => Some(&version.routines[call.routine]),
            PlannedAction::Block(routine) => Some(routine),
            PlannedAction::Changes(changes) => Some(&changes.routine),
        }
    }

    /// Requires the privileges of a role for it.
    pub fn check(&self, rights: Rights<'_>) -> Result<(), SqlError> {
        match &self.action {
            PlannedAction::Query(query) => check_query(rights, &query.query),
            PlannedAction::Call(call) => check_call(rights, call),
            PlannedAction::Block(routine) => check_body(rights, &routine.signature),
            PlannedAction::Changes(changes) => check_body(rights, &changes.routine.signature),
        }
    }

    /// Its effects, with those of the routines that it calls; `None` if it cannot be called.
    pub fn effects<'p>(&'p self, version: &'p Version) -> Option<&'p Effects> {
        match &self.action {
            PlannedAction::Query(query) => Some(query.statement.effects()),
            PlannedAction::Call(_) | PlannedAction::Block(_) | PlannedAction::Changes(_) => {
                let compiled = self.routine(version).map(|one| one.compiled.as_ref());
                compiled.and_then(Result::ok).map(Routine::effects)
            }
        }
    }

    /// Whether it changes or locks rows.
    pub fn writes(&self, version: &Version) -> bool {
        self.effects(version).is_some_and(Effects::writes)
    }

    /// The tables whose storage must stay until the transaction ends, by position in the catalog.
    pub fn shared<'p>(&'p self, version: &'p Version) -> impl Iterator<Item = usize> {
        self.effects(version).into_iter().flat_map(Effects::shared)
    }

    /// Whether it only changes rows of these tables of the engine, and locks none of others.
    pub fn only_changes(&self, version: &Version, physical: &[String]) -> bool {
        let PlannedAction::Query(query) = &self.action else { return false };
        let changed = query.statement.changed();
        let is_one = |&table: &usize| physical.contains(&version.definition_of(table).physical);
        let calls = query.statement.effects().callees().next().is_some();
        !changed.is_empty() && !calls && !query.statement.locks() && changed.iter().all(is_one)
    }

    /// The statement, if it inserts the rows of a query and several transactions can insert them.
    pub fn divisible(&self) -> Option<&SingleStatement> {
        match &self.action {
            PlannedAction::Query(query) if query.statement.is_divisible() => {
                // A routine may read or change rows of the same transaction.
                let calls = query.statement.effects().callees().next().is_some();
                (!calls).then_some(&query.statement)
            }
            _ => None,
        }
    }
}

/// Resolves and plans a statement.
pub(crate) fn plan_text(
    knowledge: Knowledge<'_>,
    tables: &Tables,
    surroundings: Surroundings<'_>,
    (text, path): (&str, &SearchPath),
    types: &[SqlType],
) -> Result<Planned, SqlError> {
    let source = Source::new("statement", text).with_path(path.clone());
    let source = source.with_types(&knowledge.catalog.types);
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

/// Adds the effects of the routines that a query calls.
pub(crate) fn with_calls(mut planned: Planned, version: &Version) -> Planned {
    if let PlannedAction::Query(query) = &mut planned.action {
        let called = version.effects_of(query.statement.effects().callees());
        query.statement.add_effects(&called);
    }
    planned
}

/// Plans a statement with changes in `WITH`; `None` if it has none.
pub(crate) fn plan_changes(
    version: &Version,
    (text, path): (&str, &SearchPath),
    constants: &Constants,
    types: &[SqlType],
) -> Result<Option<Planned>, SqlError> {
    let source = Source::new("statement", text).with_path(path.clone());
    let source = source.with_types(&version.catalog.types);
    let (catalog, called) = (&version.catalog, &version.called);
    let read = read_changing_statement(&source, catalog, called, constants, types);
    let Some(read) = read.map_err(|error| parse_error(&error, text))? else { return Ok(None) };
    let (routine, plans) = version.compile_own(read.routine)?;
    let changes = PlannedChanges { routine, query: read.query, plans };
    let action = PlannedAction::Changes(Box::new(changes));
    Ok(Some(Planned { parameters: read.parameters, action }))
}

/// Whether a statement is a `DO`.
pub(crate) fn is_block(text: &str) -> bool {
    tokens(text).is_ok_and(|tokens| tokens.first().is_some_and(|first| first.is_word("DO")))
}

/// Whether a statement begins with `WITH`.
pub(crate) fn is_with(text: &str) -> bool {
    tokens(text).is_ok_and(|tokens| tokens.first().is_some_and(|first| first.is_word("WITH")))
}

/// Compiles the routine of a `DO`.
///
/// Decision: docs/decisions/0366-do-is-a-routine-without-a-name.md
pub(crate) fn plan_block(
    version: &Version,
    text: &str,
    path: &SearchPath,
) -> Result<Planned, SqlError> {
    let all = tokens(text)?;
    let (mut body, mut rest) = (None, all.iter().skip(1));
    while let Some(token) = rest.next() {
        if token.is_word("LANGUAGE") {
            let language = rest.next().and_then(|name| name.name().or_else(|| name.string()));
            let language = language.unwrap_or_default();
            if language != "plpgsql" {
                let message =
                    format!("language \"{language}\" does not support inline code execution");
                return Err(SqlError::unsupported(message).hint("Write the block in plpgsql."));
            }
        } else if token.kind == Kind::Text && body.is_none() {
            body = Some(token.text);
        } else if token.kind != Kind::Sign(';') {
            let message = format!("syntax error at or near \"{}\"", token.text);
            return Err(SqlError::new("42601", message));
        }
    }
    let body = body.ok_or_else(|| SqlError::new("42601", "no inline code specified"))?;
    // PostgreSQL has this name for it.
    let created = format!("CREATE PROCEDURE inline_code_block() LANGUAGE plpgsql AS {body}");
    let routine = version.compile_unnamed(&created, path)?;
    Ok(Planned { parameters: Vec::new(), action: PlannedAction::Block(Box::new(routine)) })
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
    let planned = plan_own(knowledge, tables, (text, &SearchPath::default()), &[])?;
    Ok((planned.1.statement, planned.0))
}

/// Plans a query of ours whose parameters have these types.
pub(crate) fn compile_typed(
    knowledge: Knowledge<'_>,
    tables: &Tables,
    text: &str,
    types: &[SqlType],
) -> Result<SingleStatement, SqlError> {
    let text = (text, &SearchPath::default());
    plan_own(knowledge, tables, text, types).map(|(_, planned)| planned.statement)
}

/// Plans a query without parameters.
pub(crate) fn plan_rows(
    knowledge: Knowledge<'_>,
    tables: &Tables,
    text: &str,
    path: &SearchPath,
) -> Result<PlannedQuery, SqlError> {
    plan_own(knowledge, tables, (text, path), &[]).map(|(_, planned)| planned)
}

fn plan_own(
    knowledge: Knowledge<'_>,
    tables: &Tables,
    text: (&str, &SearchPath),
    types: &[SqlType],
) -> Result<(Vec<SqlType>, PlannedQuery), SqlError> {
    let constants = std::sync::Arc::default();
    let surroundings = Surroundings { routines: &[], constants: &constants };
    let planned = plan_text(knowledge, tables, surroundings, text, types)?;
    match planned.action {
        PlannedAction::Query(query) => Ok((planned.parameters, *query)),
        _ => Err(SqlError::internal("a call is no query")),
    }
}
