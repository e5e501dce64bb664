//! Prepared statements.

use super::identity::Identity;
use crate::access::required::Rights;
use crate::catalog::Version;
use crate::command::{AdvisoryCall, Argument, Command, SleepTime, parse};
use crate::error::SqlError;
use crate::oid;
use crate::outcome::ColumnDescription;
use crate::planned::{
    Planned, PlannedAction, is_block, is_with, plan_block, plan_changes, plan_text, with_calls,
};
use sql::expression::{Expr, ExprKind};
use sql::namespace::own_name;
use sql::procedure::{ParameterMode, Procedure, Returns};
use sql::query::{FromKind, Output, Query, SelectBody};
use sql::{Call, CallForm, Field, SqlType, Surroundings};
use sql_value::Value;
use std::sync::{Arc, Mutex};

/// The kind of a statement: what a server must know before it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatementKind {
    Empty,
    /// It returns rows.
    Rows,
    /// It changes rows and returns none.
    Change,
    /// It begins or ends a transaction, or handles a savepoint.
    Transaction,
    /// It copies rows from or to the client.
    Copy,
    /// Any other command.
    Utility,
}

/// A prepared statement. Clones share it.
#[derive(Clone)]
pub struct Prepared {
    pub(crate) inner: Arc<PreparedInner>,
    /// The values of all parameters, if they were constants in the client's text.
    constants: Option<Arc<[Value]>>,
}

pub(crate) struct PreparedInner {
    pub text: String,
    pub command: Command,
    pub kind: StatementKind,
    /// The types that the client has declared.
    declared: Vec<SqlType>,
    /// The identity that it was prepared for.
    identity: u64,
    parameters: Vec<SqlType>,
    columns: Option<Vec<ColumnDescription>>,
    /// The plan, with the serial numbers of the catalog's version that it was made for, of the one
    /// whose grants count, and of the session's identity. The identity has the privileges for it,
    /// so that executions compare these numbers only.
    plans: Mutex<Option<(PlannedFor, Plans)>>,
}

const HOLDERS: &str = "no holder panics";

/// The plans of a statement.
#[derive(Clone)]
struct Plans {
    exact: Arc<Planned>,
    /// A cheaper plan, for parameters that fit these types. Clients declare `bigint` for a key of
    /// type `integer`, and an index cannot find the key by a wider number.
    narrow: Option<(Vec<SqlType>, Arc<Planned>)>,
}

impl Plans {
    fn choose(&self, parameters: &[Value]) -> Arc<Planned> {
        let fits = |(value, sql_type): (&Value, &SqlType)| match (value, sql_type) {
            (Value::Int(number), SqlType::Int2) => i16::try_from(*number).is_ok(),
            (Value::Int(number), SqlType::Int4) => i32::try_from(*number).is_ok(),
            _ => true,
        };
        match &self.narrow {
            Some((types, narrow)) if parameters.iter().zip(types).all(fits) => narrow.clone(),
            _ => self.exact.clone(),
        }
    }
}

/// The serial numbers of a version, of the version whose grants count, and of an identity.
type PlannedFor = (u64, u64, u64);

/// The serial number of no identity: as in PostgreSQL, an execution needs privileges, and
/// preparing a statement does not.
const UNCHECKED: u64 = u64::MAX;

/// Functions of a session and their values.
pub(crate) type Constants = Arc<[(String, Expr)]>;

impl Prepared {
    pub fn kind(&self) -> StatementKind {
        self.inner.kind
    }

    /// The types of `$1`, `$2`, ...
    pub fn parameters(&self) -> &[SqlType] {
        match self.constants {
            Some(_) => &[],
            None => &self.inner.parameters,
        }
    }

    /// As [`Prepared::parameters`], with those that were constants in the client's text.
    /// A statement inside of another one, which has no parameters.
    pub(crate) fn inside(
        text: &str,
        version: &Version,
        identity: &Identity,
    ) -> Result<Self, SqlError> {
        let prepared = Self::new(text, &[], version, identity)?;
        match prepared.all_parameters() {
            [] => Ok(prepared),
            _ => Err(SqlError::new("42P02", "there is no parameter $1")),
        }
    }

