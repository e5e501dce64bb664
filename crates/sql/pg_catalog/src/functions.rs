//! PostgreSQL's functions on the catalog.

use crate::evaluate::{Context, Layout, unsupported};
use crate::fill;
use crate::names;
use crate::operators::{bool_of, elements_of, int_of, text_of};
use crate::types::{self, folded};
use crate::world::World;
use sql::namespace::schema_of;
use sql_session::SqlError;
use sql_value::Value;
use sqlparser::ast::{self, Expr};

/// The name of a function, without `pg_catalog`.
pub fn name(function: &ast::Function) -> String {
    let last = function.name.0.last().and_then(|part| part.as_ident());
    last.map(folded).unwrap_or_default()
}

/// The arguments of a call; `*` is no argument.
pub fn arguments(function: &ast::Function) -> Result<Vec<&Expr>, SqlError> {
    let ast::FunctionArguments::List(list) = &function.args else { return Ok(Vec::new()) };
    let mut arguments = Vec::new();
    for argument in &list.args {
        match argument {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expression)) => {
                arguments.push(expression);
            }
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) => {}
            other => return Err(unsupported(format!("the argument `{other}`"))),
        }
    }
    Ok(arguments)
}

/// Functions that return a set of rows.
pub fn returns_set(name: &str) -> bool {
    matches!(
        name,
        "unnest"
            | "generate_series"
            | "generate_subscripts"
            | "pg_partition_ancestors"
            | "pg_options_to_table"
            | "aclexplode"
            | "_pg_expandarray"
            | "pg_show_all_settings"
    )
}

/// The rows of a function of [`returns_set`]; each has one value.
pub fn set(name: &str, values: &[Value]) -> Result<Vec<Value>, SqlError> {
    let number = |at: usize| values.get(at).and_then(int_of);
    Ok(match name {
        "unnest" => values.first().and_then(elements_of).unwrap_or_default(),
        "generate_series" => match (number(0), number(1), number(2).unwrap_or(1)) {
            (Some(from), Some(to), step) if step != 0 => {
                let count = ((to - from) / step).saturating_add(1).clamp(0, 1_000_000);
                (0..count).map(|at| Value::Int(from + at * step)).collect()
            }
            _ => Vec::new(),
        },
        "generate_subscripts" => {
            let count = values.first().and_then(elements_of).map_or(0, |elements| elements.len());
            (1..=count as i64).map(Value::Int).collect()
        }
        // Each element with its position, from 1: the fields `x` and `n`.
        "_pg_expandarray" => {
            let elements = values.first().and_then(elements_of).unwrap_or_default();
            let pair = |(element, at)| Value::Row([element, Value::Int(at)].into());
            elements.into_iter().zip(1..).map(pair).collect()
        }
        // No table has partitions; a table is its own ancestor only if it is partitioned.
        _ => Vec::new(),
    })
}

/// Functions that PostgreSQL allows without parentheses.
pub fn without_parentheses(name: &str, world: &World) -> Option<Value> {
    Some(match name {
        "current_user" | "user" | "current_role" => Value::text(&world.user),
        "session_user" => Value::text(&world.session_user),
        "current_catalog" => Value::text(&world.database),
        "current_schema" => current_schema(world),
        _ => return None,
    })
}

/// Calls a function that returns one value.
pub fn call(name: &str, values: &[Value], world: &World) -> Result<Value, SqlError> {
    let text = |at: usize| values.get(at).and_then(text_of);
    let number = |at: usize| values.get(at).and_then(int_of);
    let texts = |text: Option<String>| text.map_or(Value::Null, |text| Value::text(&text));
    Ok(match name {
        "current_database" | "current_catalog" => Value::text(&world.database),
        "current_user" | "user" => Value::text(&world.user),
        "session_user" => Value::text(&world.session_user),
        "current_schema" => current_schema(world),
        "current_schemas" => {
            let implicit = values.first().and_then(bool_of) == Some(true);
            let searched = world.path.schemas().iter().filter_map(|id| world.schemas.name(*id));
            let schemas = implicit.then_some("pg_catalog").into_iter().chain(searched);
            Value::Array(schemas.map(Value::text).collect())
        }
        "obj_description" => {
            texts(number(0).and_then(|oid| world.comment(oid, text(1).as_deref(), 0)))
        }
        "col_description" => {
            let place = number(0).zip(number(1));
            texts(place.and_then(|(oid, at)| world.comment(oid, Some("pg_class"), at)))
        }
        "version" => {
            let version = world.settings.iter().find(|(name, _)| name == "server_version");
            let version = version.map_or("15", |(_, value)| value.as_str());
            Value::text(&format!("PostgreSQL {version} (namdb)"))
        }
        "current_setting" => {
            let wanted = text(0).unwrap_or_default().to_lowercase();
            let found = world.settings.iter().find(|(name, _)| name.to_lowercase() == wanted);
            match (found, values.get(1).and_then(bool_of)) {
                (Some((_, value)), _) => Value::text(value),
                (None, Some(true)) => Value::Null,
                (None, _) => {
                    let message = format!("unrecognized configuration parameter \"{wanted}\"");
                    return Err(SqlError::new("42704", message));
                }
            }
        }
        name => return object(name, values, world),
    })
}

