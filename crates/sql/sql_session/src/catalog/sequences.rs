//! Sequences.
//!
//! A sequence is no part of a transaction: a value that was drawn is not drawn again, also after a
//! roll-back. The database stores a bound that no process has passed; a process raises it ahead, by
//! a transaction of its own, and draws the values below it from memory. A crash leaves a gap.
//!
//! Decision: docs/decisions/0327-sequences-are-drawn-ahead.md

use super::schemas::split_name;
use super::{Definition, DefinitionKind, Version};
use crate::access::object::{Kind, Object, denied};
use crate::access::privilege::Privileges;
use crate::command::no_schema;
use crate::database::SqlDatabase;
use crate::error::SqlError;
use crate::host::Host;
use crate::lexer::{self, tokens};
use crate::session::Actor;
use fabric::{Fabric, run_now};
use interpreter::Sequences;
use rustix::rand::{GetRandomFlags, getrandom};
use sql::expression::ExprKind;
use sql::function::Function;
use sql::namespace::unpinned_name;
use sql::{Catalog, IDENTITY, SearchPath};
use sql_value::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Number of values that a process takes first; it takes twice as many each further time.
const AHEAD_MIN: i64 = 32;
/// Maximum number of values that a process takes together.
const AHEAD_MAX: i64 = 8_192;

/// A sequence of a version of the catalog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sequence {
    pub place: SequencePlace,
    pub start: i64,
}

/// The number of the definition of a sequence or of its table, and the number of its column; 0 for
/// a sequence of its own.
pub(crate) type SequencePlace = (i64, i64);

/// The sequences of a catalog, by name: those with a definition, and those of columns. A sequence
/// is that of the first one who has the name; commands refuse a second one.
pub(crate) fn sequences(
    catalog: &Catalog,
    definitions: &[Definition],
    table_definitions: &[usize],
) -> BTreeMap<String, Sequence> {
    let mut found = BTreeMap::new();
    for (name, sequence) in claimed(catalog, definitions, table_definitions) {
        found.entry(name).or_insert(sequence);
    }
    found
}

/// The names of sequences with their owners.
fn claimed(
    catalog: &Catalog,
    definitions: &[Definition],
    table_definitions: &[usize],
) -> Vec<(String, Sequence)> {
    let mut found = Vec::new();
    for one in definitions.iter().filter(|one| one.kind == DefinitionKind::Sequence) {
        let start = start_of(&one.body);
        found.push((one.name.clone(), Sequence { place: (one.id, 0), start }));
    }
    let mut written = Vec::new();
    for (table, &at) in catalog.tables.iter().zip(table_definitions) {
        for column in &table.columns {
            let place = (definitions[at].id, i64::from(column.number));
            let sequence = Sequence { place, start: 1 };
            match column.default.as_ref().and_then(drawn) {
                // The table or the column may have got another name since.
                Some((own, true)) => found.push((own, sequence)),
                // A default that a command has set again.
                Some((own, false)) if own == format!("{}_{}_seq", table.name, column.name) => {
                    written.push((own, sequence));
                }
                _ => {}
            }
        }
    }
    found.extend(written);
    found
}

/// Refuses a second sequence with the name of another one.
pub(crate) fn refuse_same_names(
    before: &Version,
    catalog: &Catalog,
    definitions: &[Definition],
    table_definitions: &[usize],
) -> Result<(), SqlError> {
    let mut owners = BTreeMap::new();
    for (name, sequence) in claimed(catalog, definitions, table_definitions) {
        let other = owners.insert(name.clone(), sequence.place);
        if other.is_some_and(|other| other != sequence.place)
            && !is_claimed(before, &name, sequence.place)
        {
            let message = format!("relation \"{name}\" already exists");
            let hint = "It is the sequence of another column; choose another name for this one.";
            return Err(SqlError::new("42P07", message).hint(hint));
        }
    }
    Ok(())
}

