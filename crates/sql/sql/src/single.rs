//! Single statements, as clients send them: with parameters `$1` to `$n` whose types the client
//! declares, or the statement decides.
//!
//! Decision: docs/decisions/0324-a-statement-of-a-client-is-planned-without-a-procedure.md

use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Result};
use crate::expression::Expr;
use crate::parse;
use crate::procedure::{ParameterMode, Procedure, RoutineKind, Variable};
use crate::query::Query;
use crate::resolve::coerce::Context;
use crate::resolve::names::Names;
use crate::resolve::scope::Scope;
use crate::resolve::{Resolver, ident_name};
use crate::source::Source;
use crate::token::{Cursor, tokenize};
use crate::type_name::parse_type;
use crate::types::SqlType;
use sqlparser::ast::{
    self, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, SelectItem, Spanned,
    Statement,
};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};
use std::sync::Arc;

/// Maximum number of a parameter, as in PostgreSQL.
const PARAMETERS_MAX: usize = 65_535;

/// A statement with resolved names. `$n` is variable `n - 1`.
#[derive(Clone, PartialEq, Debug)]
pub struct SingleStatement {
    pub action: Action,
    /// The types of the parameters, without lengths.
    pub parameters: Vec<SqlType>,
}

/// The action of a statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    Query(Query),
    Call(Call),
}

/// A statement that calls a routine and does nothing else.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// Its position among the routines.
    pub routine: usize,
    /// The values of the input parameters; those at the end may be missing.
    pub arguments: Vec<Expr>,
    /// The name of the only column, if the statement gives one.
    pub alias: Option<String>,
    pub form: CallForm,
}

/// The forms of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallForm {
    /// `CALL routine(...)`
    Call,
    /// `SELECT routine(...)`
    Value,
    /// `SELECT * FROM routine(...)`
    Rows,
}

/// Functions without arguments and their values.
pub type Constants = Arc<[(String, Expr)]>;

/// The names beside those of the catalog that a statement may use.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub routines: &'a [&'a Procedure],
    /// Values of functions without arguments, such as `current_user`.
    pub constants: &'a Constants,
}

/// Resolves the only statement of `source`: `SELECT`, `VALUES`, `INSERT`, `UPDATE`, `DELETE` or
/// `CALL`. `declared` are the types of the first parameters; [`SqlType::Unknown`] is decided by the
/// parameter's first use, as for a literal.
///
/// # Errors
///
/// The error that PostgreSQL would report, or SQL that this crate does not support.
pub fn read_statement(
    source: &Source,
    catalog: &Catalog,
    surroundings: Surroundings<'_>,
    declared: &[SqlType],
) -> Result<SingleStatement> {
    let mut tokens = tokenize(source, 0, source.text())?;
    while tokens.last().is_some_and(|last| last.token == Token::SemiColon) {
        tokens.pop();
    }
    let place = place(source, &tokens);
    let count = parameters(source, &tokens)?.max(declared.len());
    let statement = parse::statement(source, &tokens, place)?;
    let mut types = declared.to_vec();
    types.resize(count, SqlType::Unknown);
    let reader = Reader { source, catalog, surroundings, statement: &statement, place };
    if types.contains(&SqlType::Unknown) {
        let (_, deduced) = reader.resolve(&types)?;
        fill(&mut types, deduced);
    }
    let (action, _) = reader.resolve(&types)?;
    Ok(SingleStatement { action, parameters: types })
}

/// Gives parameters without a type that of their first use.
pub(crate) fn fill(types: &mut [SqlType], deduced: Deduced) {
    for (variable, sql_type) in deduced {
        if types.get(variable) == Some(&SqlType::Unknown) {
            types[variable] = sql_type.base();
        }
    }
    for sql_type in types.iter_mut().filter(|one| **one == SqlType::Unknown) {
        *sql_type = SqlType::Text;
    }
}

struct Reader<'a> {
    source: &'a Source,
    catalog: &'a Catalog,
    surroundings: Surroundings<'a>,
    statement: &'a Statement,
    place: Span,
}

