//! Evaluates the text of an expression with our implementation.

use sql::expression::{ColumnRef, Expr};
use sql::procedure::{Body, Over, StatementKind};
use sql::query::{Query, SelectBody};
use sql::{Catalog, Source, SqlType};
use sql_value::{Formula, Scope, Stop, Value, output};

/// A compiled expression, and its type.
pub struct Subject {
    formula: Formula,
    sql_type: SqlType,
}

/// Returns the types of the declared variables; `found` comes first.
pub fn types(variables: &str) -> Vec<SqlType> {
    let procedure = procedure(variables, "1").expect("the variables are declared");
    procedure.variables.into_iter().map(|variable| variable.sql_type).collect()
}

/// Declares variables instead of parameters, because parameters lose lengths and precision.
fn procedure(variables: &str, expression: &str) -> Result<sql::Procedure, String> {
    let declared: String =
        variables.split_terminator(", ").map(|variable| format!("{variable}; ")).collect();
    let text = format!(
        "CREATE FUNCTION q() RETURNS void LANGUAGE plpgsql AS $$ DECLARE {declared}r record; \
         BEGIN FOR r IN SELECT {expression} LOOP NULL; END LOOP; END $$"
    );
    let procedures = sql::read_procedures(&Source::new("q", &text), &Catalog::default());
    Ok(procedures.map_err(|error| error.to_string())?.remove(0))
}

fn resolved(variables: &str, expression: &str) -> Result<Expr, String> {
    let procedure = procedure(variables, expression)?;
    let Body::Block(mut block) = procedure.body else { panic!("it is PL/pgSQL") };
    let StatementKind::Loop { over: Over::Rows { sql, .. }, .. } = block.statements.remove(0).kind
    else {
        panic!("it is a loop over rows")
    };
    let Query::Select(select) = sql.query else { panic!("it is a query") };
    let SelectBody::Plain(mut plain) = select.body else { panic!("it is a plain query") };
    Ok(plain.outputs.remove(0).expr)
}

impl Subject {
    pub fn read(variables: &str, expression: &str) -> Result<Self, String> {
        let expr = resolved(variables, expression)?;
        Ok(Self { formula: Formula::compile(&expr), sql_type: expr.sql_type })
    }

    /// Returns our result in the format of [`crate::judge`].
    pub fn answer(&self, row: &Row) -> String {
        let answer = match self.formula.evaluate(row) {
            Ok(Value::Null) => "1=".to_owned(),
            Ok(value) => format!("0={}", output::text(&value, &self.sql_type)),
            Err(Stop::Error(error)) => format!("! {} {}", error.sqlstate, error.message),
            Err(Stop::Needs(plan)) => format!("! needs plan {plan}"),
        };
        // A result is one line.
        answer.replace(['\n', '\r'], "?")
    }
}

#[derive(Default)]
pub struct Row(pub Vec<Value>);

impl Scope for Row {
    fn variable(&self, variable: usize) -> &Value {
        &self.0[variable]
    }

    fn column(&self, _column: ColumnRef) -> sql_value::Result<Value> {
        Ok(Value::Null)
    }

    fn element(&self) -> &Value {
        &Value::Null
    }

    fn sub_plan(&self, _plan: usize) -> Option<&[Value]> {
        None
    }

    fn aggregate(&self, _aggregate: usize) -> &Value {
        &Value::Null
    }

    fn now(&self) -> i64 {
        0
    }

    fn clock(&self) -> i64 {
        0
    }

    fn random(&self) -> f64 {
        0.5
    }
}