fn is_claimed(version: &Version, name: &str, place: SequencePlace) -> bool {
    let (catalog, of) = (&version.catalog, &version.table_definitions);
    let mut claimed = claimed(catalog, &version.definitions, of).into_iter();
    claimed.any(|(own, sequence)| own == name && sequence.place == place)
}

/// The sequence that a default draws from, and whether the column was declared to own it.
fn drawn(default: &sql::expression::Expr) -> Option<(String, bool)> {
    let mut found = None;
    default.visit(&mut |part| {
        if let ExprKind::Function { function: Function::NextValue, arguments } = &part.kind
            && let Some(ExprKind::Text(name)) = arguments.first().map(|argument| &argument.kind)
        {
            found = Some((unpinned_name(name), arguments.len() > 1));
        }
    });
    found
}

/// The value of `START WITH` in the text of `CREATE SEQUENCE`.
fn start_of(body: &str) -> i64 {
    let tokens = tokens(body).unwrap_or_default();
    let at = tokens.iter().position(|token| token.is_word("START"));
    let number =
        at.and_then(|at| tokens[at + 1..].iter().find(|one| one.kind == lexer::Kind::Number));
    number.and_then(|number| number.text.parse().ok()).unwrap_or(1)
}

/// The values that a process may draw.
#[derive(Default)]
pub(crate) struct Ranges {
    ranges: Mutex<BTreeMap<SequencePlace, Range>>,
}

#[derive(Clone, Copy)]
struct Range {
    next: i64,
    /// The last value that was taken.
    last: i64,
    taken: i64,
}

impl Ranges {
    /// Draws a value; `take` raises the stored bound by a number, and returns it.
    fn draw(
        &self,
        place: SequencePlace,
        take: impl FnOnce(i64) -> Result<i64, SqlError>,
    ) -> Result<i64, SqlError> {
        let mut ranges = self.ranges.lock().expect("no holder panics");
        let empty = Range { next: 1, last: 0, taken: AHEAD_MIN / 2 };
        let range = ranges.entry(place).or_insert(empty);
        if range.next > range.last {
            let count = (range.taken * 2).min(AHEAD_MAX);
            let last = take(count)?;
            *range = Range { next: last - count + 1, last, taken: count };
        }
        range.next += 1;
        Ok(range.next - 1)
    }

    /// The next value that this process draws without raising the stored bound.
    pub fn next(&self, place: SequencePlace) -> Option<i64> {
        let ranges = self.ranges.lock().expect("no holder panics");
        ranges.get(&place).filter(|range| range.next <= range.last).map(|range| range.next)
    }

    /// Forgets the values of all sequences of a table, or of one that is gone.
    pub fn forget_all(&self, owner: i64) {
        self.ranges.lock().expect("no holder panics").retain(|place, _| place.0 != owner);
    }

    fn forget(&self, place: SequencePlace) {
        self.ranges.lock().expect("no holder panics").remove(&place);
    }
}

/// The sequences as a session sees them.
pub(crate) struct SessionSequences<H: Host> {
    database: SqlDatabase<H>,
    state: Mutex<State>,
}

struct State {
    /// The version of the catalog of the running statement.
    version: Arc<Version>,
    /// The version whose roles and grants count for it.
    granted: Arc<Version>,
    /// The last values that the session has drawn.
    current: BTreeMap<SequencePlace, i64>,
    last: Option<SequencePlace>,
    /// Whether the transaction is read-only.
    is_read_only: bool,
    /// The role that uses them.
    actor: Actor,
    /// The schemas of the session's search path, and those of them that the version has.
    path_names: Vec<String>,
    path: Option<SearchPath>,
}

impl<H: Host> SessionSequences<H> {
    pub fn new(database: SqlDatabase<H>, actor: Actor) -> Self {
        let (version, current) = (database.version(), BTreeMap::new());
        let state = State {
            granted: version.clone(),
            version,
            current,
            last: None,
            is_read_only: false,
            actor,
            path_names: Vec::new(),
            path: None,
        };
        Self { database, state: Mutex::new(state) }
    }