impl Reader<'_> {
    /// Resolves the statement with these types of parameters; returns also the types that its uses
    /// give to the others.
    fn resolve(&self, types: &[SqlType]) -> Result<(Action, Deduced)> {
        let variables: Vec<Variable> = types.iter().enumerate().map(variable).collect();
        let routines = self.surroundings.routines.iter().map(|routine| routine.name.clone());
        let mut names = Names::in_file(routines.collect());
        names.positional = (0..types.len()).collect();
        names.constants = self.surroundings.constants.clone();
        names.is_session = true;
        names.has_own_plans = true;
        let Self { source, catalog, statement, place, .. } = *self;
        let mut resolver = Resolver::new(source, catalog, &names, &variables, place);
        resolver.routines = self.surroundings.routines.to_vec();
        let action = match self.written_call(statement) {
            Some(call) => Action::Call(self.call(&mut resolver, &call)?),
            None => Action::Query(resolver.query(statement)?),
        };
        Ok((action, resolver.deduced.take()))
    }

    /// The call that a statement consists of.
    fn written_call<'s>(&self, statement: &'s Statement) -> Option<WrittenCall<'s>> {
        let written = match statement {
            Statement::Call(function) => {
                let (name, arguments) = (&function.name, list(&function.args)?);
                return Some(WrittenCall { name, arguments, alias: None, form: CallForm::Call });
            }
            Statement::Query(query) => written_in(query)?,
            _ => return None,
        };
        self.routine(written.name).map(|_| written)
    }

    fn routine(&self, name: &ObjectName) -> Option<usize> {
        let parts: Option<Vec<_>> =
            name.0.iter().map(|part| part.as_ident().map(ident_name)).collect();
        let named =
            |full: &str| self.surroundings.routines.iter().position(|routine| routine.name == full);
        self.catalog.schemas.lookup(self.source.path(), &parts?, named)
    }

    fn call(&self, resolver: &mut Resolver<'_>, call: &WrittenCall<'_>) -> Result<Call> {
        let place = self.place;
        let found = self.routine(call.name);
        let is_fit = |at: &usize| {
            let kind = self.surroundings.routines[*at].kind;
            (kind == RoutineKind::Procedure) == (call.form == CallForm::Call)
        };
        let scope = Scope::default();
        let (mut nodes, mut given) = (Vec::new(), Vec::new());
        for &node in &call.arguments {
            let value = resolver.expr(&scope, node)?;
            // pgjdbc has a parameter of this type for each value that a function returns, and
            // PostgreSQL drops it, too.
            if call.form == CallForm::Call || value.sql_type != SqlType::Void {
                nodes.push(node);
                given.push(value);
            }
        }
        let missing = || {
            let types: Vec<String> =
                given.iter().map(|value| value.sql_type.base().name()).collect();
            let kind = if call.form == CallForm::Call { "procedure" } else { "function" };
            let message = format!("{kind} {}({}) does not exist", call.name, types.join(", "));
            let error = Error::at(self.source, place, ErrorKind::Name, &*message);
            error.in_postgres("42883", message)
        };
        let routine = found.filter(is_fit).ok_or_else(missing)?;
        let of = self.surroundings.routines[routine];
        // A call of a procedure has an argument for each parameter, also for those that it returns.
        let takes_all = call.form == CallForm::Call && given.len() == of.parameters.len();
        let wanted: Vec<(bool, &SqlType)> = of
            .parameters
            .iter()
            .filter(|parameter| takes_all || parameter.mode != ParameterMode::Out)
            .map(|parameter| {
                let sql_type = &of.variables[parameter.variable].sql_type;
                (parameter.mode != ParameterMode::Out, sql_type)
            })
            .collect();
        let required = of.inputs().filter(|(parameter, _)| parameter.default.is_none()).count();
        if given.len() > wanted.len() || !takes_all && given.len() < required {
            return Err(missing());
        }
        let mut arguments = Vec::new();
        for ((value, (is_input, wanted)), node) in given.iter().zip(wanted).zip(nodes) {
            let converted =
                resolver.convert(value.clone(), &wanted.base(), Context::Implicit, node.span());
            let converted = converted.map_err(|error| match error.postgres {
                None => missing(),
                Some(_) => error,
            })?;
            arguments.extend(is_input.then_some(converted));
        }
        Ok(Call { routine, arguments, alias: call.alias.clone(), form: call.form })
    }
}

struct WrittenCall<'s> {
    name: &'s ObjectName,
    arguments: Vec<&'s ast::Expr>,
    alias: Option<String>,
    form: CallForm,
}

/// The call of `SELECT name(...)` or `SELECT * FROM name(...)`.
fn written_in(query: &ast::Query) -> Option<WrittenCall<'_>> {
    let ast::SetExpr::Select(select) = &*query.body else { return None };
    let is_bare = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && select.selection.is_none()
        && select.having.is_none()
        && select.distinct.is_none();
    let [item] = &select.projection[..] else { return None };
    match (item, &select.from[..]) {
        _ if !is_bare => None,
        (SelectItem::UnnamedExpr(ast::Expr::Function(function)), []) => Some(WrittenCall {
            name: &function.name,
            arguments: list(&function.args)?,
            alias: None,
            form: CallForm::Value,
        }),
        (SelectItem::ExprWithAlias { expr: ast::Expr::Function(function), alias }, []) => {
            Some(WrittenCall {
                name: &function.name,
                arguments: list(&function.args)?,
                alias: Some(ident_name(alias)),
                form: CallForm::Value,
            })
        }
        (SelectItem::Wildcard(_), [from]) if from.joins.is_empty() => {
            let ast::TableFactor::Table { name, args: Some(arguments), alias, .. } = &from.relation
            else {
                return None;
            };
            // The alias names columns.
            if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
                return None;
            }
            let arguments = arguments.args.iter().map(unnamed).collect::<Option<_>>()?;
            Some(WrittenCall { name, arguments, alias: None, form: CallForm::Rows })
        }
        _ => None,
    }
}

fn list(arguments: &FunctionArguments) -> Option<Vec<&ast::Expr>> {
    match arguments {
        FunctionArguments::None => Some(Vec::new()),
        FunctionArguments::List(list) => list.args.iter().map(unnamed).collect(),
        FunctionArguments::Subquery(_) => None,
    }
}

