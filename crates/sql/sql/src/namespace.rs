//! Schemas of SQL sessions: full names of objects, and the schemas that statements search.
//!
//! The catalog knows an object by its full name, one text that no other object of its kind has. The
//! full name of an object of `public` is its own name. That of an object of another schema begins
//! with the schema's number between two characters that names of users do not have:
//!
//! ```text
//! t           public.t
//! <16390>t    t in the schema with number 16390
//! <0>t        t in no schema: a name that nothing has
//! ```
//!
//! A schema keeps its number when it gets another name, so full names stay.
//!
//! Decision: docs/decisions/0369-an-object-has-one-full-name-with-the-number-of-its-schema.md

use crate::reserved::needs_quotes;
use std::borrow::Cow;
use std::sync::Arc;

/// The number of the schema `public`, as in PostgreSQL.
pub const PUBLIC: i64 = 2200;
/// The number that no schema has.
const NOWHERE: i64 = 0;
/// The characters around the number of a schema, from the private use area of Unicode. They are
/// no control characters, which the engine refuses in names of indexes.
const OPEN: char = '\u{f8e0}';
const CLOSE: char = '\u{f8e1}';
/// The first byte of both in UTF-8.
const FIRST_BYTE: u8 = 0xef;

/// The full name of an object.
pub fn full_name(schema: i64, name: &str) -> String {
    match schema {
        PUBLIC => name.to_owned(),
        schema => format!("{OPEN}{schema}{CLOSE}{name}"),
    }
}

/// The full name of an object that does not exist.
pub fn nowhere(name: &str) -> String {
    full_name(NOWHERE, name)
}

/// A name of a statement, with its schema if it has one: not yet a full name.
pub fn written_name(schema: Option<&str>, name: &str) -> String {
    match schema {
        Some(schema) => format!("{OPEN}.{schema}{CLOSE}{name}"),
        None => name.to_owned(),
    }
}

/// A name for a type that stays when the type gets another one: its number, in no schema.
pub fn type_number(oid: u32) -> String {
    nowhere(&oid.to_string())
}

/// The name of a type in messages: its schema, also `public`, and the name as SQL writes it.
pub fn shown_type(full: &str) -> String {
    let (schema, own) = split(full);
    let is_plain =
        |letter: char| letter == '_' || letter.is_ascii_digit() || letter.is_ascii_lowercase();
    let begins = own.starts_with(|letter: char| !letter.is_ascii_digit());
    let is_word = begins && own.chars().all(is_plain) && !needs_quotes(own);
    match !is_word {
        true => format!("{OPEN}{schema}{CLOSE}\"{}\"", own.replace('"', "\"\"")),
        false => format!("{OPEN}{schema}{CLOSE}{own}"),
    }
}

/// The parts of a [`written_name`].
pub fn written_parts(written: &str) -> (Option<&str>, &str) {
    let marked = written.strip_prefix(OPEN).and_then(|rest| rest.strip_prefix('.'));
    let parts = marked.and_then(|rest| rest.split_once(CLOSE));
    parts.map_or((None, written), |(schema, name)| (Some(schema), name))
}

/// A full name that says its schema also for `public`: it means the same for every search path.
pub fn pinned_name(full: &str) -> String {
    match split(full) {
        (PUBLIC, name) => format!("{OPEN}{PUBLIC}{CLOSE}{name}"),
        _ => full.to_owned(),
    }
}

/// The full name that a [`pinned_name`] is for.
pub fn unpinned_name(name: &str) -> String {
    let (schema, own) = split(name);
    full_name(schema, own)
}

/// The number of the schema and the object's own name.
pub fn split(full: &str) -> (i64, &str) {
    let marked = full.strip_prefix(OPEN).and_then(|rest| rest.split_once(CLOSE));
    marked.map_or((PUBLIC, full), |(schema, name)| (schema.parse().unwrap_or(NOWHERE), name))
}

/// The number of an object's schema.
pub fn schema_of(full: &str) -> i64 {
    split(full).0
}

/// An object's name without its schema.
pub fn own_name(full: &str) -> &str {
    split(full).1
}

/// The full name of an object in the schema of `other`; a full name with a schema stays.
pub fn beside(other: &str, name: &str) -> String {
    match is_marked(name) {
        true => name.to_owned(),
        false => full_name(schema_of(other), name),
    }
}

/// Whether a text has a character that only full names have.
pub fn is_marked(text: &str) -> bool {
    // Most texts do not even have the first byte of these characters.
    text.as_bytes().contains(&FIRST_BYTE) && text.contains([OPEN, CLOSE])
}