/// Functions on objects of the catalog.
fn object(name: &str, values: &[Value], world: &World) -> Result<Value, SqlError> {
    let text = |at: usize| values.get(at).and_then(text_of);
    let number = |at: usize| values.get(at).and_then(int_of);
    let texts = |text: Option<String>| text.map_or(Value::Null, |text| Value::text(&text));
    Ok(match name {
        "format_type" => texts(number(0).and_then(|oid| format_type(oid, number(1), world))),
        "to_regclass" => {
            text(0).and_then(|name| names::class_oid(&name, world)).map_or(Value::Null, Value::Int)
        }
        "to_regtype" => {
            text(0).and_then(|name| type_oid(&name, world)).map_or(Value::Null, Value::Int)
        }
        "to_regnamespace" => {
            text(0).and_then(|name| namespace_oid(&name, world)).map_or(Value::Null, Value::Int)
        }
        "quote_ident" => texts(text(0).map(|name| crate::world::quoted(&name))),
        "quote_literal" => texts(text(0).map(|text| format!("'{}'", text.replace('\'', "''")))),
        "acldefault" => crate::privileges::default_grants(
            &text(0).unwrap_or_default(),
            number(1).unwrap_or(0),
            world,
        ),
        "pg_get_function_arguments" | "pg_get_function_identity_arguments" => texts(
            number(0)
                .and_then(|oid| world.routine(oid))
                .map(|routine| world.shown(&routine.arguments())),
        ),
        "pg_get_function_result" => texts(
            number(0)
                .and_then(|oid| world.routine(oid))
                .and_then(|routine| routine.result())
                .map(|result| world.shown(&result)),
        ),
        "pg_get_function_sqlbody" => {
            let routine = number(0).and_then(|oid| world.routine(oid));
            texts(routine.and_then(|routine| routine.sql_body.clone()))
        }
        name => return about_object(name, values, world),
    })
}

/// Facts about objects: definitions, visibility, privileges, sizes.
fn about_object(name: &str, values: &[Value], world: &World) -> Result<Value, SqlError> {
    let text = |at: usize| values.get(at).and_then(text_of);
    let number = |at: usize| values.get(at).and_then(int_of);
    let texts = |text: Option<String>| text.map_or(Value::Null, |text| Value::text(&text));
    Ok(match name {
        "pg_get_userbyid" => {
            let oid = number(0).unwrap_or(0);
            let unknown = || format!("unknown (OID={oid})");
            Value::text(&world.role_name(oid).unwrap_or_else(unknown))
        }
        "has_table_privilege"
        | "has_schema_privilege"
        | "has_database_privilege"
        | "has_column_privilege"
        | "has_any_column_privilege"
        | "has_sequence_privilege"
        | "has_function_privilege" => return crate::privileges::has(name, world, values),
        "pg_has_role" => return crate::roles::has_role(world, values),
        "pg_encoding_to_char" => Value::text(if number(0) == Some(6) { "UTF8" } else { "" }),
        "pg_get_expr" => texts(text(0)),
        "pg_get_indexdef" => match (number(0), number(1).unwrap_or(0)) {
            (Some(oid), 0) => {
                let is_pretty = values.get(2) == Some(&Value::Bool(true));
                texts(world.index_definition(oid, is_pretty))
            }
            (Some(oid), column) => texts(index_column(oid, column, world)),
            (None, _) => Value::Null,
        },
        "pg_get_viewdef" => texts(match number(0) {
            Some(oid) => world.view(oid).map(|view| format!("{};", view.query)),
            None => None,
        }),
        "pg_get_constraintdef" => texts(number(0).and_then(|oid| world.constraint_definition(oid))),
        "pg_table_is_visible" => match number(0) {
            Some(oid) => names::is_visible(oid, world).map_or(Value::Null, Value::Bool),
            None => Value::Null,
        },
        "pg_function_is_visible" => {
            let routine = number(0).and_then(|oid| world.routine(oid));
            let is_in_path = |schema: i64| world.path.schemas().contains(&schema);
            let schema = routine.map(|routine| schema_of(&routine.signature.name));
            Value::Bool(schema.is_none_or(is_in_path))
        }
        "pg_type_is_visible" => Value::Bool(number(0).is_none_or(|oid| world.is_type_visible(oid))),
        "pg_collation_is_visible"
        | "pg_operator_is_visible"
        | "pg_opclass_is_visible"
        | "pg_opfamily_is_visible"
        | "pg_conversion_is_visible"
        | "pg_statistics_obj_is_visible"
        | "pg_ts_config_is_visible" => Value::Bool(true),
        name => return constant(name, values),
    })
}

