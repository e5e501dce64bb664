//! The privileges that statements need.
//!
//! A view's rows are read with the rights of its owner, so what a view reads is checked for the
//! owner, and the view itself for the role of the statement. The resolver has put the query of a
//! view in its place; a query that equals that of a view is treated as the view, which gives the
//! same rows.

use super::object::{Kind, Object, denied};
use super::privilege::Privileges;
use crate::catalog::{DefinitionKind, Version, VersionRoutine};
use crate::error::SqlError;
use sql::expression::{Expr, ExprKind};
use sql::namespace::schema_of;
use sql::procedure::RoutineKind;
use sql::query::{From, FromKind, Insert, InsertSource, Join, OnConflict, Query, Select};
use sql::walk::{Scopes, for_each_called, for_each_sql, visit_expr, visit_from, visit_select};
use sql::{Call, Procedure};
use std::collections::BTreeSet;

/// The rights for statements of a version of the catalog.
#[derive(Clone, Copy)]
pub(crate) struct Rights<'v> {
    /// The version that the statement is resolved in.
    pub version: &'v Version,
    /// The version with the roles and grants that count. A transaction keeps the tables that it has
    /// seen first, and what is granted and revoked meanwhile counts at once, as in PostgreSQL.
    pub granted: &'v Version,
    pub role: i64,
}

impl<'v> Rights<'v> {
    /// Those of a version with its own roles and grants.
    pub fn of(version: &'v Version, role: i64) -> Self {
        Self { version, granted: version, role }
    }

    fn is_superuser(&self) -> bool {
        self.granted.roles.is_superuser(self.role)
    }

    fn require(&self, named: (Object, Kind, &str), wanted: Privileges) -> Result<(), SqlError> {
        let granted = self.granted;
        let schema = schema_of(named.2);
        if !granted.may_use(schema, self.role) {
            return Err(denied("schema", self.version.schema_name(schema)));
        }
        granted.objects.require(&granted.roles, self.role, named, wanted)
    }
}

/// Requires the privileges of a query for a role.
///
/// # Errors
/// The role lacks one.
pub(crate) fn check_query(rights: Rights<'_>, query: &Query) -> Result<(), SqlError> {
    if rights.is_superuser() {
        return Ok(());
    }
    let mut walk = Walk::new(rights);
    walk.query(query);
    walk.end()
}

/// Requires the privileges of a call and of the routine's statements. They run with the rights of
/// the caller, and all are checked before the first one runs.
///
/// # Errors
/// The role lacks one.
pub(crate) fn check_call(rights: Rights<'_>, call: &Call) -> Result<(), SqlError> {
    if rights.is_superuser() {
        return Ok(());
    }
    let routine = &rights.version.routines[call.routine];
    check_execute(rights, routine)?;
    let mut arguments = Walk::new(rights);
    call.arguments.iter().for_each(|argument| visit_expr(&mut arguments, argument));
    check_body(rights, &routine.signature).and(arguments.end())
}

/// Requires the privileges of a routine's statements, and of the routines that it calls.
///
/// # Errors
/// The role lacks one.
pub(crate) fn check_body(rights: Rights<'_>, routine: &Procedure) -> Result<(), SqlError> {
    if rights.is_superuser() {
        return Ok(());
    }
    let mut walk = Walk::new(rights);
    walk.body(routine);
    walk.end()
}

/// Requires the privileges of routines that a statement calls while it runs, of their statements,
/// and of the routines that these call.
fn check_callees(rights: Rights<'_>, called: BTreeSet<String>) -> Result<(), SqlError> {
    let (mut seen, mut open) = (BTreeSet::new(), called);
    while let Some(name) = open.pop_first() {
        let mut routines = rights.version.routines.iter();
        let Some(callee) = routines.find(|callee| callee.signature.name == name) else { continue };
        check_execute(rights, callee)?;
        let mut walk = Walk::new(rights);
        walk.body(&callee.signature);
        walk.lack.map_or(Ok(()), Err)?;
        seen.insert(name);
        open.extend(walk.called.into_iter().filter(|name| !seen.contains(name)));
    }
    Ok(())
}