/// A text in which `shown` replaces each schema of a full name. It takes the number of the schema,
/// the text before it and the text behind it.
pub fn replace_schemas<'t>(
    text: &'t str,
    shown: impl Fn(i64, &str, &str) -> String,
) -> Cow<'t, str> {
    if !is_marked(text) {
        return Cow::Borrowed(text);
    }
    let (mut result, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, behind)) = rest.split_once(OPEN) {
        result.push_str(before);
        rest = behind;
        if let Some((schema, behind)) = behind.split_once(CLOSE) {
            let schema = schema.parse().unwrap_or(NOWHERE);
            let shown = shown(schema, &result, behind);
            result.push_str(&shown);
            rest = behind;
        }
    }
    result.push_str(rest);
    Cow::Owned(result)
}

/// A text without the schemas of full names.
pub fn without_schemas(text: &str) -> Cow<'_, str> {
    replace_schemas(text, |_, _, _| String::new())
}

/// The schemas of a catalog.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schemas {
    /// Numbers and names of those beside `public`.
    pub created: Vec<(i64, String)>,
    /// Whether `public` was dropped.
    pub lacks_public: bool,
}

impl Schemas {
    /// The number of a schema.
    pub fn find(&self, name: &str) -> Option<i64> {
        if name == "public" && !self.lacks_public {
            return Some(PUBLIC);
        }
        self.created.iter().find(|(_, own)| own == name).map(|(id, _)| *id)
    }

    /// The name of a schema.
    pub fn name(&self, id: i64) -> Option<&str> {
        if id == PUBLIC && !self.lacks_public {
            return Some("public");
        }
        self.created.iter().find(|(own, _)| *own == id).map(|(_, name)| &**name)
    }

    /// Numbers and names of all schemas.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &str)> {
        let public = (!self.lacks_public).then_some((PUBLIC, "public"));
        public.into_iter().chain(self.created.iter().map(|(id, name)| (*id, &**name)))
    }

    /// The first object that a name of one or two parts may mean; `find` takes full names.
    pub fn lookup<T>(
        &self,
        path: &SearchPath,
        parts: &[impl AsRef<str>],
        mut find: impl FnMut(&str) -> Option<T>,
    ) -> Option<T> {
        match parts {
            [name] if is_marked(name.as_ref()) => find(&unpinned_name(name.as_ref())),
            [name] => {
                path.schemas().iter().find_map(|schema| find(&full_name(*schema, name.as_ref())))
            }
            [schema, name] => {
                let schema = self.find(schema.as_ref())?;
                find(&full_name(schema, name.as_ref()))
            }
            _ => None,
        }
    }
}

/// The schemas that names without one are looked up in, by number, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchPath(Option<Arc<[i64]>>);

impl SearchPath {
    pub fn new(schemas: &[i64]) -> Self {
        Self((*schemas != [PUBLIC]).then(|| schemas.into()))
    }

    pub fn schemas(&self) -> &[i64] {
        self.0.as_deref().unwrap_or(&[PUBLIC])
    }

    /// Whether it is `public` alone.
    pub fn is_default(&self) -> bool {
        self.0.is_none()
    }
}

/// The path of workload folders: `public`.
impl Default for SearchPath {
    fn default() -> Self {
        Self(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_names_have_their_schema() {
        let full = full_name(16_390, "t");
        assert_eq!(split(&full), (16_390, "t"));
        assert_eq!((full_name(PUBLIC, "t").as_str(), split("t")), ("t", (PUBLIC, "t")));
        assert_eq!(unpinned_name(&pinned_name("t")), "t");
        assert_eq!(written_parts(&written_name(Some("s"), "t")), (Some("s"), "t"));
        assert_eq!((written_parts("t"), written_parts(&full)), ((None, "t"), (None, &*full)));
        assert_eq!(beside(&full, "u"), full_name(16_390, "u"));
        assert_eq!(beside("t", &full), full);
        let text = format!("a \"{full}\" and {}", nowhere("u"));
        assert_eq!(without_schemas(&text), "a \"t\" and u");
        let shown = replace_schemas(&text, |schema, before, _| match before.ends_with('"') {
            true => String::new(),
            false => format!("s{schema}."),
        });
        assert_eq!(shown, "a \"t\" and s0.u");
    }

    #[test]
    fn names_are_found_along_the_path() {
        let schemas = Schemas { created: vec![(7, "s".into())], lacks_public: false };
        let exists =
            |full: &str| (full == "t" || full == full_name(7, "t")).then(|| schema_of(full));
        let find =
            |path: &[i64], parts: &[&str]| schemas.lookup(&SearchPath::new(path), parts, exists);
        assert_eq!(find(&[7, PUBLIC], &["t"]), Some(7));
        assert_eq!(find(&[PUBLIC, 7], &["t"]), Some(PUBLIC));
        assert_eq!(find(&[], &["t"]), None);
        assert_eq!(find(&[], &["s", "t"]), Some(7));
        assert_eq!(find(&[7], &["public", "t"]), Some(PUBLIC));
        assert_eq!(find(&[7], &["r", "t"]), None);
    }
}