/// Functions with the same answer for every object: privileges, sizes, descriptions.
fn constant(name: &str, values: &[Value]) -> Result<Value, SqlError> {
    let number = |at: usize| values.get(at).and_then(int_of);
    let texts = |text: Option<String>| text.map_or(Value::Null, |text| Value::text(&text));
    Ok(match name {
        "pg_relation_is_publishable" | "pg_is_in_recovery" | "pg_is_other_temp_schema" => {
            Value::Bool(false)
        }
        "pg_my_temp_schema" => Value::Int(0),
        "pg_backend_pid" => Value::Int(i64::from(std::process::id())),
        "pg_table_size"
        | "pg_relation_size"
        | "pg_total_relation_size"
        | "pg_database_size"
        | "pg_indexes_size"
        | "pg_tablespace_size" => Value::Int(0),
        "pg_size_pretty" => texts(number(0).map(|bytes| format!("{bytes} bytes"))),
        "shobj_description"
        | "pg_get_ruledef"
        | "pg_get_triggerdef"
        | "pg_get_functiondef"
        | "pg_get_statisticsobjdef_columns"
        | "pg_get_serial_sequence"
        | "pg_get_partkeydef"
        | "pg_tablespace_location"
        | "pg_get_partition_constraintdef"
        | "pg_char_to_encoding"
        | "pg_get_keywords"
        | "pg_stat_get_live_tuples"
        | "inet_server_addr"
        | "inet_client_addr" => Value::Null,
        _ => general(name, values)?,
    })
}

/// Functions on values of any kind.
fn general(name: &str, values: &[Value]) -> Result<Value, SqlError> {
    let text = |at: usize| values.get(at).and_then(text_of);
    let number = |at: usize| values.get(at).and_then(int_of);
    let texts = |text: Option<String>| text.map_or(Value::Null, |text| Value::text(&text));
    Ok(match name {
        "coalesce" => values.iter().find(|value| !value.is_null()).cloned().unwrap_or(Value::Null),
        "nullif" => match (values.first(), values.get(1)) {
            (Some(one), Some(other))
                if crate::operators::compare(one, other) == Some(std::cmp::Ordering::Equal) =>
            {
                Value::Null
            }
            (Some(one), _) => one.clone(),
            _ => Value::Null,
        },
        "lower" => texts(text(0).map(|text| text.to_lowercase())),
        "upper" => texts(text(0).map(|text| text.to_uppercase())),
        "length" | "char_length" => {
            text(0).map_or(Value::Null, |text| Value::Int(text.chars().count() as i64))
        }
        "concat" => Value::text(&values.iter().filter_map(text_of).collect::<String>()),
        "replace" => texts(
            text(0).zip(text(1)).zip(text(2)).map(|((own, from), to)| own.replace(&from, &to)),
        ),
        "left" => texts(
            text(0)
                .zip(number(1))
                .map(|(text, count)| text.chars().take(count.max(0) as usize).collect()),
        ),
        "substring" | "substr" => match text(0) {
            Some(text) => substring(&text, number(1).unwrap_or(1), number(2)),
            None => Value::Null,
        },
        "strpos" => text(0).zip(text(1)).map_or(Value::Null, |(own, part)| {
            Value::Int(own.find(&part).map_or(0, |at| own[..at].chars().count() as i64 + 1))
        }),
        name => return on_arrays(name, values),
    })
}

