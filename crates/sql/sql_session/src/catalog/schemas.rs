//! The schemas of a catalog, and the paths in which names are looked up.

use super::{Definition, DefinitionKind, Version};
use crate::access::object::{Kind, Object};
use crate::access::privilege::Privileges;
use sql::expression::{Expr, ExprKind};
use sql::function::Function;
use sql::namespace::{PUBLIC, is_marked, pinned_name};
use sql::{Schemas, SearchPath, Table};

/// The body of the definition that says that `public` was dropped.
pub(crate) const DROPPED: &str = "DROP SCHEMA";

/// The schemas that definitions make.
pub(crate) fn read_schemas(definitions: &[Definition]) -> Schemas {
    let mut schemas = Schemas::default();
    for one in definitions.iter().filter(|one| one.kind == DefinitionKind::Schema) {
        match &*one.body {
            DROPPED => schemas.lacks_public = true,
            _ => schemas.created.push((one.id, one.name.clone())),
        }
    }
    schemas
}

/// The path that was stored with a routine or view; `public` if none was.
pub(crate) fn stored_path(definitions: &[Definition], id: i64) -> SearchPath {
    let is_it = |one: &&Definition| one.kind == DefinitionKind::SearchPath && one.table == id;
    let stored = definitions.iter().find(is_it);
    stored.map_or_else(SearchPath::default, |one| {
        let schemas: Vec<i64> = one.body.split(' ').filter_map(|id| id.parse().ok()).collect();
        SearchPath::new(&schemas)
    })
}

/// Stores the path of a routine or view among definitions.
pub(crate) fn store_path(definitions: &mut Vec<Definition>, of: i64, path: &SearchPath) {
    definitions.retain(|one| one.kind != DefinitionKind::SearchPath || one.table != of);
    if path.is_default() {
        return;
    }
    let schemas: Vec<String> = path.schemas().iter().map(i64::to_string).collect();
    definitions.push(Definition {
        id: super::numbers::next_id(definitions),
        kind: DefinitionKind::SearchPath,
        table: of,
        name: String::new(),
        physical: String::new(),
        body: schemas.join(" "),
    });
}

/// Drops the paths of routines and views that are gone.
pub(crate) fn forget_paths(definitions: &mut Vec<Definition>) {
    let owners: Vec<i64> = definitions.iter().map(|one| one.id).collect();
    definitions.retain(|one| one.kind != DefinitionKind::SearchPath || owners.contains(&one.table));
}

/// The object of a schema that has owner and grants.
pub(crate) fn schema_object(schema: i64) -> Object {
    match schema {
        PUBLIC => Object::Schema,
        id => Object::Definition(id),
    }
}

impl Version {
    /// The schemas of a path that exist and that the role may use.
    pub fn search_path(&self, names: &[String], role: i64) -> SearchPath {
        let mut found: Vec<i64> = Vec::new();
        for name in names {
            let Some(schema) = self.catalog.schemas.find(name) else { continue };
            if !found.contains(&schema) && self.may_use(schema, role) {
                found.push(schema);
            }
        }
        SearchPath::new(&found)
    }

    /// Whether a role may name objects of a schema.
    pub fn may_use(&self, schema: i64, role: i64) -> bool {
        let object = schema_object(schema);
        let (has, _) = self.objects.privileges(&self.roles, role, object, Kind::Schema);
        has.has_all(Privileges::USAGE)
    }

    /// Whether a table, index, view or sequence has this full name.
    pub fn has_relation(&self, full: &str) -> bool {
        self.table(full).is_some()
            || self.catalog.view(full).is_some()
            || self.table_of_index(full).is_some()
            || self.sequences.contains_key(full)
    }

    /// The name of a schema.
    pub fn schema_name(&self, id: i64) -> &str {
        self.catalog.schemas.name(id).unwrap_or_default()
    }
}

/// Makes the sequences in the defaults of stored tables independent of the paths of sessions.
pub(crate) fn pin_sequences(table: &mut Table) {
    for default in table.columns.iter_mut().filter_map(|column| column.default.as_mut()) {
        pin(default);
    }
}

fn pin(value: &mut Expr) {
    if let ExprKind::Function { function: Function::NextValue, arguments } = &mut value.kind
        && let [name] = &mut arguments[..]
        && let ExprKind::Text(name) = &mut name.kind
        && let [own] = &split_name(name)[..]
        && !is_marked(name)
    {
        *name = pinned_name(own);
    }
    value.for_each_child_mut(&mut |child| pin(child));
}

/// The parts of a name in a text, folded to lower case outside of double quotes.
pub(crate) fn split_name(name: &str) -> Vec<String> {
    let (mut parts, mut part, mut is_quoted) = (Vec::new(), String::new(), false);
    for letter in name.trim().chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '.' if !is_quoted => parts.push(std::mem::take(&mut part)),
            letter if is_quoted => part.push(letter),
            letter => part.extend(letter.to_lowercase()),
        }
    }
    parts.push(part);
    parts
}
