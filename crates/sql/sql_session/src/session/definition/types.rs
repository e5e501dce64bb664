//! `CREATE TYPE`, `ALTER TYPE`, and what depends on types.

use super::super::{Block, SqlSession};
use super::Edited;
use super::alter::alteration;
use super::view::follow_tables;
use crate::catalog::types::{definition, drop_type, is_dropped, names_label};
use crate::catalog::{Definition, DefinitionKind, Version};
use crate::command::{Command, Neighbour, TableChange, TypeChange, no_schema};
use crate::error::{Severity, SqlError};
use crate::host::Host;
use crate::session::rewrite::quoted;
use sql::namespace::{full_name, own_name, type_number};
use sql::{EnumType, SqlType};

/// Maximum number of bytes of a label, as in PostgreSQL.
const LABEL_BYTES_MAX: usize = 63;

/// `CREATE TYPE ... AS ENUM`
fn create_enum(version: &Version, name: &str, labels: &[String]) -> Result<Edited, SqlError> {
    refuse_taken(version, name)?;
    for (at, label) in labels.iter().enumerate() {
        check_label(label)?;
        if labels[..at].contains(label) {
            let message = "duplicate key value violates unique constraint \
                           \"pg_enum_typid_label_index\"";
            return Err(SqlError::new("23505", message)
                .detail(format!("The label \"{label}\" is there twice.")));
        }
    }
    let mut definitions = version.definitions.clone();
    definitions.push(definition(&EnumType::new(version.next_id() as u32, name, labels)));
    Ok(Edited::new(definitions, "CREATE TYPE"))
}

fn check_label(label: &str) -> Result<(), SqlError> {
    if label.len() <= LABEL_BYTES_MAX {
        return Ok(());
    }
    let message = format!("invalid enum label \"{label}\"");
    let detail = format!("Labels must be {LABEL_BYTES_MAX} bytes or less.");
    Err(SqlError::new("42602", message).detail(detail))
}

/// Refuses the name of a type or of a relation, which has a type of its name in PostgreSQL.
fn refuse_taken(version: &Version, name: &str) -> Result<(), SqlError> {
    let is_relation = version.table(name).is_some() || version.catalog.view(name).is_some();
    match is_relation || version.catalog.types.get(name).is_some() {
        true => Err(SqlError::new("42710", format!("type \"{name}\" already exists"))),
        false => Ok(()),
    }
}

/// Refuses a relation with the name of a type.
pub(super) fn refuse_type_name(version: &Version, name: &str) -> Result<(), SqlError> {
    if version.catalog.types.get(name).is_none() {
        return Ok(());
    }
    let hint = "A relation has an associated type of the same name, so you must use a name that \
                doesn't conflict with any existing type.";
    Err(SqlError::new("42710", format!("type \"{name}\" already exists")).hint(hint))
}

pub(crate) fn no_type(name: &str) -> SqlError {
    SqlError::new("42704", format!("type \"{name}\" does not exist"))
}

/// The type with this full name, and the position of its definition.
fn find<'v>(version: &'v Version, name: &str) -> Result<(&'v EnumType, usize), SqlError> {
    let of = version.catalog.types.get(name).filter(|of| !is_dropped(&of.name));
    let of = of.ok_or_else(|| no_type(name))?;
    let is_it = |one: &Definition| one.id == i64::from(of.oid);
    let at = version.definitions.iter().position(is_it);
    Ok((of, at.ok_or_else(|| SqlError::internal("a type has no definition"))?))
}

/// `ALTER TYPE ... SET SCHEMA`
pub(super) fn set_type_schema(
    version: &Version,
    name: &str,
    schema: &str,
) -> Result<Edited, SqlError> {
    let to = version.catalog.schemas.find(schema).ok_or_else(|| no_schema(schema))?;
    let (of, at) = find(version, name)?;
    let moved = full_name(to, own_name(name));
    let mut definitions = version.definitions.clone();
    if moved != name {
        refuse_taken(version, &moved)?;
        refuse_routines(version, of)?;
        definitions[at].name = moved;
    }
    Ok(Edited::new(definitions, "ALTER TYPE"))
}

impl<H: Host> SqlSession<H> {
    /// Runs a command on types.
    pub(super) fn change_types(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        command: &Command,
    ) -> Result<Edited, SqlError> {
        match command {
            Command::CreateEnum { name, labels } => create_enum(version, name, labels),
            Command::AlterType { name, change } => self.alter_type(version, name, change),
            Command::Drop { names, if_exists, cascade, .. } => {
                let (definitions, options) = (version.definitions.clone(), (*if_exists, *cascade));
                self.drop_types(block, version, definitions, names, options)
            }
            _ => Err(SqlError::internal("it is about no type")),
        }
    }

