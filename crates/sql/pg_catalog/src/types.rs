//! Types of expressions, by their numbers in `pg_type`.

use crate::evaluate::{Context, Layout, column_of_access};
use crate::functions;
use crate::select;
use sqlparser::ast::{self, BinaryOperator, Expr, UnaryOperator};

pub const BOOL: u32 = 16;
pub const NAME: u32 = 19;
pub const INT8: u32 = 20;
pub const INT4: u32 = 23;
pub const TEXT: u32 = 25;
pub const OID: u32 = 26;
pub const FLOAT8: u32 = 701;
pub const TEXT_ARRAY: u32 = 1009;
pub const NAME_ARRAY: u32 = 1003;
pub const REGCLASS: u32 = 2205;
pub const REGTYPE: u32 = 2206;
pub const REGNAMESPACE: u32 = 4089;
pub const REGPROC: u32 = 24;
pub const REGROLE: u32 = 4096;

/// The type with this name.
pub fn by_name(name: &str) -> Option<u32> {
    Some(match name {
        "bool" | "boolean" => BOOL,
        "bytea" => 17,
        "char" => 18,
        "name" => NAME,
        "int8" | "bigint" => INT8,
        "int2" | "smallint" => 21,
        "int4" | "int" | "integer" => INT4,
        "text" => TEXT,
        "oid" => OID,
        "float4" | "real" => 700,
        "float8" | "double precision" => FLOAT8,
        "bpchar" | "character" => 1042,
        "varchar" | "character varying" => 1043,
        "date" => 1082,
        "timestamp" => 1114,
        "timestamptz" | "timestamp with time zone" => 1184,
        "time" | "time without time zone" => 1083,
        "interval" => 1186,
        "numeric" | "decimal" => 1700,
        "uuid" => 2950,
        "json" => 114,
        "jsonb" => 3802,
        "regclass" => REGCLASS,
        "regtype" => REGTYPE,
        "regproc" | "regprocedure" => REGPROC,
        "regnamespace" => REGNAMESPACE,
        "regrole" => REGROLE,
        _ => return None,
    })
}

/// The array type of a type.
fn array_of(oid: u32) -> u32 {
    match oid {
        NAME => NAME_ARRAY,
        OID => 1028,
        INT4 => 1007,
        21 => 1005,
        INT8 => 1016,
        18 => 1002,
        BOOL => 1000,
        17 => 1001,
        700 => 1021,
        FLOAT8 => 1022,
        2950 => 2951,
        114 => 199,
        3802 => 3807,
        _ => TEXT_ARRAY,
    }
}

/// The element type of an array type.
pub fn element_of(oid: u32) -> u32 {
    match oid {
        NAME_ARRAY => NAME,
        1028 | 30 => OID,
        1007 => INT4,
        1005 | 22 => 21,
        1016 => INT8,
        1002 => 18,
        1000 => BOOL,
        1001 => 17,
        1021 => 700,
        1022 => FLOAT8,
        2951 => 2950,
        199 => 114,
        3807 => 3802,
        _ => TEXT,
    }
}

/// Whether values of the type are numbers of objects that are printed as names.
pub fn is_reference(oid: u32) -> bool {
    matches!(oid, REGCLASS | REGTYPE | REGNAMESPACE | REGROLE)
}

/// The type of a cast.
pub fn of_data_type(data_type: &ast::DataType) -> u32 {
    let printed = data_type.to_string().to_lowercase().replace('"', "");
    let name = printed.strip_prefix("pg_catalog.").unwrap_or(&printed);
    match name.strip_suffix("[]") {
        Some(element) => array_of(by_name(element).unwrap_or(TEXT)),
        None => {
            let bare = name.split('(').next().unwrap_or(name).trim();
            by_name(bare).unwrap_or(TEXT)
        }
    }
}