    pub(crate) fn all_parameters(&self) -> &[SqlType] {
        &self.inner.parameters
    }

    pub(crate) fn with_constants(&self, values: Vec<Value>) -> Self {
        Self { inner: self.inner.clone(), constants: Some(values.into()) }
    }

    pub(crate) fn constants(&self) -> Option<&[Value]> {
        self.constants.as_deref()
    }

    /// The columns of its rows; `None` if it returns no rows.
    pub fn columns(&self) -> Option<&[ColumnDescription]> {
        self.inner.columns.as_deref()
    }

    /// Whether it has changes in `WITH`.
    pub(crate) fn has_changes(&self) -> bool {
        let plans = self.inner.plans.lock().expect(HOLDERS);
        let exact = plans.as_ref().map(|(_, plans)| &plans.exact);
        exact.is_some_and(|exact| matches!(exact.action, PlannedAction::Changes(_)))
    }

    /// Prepares a statement for a version of the catalog.
    pub(crate) fn new(
        text: &str,
        types: &[u32],
        version: &Version,
        identity: &Identity,
    ) -> Result<Self, SqlError> {
        let command = parse(text)?;
        let declared = types.iter().map(|&oid| declared_type(oid, version));
        let declared = declared.collect::<Result<Vec<_>, _>>()?;
        match command {
            Command::Query | Command::Call => match written_out(text) {
                Some(written) => {
                    let query = Self::query(&written, declared, version, identity);
                    query.map_err(|error| moved(error, text))
                }
                None => Self::query(text, declared, version, identity),
            },
            command => Ok(Self::utility(text, command, &declared)),
        }
    }

    fn query(
        text: &str,
        declared: Vec<SqlType>,
        version: &Version,
        identity: &Identity,
    ) -> Result<Self, SqlError> {
        let plans = plans(text, &declared, version, identity)?;
        let planned = &plans.exact;
        let columns = planned_columns(planned, version);
        let has_rows = columns.is_some();
        let inner = PreparedInner {
            text: text.to_owned(),
            command: Command::Query,
            kind: if has_rows { StatementKind::Rows } else { StatementKind::Change },
            declared,
            identity: identity.serial,
            parameters: planned.parameters.clone(),
            columns,
            plans: Mutex::new(Some(((version.serial, version.serial, UNCHECKED), plans))),
        };
        Ok(Self { inner: Arc::new(inner), constants: None })
    }

    fn utility(text: &str, command: Command, declared: &[SqlType]) -> Self {
        let mut parameters = Vec::new();
        let (kind, columns) = match &command {
            Command::Empty => (StatementKind::Empty, None),
            Command::Begin(_)
            | Command::Commit { .. }
            | Command::Rollback { .. }
            | Command::Savepoint(_)
            | Command::Release(_)
            | Command::RollbackTo(_) => (StatementKind::Transaction, None),
            Command::Copy(_) => (StatementKind::Copy, None),
            Command::Show(name) => (StatementKind::Rows, Some(shown_columns(name))),
            Command::SetConfig { .. } => {
                (StatementKind::Rows, Some(vec![text_column("set_config")]))
            }
            Command::Advisory(call) => {
                parameters = advisory_parameters(call, declared);
                (StatementKind::Rows, Some(vec![advisory_column(call)]))
            }
            Command::Sleep(call) => {
                if let SleepTime::Parameter(at) = call.time {
                    parameters = vec![SqlType::Float8; at + 1];
                }
                let column =
                    ColumnDescription { sql_type: SqlType::Void, ..text_column(&call.column) };
                (StatementKind::Rows, Some(vec![column]))
            }
            Command::Explain { options, .. } => {
                let sql_type = if options.is_json { SqlType::Json } else { SqlType::Text };
                let column = ColumnDescription { sql_type, ..text_column("QUERY PLAN") };
                (StatementKind::Rows, Some(vec![column]))
            }
            _ => (StatementKind::Utility, None),
        };
        let inner = PreparedInner {
            text: text.to_owned(),
            command,
            kind,
            declared: Vec::new(),
            identity: UNCHECKED,
            parameters,
            columns,
            plans: Mutex::default(),
        };
        Self { inner: Arc::new(inner), constants: None }
    }