/// Functions on arrays.
fn on_arrays(name: &str, values: &[Value]) -> Result<Value, SqlError> {
    let text = |at: usize| values.get(at).and_then(text_of);
    let array = |at: usize| values.get(at).and_then(elements_of);
    Ok(match name {
        "array_to_string" => match array(0) {
            Some(elements) => {
                let parts: Vec<String> = elements.iter().filter_map(text_of).collect();
                Value::text(&parts.join(&text(1).unwrap_or_default()))
            }
            None => Value::Null,
        },
        "array_upper" | "array_length" | "cardinality" => match array(0) {
            Some(elements) if !elements.is_empty() => Value::Int(elements.len() as i64),
            _ => Value::Null,
        },
        "array_lower" => array(0).map_or(Value::Null, |_| Value::Int(1)),
        "array_position" => match (array(0), values.get(1)) {
            (Some(elements), Some(wanted)) => {
                let is_it = |one: &Value| {
                    crate::operators::compare(one, wanted) == Some(std::cmp::Ordering::Equal)
                };
                elements.iter().position(is_it).map_or(Value::Null, |at| Value::Int(at as i64 + 1))
            }
            _ => Value::Null,
        },
        "array_remove" => match array(0) {
            Some(elements) => {
                let removed = |one: &Value| {
                    values.get(1).is_some_and(|other| {
                        crate::operators::compare(one, other) == Some(std::cmp::Ordering::Equal)
                    })
                };
                Value::Array(elements.into_iter().filter(|one| !removed(one)).collect())
            }
            None => Value::Null,
        },
        "array_append" | "array_cat" => crate::operators::operate(
            values.first().unwrap_or(&Value::Null),
            &ast::BinaryOperator::StringConcat,
            values.get(1).unwrap_or(&Value::Null),
        )?,
        name => {
            let message =
                format!("function {name} is not supported in queries on the system catalog");
            return Err(SqlError::new("0A000", message));
        }
    })
}

/// `count` characters from `from` on, counted from 1.
pub fn substring(text: &str, from: i64, count: Option<i64>) -> Value {
    let end = count.map_or(i64::MAX, |count| from.saturating_add(count));
    let letters = text.chars().zip(1_i64..).filter(|(_, at)| *at >= from && *at < end);
    Value::text(&letters.map(|(letter, _)| letter).collect::<String>())
}

/// `text` without the characters of `what` at its ends.
pub fn trim(text: &str, at: Option<ast::TrimWhereField>, what: &str) -> Value {
    let is_cut = |letter: char| what.contains(letter);
    Value::text(match at {
        None | Some(ast::TrimWhereField::Both) => text.trim_matches(is_cut),
        Some(ast::TrimWhereField::Leading) => text.trim_start_matches(is_cut),
        Some(ast::TrimWhereField::Trailing) => text.trim_end_matches(is_cut),
    })
}

fn index_column(oid: i64, column: i64, world: &World) -> Option<String> {
    let (table, index) = world.index(oid)?;
    let at = index.columns.get(usize::try_from(column - 1).ok()?)?;
    world.index_part(&table.table, *at, true)
}

/// The type of a call's result.
pub fn result_type(
    function: &ast::Function,
    of: impl Fn(&Expr) -> u32,
    layouts: &[&Layout],
    context: &Context<'_>,
) -> u32 {
    let arguments = arguments(function).unwrap_or_default();
    let first = || arguments.first().map_or(types::TEXT, |argument| of(argument));
    match name(function).as_str() {
        "count" | "sum" | "row_number" => types::INT8,
        "array" => match &function.args {
            ast::FunctionArguments::Subquery(query) => {
                let shape = crate::select::shape(query, layouts, context);
                let element = shape.ok().and_then(|columns| columns.first().map(|one| one.oid));
                if element == Some(types::NAME) { types::NAME_ARRAY } else { types::TEXT_ARRAY }
            }
            _ => types::TEXT_ARRAY,
        },
        "max" | "min" | "coalesce" | "nullif" => first(),
        "array_agg" => match first() {
            types::NAME => types::NAME_ARRAY,
            types::OID => 1028,
            types::INT4 => 1007,
            types::INT8 => 1016,
            types::BOOL => 1000,
            21 => 1005,
            _ => types::TEXT_ARRAY,
        },
        "unnest" => types::element_of(first()),
        "current_database"
        | "current_user"
        | "session_user"
        | "current_schema"
        | "pg_get_userbyid"
        | "pg_encoding_to_char" => types::NAME,
        "current_schemas" => types::NAME_ARRAY,
        "to_regclass" => types::REGCLASS,
        "to_regtype" => types::REGTYPE,
        "to_regnamespace" => types::REGNAMESPACE,
        "pg_partition_ancestors" => types::REGCLASS,
        "pg_my_temp_schema" => types::OID,
        "array_upper"
        | "array_lower"
        | "array_length"
        | "array_position"
        | "length"
        | "char_length"
        | "strpos"
        | "generate_series"
        | "generate_subscripts"
        | "cardinality"
        | "pg_backend_pid" => types::INT4,
        "pg_table_size"
        | "pg_relation_size"
        | "pg_total_relation_size"
        | "pg_database_size"
        | "pg_indexes_size" => types::INT8,
        name if name.starts_with("has_")
            || name.ends_with("_is_visible")
            || name.starts_with("pg_is_")
            || matches!(
                name,
                "pg_has_role" | "pg_relation_is_publishable" | "bool_and" | "bool_or"
            ) =>
        {
            types::BOOL
        }
        _ => types::TEXT,
    }
}