    /// `ALTER TYPE`
    fn alter_type(
        &mut self,
        version: &Version,
        name: &str,
        change: &TypeChange,
    ) -> Result<Edited, SqlError> {
        let (of, at) = find(version, name)?;
        let mut of = of.clone();
        let mut definitions = version.definitions.clone();
        match change {
            TypeChange::AddValue { label, if_not_exists, neighbour } => {
                check_label(label)?;
                if of.place(label).is_some() {
                    let message = format!("enum label \"{label}\" already exists");
                    if *if_not_exists {
                        self.notice(Severity::Notice, "42710", format!("{message}, skipping"));
                        return Ok(Edited::new(definitions, "ALTER TYPE"));
                    }
                    return Err(SqlError::new("42710", message));
                }
                take_label(&definitions, &mut of, (label, None))?;
                add_label(&mut of, label, neighbour.as_ref())?;
            }
            TypeChange::RenameValue { from, to } => {
                check_label(to)?;
                let place = of.labels.iter().position(|(_, own)| own == from);
                let place = place.ok_or_else(|| no_label(from))?;
                if of.place(to).is_some() {
                    let message = format!("enum label \"{to}\" already exists");
                    return Err(SqlError::new("42710", message));
                }
                if names_label(&definitions, of.oid, from, &[DefinitionKind::View]) {
                    let message = format!("a view has the label \"{from}\"");
                    let hint = "Drop the view first, and create it again.";
                    return Err(SqlError::unsupported(message).hint(hint));
                }
                let number = of.labels[place].0;
                take_label(&definitions, &mut of, (to, Some(number)))?;
                if names_label(&definitions, of.oid, from, &[]) {
                    of.former.push((number, from.clone()));
                }
                to.clone_into(&mut of.labels[place].1);
            }
            TypeChange::Rename(to) => {
                refuse_taken(version, to)?;
                refuse_routines(version, &of)?;
                to.clone_into(&mut of.name);
            }
        }
        definitions[at] = definition(&of);
        Ok(Edited::new(definitions, "ALTER TYPE"))
    }