    /// An `EXECUTE` of this statement: its rows have the statement's columns.
    pub(crate) fn executing(&self, named: &Self) -> Self {
        self.with_columns(named.inner.kind, named.inner.columns.clone())
    }

    /// A `FETCH` of rows with these columns.
    pub(crate) fn fetching(&self, fields: &[Field]) -> Self {
        let column = |field: &Field| ColumnDescription {
            sql_type: field.sql_type.clone(),
            ..text_column(&field.name)
        };
        self.with_columns(StatementKind::Rows, Some(fields.iter().map(column).collect()))
    }

    fn with_columns(&self, kind: StatementKind, columns: Option<Vec<ColumnDescription>>) -> Self {
        let inner = PreparedInner {
            text: self.inner.text.clone(),
            command: self.inner.command.clone(),
            kind,
            declared: Vec::new(),
            identity: UNCHECKED,
            parameters: Vec::new(),
            columns,
            plans: Mutex::default(),
        };
        Self { inner: Arc::new(inner), constants: None }
    }

    /// The plan for a version of the catalog, an identity and these parameters; plans again if one
    /// of both is another one. The privileges are those of the second version.
    ///
    /// # Errors
    /// Those of planning, or the statement's columns have changed since it was prepared.
    pub(crate) fn plan_for(
        &self,
        (version, granted): (&Version, &Version),
        identity: &Identity,
        parameters: &[Value],
    ) -> Result<Arc<Planned>, SqlError> {
        let inner = &self.inner;
        let wanted = (version.serial, granted.serial, identity.serial);
        if let Some((planned_for, plans)) = &*inner.plans.lock().expect(HOLDERS)
            && *planned_for == wanted
        {
            return Ok(plans.choose(parameters));
        }
        let plans = match self.unchecked(version, identity) {
            Some(plans) => plans,
            None => plans(&inner.text, &inner.declared, version, identity)?,
        };
        let role = identity.acting(&granted.roles);
        plans.exact.check(Rights { version, granted, role })?;
        let is_same = same_columns(&planned_columns(&plans.exact, version), &inner.columns);
        if !is_same || plans.exact.parameters != inner.parameters {
            let message = "cached plan must not change result type";
            return Err(SqlError::unsupported(message));
        }
        let chosen = plans.choose(parameters);
        *inner.plans.lock().expect(HOLDERS) = Some((wanted, plans));
        Ok(chosen)
    }
}

impl Prepared {
    /// The plans of a statement that was prepared for this version and has not run.
    fn unchecked(&self, version: &Version, identity: &Identity) -> Option<Plans> {
        let plans = self.inner.plans.lock().expect(HOLDERS);
        let (planned_for, plans) = plans.as_ref()?;
        let is_it = *planned_for == (version.serial, version.serial, UNCHECKED);
        (is_it && self.inner.identity == identity.serial).then(|| plans.clone())
    }
}

/// `TABLE t` is short for `SELECT * FROM t`.
const TABLE: &str = "TABLE";
const SELECT_ALL: &str = "SELECT * FROM";

/// The query that a text is short for, if it is `TABLE t`.
pub(super) fn written_out(text: &str) -> Option<String> {
    is_table(text).then(|| format!("{SELECT_ALL}{}", &text.trim_start()[TABLE.len()..]))
}

fn is_table(text: &str) -> bool {
    let rest = text.trim_start();
    let word = rest.get(..TABLE.len()).is_some_and(|word| word.eq_ignore_ascii_case(TABLE));
    word && rest[TABLE.len()..].starts_with([' ', '\t', '\n', '\r', '"'])
}

/// An error of the written-out statement, with its place in the client's text.
fn moved(mut error: SqlError, text: &str) -> SqlError {
    let blanks = text.chars().count() - text.trim_start().chars().count();
    let (long, short) = (SELECT_ALL.len() as u32, TABLE.len() as u32);
    let place = |at: u32| if at > long { at - long + short } else { 1 };
    error.position = error.position.map(|at| place(at) + blanks as u32);
    error
}