    /// Takes the version of the next statement, and that whose grants count. Its transaction is
    /// not read-only until [`Self::set_read_only`] says so.
    pub fn set_version(&self, version: &Arc<Version>, granted: &Arc<Version>) {
        let mut state = self.state();
        state.is_read_only = false;
        if state.version.serial != version.serial {
            state.version = version.clone();
            state.path = None;
        }
        if state.granted.serial != granted.serial {
            state.granted = granted.clone();
        }
    }

    /// Takes whether the transaction of the next statement is read-only.
    pub fn set_read_only(&self, is_read_only: bool) {
        self.state().is_read_only = is_read_only;
    }

    /// The version whose grants count for the running statement.
    pub fn granted(&self) -> Arc<Version> {
        self.state().granted.clone()
    }

    /// Takes the role that uses them, and its search path.
    pub fn set_actor(&self, actor: Actor, path_names: Vec<String>) {
        let mut state = self.state();
        (state.actor, state.path_names, state.path) = (actor, path_names, None);
    }

    /// Requires one of these privileges for a sequence. The default of an identity column needs
    /// none, `is_identity`: PostgreSQL draws its numbers without looking at privileges.
    fn check(
        &self,
        name: &str,
        place: SequencePlace,
        one_of: Privileges,
        is_identity: bool,
    ) -> Result<(), SqlError> {
        let state = self.state();
        let State { version, granted, actor, .. } = &*state;
        let role = actor.acting(&granted.roles);
        let object = Object::sequence(place);
        let (has, _) = granted.objects.privileges(&granted.roles, role, object, Kind::Sequence);
        let is_own = || is_identity && is_identity_column(version, place);
        if !has.common(one_of).is_empty() || is_own() {
            return Ok(());
        }
        let found = version.sequences.iter().find(|(_, one)| one.place == place);
        Err(denied("sequence", found.map_or(name, |(name, _)| name)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    fn find(&self, name: &str) -> Result<Sequence, SqlError> {
        let parts = split_name(name);
        let mut state = self.state();
        let State { version, granted, path, path_names, actor, .. } = &mut *state;
        let path = path
            .get_or_insert_with(|| version.search_path(path_names, actor.acting(&version.roles)));
        let named = |full: &str| version.sequences.get(full).copied();
        if let [schema, _] = &parts[..] {
            let id = version.catalog.schemas.find(schema).ok_or_else(|| no_schema(schema))?;
            if !granted.may_use(id, actor.acting(&granted.roles)) {
                return Err(denied("schema", schema));
            }
        }
        version.catalog.schemas.lookup(path, &parts, named).ok_or_else(|| {
            SqlError::new("42P01", format!("relation \"{}\" does not exist", parts.join(".")))
        })
    }

    /// The sequence that a column owns; the name is a full one.
    fn find_own(&self, name: &str) -> Result<Sequence, SqlError> {
        let found = self.state().version.sequences.get(name).copied();
        found.ok_or_else(|| SqlError::new("42P01", format!("relation \"{name}\" does not exist")))
    }

    /// Draws a value. `kind` is that of the column that owns the sequence, if one does.
    fn next(&self, name: &str, kind: Option<&str>) -> Result<i64, SqlError> {
        let is_identity = kind == Some(IDENTITY);
        let sequence = match kind {
            Some(_) => self.find_own(name)?,
            None => self.find(name)?,
        };
        let one_of = Privileges::USAGE.with(Privileges::UPDATE);
        self.check(name, sequence.place, one_of, is_identity)?;
        let take = |count| self.store(sequence, &|stored| stored + count);
        let value = self.database.ranges().draw(sequence.place, take)?;
        let mut state = self.state();
        state.current.insert(sequence.place, value);
        state.last = Some(sequence.place);
        Ok(value)
    }

    fn set(&self, name: &str, value: i64, is_called: bool) -> Result<i64, SqlError> {
        let sequence = self.find(name)?;
        self.check(name, sequence.place, Privileges::UPDATE, false)?;
        self.store(sequence, &|_| if is_called { value } else { value - 1 })?;
        self.database.ranges().forget(sequence.place);
        self.state().current.insert(sequence.place, value);
        Ok(value)
    }

    /// Changes the stored bound.
    fn store(&self, sequence: Sequence, change: &dyn Fn(i64) -> i64) -> Result<i64, SqlError> {
        if !<H::Env as Fabric>::IMMEDIATE {
            return Err(SqlError::unsupported("sequences over a network are not supported"));
        }
        run_now(self.database.change_sequence(sequence, change))
    }

    fn current_of(&self, place: Option<SequencePlace>, name: &str) -> Result<i64, SqlError> {
        if let Some(place) = place {
            self.check(name, place, Privileges::USAGE.with(Privileges::SELECT), false)?;
        }
        let known = place.and_then(|place| self.state().current.get(&place).copied());
        known.ok_or_else(|| {
            let message = match name {
                "" => "lastval is not yet defined in this session".to_owned(),
                name => {
                    format!("currval of sequence \"{name}\" is not yet defined in this session")
                }
            };
            SqlError::new("55000", message)
        })
    }

    fn called(&self, function: Function, arguments: &[Value]) -> Result<i64, SqlError> {
        let changes = matches!(function, Function::NextValue | Function::SetValue);
        if changes && self.state().is_read_only {
            let name = function.name();
            let message = format!("cannot execute {name}() in a read-only transaction");
            return Err(SqlError::new("25006", message));
        }
        let name = arguments.first().and_then(Value::as_text).unwrap_or_default();
        match (function, &arguments[arguments.len().min(1)..]) {
            (Function::NextValue, kind) => {
                let kind = kind.first().and_then(Value::as_text);
                self.next(name, kind)
            }
            (Function::CurrentValue, _) => self.current_of(Some(self.find(name)?.place), name),
            (Function::SetValue, [Value::Int(value)]) => self.set(name, *value, true),
            (Function::SetValue, [Value::Int(value), is_called]) => {
                self.set(name, *value, is_called.is_true())
            }
            _ => {
                let last = self.state().last;
                self.current_of(last, "")
            }
        }
    }
}

/// Whether this is the sequence of an identity column.
fn is_identity_column(version: &Version, (table, number): SequencePlace) -> bool {
    let table = version.position_of(table).map(|at| &version.catalog.tables[at]);
    table.is_some_and(|table| {
        let mut own = table.columns.iter().filter(|column| i64::from(column.number) == number);
        own.any(|column| column.identity.is_some())
    })
}

/// A UUID of the kernel's random bytes: those of an endpoint are too few for keys.
fn random_uuid() -> sql_value::Result<Value> {
    let (mut bytes, mut filled) = ([0; 16], 0);
    while filled < bytes.len() {
        let drawn = getrandom(&mut bytes[filled..], GetRandomFlags::empty());
        filled += drawn.map_err(|error| {
            sql_value::Error::new("58030", format!("the kernel has no random bytes: {error}"))
        })?;
    }
    Ok(Value::Uuid(sql_value::uuid::of_random(bytes)))
}

impl<H: Host> Sequences for SessionSequences<H> {
    fn call(&self, function: Function, arguments: &[Value]) -> sql_value::Result<Value> {
        if arguments.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        if function == Function::RandomUuid {
            return random_uuid();
        }
        let called = self.called(function, arguments);
        called.map(Value::Int).map_err(|error| {
            Box::new(sql_value::Error {
                sqlstate: error.sqlstate.clone(),
                message: error.message.clone(),
                detail: error.detail.clone(),
                hint: error.hint.clone(),
            })
        })
    }
}