/// The name of a type with its modifier, as PostgreSQL prints it.
pub fn format_type(oid: i64, modifier: Option<i64>, world: &World) -> Option<String> {
    if let Some(name) = world.enum_name(oid) {
        return Some(name);
    }
    let (_, internal) = names::type_row(Some(oid), "")?;
    if let Some(element) = internal.strip_prefix('_')
        && let Some((element, _)) = names::type_row(None, element)
    {
        return format_type(element, modifier, world).map(|name| name + "[]");
    }
    let with_digits = |name: &str, with: &str| match modifier.filter(|digits| *digits >= 0) {
        Some(digits) => format!("{name}({digits}) {with} time zone"),
        None => format!("{name} {with} time zone"),
    };
    let modifier = modifier.filter(|modifier| *modifier >= 4).map(|modifier| modifier - 4);
    let with_length = |name: &str| match modifier {
        Some(length) => format!("{name}({length})"),
        None => name.to_owned(),
    };
    Some(match internal {
        "bool" => "boolean".to_owned(),
        "int2" => "smallint".to_owned(),
        "int4" => "integer".to_owned(),
        "int8" => "bigint".to_owned(),
        "float4" => "real".to_owned(),
        "float8" => "double precision".to_owned(),
        "varchar" => with_length("character varying"),
        "bpchar" if modifier.is_some() => with_length("character"),
        "numeric" => match modifier {
            Some(both) => format!("numeric({},{})", both >> 16, both & 0xffff),
            None => "numeric".to_owned(),
        },
        "timestamp" => with_digits("timestamp", "without"),
        "timestamptz" => with_digits("timestamp", "with"),
        "time" => with_digits("time", "without"),
        "char" => "\"char\"".to_owned(),
        name => name.to_owned(),
    })
}

/// The number of a type by its name, internal or of SQL.
pub fn type_oid(name: &str, world: &World) -> Option<i64> {
    if let Some(oid) = world.enum_named(name) {
        return Some(oid);
    }
    let name = name.trim().to_lowercase();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
    if let Some(element) = name.strip_suffix("[]") {
        let (_, internal) = names::type_row(type_oid(element, world), "")?;
        return names::type_row(None, &format!("_{internal}")).map(|(oid, _)| oid);
    }
    let bare = name.split('(').next().unwrap_or(name).trim();
    let internal = names::type_row(None, bare).map(|(oid, _)| oid);
    internal.or_else(|| types::by_name(bare).map(i64::from))
}

/// The number of a schema by its name, which may have quotes.
pub fn namespace_oid(name: &str, world: &World) -> Option<i64> {
    match &*names::split_name(name).join(".") {
        "pg_catalog" => Some(fill::PG_CATALOG),
        "information_schema" => Some(fill::INFORMATION_SCHEMA),
        name => world.schemas.find(name),
    }
}

pub fn namespace_name(oid: i64, world: &World) -> Option<String> {
    match oid {
        fill::PG_CATALOG => Some("pg_catalog".to_owned()),
        fill::INFORMATION_SCHEMA => Some("information_schema".to_owned()),
        oid => world.schemas.name(oid).map(crate::world::quoted),
    }
}

/// The schema in which new objects are created; null if the search path has none.
fn current_schema(world: &World) -> Value {
    let first = world.path.schemas().first().and_then(|id| world.schemas.name(*id));
    first.map_or(Value::Null, Value::text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_names_of_sql() {
        for (oid, modifier, name) in [
            (23, None, "integer"),
            (1043, Some(14), "character varying(10)"),
            (1042, Some(7), "character(3)"),
            (1700, Some((12 << 16 | 2) + 4), "numeric(12,2)"),
            (1007, None, "integer[]"),
            (18, None, "\"char\""),
        ] {
            assert_eq!(format_type(oid, modifier, &World::default()).as_deref(), Some(name));
        }
        for (name, oid) in [("integer", 23), ("int4", 23), ("text[]", 1009), ("varchar(3)", 1043)] {
            assert_eq!(type_oid(name, &World::default()), Some(oid), "{name}");
        }
        assert_eq!(type_oid("hstore", &World::default()), None);
    }
}