/// Whether rows have the same columns.
fn same_columns(
    found: &Option<Vec<ColumnDescription>>,
    expected: &Option<Vec<ColumnDescription>>,
) -> bool {
    let is_same = |(one, other): (&ColumnDescription, &ColumnDescription)| {
        one.name == other.name && one.sql_type == other.sql_type
    };
    match (found, expected) {
        (Some(found), Some(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(is_same)
        }
        (found, expected) => found.is_none() && expected.is_none(),
    }
}

/// Plans a statement for the types that the client has declared, and for narrower ones.
fn plans(
    text: &str,
    declared: &[SqlType],
    version: &Version,
    identity: &Identity,
) -> Result<Plans, SqlError> {
    let exact = Arc::new(plan(text, declared, version, identity)?);
    let narrow = narrow(text, declared, &exact, version, identity);
    Ok(Plans { exact, narrow })
}

fn narrow(
    text: &str,
    declared: &[SqlType],
    exact: &Planned,
    version: &Version,
    identity: &Identity,
) -> Option<(Vec<SqlType>, Arc<Planned>)> {
    if !declared.iter().any(|sql_type| matches!(sql_type, SqlType::Int8 | SqlType::Int4)) {
        return None;
    }
    let free: Vec<SqlType> = declared
        .iter()
        .map(|sql_type| if sql_type.is_integer() { SqlType::Unknown } else { sql_type.clone() })
        .collect();
    let free = plan(text, &free, version, identity).ok()?;
    let bytes = |sql_type: &SqlType| match sql_type.is_integer() {
        true => oid::length(sql_type),
        false => i16::MAX,
    };
    let pairs = exact.parameters.iter().zip(&free.parameters);
    let types = pairs.map(|(own, other)| if bytes(other) < bytes(own) { other } else { own });
    let types: Vec<SqlType> = types.cloned().collect();
    if types == exact.parameters {
        return None;
    }
    let narrow = plan(text, &types, version, identity).ok()?;
    let is_same =
        same_columns(&planned_columns(&narrow, version), &planned_columns(exact, version));
    let is_cheaper = narrow.cost() < exact.cost();
    (is_same && is_cheaper).then(|| (types, Arc::new(narrow)))
}

fn declared_type(oid: u32, version: &Version) -> Result<SqlType, SqlError> {
    let types = &version.catalog.types;
    if let Some(of) = types.numbered(oid) {
        return Ok(SqlType::Enum(of.clone()));
    }
    if let Some(of) = oid::element_of_enum(oid).and_then(|oid| types.numbered(oid)) {
        return Ok(SqlType::Array(Box::new(SqlType::Enum(of.clone()))));
    }
    oid::to_type(oid).ok_or_else(|| {
        SqlError::unsupported(format!("parameters of the type with OID {oid} are not supported"))
    })
}

fn plan(
    text: &str,
    declared: &[SqlType],
    version: &Version,
    identity: &Identity,
) -> Result<Planned, SqlError> {
    let path = identity.path_in(version);
    if is_block(text) {
        return plan_block(version, text, &path);
    }
    let constants = &identity.constants_in(version);
    if is_with(text)
        && let Some(planned) = plan_changes(version, (text, &path), constants, declared)?
    {
        return Ok(planned);
    }
    let routines = version.signatures();
    let surroundings = Surroundings { routines: &routines, constants };
    let text = (text, &path);
    let planned = plan_text(version.knowledge(), &version.tables, surroundings, text, declared)?;
    Ok(with_calls(planned, version))
}

/// The types of the parameters of a call: those that the client declares, if they are integers.
fn advisory_parameters(call: &AdvisoryCall, declared: &[SqlType]) -> Vec<SqlType> {
    let number = |argument: &Argument| match argument {
        Argument::Parameter(at) => at + 1,
        Argument::Constant(_) => 0,
    };
    let count = call.arguments.iter().map(number).max().unwrap_or(0);
    let declared = |at: usize| declared.get(at).filter(|one| one.is_integer()).cloned();
    (0..count).map(|at| declared(at).unwrap_or(SqlType::Int8)).collect()
}

fn advisory_column(call: &AdvisoryCall) -> ColumnDescription {
    let sql_type = if call.function.returns_truth() { SqlType::Bool } else { SqlType::Void };
    ColumnDescription { sql_type, ..text_column(&call.column) }
}

pub(crate) fn text_column(name: &str) -> ColumnDescription {
    ColumnDescription { name: name.to_owned(), sql_type: SqlType::Text, table: 0, attribute: 0 }
}

fn shown_columns(name: &str) -> Vec<ColumnDescription> {
    match name {
        "all" => ["name", "setting", "description"].map(text_column).into(),
        name => vec![text_column(super::settings::shown_name(name))],
    }
}

/// The columns of a statement's rows; `None` if it returns none.
fn planned_columns(planned: &Planned, version: &Version) -> Option<Vec<ColumnDescription>> {
    match &planned.action {
        PlannedAction::Query(query) => rows_of(&query.query, version),
        PlannedAction::Block(_) => None,
        PlannedAction::Changes(changes) => rows_of(&changes.query, version),
        PlannedAction::Call(call) => call_columns(call, &version.routines[call.routine].signature),
    }
}

fn rows_of(query: &Query, version: &Version) -> Option<Vec<ColumnDescription>> {
    let columns = columns(query, version);
    let has_rows = matches!(query, Query::Select(_)) || !columns.is_empty();
    has_rows.then_some(columns)
}

/// The columns of a call's rows.
fn call_columns(call: &Call, routine: &Procedure) -> Option<Vec<ColumnDescription>> {
    let own = own_name(&routine.name);
    let column = |name: &str, sql_type: &SqlType| ColumnDescription {
        name: call.alias.clone().unwrap_or_else(|| name.to_owned()),
        sql_type: sql_type.clone(),
        table: 0,
        attribute: 0,
    };
    let all = |fields: &[Field]| {
        let name = |field: &Field| match field.name.is_empty() {
            true => own.to_owned(),
            false => field.name.clone(),
        };
        fields.iter().map(|field| column(&name(field), &field.sql_type)).collect()
    };
    match (&routine.returns, call.form) {
        (Returns::Nothing, CallForm::Call) => None,
        (Returns::Nothing, _) => Some(vec![column(own, &SqlType::Void)]),
        (Returns::Value(sql_type), CallForm::Call) => {
            let output = routine.parameters.iter().find(|one| one.mode != ParameterMode::In);
            let name = output.map(|output| &*routine.variables[output.variable].name);
            Some(vec![column(name.unwrap_or(own), sql_type)])
        }
        (Returns::Value(sql_type), _) => Some(vec![column(own, sql_type)]),
        (Returns::Row(fields) | Returns::Rows(fields), _) => Some(all(fields)),
    }
}

/// The columns of a query's rows.
fn columns(query: &Query, version: &Version) -> Vec<ColumnDescription> {
    let fields = query.outputs();
    let (outputs, sources): (&[Output], Vec<Option<usize>>) = match query {
        Query::Select(select) => match &select.body {
            SelectBody::Plain(plain) => {
                let tables = plain.sources.iter().map(|source| table_of(&source.kind));
                (&plain.outputs, tables.collect())
            }
            _ => (&[], Vec::new()),
        },
        Query::Insert(insert) => (&insert.returning, vec![Some(insert.table)]),
        Query::Update(update) => {
            (&update.returning, update.sources.iter().map(|of| table_of(&of.kind)).collect())
        }
        Query::Delete(delete) => {
            (&delete.returning, delete.sources.iter().map(|of| table_of(&of.kind)).collect())
        }
    };
    let describe = |(at, field): (usize, Field)| {
        let origin = outputs.get(at).and_then(|output| match &output.expr.kind {
            ExprKind::Column(column) if column.level == 0 => {
                let table = sources.get(column.source).copied().flatten()?;
                Some((version.definition_of(table).id as u32, column.column as i16 + 1))
            }
            _ => None,
        });
        let (table, attribute) = origin.unwrap_or((0, 0));
        ColumnDescription { name: field.name, sql_type: field.sql_type, table, attribute }
    };
    fields.into_iter().enumerate().map(describe).collect()
}

fn table_of(kind: &FromKind) -> Option<usize> {
    match kind {
        FromKind::Table(table) => Some(*table),
        _ => None,
    }
}