/// Requires the privilege to call a routine.
fn check_execute(rights: Rights<'_>, routine: &VersionRoutine) -> Result<(), SqlError> {
    let Rights { version, granted, role } = rights;
    let schema = schema_of(&routine.signature.name);
    if !granted.may_use(schema, role) {
        return Err(denied("schema", version.schema_name(schema)));
    }
    let object = Object::Definition(routine.id);
    let has = granted.objects.privileges(&granted.roles, role, object, Kind::Routine).0;
    if has.has_all(Privileges::EXECUTE) {
        return Ok(());
    }
    let kind = match routine.signature.kind {
        RoutineKind::Function => "function",
        RoutineKind::Procedure => "procedure",
    };
    Err(denied(kind, &routine.signature.name))
}

/// Requires a privilege for a table by its position.
///
/// # Errors
/// The role lacks it.
pub(crate) fn check_table(
    rights: Rights<'_>,
    table: usize,
    wanted: Privileges,
) -> Result<(), SqlError> {
    let object = Object::Definition(rights.version.definition_of(table).id);
    let name = &rights.version.catalog.tables[table].name;
    rights.require((object, Kind::Table, name), wanted)
}

/// Looks at all parts of a statement.
struct Walk<'v> {
    rights: Rights<'v>,
    /// For each query around the present place, innermost last, whether its source 0 is the table
    /// that the statement changes.
    levels: Vec<bool>,
    /// The privileges for the tables in the `FROM` of the present query.
    wanted: Privileges,
    /// Whether the statement reads the table that it changes.
    reads_target: bool,
    /// The first lack.
    lack: Option<SqlError>,
    /// The routines that are called while the statement runs.
    called: BTreeSet<String>,
}

impl<'v> Walk<'v> {
    fn new(rights: Rights<'v>) -> Self {
        let (levels, wanted) = (Vec::new(), Privileges::SELECT);
        let called = BTreeSet::new();
        Self { rights, levels, wanted, reads_target: false, lack: None, called }
    }

    fn note(&mut self, checked: Result<(), SqlError>) {
        if let Err(lack) = checked {
            self.lack.get_or_insert(lack);
        }
    }

    fn end(self) -> Result<(), SqlError> {
        self.lack.map_or(Ok(()), Err)?;
        check_callees(self.rights, self.called)
    }

    /// The statements of a routine, and the routines whose bodies are in it.
    fn body(&mut self, routine: &Procedure) {
        let rights = self.rights;
        for_each_called(routine, &mut |name| {
            let mut routines = rights.version.routines.iter();
            let callee = routines.find(|callee| callee.signature.name == name);
            self.note(callee.map_or(Ok(()), |callee| check_execute(rights, callee)));
        });
        for_each_sql(routine, &mut |query| {
            let mut of_query = Walk::new(rights);
            of_query.query(query);
            self.note(of_query.lack.map_or(Ok(()), Err));
            self.called.append(&mut of_query.called);
        });
        let mut exprs = Walk::new(rights);
        sql::walk::for_each_formula(routine, &mut |expr| visit_expr(&mut exprs, expr));
        self.note(exprs.lack.map_or(Ok(()), Err));
        self.called.append(&mut exprs.called);
    }

    fn table(&mut self, table: usize, wanted: Privileges) {
        let checked = check_table(self.rights, table, wanted);
        self.note(checked);
    }

    fn query(&mut self, query: &Query) {
        match query {
            Query::Select(select) => self.select(select, Privileges::SELECT),
            Query::Insert(insert) => self.insert(insert),
            Query::Update(update) => {
                let exprs = update.assignments.iter().filter_map(|(_, value)| value.as_ref());
                let returning = update.returning.iter().map(|output| &output.expr);
                let exprs = exprs.chain(&update.filter).chain(returning);
                let parts = (&update.sources[..], &update.joins[..]);
                self.change(update.table, Privileges::UPDATE, parts, exprs);
            }
            Query::Delete(delete) => {
                let returning = delete.returning.iter().map(|output| &output.expr);
                let exprs = delete.filter.iter().chain(returning);
                let parts = (&delete.sources[..], &delete.joins[..]);
                self.change(delete.table, Privileges::DELETE, parts, exprs);
            }
        }
    }

