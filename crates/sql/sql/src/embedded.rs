//! The SQL statements inside procedures, as PL/pgSQL hands them to PostgreSQL's planner.

/// A SQL statement of a procedure, ready for `PREPARE`.
///
/// Statements are those that PL/pgSQL plans: `SELECT`, `INSERT`, `UPDATE`, `DELETE`, queries behind `FOR` and `RETURN
/// QUERY`, the body of a `sql` function, and expressions that have sub-selects (those become `SELECT expression`).
/// Expressions without tables need no plan and are not listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EmbeddedStatement {
    /// The procedure's name.
    pub procedure: String,
    /// Counts the statements of the procedure from 1, in the order of the text.
    pub number: u32,
    /// The line in `procedures.sql` at which it begins.
    pub line: u32,
    /// The statement with variables replaced by `$1` to `$n`, without `INTO` and without a semicolon.
    pub text: String,
    /// PostgreSQL's names of the types of `$1` to `$n`, as `PREPARE name (...)` wants them.
    pub parameter_types: Vec<String>,
    /// Which variable each of `$1` to `$n` is.
    pub variables: Vec<VariableName>,
}

/// A variable or parameter of a procedure, or a field of one that is a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VariableName {
    /// The position in the procedure's list of variables, parameters first.
    pub variable: usize,
    /// Its name, as declared.
    pub name: String,
    /// The field, if it is one of a record.
    pub field: Option<String>,
}
