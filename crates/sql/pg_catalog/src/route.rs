//! Which statements are queries on the catalog.

use crate::evaluate::Context;
use crate::from;
use crate::functions;
use crate::select;
use crate::world::World;
use sql_session::SqlError;
use sql_value::Value;
use sqlparser::ast::{self, Expr, Visit, Visitor};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Parts of texts: every query on the catalog contains at least one.
const MARKS: [&str; 10] = [
    "pg_",
    "information_schema",
    "current_schemas",
    "current_setting",
    "format_type",
    "to_reg",
    "::reg",
    "obj_description",
    "_privilege",
    // The row of a sequence.
    "is_called",
];

const EQUALS: &str = "OPERATOR(pg_catalog.=)";

/// Functions of the session, whose names have a mark.
const OF_SESSION: [&str; 3] = ["nextval", "setval", "currval"];

/// A query on the catalog.
#[derive(Clone, Debug)]
pub struct CatalogQuery {
    query: ast::Query,
    columns: Vec<OutputColumn>,
    parameters: Vec<u32>,
    sequences: Vec<String>,
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputColumn {
    pub name: String,
    /// The number of its type.
    pub oid: u32,
}

impl CatalogQuery {
    /// Prepares a statement if it is a query on the catalog and on nothing else. `types` are the
    /// numbers of the parameters' types, 0 if they are unknown.
    ///
    /// # Errors
    /// The query needs something that the evaluator does not have.
    pub fn prepare(
        text: &str,
        types: &[u32],
        world: impl FnOnce() -> World,
    ) -> Option<Result<Self, SqlError>> {
        if !is_marked(text) {
            return None;
        }
        // The session reports errors of syntax.
        let parse = |text: &str| Parser::parse_sql(&PostgreSqlDialect {}, text).ok();
        // The parser does not know `OPERATOR` in front of `ANY`.
        let statements = parse(text).or_else(|| parse(&text.replace(EQUALS, "=")))?;
        let [ast::Statement::Query(query)] = statements.as_slice() else { return None };
        let mut seen = Seen { reads_sequence: text.contains("is_called"), ..Seen::default() };
        let _ = query.visit(&mut seen);
        let is_catalog_query = seen.has_relations
            || !seen.sequences.is_empty()
            || !seen.has_tables && seen.has_functions;
        if seen.has_others || !is_catalog_query {
            return None;
        }
        let world = world();
        let named = seen.sequences.iter().map(|name| from::sequence(name, &world));
        let sequences = named.collect::<Option<Vec<String>>>()?;
        let mut parameters = types.to_vec();
        parameters.resize(parameters.len().max(seen.parameters), 0);
        for number in seen.compared {
            if let Some(oid) = parameters.get_mut(number - 1).filter(|oid| matches!(**oid, 0 | 705))
            {
                *oid = crate::types::OID;
            }
        }
        for oid in &mut parameters {
            // Names and numbers of objects are sent as texts, unless the client says otherwise.
            if matches!(*oid, 0 | 705) {
                *oid = crate::types::TEXT;
            }
        }
        let context = Context {
            world: &world,
            parameters: &[],
            parameter_types: &parameters,
            ctes: Vec::new(),
        };
        let columns = select::shape(query, &[], &context);
        Some(columns.map(|mut columns| {
            for column in &mut columns {
                // They are printed as names.
                if crate::types::is_reference(column.oid) {
                    column.oid = crate::types::TEXT;
                }
            }
            Self { query: query.as_ref().clone(), columns, parameters, sequences }
        }))
    }

    pub fn columns(&self) -> &[OutputColumn] {
        &self.columns
    }

    /// The full names of the sequences whose rows it reads.
    pub fn sequences(&self) -> &[String] {
        &self.sequences
    }

    /// The numbers of the parameters' types.
    pub fn parameters(&self) -> &[u32] {
        &self.parameters
    }

