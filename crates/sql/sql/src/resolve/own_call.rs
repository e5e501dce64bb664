//! Calls of the catalog's routines. The compiler replaces each by the routine's body in front of
//! the statement; the expression has the variable with its result.
//!
//! Decision: docs/decisions/0363-calls-of-routines-are-replaced-by-their-bodies.md

use super::call_place::{CallPlace, Guard, uses_rows};
use super::coerce::Context;
use super::from::FromClause;
use super::scope::Scope;
use super::{Resolver, ident_name, object_parts};
use crate::built_in::is_built_in;
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{BinaryOperator, Expr, ExprKind};
use crate::namespace::own_name;
use crate::procedure::{Parameter, ParameterMode, Procedure, Returns, RoutineKind, Volatility};
use crate::query::{FromKind, Join, Select, SelectBody, field};
use crate::routine::Routines;
use crate::types::{Field, SqlType};
use sqlparser::ast::{
    self, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Spanned, TableAlias,
};
use sqlparser::tokenizer::Span;
use std::ops::Range;

/// The calls of routines in a statement.
pub(crate) struct Calls<'a> {
    routines: &'a Routines,
    /// In the order in which they run.
    pub(crate) pending: Vec<PendingCall>,
    pub(super) guards: Vec<Guard>,
    pub(super) place: CallPlace,
    /// Whether the expression is a part of a query.
    pub(super) is_in_query: bool,
    /// Whether the expression is an argument of a call that runs while the statement runs. It has
    /// been resolved once before, so its own calls run there, too: otherwise each level of nested
    /// calls would double the work.
    pub(super) is_within: bool,
}

/// A call that runs before its statement. Its results are the variables behind those of the
/// routine and of the calls before it.
pub(crate) struct PendingCall {
    /// Position among the routines.
    pub(crate) routine: usize,
    /// The values of the input parameters.
    pub(crate) arguments: Vec<Expr>,
    /// The types of its results: one value, or an array for each column of its rows.
    pub(crate) results: Vec<SqlType>,
    /// It runs only if this is true.
    pub(crate) guard: Option<Expr>,
    pub(crate) span: Span,
}

/// An argument of a call.
pub(super) struct Argument {
    written: Expr,
    /// The value with the type of the parameter.
    pub(super) value: Expr,
    span: Span,
}

/// Where the results of a call are.
enum Hoisted {
    /// In variables from this one on: it runs before the statement.
    Before(usize),
    /// It runs while the statement runs.
    Within,
}

impl<'a> Calls<'a> {
    pub(crate) fn new(routines: &'a Routines) -> Self {
        let (pending, guards) = (Vec::new(), Vec::new());
        let place = CallPlace::Once;
        Self { routines, pending, guards, place, is_in_query: false, is_within: false }
    }

    /// The number of the variables for results.
    fn results(&self) -> usize {
        self.pending.iter().map(|call| call.results.len()).sum()
    }
}

