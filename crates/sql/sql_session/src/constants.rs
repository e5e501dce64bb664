//! Functions without arguments whose values belong to a session.

use crate::session::settings::SERVER_VERSION;
use sql::SqlType;
use sql::expression::{Expr, ExprKind};
use std::sync::Arc;

/// These functions with another current schema.
pub(crate) fn with_schema(
    constants: &[(String, Expr)],
    schema: Option<&str>,
) -> Arc<[(String, Expr)]> {
    let kind = schema.map_or(ExprKind::Null, |schema| ExprKind::Text(schema.to_owned()));
    let value = Expr { kind, sql_type: SqlType::Text };
    let replaced = |(name, old): &(String, Expr)| match &**name {
        "current_schema" => (name.clone(), value.clone()),
        _ => (name.clone(), old.clone()),
    };
    constants.iter().map(replaced).collect()
}

/// The functions of a session, by name.
pub(crate) fn constants(
    database: &str,
    session_user: &str,
    current_user: &str,
) -> Arc<[(String, Expr)]> {
    let text = |text: &str| Expr { kind: ExprKind::Text(text.to_owned()), sql_type: SqlType::Text };
    let truth = |truth| Expr { kind: ExprKind::Bool(truth), sql_type: SqlType::Bool };
    let number = |number| Expr { kind: ExprKind::Integer(number), sql_type: SqlType::Int4 };
    let null = Expr { kind: ExprKind::Null, sql_type: SqlType::Text };
    let version = format!("PostgreSQL {SERVER_VERSION} (namdb {})", env!("CARGO_PKG_VERSION"));
    let values = [
        ("version", text(&version)),
        ("current_database", text(database)),
        ("current_catalog", text(database)),
        ("current_user", text(current_user)),
        ("session_user", text(session_user)),
        ("current_role", text(current_user)),
        ("user", text(current_user)),
        ("current_schema", text("public")),
        ("pg_is_in_recovery", truth(false)),
        ("pg_backend_pid", number(i64::from(std::process::id()))),
        ("inet_server_addr", null.clone()),
        ("inet_client_addr", null),
    ];
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
