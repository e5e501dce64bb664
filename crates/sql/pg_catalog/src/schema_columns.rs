//! The rows of `information_schema.columns` [PostgreSQL 15, 37.17].

use crate::fill::{default_text, has_default};
use crate::names::type_row;
use crate::world::{World, type_name};
use sql::catalog::{Identity, TableColumn};
use sql::types::Numeric;
use sql::{SqlType, Table};
use sql_session::oid;
use sql_value::Value;

/// Bytes of the longest character.
const CHARACTER_BYTES: i64 = 4;
/// Bytes that a text without a length may have.
const TEXT_BYTES: i64 = 1 << 30;

fn text(text: impl AsRef<str>) -> Value {
    Value::text(text.as_ref())
}

/// The values of a table's column; those of other columns of the relation are null.
pub(crate) fn values(
    world: &World,
    table: &Table,
    (at, column): (usize, &TableColumn),
) -> Vec<(&'static str, Value)> {
    let TableColumn { name, sql_type, nullable, identity, .. } = column;
    let default = column.default.as_ref().filter(|_| has_default(column));
    let default = default.map(|own| text(default_text(world, table, own, &sql_type.base().name())));
    let own = world.udt(sql_type);
    let udt = type_row(Some(i64::from(oid::of_type(sql_type))), "").map(|(_, name)| text(name));
    let mut values = vec![
        ("table_catalog", text(&world.database)),
        ("table_schema", text(world.schema_of(&table.name))),
        ("table_name", text(&table.name)),
        ("column_name", text(name)),
        ("ordinal_position", Value::Int(at as i64 + 1)),
        ("column_default", default.unwrap_or(Value::Null)),
        ("is_nullable", text(if *nullable { "YES" } else { "NO" })),
        ("data_type", text(data_type(sql_type))),
        ("udt_catalog", text(&world.database)),
        ("udt_schema", own.clone().map_or_else(|| text("pg_catalog"), |own| own.0)),
        ("udt_name", own.map(|own| own.1).or(udt).unwrap_or(Value::Null)),
        ("dtd_identifier", text((at + 1).to_string())),
        ("is_self_referencing", text("NO")),
        ("is_identity", text(if identity.is_some() { "YES" } else { "NO" })),
        ("identity_cycle", text("NO")),
        ("is_generated", text("NEVER")),
        ("is_updatable", text("YES")),
    ];
    if let Some(identity) = identity {
        let form = if *identity == Identity::Always { "ALWAYS" } else { "BY DEFAULT" };
        let most = match sql_type {
            SqlType::Int2 => i64::from(i16::MAX),
            SqlType::Int4 => i64::from(i32::MAX),
            _ => i64::MAX,
        };
        values.push(("identity_generation", text(form)));
        values.push(("identity_start", text("1")));
        values.push(("identity_increment", text("1")));
        values.push(("identity_minimum", text("1")));
        values.push(("identity_maximum", text(most.to_string())));
    }
    values.extend(sizes(sql_type).into_iter().map(|(name, size)| (name, Value::Int(size))));
    values
}

fn data_type(sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::Char(_) => "character".to_owned(),
        SqlType::Array(_) => "ARRAY".to_owned(),
        SqlType::Enum(_) => "USER-DEFINED".to_owned(),
        other => type_name(&other.base()),
    }
}

/// Lengths and precisions.
fn sizes(sql_type: &SqlType) -> Vec<(&'static str, i64)> {
    let binary = |bits: i64| vec![("numeric_precision", bits), ("numeric_precision_radix", 2)];
    let whole = |bits: i64| [binary(bits), vec![("numeric_scale", 0)]].concat();
    match sql_type {
        SqlType::Varchar(Some(length)) | SqlType::Char(Some(length)) => vec![
            ("character_maximum_length", i64::from(*length)),
            ("character_octet_length", i64::from(*length) * CHARACTER_BYTES),
        ],
        sql_type if sql_type.is_text() => vec![("character_octet_length", TEXT_BYTES)],
        SqlType::Int2 => whole(16),
        SqlType::Int4 => whole(32),
        SqlType::Int8 => whole(64),
        SqlType::Float4 => binary(24),
        SqlType::Float8 => binary(53),
        SqlType::Numeric(Numeric::Declared { precision, scale }) => vec![
            ("numeric_precision", i64::from(*precision)),
            ("numeric_precision_radix", 10),
            ("numeric_scale", i64::from(*scale)),
        ],
        SqlType::Numeric(_) => vec![("numeric_precision_radix", 10)],
        SqlType::Date => vec![("datetime_precision", 0)],
        SqlType::Time(digits) | SqlType::Timestamp(digits) | SqlType::TimestampTz(digits) => {
            vec![("datetime_precision", digits.map_or(6, i64::from))]
        }
        SqlType::Interval => vec![("datetime_precision", 6)],
        _ => Vec::new(),
    }
}