impl Resolver<'_> {
    /// The position of the routine that `name` calls; `None` if it names a function of PostgreSQL.
    pub(super) fn own_routine(&self, name: &ObjectName) -> Option<usize> {
        let parts: Option<Vec<String>> =
            object_parts(name).map(|parts| parts.into_iter().map(ident_name).collect());
        let parts = parts?;
        if let [own] = &parts[..]
            && self.is_function(own)
        {
            return None;
        }
        let position = |full: &str| self.routines.iter().position(|routine| routine.name == full);
        self.catalog.schemas.lookup(self.source.path(), &parts, position)
    }

    /// The error that nothing is called `name`, with the types of its arguments.
    pub(super) fn unknown_call(
        &mut self,
        scope: &Scope<'_>,
        name: &str,
        arguments: &FunctionArguments,
        span: Span,
    ) -> Result<Error> {
        let nodes = self.plain_arguments(name, arguments, span)?;
        let values = nodes.iter().map(|node| self.expr(scope, node)).collect::<Result<Vec<_>>>()?;
        Ok(self.no_such_function(name, &values, span).late())
    }

    /// The number of calls so far.
    pub(super) fn call_count(&self) -> usize {
        self.calls.as_ref().map_or(0, |calls| calls.pending.len())
    }

    /// Refuses a condition that decides alone whether PostgreSQL calls the functions of `FROM`, if
    /// it matters.
    pub(super) fn check_filter_of_calls(
        &self,
        of_from: Range<usize>,
        filter: Option<&Expr>,
    ) -> Result<()> {
        let (Some(calls), Some(filter)) = (&self.calls, filter) else { return Ok(()) };
        let is_volatile = |call: &&PendingCall| {
            calls.routines.get(call.routine).signature.volatility == Volatility::Volatile
        };
        match calls.pending[of_from].iter().find(is_volatile) {
            Some(call) if conjuncts(filter).iter().any(|condition| !uses_rows(condition)) => {
                let what = "a VOLATILE function in FROM beside a condition without its columns";
                Err(self.outside(call.span, what, "write IF, and call it without the condition"))
            }
            _ => Ok(()),
        }
    }

    /// A call as a value.
    pub(super) fn own_call(
        &mut self,
        scope: &Scope<'_>,
        function: &ast::Function,
        routine: usize,
        span: Span,
    ) -> Result<Expr> {
        let is_plain = function.over.is_none() && function.filter.is_none();
        let list = match &function.args {
            FunctionArguments::List(list)
                if is_plain && list.clauses.is_empty() && list.duplicate_treatment.is_none() =>
            {
                &list.args[..]
            }
            _ => {
                let sentence = "a function of the catalog accepts only plain arguments";
                return Err(self.error(span, ErrorKind::Syntax, sentence));
            }
        };
        let place = self.call_place();
        let signature = self.routines[routine];
        let variable = match self.hoist(scope, routine, list, span)? {
            Hoisted::Before(variable) => variable,
            Hoisted::Within => return self.row_call(scope, signature, list, span),
        };
        let is_in_query = self.calls.as_ref().is_some_and(|calls| calls.is_in_query);
        match &signature.returns {
            Returns::Nothing => Ok(Expr::new(ExprKind::Null, SqlType::Void)),
            Returns::Value(sql_type) => {
                Ok(Expr::new(ExprKind::Variable(variable), sql_type.clone()))
            }
            Returns::Row(fields) if place == CallPlace::Once && !is_in_query => {
                let sql_type = SqlType::Record(fields.clone());
                Ok(Expr::new(ExprKind::Variable(variable), sql_type))
            }
            Returns::Row(_) | Returns::Rows(_) => {
                let advice = "write SELECT ... FROM and the call";
                Err(self.outside(span, "a function that returns rows in an expression", advice))
            }
        }
    }

    fn unexpected(&self, span: Span) -> Error {
        self.outside(span, "a call of a routine here", "call it into a variable first")
    }

    /// A call in `FROM`.
    pub(super) fn own_source(
        &mut self,
        clause: &mut FromClause<'_>,
        routine: usize,
        arguments: &[FunctionArg],
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Join> {
        let scope = clause.scope.clone();
        let signature = self.routines[routine];
        let own = signature.name.clone();
        let single = single_output(signature).unwrap_or_else(|| {
            alias.map_or_else(|| own_name(&own).to_owned(), |alias| ident_name(&alias.name))
        });
        let named = |of: &Field| match of.name.is_empty() {
            true => field(&single, of.sql_type.clone()),
            false => of.clone(),
        };
        let columns: Vec<Field> = match &signature.returns {
            Returns::Nothing => vec![field(&single, SqlType::Void)],
            Returns::Value(sql_type) => vec![field(&single, sql_type.clone())],
            Returns::Row(fields) => fields.clone(),
            Returns::Rows(fields) => fields.iter().map(named).collect(),
        };
        let kind = match self.hoist(&scope, routine, arguments, span)? {
            Hoisted::Before(first) => source_of(&signature.returns, first, &columns),
            Hoisted::Within => {
                let call = self.row_source(&scope, signature, arguments, span)?;
                FromKind::Call(Box::new(call))
            }
        };
        let is_scalar = columns.len() == 1;
        let join = self.add_source(clause, kind, columns, Some(own), alias, span)?;
        if let Some(source) = clause.sources.last_mut() {
            source.is_common = true;
        }
        if let Some(visible) = clause.scope.sources.last_mut() {
            visible.is_scalar = is_scalar;
        }
        Ok(join)
    }

    /// Records a call that can run before its statement.
    fn hoist(
        &mut self,
        scope: &Scope<'_>,
        at: usize,
        arguments: &[FunctionArg],
        span: Span,
    ) -> Result<Hoisted> {
        let signature = self.routines[at];
        let name = &signature.name;
        if signature.kind == RoutineKind::Procedure {
            let message = format!("`{name}` is a procedure");
            let error = self.type_error(span, message.clone()).in_postgres("42809", message);
            return Err(error.advise("To call a procedure, use CALL.").late());
        }
        let Some(calls) = &self.calls else { return Ok(Hoisted::Within) };
        let before = (calls.pending.len(), self.references.len());
        let is_volatile = signature.volatility == Volatility::Volatile;
        let is_drawn = is_volatile && calls.place != CallPlace::Once;
        if is_drawn || calls.is_within || self.names.is_routine(name) {
            return Ok(Hoisted::Within);
        }
        let matched = self.matched(scope, signature, arguments, span)?;
        let arguments: Vec<Expr> = matched.into_iter().map(|argument| argument.value).collect();
        let results = self.result_types(signature, span).ok();
        let runs_before = !arguments.iter().any(uses_rows);
        match (self.guard(), results) {
            (Ok(guard), Some(results)) if runs_before => {
                let call = PendingCall { routine: at, arguments, results, guard, span };
                self.take_call(call).map(Hoisted::Before)
            }
            _ => {
                // The arguments are resolved again, in another scope.
                self.references.truncate(before.1);
                if let Some(calls) = &mut self.calls {
                    calls.pending.truncate(before.0);
                }
                Ok(Hoisted::Within)
            }
        }
    }

    /// Adds a call, and returns the first variable of its results.
    fn take_call(&mut self, call: PendingCall) -> Result<usize> {
        let variable = self.next_result();
        let span = call.span;
        let Some(calls) = &mut self.calls else { return Err(self.unexpected(span)) };
        calls.pending.push(call);
        Ok(variable)
    }

    /// The first variable of the results of the next call.
    fn next_result(&self) -> usize {
        self.variables.len() + self.calls.as_ref().map_or(0, Calls::results)
    }

    /// The call of a procedure by `CALL`: the arguments of its output parameters, with the values
    /// that they get.
    pub(crate) fn procedure_call(
        &mut self,
        function: &ast::Function,
        span: Span,
    ) -> Result<Vec<(Expr, Expr, Span)>> {
        let found = self.own_routine(&function.name);
        let list = match &function.args {
            FunctionArguments::List(list) => &list.args[..],
            _ => &[],
        };
        let Some(calls) = &self.calls else { return Err(self.unexpected(span)) };
        let routines = calls.routines;
        let is_procedure = |at: &usize| routines.get(*at).signature.kind == RoutineKind::Procedure;
        let Some(at) = found.filter(is_procedure) else {
            if found.is_some() {
                return Err(self.no_procedure(function, span));
            }
            let mut given = Vec::new();
            for argument in list {
                let (_, node) = self.own_argument(argument, span)?;
                given.push(self.expr(&Scope::default(), node)?);
            }
            let name = function.name.to_string();
            return Err(self.unfit(RoutineKind::Procedure, &name, &given, span));
        };
        let signature = &routines.get(at).signature;
        let given = self.matched(&Scope::default(), signature, list, span)?;
        let results = self.result_types(signature, span)?;
        let result = self.next_result();
        let (mut arguments, mut targets) = (Vec::new(), Vec::new());
        for (parameter, argument) in signature.parameters.iter().zip(given) {
            if parameter.mode != ParameterMode::In {
                let sql_type = signature.variables[parameter.variable].sql_type.clone();
                let kind = ExprKind::Field { variable: result, field: targets.len() };
                targets.push((argument.written, Expr::new(kind, sql_type), argument.span));
            }
            if parameter.mode != ParameterMode::Out {
                arguments.push(argument.value);
            }
        }
        self.take_call(PendingCall { routine: at, arguments, results, guard: None, span })?;
        Ok(targets)
    }

    fn no_procedure(&self, function: &ast::Function, span: Span) -> Error {
        let message = format!("{} is not a procedure", function.name);
        let error = self.type_error(span, message.clone()).in_postgres("42809", message);
        error.advise("To call a function, use SELECT.").late()
    }

    /// The types of the variables that hold the results of a call.
    fn result_types(&self, signature: &Procedure, span: Span) -> Result<Vec<SqlType>> {
        Ok(match &signature.returns {
            Returns::Nothing => Vec::new(),
            Returns::Value(sql_type) => vec![sql_type.clone()],
            Returns::Row(fields) => vec![SqlType::Record(fields.clone())],
            Returns::Rows(fields) => {
                let is_array = |field: &Field| matches!(field.sql_type, SqlType::Array(_));
                let what = format!("a call of `{}`, whose rows have arrays,", signature.name);
                let advice = "write its query here";
                self.refuse(fields.iter().any(is_array), span, &what, advice)?;
                let array = |field: &Field| SqlType::Array(Box::new(field.sql_type.clone()));
                fields.iter().map(array).collect()
            }
        })
    }

    /// The arguments of a call by parameter: of a function's input parameters, and of all
    /// parameters of a procedure.
    pub(super) fn matched(
        &mut self,
        scope: &Scope<'_>,
        signature: &Procedure,
        arguments: &[FunctionArg],
        span: Span,
    ) -> Result<Vec<Argument>> {
        let is_procedure = signature.kind == RoutineKind::Procedure;
        let parameters: Vec<&Parameter> = signature
            .parameters
            .iter()
            .filter(|one| is_procedure || one.mode != ParameterMode::Out)
            .collect();
        let mut given: Vec<Option<(Expr, Span)>> = vec![None; parameters.len()];
        let mut values = Vec::new();
        let mut is_fit = true;
        for (at, argument) in arguments.iter().enumerate() {
            let (name, node) = self.own_argument(argument, span)?;
            let value = self.expr(scope, node)?;
            values.push(value.clone());
            let is_named =
                |of: &&Parameter| Some(&signature.variables[of.variable].name) == name.as_ref();
            let place = match name {
                None => Some(at).filter(|at| *at < given.len()),
                Some(_) => parameters.iter().position(is_named),
            };
            match place {
                Some(place) if given[place].is_none() => given[place] = Some((value, node.span())),
                _ => is_fit = false,
            }
        }
        let unfit = self.unfit(signature.kind, &signature.name, &values, span);
        let mut matched = Vec::with_capacity(parameters.len());
        for (value, parameter) in given.into_iter().zip(parameters).filter(|_| is_fit) {
            let has_default = !is_procedure || parameter.mode == ParameterMode::In;
            let default = parameter.default.clone().filter(|_| has_default);
            let Some((written, span)) = value.or(default.map(|value| (value, span))) else {
                return Err(unfit);
            };
            let wanted = signature.variables[parameter.variable].sql_type.base();
            let converted = self.convert(written.clone(), &wanted, Context::Implicit, span);
            let value = converted.map_err(|error| match error.postgres {
                None => unfit.clone(),
                Some(_) => error,
            })?;
            matched.push(Argument { written, value, span });
        }
        if is_fit { Ok(matched) } else { Err(unfit) }
    }

    /// The error that no routine takes these arguments.
    fn unfit(&self, kind: RoutineKind, name: &str, values: &[Expr], span: Span) -> Error {
        let types: Vec<String> = values.iter().map(|value| value.sql_type.base().name()).collect();
        let kind = match kind {
            RoutineKind::Function => "function",
            RoutineKind::Procedure => "procedure",
        };
        let message = format!("{kind} {name}({}) does not exist", types.join(", "));
        self.type_error(span, message.clone()).in_postgres("42883", message).late()
    }

    /// An argument, with the name of its parameter if the call has it.
    fn own_argument<'n>(
        &self,
        argument: &'n FunctionArg,
        span: Span,
    ) -> Result<(Option<String>, &'n ast::Expr)> {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(node)) => Ok((None, node)),
            FunctionArg::Named { name, arg: FunctionArgExpr::Expr(node), .. } => {
                Ok((Some(ident_name(name)), node))
            }
            FunctionArg::ExprNamed {
                name: ast::Expr::Identifier(name),
                arg: FunctionArgExpr::Expr(node),
                ..
            } => Ok((Some(ident_name(name)), node)),
            _ => Err(self.outside(span, "this kind of argument", "write its value")),
        }
    }

    /// Whether nothing is called `name`, and a routine of that name may be created later.
    pub(super) fn may_be_created(&self, name: &str) -> bool {
        let is_free = !self.names.is_routine(name) && !is_built_in(name);
        self.names.has_own_plans && is_free && !self.is_function(name)
    }
}