fn unnamed(argument: &FunctionArg) -> Option<&ast::Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(node)) => Some(node),
        _ => None,
    }
}

/// Reads the name of a type, such as `numeric(12,2)`.
///
/// # Errors
///
/// There is no such type, or this crate does not support it.
pub fn read_type(source: &Source) -> Result<SqlType> {
    let name = source.text();
    let mut cursor = Cursor::new(source, tokenize(source, 0, name)?, name.len());
    let sql_type = parse_type(&mut cursor)?;
    if !cursor.is_at_end() {
        return Err(cursor.expected("the end of the type's name"));
    }
    Ok(sql_type)
}

/// Types that uses of variables have given to them.
pub(crate) type Deduced = Vec<(usize, SqlType)>;

pub(crate) fn variable((at, sql_type): (usize, &SqlType)) -> Variable {
    Variable {
        name: format!("${}", at + 1),
        sql_type: sql_type.clone(),
        line: 1,
        is_constant: false,
        is_not_null: false,
    }
}

pub(crate) fn place(source: &Source, tokens: &[TokenWithSpan]) -> Span {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => Span::new(first.span.start, last.span.end),
        _ => Span::new(source.location(0), source.location(source.text().len())),
    }
}

/// The largest number of a parameter.
pub(crate) fn parameters(source: &Source, tokens: &[TokenWithSpan]) -> Result<usize> {
    let mut most = 0;
    for TokenWithSpan { token, span } in tokens {
        let Token::Placeholder(text) = token else { continue };
        let number = text.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
        match number {
            Some(number) if (1..=PARAMETERS_MAX).contains(&number) => most = most.max(number),
            _ => {
                let sentence = format!("there is no parameter {text}");
                let error = Error::at(source, *span, ErrorKind::Name, &*sentence);
                return Err(error.in_postgres("42P02", sentence));
            }
        }
    }
    Ok(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_schema;

    const SCHEMA: &str = "CREATE TABLE account (id integer PRIMARY KEY, owner varchar(24) NOT NULL,
        balance numeric(12, 2), opened timestamp);";

    fn types(text: &str, declared: &[SqlType]) -> std::result::Result<String, String> {
        let catalog = read_schema(&Source::new("schema", SCHEMA)).expect("the schema is fine");
        let source = Source::new("statement", text);
        let constants = Arc::default();
        let surroundings = Surroundings { routines: &[], constants: &constants };
        let read = read_statement(&source, &catalog, surroundings, declared);
        let message = |error: Error| error.postgres.map_or(error.sentence, |known| known.message);
        let read = read.map_err(message)?;
        Ok(read.parameters.iter().map(SqlType::name).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn parameters_have_the_types_of_their_first_uses() {
        let check = |text: &str, expected: &str| {
            assert_eq!(types(text, &[]).as_deref(), Ok(expected), "{text}");
        };
        check("SELECT * FROM account WHERE id = $1 AND balance > $2", "integer, numeric");
        check("INSERT INTO account VALUES ($1, $2, $3, $4)", INSERTED);
        check("UPDATE account SET balance = balance + $1 WHERE id = $2", "numeric, integer");
        check("SELECT $1", "text");
        check("SELECT $2::int, $1 || 'a' LIMIT $3", "text, integer, bigint");
        check("SELECT id FROM account WHERE id = $1 OR $1 + 1 = balance", "integer");
        check("SELECT id FROM account WHERE id IN ($1, $2)", "integer, integer");
        check("SELECT id FROM account WHERE id = ANY ($1)", "integer[]");
    }

    const INSERTED: &str = "integer, character varying, numeric, timestamp without time zone";

    #[test]
    fn declared_types_hold() {
        let found = types("SELECT * FROM account WHERE id = $1", &[SqlType::Int8]);
        assert_eq!(found.as_deref(), Ok("bigint"));
        let found = types("INSERT INTO account (id) VALUES ($1)", &[SqlType::Int8]);
        assert_eq!(found.as_deref(), Ok("bigint"));
        let found = types("SELECT * FROM account WHERE owner = $1", &[SqlType::Bool]);
        let message = "operator does not exist: character varying = boolean";
        assert_eq!(found, Err(message.to_owned()));
    }

    #[test]
    fn errors_are_those_of_postgresql() {
        let check = |text: &str, expected: &str| {
            assert_eq!(types(text, &[]), Err(expected.to_owned()), "{text}");
        };
        check("SELECT * FROM nobody", "relation \"nobody\" does not exist");
        check("SELECT a FROM account", "column \"a\" does not exist");
        check("SELECT b.a FROM account", "missing FROM-clause entry for table \"b\"");
        check("SELECT id FROM account a, account b", "column reference \"id\" is ambiguous");
        check("SELECT 1 WHERE 1 = 'a'", "invalid input syntax for type integer: \"a\"");
        check(
            "INSERT INTO account (id) VALUES (true)",
            "column \"id\" is of type integer but expression is of type boolean",
        );
        check("SELECT $0", "there is no parameter $0");
    }
}