    /// The rows of the result.
    ///
    /// # Errors
    /// A value is invalid, or the query needs something that the evaluator does not have.
    pub fn run(&self, world: &World, parameters: &[Value]) -> Result<Vec<Vec<Value>>, SqlError> {
        let parameter_types = &self.parameters[..];
        let context = Context { world, parameters, parameter_types, ctes: Vec::new() };
        let mut rows = select::run(&self.query, None, &context)?;
        for row in &mut rows {
            for (value, column) in row.iter_mut().zip(&self.columns) {
                *value = fitted(std::mem::replace(value, Value::Null), column.oid);
            }
        }
        Ok(rows)
    }
}

/// A value with the representation of its column's type.
fn fitted(value: Value, oid: u32) -> Value {
    use crate::operators::{bool_of, int_of, text_of};
    use crate::types::{BOOL, INT4, INT8, NAME, OID, TEXT};
    match (oid, &value) {
        (_, Value::Null) => value,
        (TEXT | NAME | 18 | 1043, Value::Text(_)) => value,
        (TEXT | NAME | 18 | 1043, other) => {
            text_of(other).map_or(Value::Null, |text| Value::text(&text))
        }
        (BOOL, other) => bool_of(other).map_or(Value::Null, Value::Bool),
        (INT4 | INT8 | OID | 21, other) => int_of(other).map_or(Value::Null, Value::Int),
        (700 | 701, Value::Int(number)) => Value::Float(*number as f64),
        _ => value,
    }
}

/// Whether the text contains one of the marks, in any case.
fn is_marked(text: &str) -> bool {
    let text = text.as_bytes();
    let starts = |mark: &[u8], at: usize| {
        text.get(at..at + mark.len()).is_some_and(|part| part.eq_ignore_ascii_case(mark))
    };
    let firsts = |letter: u8| b"pictof:_".contains(&letter.to_ascii_lowercase());
    (0..text.len())
        .filter(|at| firsts(text[*at]))
        .any(|at| MARKS.iter().any(|mark| starts(mark.as_bytes(), at)))
}

/// Names in a statement.
#[derive(Default)]
struct Seen {
    has_tables: bool,
    /// Relations of the catalog.
    has_relations: bool,
    /// Other tables.
    has_others: bool,
    /// Functions or casts that only the catalog has.
    has_functions: bool,
    /// The names of `WITH`.
    ctes: Vec<String>,
    /// Whether the text has the column of a sequence.
    reads_sequence: bool,
    /// Other names, if the text has such a column.
    sequences: Vec<ast::ObjectName>,
    /// The largest number of a parameter.
    parameters: usize,
    /// The parameters that are compared with numbers of objects.
    compared: Vec<usize>,
}

/// Columns with numbers of objects that drivers compare with a parameter without a type.
const NUMBERS: [&str; 4] = ["oid", "enumtypid", "attrelid", "typrelid"];

/// The parameter that an expression compares with such a column.
fn compared(expression: &Expr) -> Option<usize> {
    let Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } = expression else {
        return None;
    };
    let column = match &**left {
        Expr::Identifier(name) => name,
        Expr::CompoundIdentifier(parts) => parts.last()?,
        _ => return None,
    };
    let Expr::Value(value) = &**right else { return None };
    let ast::Value::Placeholder(name) = &value.value else { return None };
    let is_number = NUMBERS.contains(&&*crate::types::folded(column));
    name.trim_start_matches('$').parse().ok().filter(|number| is_number && *number > 0)
}

impl Visitor for Seen {
    type Break = ();

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        let named = query.with.iter().flat_map(|with| &with.cte_tables);
        self.ctes.extend(named.map(|one| crate::types::folded(&one.alias.name)));
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ast::ObjectName) -> ControlFlow<()> {
        let last = name.0.last().and_then(|part| part.as_ident());
        let last = last.map(crate::types::folded).unwrap_or_default();
        if functions::returns_set(&last) {
            return ControlFlow::Continue(());
        }
        self.has_tables = true;
        match from::relation(name) {
            Some(_) => self.has_relations = true,
            None if name.0.len() == 1 && self.ctes.contains(&last) => {}
            None if self.reads_sequence => self.sequences.push(name.clone()),
            None => self.has_others = true,
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        self.compared.extend(compared(expression));
        match expression {
            Expr::Function(function) => {
                let name = functions::name(function);
                // Locks belong to the session.
                self.has_others |= name.contains("advisory") || OF_SESSION.contains(&&*name);
                self.has_functions |= MARKS.iter().any(|mark| name.contains(mark));
            }
            Expr::Cast { data_type, .. } => {
                let oid = crate::types::of_data_type(data_type);
                self.has_functions |= crate::types::is_reference(oid);
            }
            Expr::Value(value) => {
                if let ast::Value::Placeholder(name) = &value.value {
                    let number = name.trim_start_matches('$').parse().unwrap_or(0);
                    self.parameters = self.parameters.max(number);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed(text: &str) -> bool {
        CatalogQuery::prepare(text, &[], World::default).is_some()
    }

    #[test]
    fn only_queries_on_the_catalog_alone_are_taken() {
        for text in [
            "SELECT oid FROM pg_class",
            "select table_name from information_schema.tables",
            "select pg_catalog.pg_table_is_visible(1)",
            "SELECT 'account'::regclass",
            "select to_regtype($1)",
            "SELECT current_schemas(true)",
        ] {
            assert!(routed(text), "{text}");
        }
        for text in [
            "select 1",
            "select * from account",
            "select * from account where exists (select 1 from pg_class)",
            "insert into account select oid from pg_class",
            "select abalance from pgbench_accounts where aid = 1",
            "select * from pg_own",
            "selec pg_",
            "select version()",
            "select pg_try_advisory_lock(1)",
        ] {
            assert!(!routed(text), "{text}");
        }
    }
}