    /// `UPDATE` and `DELETE`.
    fn change<'q>(
        &mut self,
        table: usize,
        wanted: Privileges,
        (sources, joins): (&[From], &[Join]),
        exprs: impl Iterator<Item = &'q Expr>,
    ) {
        sources.iter().skip(1).for_each(|source| self.source(source));
        self.levels.push(true);
        visit_from(self, sources, joins);
        exprs.for_each(|value| visit_expr(self, value));
        self.levels.pop();
        let reads = if self.reads_target { Privileges::SELECT } else { Privileges::NONE };
        // PostgreSQL checks the table that is changed first.
        let earlier = self.lack.take();
        self.table(table, wanted.with(reads));
        self.note(earlier.map_or(Ok(()), Err));
    }

    fn insert(&mut self, insert: &Insert) {
        let mut wanted = Privileges::INSERT;
        self.levels.push(true);
        match &insert.on_conflict {
            None => {}
            Some(OnConflict::DoNothing { columns }) => self.reads_target |= !columns.is_empty(),
            Some(OnConflict::DoUpdate(update)) => {
                wanted = wanted.with(Privileges::UPDATE);
                self.reads_target |= !update.columns.is_empty();
                let values = update.assignments.iter().filter_map(|(_, value)| value.as_ref());
                values.chain(&update.filter).for_each(|value| visit_expr(self, value));
            }
        }
        insert.returning.iter().for_each(|output| visit_expr(self, &output.expr));
        self.levels.pop();
        if self.reads_target {
            wanted = wanted.with(Privileges::SELECT);
        }
        let earlier = self.lack.take();
        self.table(insert.table, wanted);
        self.note(earlier.map_or(Ok(()), Err));
        match &insert.source {
            InsertSource::Values(rows) => {
                rows.iter().flatten().flatten().for_each(|value| visit_expr(self, value));
            }
            InsertSource::Select(select, _) => self.select(select, Privileges::SELECT),
        }
    }

    /// `wanted` are the privileges for the tables of its `FROM`.
    fn select(&mut self, select: &Select, wanted: Privileges) {
        let wanted = match &select.lock {
            Some(_) => wanted.with(Privileges::UPDATE),
            None => wanted,
        };
        let outer = std::mem::replace(&mut self.wanted, wanted);
        visit_select(self, select);
        self.wanted = outer;
    }

    /// The check of a query that is one of a view; `None` if it is not.
    fn view(&mut self, source: &From, query: &Select) -> Option<Result<(), SqlError>> {
        let Rights { version, granted, .. } = self.rights;
        let same = version.catalog.views.iter().filter(|view| view.query == *query);
        let mut lack = None;
        for view in same {
            let is_it = |one: &&crate::catalog::Definition| {
                one.kind == DefinitionKind::View && one.name == view.name
            };
            let Some(definition) = version.definitions.iter().find(is_it) else { continue };
            let object = Object::Definition(definition.id);
            let named = (object, Kind::View, &*view.name);
            let own = self.rights.require(named, Privileges::SELECT);
            let owner = Rights { role: granted.objects.owner(object), ..self.rights };
            let mut inner = Walk::new(owner);
            inner.select(query, Privileges::SELECT);
            // Routines have the rights of the role of the statement.
            self.called.append(&mut inner.called);
            let of_owner = inner.lack.filter(|_| !owner.is_superuser());
            let checked = own.and(of_owner.map_or(Ok(()), Err));
            match checked {
                Ok(()) => return Some(Ok(())),
                // The view that the statement names explains best.
                Err(error) if lack.is_none() || source.alias == view.name => lack = Some(error),
                Err(_) => {}
            }
        }
        lack.map(Err)
    }
}

impl Scopes for Walk<'_> {
    fn source(&mut self, source: &From) {
        match &source.kind {
            FromKind::Table(table) => self.table(*table, self.wanted),
            FromKind::Query(query) => match self.view(source, query) {
                Some(checked) => self.note(checked),
                None => self.select(query, self.wanted),
            },
            FromKind::Windows(windows) => self.select(&windows.query, self.wanted),
            FromKind::Recursive(recursion) => {
                self.select(&recursion.first, self.wanted);
                self.select(&recursion.step, self.wanted);
            }
            FromKind::Call(call) => drop(self.called.insert(call.routine.clone())),
            // It is visited in the scope that it sees.
            FromKind::Lateral(_)
            | FromKind::Unnest(_)
            | FromKind::Series(_)
            | FromKind::WorkTable(_) => {}
        }
    }

    fn enter(&mut self, _: &[From]) {
        self.levels.push(false);
    }

    fn leave(&mut self) {
        self.levels.pop();
    }

    fn subquery(&mut self, query: &Select) {
        self.select(query, Privileges::SELECT);
    }

    fn expr(&mut self, expr: &Expr) {
        if let ExprKind::Column(column) = &expr.kind {
            let level = self.levels.len().checked_sub(1 + column.level as usize);
            let is_target = level.is_some_and(|level| self.levels[level]);
            self.reads_target |= is_target && column.source == 0;
        }
    }
}
