//! Names of relations and types, and their numbers.

use crate::fill::{INFORMATION_SCHEMA, types};
use crate::relations::{self, Relation};
use crate::world::{TableInfo, World, quoted};
use sql_value::Value;

/// The number of a relation. Those of `information_schema` follow their place in the list.
pub fn relation_oid(relation: &Relation) -> i64 {
    if relation.oid != 0 {
        return relation.oid;
    }
    let mut all = relations::all().iter();
    let at = all.position(|other| std::ptr::eq(other, relation)).expect("it is in the list");
    INFORMATION_SCHEMA + 1 + at as i64
}

/// The schema of a relation.
pub fn namespace_of(oid: i64, world: &World) -> Option<&'static str> {
    if world.table(oid).is_some() || world.index(oid).is_some() || world.view(oid).is_some() {
        return Some("public");
    }
    if world.sequence(oid).is_some() {
        return Some("public");
    }
    relations::all().iter().find(|one| relation_oid(one) == oid).map(|relation| relation.schema)
}

/// The name of a relation, index or catalog relation with this number, as `regclass` prints it.
pub fn class_name(oid: i64, world: &World) -> Option<String> {
    if let Some(table) = world.table(oid) {
        return Some(quoted(&table.table.name));
    }
    if let Some((_, index)) = world.index(oid) {
        return Some(quoted(index.name));
    }
    if let Some(view) = world.view(oid) {
        return Some(quoted(&view.view.name));
    }
    if let Some(sequence) = world.sequence(oid) {
        return Some(quoted(&sequence.name));
    }
    let relation = relations::all().iter().find(|relation| relation_oid(relation) == oid)?;
    Some(match relation.schema {
        "pg_catalog" => relation.name.to_owned(),
        schema => format!("{schema}.{}", relation.name),
    })
}

/// The number of a relation or index by its name, which may have a schema and quotes.
pub fn class_oid(name: &str, world: &World) -> Option<i64> {
    let parts: Vec<String> = split_name(name);
    let (schema, name) = match parts.as_slice() {
        [name] => (None, name),
        [schema, name] => (Some(schema.as_str()), name),
        _ => return None,
    };
    if matches!(schema, None | Some("public")) {
        let named = |table: &&TableInfo| table.table.name == *name;
        if let Some(table) = world.tables.iter().find(named) {
            return Some(table.oid);
        }
        if let Some(view) = world.views.iter().find(|view| view.view.name == *name) {
            return Some(view.oid);
        }
        if let Some(sequence) = world.sequence_named(name) {
            return Some(crate::sequences::oid_of(sequence));
        }
        let indexes = world.tables.iter().flat_map(TableInfo::indexes);
        if let Some(index) = indexes.into_iter().find(|index| index.name == name.as_str()) {
            return Some(index.oid);
        }
    }
    relations::find(schema, name).map(relation_oid)
}

/// The parts of a name, folded to lower case outside of double quotes.
fn split_name(name: &str) -> Vec<String> {
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

/// The row of `pg_type` with this number or name.
pub fn type_row(oid: Option<i64>, name: &str) -> Option<(i64, &'static str)> {
    let found = types().iter().find(|row| match oid {
        Some(oid) => row[0] == Value::Int(oid),
        None => row[1].as_text() == Some(name),
    })?;
    Some((found[0].as_int()?, found[1].as_text()?))
}