/// The type of an expression whose columns are of these layouts, the innermost first.
pub fn of(expression: &Expr, layouts: &[&Layout], context: &Context<'_>) -> u32 {
    let of_inner = |inner: &Expr| of(inner, layouts, context);
    match expression {
        Expr::Identifier(name) => column(&[name], layouts),
        Expr::CompoundIdentifier(parts) => column(&parts.iter().collect::<Vec<_>>(), layouts),
        Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, _) if digits.contains('.') => 1700,
            ast::Value::Number(..) => INT4,
            ast::Value::Boolean(_) => BOOL,
            ast::Value::Placeholder(name) => {
                let at = name.trim_start_matches('$').parse::<usize>().unwrap_or(0);
                let declared = context.parameter_types.get(at.wrapping_sub(1));
                declared.copied().filter(|oid| *oid != 0).unwrap_or(TEXT)
            }
            _ => TEXT,
        },
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => of_inner(inner),
        Expr::Cast { data_type, .. } => of_data_type(data_type),
        Expr::TypedString(typed) => of_data_type(&typed.data_type),
        Expr::UnaryOp { op: UnaryOperator::Not, .. } => BOOL,
        Expr::UnaryOp { expr, .. } => of_inner(expr),
        Expr::BinaryOp { left, op, right } => match op {
            BinaryOperator::StringConcat => TEXT,
            BinaryOperator::Plus
            | BinaryOperator::Minus
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Modulo => of_inner(left).max(of_inner(right)),
            BinaryOperator::BitwiseAnd | BinaryOperator::BitwiseOr => of_inner(left),
            _ => BOOL,
        },
        Expr::Case { conditions, else_result, .. } => {
            let results = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
            let mut types = results.filter(|one| !is_null(one)).map(of_inner);
            types.next().unwrap_or(TEXT)
        }
        Expr::Subquery(query) => {
            let shape = select::shape(query, layouts, context);
            shape.map_or(TEXT, |columns| columns.first().map_or(TEXT, |column| column.oid))
        }
        Expr::Function(function) => functions::result_type(function, of_inner, layouts, context),
        Expr::Array(array) => array_of(array.elem.first().map_or(TEXT, of_inner)),
        Expr::CompoundFieldAccess { root, access_chain } => {
            match column_of_access(root, access_chain) {
                Some((column, _)) => element_of(of_inner(&column)),
                None if matches!(access_chain[..], [ast::AccessExpr::Dot(_)]) => INT4,
                None => element_of(of_inner(root)),
            }
        }
        _ => BOOL,
    }
}

/// Whether an array of this type begins at position 0: `int2vector` or `oidvector`.
pub fn is_vector(oid: u32) -> bool {
    matches!(oid, 22 | 30)
}

fn is_null(expression: &Expr) -> bool {
    matches!(expression, Expr::Value(value) if value.value == ast::Value::Null)
}

fn column(parts: &[&ast::Ident], layouts: &[&Layout]) -> u32 {
    let found =
        layouts.iter().find_map(|layout| layout.find(parts).map(|at| layout.columns[at].oid));
    // PostgreSQL has such functions without parentheses.
    found.unwrap_or(if parts.len() == 1 { NAME } else { TEXT })
}

/// The name that a result column gets.
pub fn column_name(expression: &Expr) -> String {
    match expression {
        Expr::Identifier(name) => folded(name),
        Expr::CompoundIdentifier(parts) => parts.last().map(folded).unwrap_or_default(),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => column_name(inner),
        Expr::Cast { expr, data_type, .. } => match column_name(expr).as_str() {
            "?column?" => {
                let printed = data_type.to_string().to_lowercase();
                printed.rsplit('.').next().unwrap_or_default().to_owned()
            }
            name => name.to_owned(),
        },
        Expr::Function(function) => {
            let parts = function.name.0.last().and_then(|part| part.as_ident());
            parts.map(folded).unwrap_or_else(|| "?column?".to_owned())
        }
        Expr::Case { .. } => "case".to_owned(),
        Expr::Array(_) => "array".to_owned(),
        Expr::Exists { .. } => "exists".to_owned(),
        Expr::CompoundFieldAccess { root, .. } => column_name(root),
        _ => "?column?".to_owned(),
    }
}

/// A name, in lower case unless it was quoted.
pub fn folded(name: &ast::Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() }
}