/// The name of the only output parameter, which names the column of the result.
fn single_output(signature: &Procedure) -> Option<String> {
    let mut outputs = signature.parameters.iter().filter(|one| one.mode != ParameterMode::In);
    let output = outputs.next().filter(|_| outputs.clone().next().is_none())?;
    let name = &signature.variables[output.variable].name;
    (!name.starts_with('$')).then(|| name.clone())
}

/// The rows of a call whose results are the variables from `first` on.
fn source_of(returns: &Returns, first: usize, columns: &[Field]) -> FromKind {
    let variable = |at: usize, sql_type: SqlType| Expr::new(ExprKind::Variable(at), sql_type);
    match returns {
        Returns::Nothing => only_row(vec![Expr::new(ExprKind::Null, SqlType::Void)], columns),
        Returns::Value(sql_type) => only_row(vec![variable(first, sql_type.clone())], columns),
        Returns::Row(fields) => {
            let value = |(at, of): (usize, &Field)| {
                let kind = ExprKind::Field { variable: first, field: at };
                Expr::new(kind, of.sql_type.clone())
            };
            only_row(fields.iter().enumerate().map(value).collect(), fields)
        }
        Returns::Rows(fields) => {
            let array = |(at, of): (usize, &Field)| {
                variable(first + at, SqlType::Array(Box::new(of.sql_type.clone())))
            };
            FromKind::Unnest(fields.iter().enumerate().map(array).collect())
        }
    }
}

/// A source with one row.
fn only_row(values: Vec<Expr>, columns: &[Field]) -> FromKind {
    let body = SelectBody::Values { columns: columns.to_vec(), rows: vec![values] };
    let select = Select {
        body,
        order: Vec::new(),
        limit: None,
        offset: None,
        lock: None,
        locked: Vec::new(),
    };
    FromKind::Query(Box::new(select))
}

/// The parts of a condition that `AND` connects.
fn conjuncts(condition: &Expr) -> Vec<&Expr> {
    match &condition.kind {
        ExprKind::Binary { operator: BinaryOperator::And, left, right } => {
            let mut parts = conjuncts(left);
            parts.extend(conjuncts(right));
            parts
        }
        _ => vec![condition],
    }
}
