//! Statements of clients with changes in `WITH`: routines without a name, whose parameters are
//! those of the statement.
//!
//! Decision: docs/decisions/0352-with-queries-that-change-rows-are-statements-before.md

use crate::catalog::Catalog;
use crate::error::Result;
use crate::parse;
use crate::plpgsql::{Compiler, has_changes};
use crate::procedure::{
    Block, Body, Parameter, ParameterMode, Procedure, Returns, RoutineKind, Statement, Volatility,
};
use crate::query::Query;
use crate::routine::{Routines, compiler};
use crate::single::{Constants, Deduced, fill, parameters, place, variable};
use crate::source::Source;
use crate::token::{Cursor, token_is_word, tokenize};
use crate::types::SqlType;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};
use std::mem::take;

/// The name that errors and plans show.
const NAME: &str = "statement";

/// A statement of a client with changes in `WITH`.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangingStatement {
    /// The changes, then the statement itself.
    pub routine: Procedure,
    /// The statement itself, which has the rows and the number of rows of the whole.
    pub query: Query,
    /// The types of the parameters, without lengths.
    pub parameters: Vec<SqlType>,
}

/// Resolves the only statement of `source`, if it has changes in its `WITH`. `declared` are the
/// types of its first parameters, as for [`crate::read_statement`].
///
/// # Errors
///
/// The error that PostgreSQL would report, or SQL that this crate does not support.
pub fn read_changing_statement(
    source: &Source,
    catalog: &Catalog,
    routines: &Routines,
    constants: &Constants,
    declared: &[SqlType],
) -> Result<Option<ChangingStatement>> {
    let mut tokens = tokenize(source, 0, source.text())?;
    while tokens.last().is_some_and(|last| last.token == Token::SemiColon) {
        tokens.pop();
    }
    let place = place(source, &tokens);
    if !tokens.first().is_some_and(|first| token_is_word(&first.token, "WITH"))
        || !has_changes(&parse::statement(source, &tokens, place)?)
    {
        return Ok(None);
    }
    let mut types = declared.to_vec();
    types.resize(parameters(source, &tokens)?.max(declared.len()), SqlType::Unknown);
    let reader = Reader { source, catalog, routines, constants, tokens: &tokens, place };
    if types.contains(&SqlType::Unknown) {
        let (_, _, deduced) = reader.read(&types)?;
        fill(&mut types, deduced);
    }
    let (routine, query, _) = reader.read(&types)?;
    Ok(Some(ChangingStatement { routine, query, parameters: types }))
}

struct Reader<'a> {
    source: &'a Source,
    catalog: &'a Catalog,
    routines: &'a Routines,
    constants: &'a Constants,
    tokens: &'a [TokenWithSpan],
    place: Span,
}

impl Reader<'_> {
    /// Reads the statement with these types of parameters; returns also the types that its uses
    /// give to the others.
    fn read(&self, types: &[SqlType]) -> Result<(Procedure, Query, Deduced)> {
        let Self { source, catalog, place, .. } = *self;
        let cursor = Cursor::new(source, self.tokens.to_vec(), source.text().len());
        let mut compiler = compiler(source, catalog, cursor, &std::rc::Rc::default());
        compiler.called = Some(self.routines);
        compiler.names.has_own_plans = true;
        compiler.names.is_session = true;
        compiler.names.columns_win = true;
        compiler.names.constants = self.constants.clone();
        compiler.names.positional = (0..types.len()).collect();
        compiler.names.open(None);
        compiler.inlining.begin(NAME);
        compiler.variables = types.iter().enumerate().map(variable).collect();
        compiler.inlining.found = compiler.add_variable("found", SqlType::Bool, place);
        let sql = compiler.embedded_query(&[self.tokens], "", place)?;
        let mut statements = take(&mut compiler.before);
        let query = sql.query.clone();
        let kind = compiler.whole_result(sql, place)?;
        statements.push(Statement { line: place.start.line as u32, kind });
        let deduced = compiler.deduced.take();
        Ok((self.routine(compiler, statements, types.len()), query, deduced))
    }

    fn routine(
        &self,
        mut compiler: Compiler<'_>,
        statements: Vec<Statement>,
        parameters: usize,
    ) -> Procedure {
        let parameter = |variable| Parameter { mode: ParameterMode::In, variable, default: None };
        let returns = std::mem::replace(&mut compiler.returns, Returns::Nothing);
        Procedure {
            name: NAME.to_owned(),
            line: 1,
            kind: RoutineKind::Function,
            parameters: (0..parameters).map(parameter).collect(),
            returns,
            volatility: Volatility::Volatile,
            is_strict: false,
            variables: take(&mut compiler.variables),
            body: Body::Block(Block { label: None, declarations: Vec::new(), statements }),
            statements: take(&mut compiler.statements),
        }
    }
}
