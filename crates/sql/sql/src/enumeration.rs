//! Enumerated types of SQL sessions.
//!
//! A value is the place of its label among the others, a number of eight bytes: columns store it,
//! keys and comparisons have its order, and a label with another name keeps its rows. Labels have
//! room between them for those that are added later.
//!
//! Decision: docs/decisions/0370-values-of-enumerated-types-are-places.md

use crate::namespace::{
    PUBLIC, Schemas, SearchPath, schema_of, shown_type, split, without_schemas,
};
use std::fmt;
use std::sync::Arc;

/// The room between two labels of a new type: a label can be added between two neighbours 40 times
/// in the same direction.
const ROOM: i64 = 1 << 40;

/// An enumerated type.
#[derive(Clone)]
pub struct EnumType {
    /// The number of its definition.
    pub oid: u32,
    /// The full name.
    pub name: String,
    /// Places and labels, in order.
    pub labels: Vec<(i64, String)>,
    /// Labels that places had before, which texts of definitions may have.
    pub former: Vec<(i64, String)>,
    /// Whether former labels are read, too.
    pub reads_former: bool,
}

/// Only the number: a type stays the same one when it gets labels or another name.
impl PartialEq for EnumType {
    fn eq(&self, other: &Self) -> bool {
        self.oid == other.oid
    }
}

impl Eq for EnumType {}

/// Only the name: labels are many.
impl fmt::Debug for EnumType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

impl EnumType {
    pub fn new(oid: u32, name: &str, labels: &[String]) -> Self {
        let places = (1..).map(|at: i64| at * ROOM);
        Self {
            oid,
            name: name.to_owned(),
            labels: places.zip(labels.iter().cloned()).collect(),
            former: Vec::new(),
            reads_former: false,
        }
    }

    /// The label at a place.
    pub fn label(&self, place: i64) -> Option<&str> {
        let at = self.labels.binary_search_by_key(&place, |(place, _)| *place);
        at.ok().map(|at| &*self.labels[at].1)
    }

    /// The place of a label.
    pub fn place(&self, label: &str) -> Option<i64> {
        let former = if self.reads_former { &self.former[..] } else { &[] };
        let mut all = self.labels.iter().chain(former);
        all.find(|(_, own)| own == label).map(|(place, _)| *place)
    }

    /// The message that a text is no label.
    pub fn invalid(&self, text: &str) -> String {
        format!("invalid input value for enum {}: \"{text}\"", self.shown())
    }

    /// The name in messages.
    pub fn shown(&self) -> String {
        let shown = shown_type(&self.name);
        match schema_of(&self.name) == PUBLIC {
            true => without_schemas(&shown).into_owned(),
            false => shown,
        }
    }

    /// Adds a label before the one at this position; at the end if there is none. `false` if there
    /// is no room between its neighbours.
    pub fn insert(&mut self, at: usize, label: &str) -> bool {
        let low = at.checked_sub(1).map(|before| self.labels[before].0);
        let high = self.labels.get(at).map(|next| next.0);
        let place = match (low, high) {
            (None, None) => Some(ROOM),
            (Some(low), None) => low.checked_add(ROOM),
            (None, Some(high)) => high.checked_sub(ROOM),
            (Some(low), Some(high)) => {
                Some(low + (high - low) / 2).filter(|place| *place > low && *place < high)
            }
        };
        if let Some(place) = place {
            self.labels.insert(at, (place, label.to_owned()));
        }
        place.is_some()
    }
}

/// The enumerated types of a catalog. Workload folders have none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Types(Option<Arc<(Schemas, Vec<Arc<EnumType>>)>>);

impl Types {
    pub fn new(schemas: Schemas, types: Vec<Arc<EnumType>>) -> Self {
        Self((!types.is_empty()).then(|| Arc::new((schemas, types))))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<EnumType>> {
        self.0.iter().flat_map(|types| &types.1)
    }

    /// The same types for texts of definitions, which may have former labels.
    #[must_use]
    pub fn of_definitions(&self) -> Self {
        let Some((schemas, types)) = self.0.as_deref() else { return Self::default() };
        let lenient = types.iter().map(|one| match one.former.is_empty() {
            true => one.clone(),
            false => Arc::new(EnumType { reads_former: true, ..(**one).clone() }),
        });
        Self::new(schemas.clone(), lenient.collect())
    }

    /// The type with this full name.
    pub fn get(&self, full: &str) -> Option<&Arc<EnumType>> {
        self.iter().find(|one| one.name == full)
    }

    /// The type with this number.
    pub fn numbered(&self, oid: u32) -> Option<&Arc<EnumType>> {
        self.iter().find(|one| one.oid == oid)
    }

    /// The type that a name of one or two parts means.
    pub fn find(&self, path: &SearchPath, parts: &[impl AsRef<str>]) -> Option<&Arc<EnumType>> {
        let (schemas, types) = self.0.as_deref()?;
        // The form of `SqlType::written`.
        if let [name] = parts
            && let (0, number) = split(name.as_ref())
        {
            return types.iter().find(|one| number.parse() == Ok(one.oid));
        }
        schemas.lookup(path, parts, |full| types.iter().find(|one| one.name == full))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::SqlType;

    #[test]
    fn labels_are_added_everywhere() {
        let labels = ["low", "high"].map(str::to_owned);
        let mut levels = EnumType::new(20_000, "level", &labels);
        assert!(levels.insert(1, "middle") && levels.insert(0, "none") && levels.insert(4, "top"));
        let names: Vec<&str> = levels.labels.iter().map(|(_, label)| &**label).collect();
        assert_eq!(names, ["none", "low", "middle", "high", "top"]);
        assert!(levels.labels.is_sorted_by_key(|(place, _)| *place));
        let place = levels.place("middle").expect("it was added");
        assert_eq!(levels.label(place), Some("middle"));
        assert_eq!((levels.label(7), levels.place("nothing")), (None, None));
        let rooms = (0..50).take_while(|_| levels.insert(2, "more")).count();
        assert_eq!(rooms, 39, "each one halves the room");
    }

    #[test]
    fn types_are_found_by_name_and_number() {
        let schemas = Schemas { created: vec![(7, "s".into())], lacks_public: false };
        let own = Arc::new(EnumType::new(20_000, &crate::namespace::full_name(7, "Level"), &[]));
        let types = Types::new(schemas, vec![own.clone()]);
        let path = SearchPath::default();
        assert_eq!(types.find(&path, &["Level"]), None);
        assert_eq!(types.find(&path, &["s", "Level"]), Some(&own));
        let written = SqlType::Enum(own.clone()).written();
        assert_eq!(types.find(&path, &[written.trim_matches('"')]), Some(&own));
        let shown = SqlType::Array(Box::new(SqlType::Enum(own))).to_string();
        assert_eq!(without_schemas(&shown), "\"Level\"[]");
    }
}
