//! The names that PostgreSQL gives to output columns without an alias.

use super::{ident_name, object_parts};
use sqlparser::ast::{self, SelectItem, SetExpr};

/// The name that PostgreSQL gives to a column without an alias.
pub(crate) fn name_of(node: &ast::Expr) -> String {
    use ast::Expr as Node;
    let fixed = match node {
        Node::Identifier(ident) => return ident_name(ident),
        Node::CompoundIdentifier(idents) => {
            return idents.last().map(ident_name).unwrap_or_default();
        }
        Node::Function(function) => {
            let last = object_parts(&function.name)
                .and_then(|parts| parts.last().map(|ident| ident_name(ident)));
            return last.unwrap_or_default();
        }
        Node::Nested(inner) => return name_of(inner),
        Node::Cast { expr, data_type, .. } => return cast_name(expr, data_type),
        Node::CompoundFieldAccess { root, .. } => return name_of(root),
        Node::Case { .. } => "case",
        Node::Exists { negated: false, .. } => "exists",
        Node::TypedString(typed) => return type_name(&typed.data_type),
        Node::Interval(_) => "interval",
        Node::Array(_) => "array",
        Node::Extract { .. } => "extract",
        Node::AtTimeZone { .. } => "timezone",
        Node::Ceil { .. } => "ceil",
        Node::Floor { .. } => "floor",
        Node::Position { .. } => "position",
        Node::Substring { shorthand: false, .. } => "substring",
        Node::Substring { .. } => "substr",
        Node::Trim { trim_where: Some(ast::TrimWhereField::Leading), .. } => "ltrim",
        Node::Trim { trim_where: Some(ast::TrimWhereField::Trailing), .. } => "rtrim",
        Node::Trim { .. } => "btrim",
        Node::Value(_) => "?column?",
        Node::Subquery(query) => return subquery_name(query),
        _ => "?column?",
    };
    fixed.to_owned()
}

/// A cast has the name of its operand, or else of its type.
fn cast_name(inner: &ast::Expr, data_type: &ast::DataType) -> String {
    let name = name_of(inner);
    if name != "?column?" { name } else { type_name(data_type) }
}

/// PostgreSQL's internal name of a type.
fn type_name(data_type: &ast::DataType) -> String {
    let written = data_type.to_string().to_lowercase();
    let name = written.split('(').next().unwrap_or("").trim();
    let inner = match name {
        "smallint" => "int2",
        "integer" | "int" => "int4",
        "bigint" => "int8",
        "boolean" => "bool",
        "double precision" | "float" | "double" => "float8",
        "real" => "float4",
        "decimal" | "dec" => "numeric",
        "character varying" => "varchar",
        "character" | "char" => "bpchar",
        "timestamp with time zone" => "timestamptz",
        "timestamp without time zone" => "timestamp",
        other => other,
    };
    inner.to_owned()
}

fn subquery_name(query: &ast::Query) -> String {
    match &*query.body {
        SetExpr::Select(select) => match select.projection.first() {
            Some(SelectItem::UnnamedExpr(node)) => name_of(node),
            Some(SelectItem::ExprWithAlias { alias, .. }) => ident_name(alias),
            _ => "?column?".to_owned(),
        },
        _ => "?column?".to_owned(),
    }
}