    /// Drops types, with `CASCADE` also what depends on them: columns, views and routines.
    pub(super) fn drop_types(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        mut definitions: Vec<Definition>,
        names: &[String],
        (if_exists, cascade): (bool, bool),
    ) -> Result<Edited, SqlError> {
        let (mut rewritten, mut has_altered) = (Vec::new(), false);
        for name in names {
            let at = match find(version, name) {
                Ok((_, at)) => at,
                Err(_) if if_exists => {
                    let message = format!("type \"{name}\" does not exist, skipping");
                    self.notice(Severity::Notice, "00000", message);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let id = version.definitions[at].id;
            let Some(own) = definitions.iter().position(|one| one.id == id) else { continue };
            let dependents = dependents(version, &definitions, id as u32);
            if !dependents.is_empty() && !cascade {
                return Err(needed(name, &dependents));
            }
            self.tell_dropped(&dependents);
            for one in &dependents {
                has_altered |= self.drop_dependent(block, version, &mut definitions, one)?;
            }
            drop_type(&mut definitions[own]);
        }
        if has_altered {
            let parsed = follow_tables(version, &mut definitions, "")?;
            rewritten = self.changed_storage(block, version, &parsed, &mut definitions, None);
        }
        Ok(Edited { rewritten, ..Edited::new(definitions, "DROP TYPE") })
    }

    fn tell_dropped(&mut self, dependents: &[Dependent]) {
        let lines: Vec<String> =
            dependents.iter().map(|one| format!("drop cascades to {}", one.text())).collect();
        match &lines[..] {
            [] => {}
            [only] => self.notice(Severity::Notice, "00000", only.clone()),
            lines => {
                let message = format!("drop cascades to {} other objects", lines.len());
                self.notice(Severity::Notice, "00000", message);
                if let Some(last) = self.notices.last_mut() {
                    last.detail = Some(lines.join("\n"));
                }
            }
        }
    }

    /// Drops an object that depends on a type; returns whether a table has changed.
    fn drop_dependent(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        definitions: &mut Vec<Definition>,
        one: &Dependent,
    ) -> Result<bool, SqlError> {
        match one {
            Dependent::Column { table, column } => {
                let owner = self.owner(version, table)?.clone();
                self.lock_table(block, &owner)?;
                let dropped = vec![(column.clone(), true)];
                let change = TableChange { dropped, ..TableChange::default() };
                self.drop_views_of_columns(version, table, &change, definitions)?;
                let column = quoted(column);
                let text = format!("ALTER TABLE {} DROP COLUMN {column}", quoted(table));
                let id = crate::catalog::numbers::next_id(definitions);
                definitions.push(Definition { id, ..alteration(version, owner.id, &text) });
                Ok(true)
            }
            Dependent::Routine(name) => {
                definitions.retain(|one| one.kind != DefinitionKind::Routine || one.name != *name);
                Ok(false)
            }
            Dependent::View(name) => {
                definitions.retain(|one| one.kind != DefinitionKind::View || one.name != *name);
                Ok(false)
            }
        }
    }
}

/// Lets a label have a place, unless definitions mean another one by it.
fn take_label(
    definitions: &[Definition],
    of: &mut EnumType,
    (label, place): (&str, Option<i64>),
) -> Result<(), SqlError> {
    let is_other = |former: &(i64, String)| former.1 == label && Some(former.0) != place;
    if of.former.iter().any(is_other) && names_label(definitions, of.oid, label, &[]) {
        let message = format!("a default or check still has \"{label}\" for another label");
        let hint = "Choose another label, or set the defaults and checks first.";
        return Err(SqlError::unsupported(message).hint(hint));
    }
    of.former.retain(|(_, former)| former != label);
    Ok(())
}

/// Adds a label beside its neighbour, or at the end.
fn add_label(
    of: &mut EnumType,
    label: &str,
    neighbour: Option<&Neighbour>,
) -> Result<(), SqlError> {
    let place = |of: &EnumType, label: &str| {
        let at = of.labels.iter().position(|(_, own)| own == label);
        at.ok_or_else(|| no_label(label))
    };
    let at = match neighbour {
        None => of.labels.len(),
        Some(Neighbour::Before(other)) => place(of, other)?,
        Some(Neighbour::After(other)) => place(of, other)? + 1,
    };
    if of.insert(at, label) {
        return Ok(());
    }
    let message = format!("there is no room for the label \"{label}\" between its neighbours");
    let hint = "Create a type with all labels, and write ALTER TABLE ... ALTER COLUMN ... TYPE \
                new USING (column::text::new).";
    Err(SqlError::unsupported(message).hint(hint))
}

fn no_label(label: &str) -> SqlError {
    SqlError::new("22023", format!("\"{label}\" is not an existing enum label"))
}

/// An object that depends on a type.
enum Dependent {
    Column { table: String, column: String },
    View(String),
    Routine(String),
}

impl Dependent {
    fn text(&self) -> String {
        match self {
            Self::Column { table, column } => format!("column {column} of table {table}"),
            Self::View(name) => format!("view {name}"),
            Self::Routine(name) => format!("function {name}"),
        }
    }
}

fn needed(name: &str, dependents: &[Dependent]) -> SqlError {
    let message = format!("cannot drop type {name} because other objects depend on it");
    let lines = dependents.iter().map(|one| format!("{} depends on type {name}", one.text()));
    let hint = "Use DROP ... CASCADE to drop the dependent objects too.";
    SqlError::new("2BP01", message).detail(lines.collect::<Vec<_>>().join("\n")).hint(hint)
}

/// Whether values of a type are of the enumerated type with this number, or arrays of it.
fn uses(sql_type: &SqlType, oid: u32) -> bool {
    match sql_type {
        SqlType::Enum(of) => of.oid == oid,
        SqlType::Array(element) => uses(element, oid),
        _ => false,
    }
}

/// The objects among these definitions that depend on a type.
fn dependents(version: &Version, definitions: &[Definition], oid: u32) -> Vec<Dependent> {
    let has = |kind: DefinitionKind, name: &str| {
        definitions.iter().any(|one| one.kind == kind && one.name == name)
    };
    let mut found = Vec::new();
    let tables = version.catalog.tables.iter();
    for table in tables.filter(|table| has(DefinitionKind::Table, &table.name)) {
        let columns = table.columns.iter().filter(|column| uses(&column.sql_type, oid));
        found.extend(columns.map(|column| Dependent::Column {
            table: table.name.clone(),
            column: column.name.clone(),
        }));
    }
    let number = type_number(oid);
    let views = definitions.iter().filter(|one| one.kind == DefinitionKind::View);
    found.extend(
        views
            .filter(|view| view.body.contains(&number))
            .map(|view| Dependent::View(view.name.clone())),
    );
    for routine in version.routines.iter().filter(|one| is_of_signature(one, oid)) {
        let name = &routine.signature.name;
        found.extend(has(DefinitionKind::Routine, name).then(|| Dependent::Routine(name.clone())));
    }
    found
}

/// Whether a routine takes or returns values of a type.
fn is_of_signature(routine: &crate::catalog::VersionRoutine, oid: u32) -> bool {
    use sql::procedure::Returns;
    let signature = &routine.signature;
    let is_of = |at: usize| uses(&signature.variables[at].sql_type, oid);
    let returns = match &signature.returns {
        Returns::Nothing => false,
        Returns::Value(of) => uses(of, oid),
        Returns::Row(fields) | Returns::Rows(fields) => {
            fields.iter().any(|field| uses(&field.sql_type, oid))
        }
    };
    returns || signature.parameters.iter().any(|one| is_of(one.variable))
}

/// Refuses another name of a type that routines name.
fn refuse_routines(version: &Version, of: &EnumType) -> Result<(), SqlError> {
    let names = |one: &&crate::catalog::VersionRoutine| {
        let variables = one.signature.variables.iter();
        is_of_signature(one, of.oid) || variables.into_iter().any(|own| uses(&own.sql_type, of.oid))
    };
    let Some(routine) = version.routines.iter().find(names) else { return Ok(()) };
    let name = own_name(&routine.signature.name);
    let message = format!("another name of a type that the function {name} uses is not supported");
    Err(SqlError::unsupported(message).hint("Drop the function first, and create it again."))
}
