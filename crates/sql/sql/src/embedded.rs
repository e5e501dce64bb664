//! The SQL statements inside procedures, in the form in which PL/pgSQL sends them to PostgreSQL's
//! planner.

/// An SQL statement of a procedure, ready for `PREPARE`.
///
/// PL/pgSQL plans `SELECT`, `INSERT`, `UPDATE`, `DELETE`, the queries of `FOR` and `RETURN QUERY`,
/// the body of an `sql` function, and expressions that contain sub-selects (as `SELECT
/// expression`). Expressions without tables need no plan and are not listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EmbeddedStatement {
    pub procedure: String,
    /// Number of the statement within the procedure, from 1, in text order.
    pub number: u32,
    /// The line of `procedures.sql` where the statement begins.
    pub line: u32,
    /// The statement with `$1` to `$n` for its variables, without `INTO` and without a semicolon.
    pub text: String,
    /// PostgreSQL's type names of `$1` to `$n`, as in `PREPARE name (...)`.
    pub parameter_types: Vec<String>,
    /// The variable behind each of `$1` to `$n`.
    pub variables: Vec<VariableName>,
}

/// A variable or parameter of a procedure, or a field of a record variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VariableName {
    /// Position in the procedure's list of variables, parameters first.
    pub variable: usize,
    pub name: String,
    /// The field, if the variable is a record.
    pub field: Option<String>,
}
