//! Names of relations and types, and their numbers.

use crate::fill::{INFORMATION_SCHEMA, types};
use crate::relations::{self, Relation};
use crate::world::World;
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

/// Whether the search path finds a relation by its name alone; `None` if there is none.
pub fn is_visible(oid: i64, world: &World) -> Option<bool> {
    if let Some(full) = world.relation_name(oid) {
        return Some(world.is_visible(full));
    }
    let relation = relations::all().iter().find(|one| relation_oid(one) == oid)?;
    Some(relation.schema != "information_schema")
}

/// The name of a relation, index or catalog relation with this number, as `regclass` prints it.
pub fn class_name(oid: i64, world: &World) -> Option<String> {
    if let Some(full) = world.relation_name(oid) {
        return Some(world.qualified(full));
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
    let of_user = world.named_relation(&parts);
    of_user.or_else(|| relations::find(schema, name).map(relation_oid))
}

/// The parts of a name, folded to lower case outside of double quotes.
pub fn split_name(name: &str) -> Vec<String> {
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
