//! Enumerated types: rows of `pg_type` and `pg_enum`, and names.

use crate::fill::{Filler, Row, namespace, text, types};
use crate::names::split_name;
use crate::relations;
use crate::world::{World, quoted};
use sql::namespace::{own_name, replace_schemas, shown_type};
use sql::{EnumType, SqlType};
use sql_session::{Secured, oid};
use sql_value::Value;

/// The number of the row of a label.
fn label_oid(of: &EnumType, at: usize) -> i64 {
    (1 << 27) + i64::from(of.oid) * 1024 + at as i64
}

impl World {
    /// The type with this number, and whether the number is that of its arrays.
    fn enum_type(&self, number: i64) -> Option<(&EnumType, bool)> {
        let number = u32::try_from(number).ok()?;
        if let Some(of) = self.types.numbered(number) {
            return Some((of, false));
        }
        let of = oid::element_of_enum(number).and_then(|element| self.types.numbered(element));
        of.map(|of| (&**of, true))
    }

    /// The name of an enumerated type or its arrays.
    pub(crate) fn enum_name(&self, number: i64) -> Option<String> {
        let (of, is_array) = self.enum_type(number)?;
        let brackets = if is_array { "[]" } else { "" };
        Some(self.shown(&shown_type(&of.name)) + brackets)
    }

    /// The number of the type that a name means.
    pub(crate) fn enum_named(&self, name: &str) -> Option<i64> {
        let (name, is_array) =
            name.trim().strip_suffix("[]").map_or((name, false), |one| (one, true));
        let of = self.types.find(&self.path, &split_name(name))?;
        Some(if is_array { oid::array_of_enum(of.oid) } else { of.oid }.into())
    }

    /// Whether the search path finds a type by its name alone.
    pub(crate) fn is_type_visible(&self, number: i64) -> bool {
        self.enum_type(number).is_none_or(|(of, _)| self.finds_type(of))
    }

    fn finds_type(&self, of: &EnumType) -> bool {
        self.types.find(&self.path, &[own_name(&of.name)]).is_some_and(|found| **found == *of)
    }

    /// A text with the schemas of types that the search path does not find.
    pub(crate) fn shown(&self, text: &str) -> String {
        let shown = |schema: i64, _: &str, behind: &str| {
            let is_it = |of: &&std::sync::Arc<EnumType>| {
                let name = shown_type(&of.name);
                let own = replace_schemas(&name, |_, _, _| String::new()).into_owned();
                sql::namespace::schema_of(&of.name) == schema && behind.starts_with(&own)
            };
            let longest = |of: &&std::sync::Arc<EnumType>| of.name.len();
            match self.types.iter().filter(is_it).max_by_key(longest) {
                Some(of) if !self.finds_type(of) => {
                    format!("{}.", quoted(self.schema_of(&of.name)))
                }
                _ => String::new(),
            }
        };
        replace_schemas(text, shown).into_owned()
    }

    /// Schema and name of an enumerated type or its arrays.
    pub(crate) fn udt(&self, sql_type: &SqlType) -> Option<(Value, Value)> {
        match sql_type {
            SqlType::Enum(of) => Some((text(self.schema_of(&of.name)), text(own_name(&of.name)))),
            SqlType::Array(element) => {
                let SqlType::Enum(of) = &**element else { return None };
                Some((text(self.schema_of(&of.name)), text(format!("_{}", own_name(&of.name)))))
            }
            _ => None,
        }
    }

    /// The rows of `pg_type` of an enumerated type, if the number is its own or its arrays'.
    pub(crate) fn enum_types(&self, number: i64) -> Vec<Row> {
        let relation = relations::find(None, "pg_type").expect("it is in the list");
        let filler = Filler { relation, world: self };
        self.enum_type(number).map(|(of, _)| filler.type_rows(of)).unwrap_or_default()
    }
}

impl Filler<'_> {
    pub(crate) fn all_types(&self) -> Vec<Row> {
        let own = self.world.types.iter().flat_map(|of| self.type_rows(of));
        types().iter().cloned().chain(own).collect()
    }

    /// The rows of a type and of its arrays.
    fn type_rows(&self, of: &EnumType) -> Vec<Row> {
        let array = i64::from(oid::array_of_enum(of.oid));
        let names = |names: [&'static str; 4]| {
            ["typinput", "typoutput", "typreceive", "typsend"].into_iter().zip(names.map(text))
        };
        let owner = Value::Int(self.world.owner(of.oid.into()));
        let common = [
            ("typnamespace", namespace(&of.name)),
            ("typowner", owner),
            ("typisdefined", Value::Bool(true)),
            ("typdelim", text(",")),
            ("typalign", text("i")),
            ("typtypmod", Value::Int(-1)),
        ];
        let mut own = vec![
            ("oid", Value::Int(of.oid.into())),
            ("typname", text(&of.name)),
            ("typlen", Value::Int(4)),
            ("typbyval", Value::Bool(true)),
            ("typtype", text("e")),
            ("typcategory", text("E")),
            ("typarray", Value::Int(array)),
            ("typstorage", text("p")),
            ("typacl", self.world.grants(Secured::Relation(of.oid.into()))),
        ];
        own.extend(common.clone());
        own.extend(names(["enum_in", "enum_out", "enum_recv", "enum_send"]));
        let mut arrays = vec![
            ("oid", Value::Int(array)),
            ("typname", text(format!("_{}", own_name(&of.name)))),
            ("typlen", Value::Int(-1)),
            ("typtype", text("b")),
            ("typcategory", text("A")),
            ("typsubscript", text("array_subscript_handler")),
            ("typelem", Value::Int(of.oid.into())),
            ("typanalyze", text("array_typanalyze")),
            ("typstorage", text("x")),
        ];
        arrays.extend(common);
        arrays.extend(names(["array_in", "array_out", "array_recv", "array_send"]));
        vec![self.row(&own), self.row(&arrays)]
    }

    pub(crate) fn enum_labels(&self) -> Vec<Row> {
        let of_type = |of: &std::sync::Arc<EnumType>| {
            let row = |(at, (_, label)): (usize, &(i64, String))| {
                self.row(&[
                    ("oid", Value::Int(label_oid(of, at))),
                    ("enumtypid", Value::Int(of.oid.into())),
                    ("enumsortorder", Value::Float((at + 1) as f64)),
                    ("enumlabel", text(label)),
                ])
            };
            of.labels.iter().enumerate().map(row).collect::<Vec<_>>()
        };
        self.world.types.iter().flat_map(of_type).collect()
    }
}
