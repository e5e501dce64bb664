//! `procedures.sql`: `CREATE FUNCTION` and `CREATE PROCEDURE`.
//!
//! [`header`] parses the parts around the body, [`parameter`] and [`returns`] the signature, and
//! [`sql_body`] bodies in `sql`. [`crate::plpgsql`] parses bodies in `plpgsql`. [`routines`] has
//! the routines that bodies call.
//!
//! Decision: docs/decisions/0155-queries-by-sqlparser-everything-around-them-by-our-own.md

mod header;
mod parameter;
mod returns;
mod routines;
mod sql_body;

use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Result};
use crate::errors::{Errors, Findings};
use crate::plpgsql::{Assigned, Compiler, Inlining};
use crate::procedure::{Body, Procedure, Returns, RoutineKind};
use crate::resolve::names::Names;
use crate::source::Source;
use crate::token::{Cursor, name_of, token_is_word, tokenize};
use crate::types::SqlType;
use header::{Header, Language};
pub(crate) use routines::Callee;
pub use routines::Routines;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::rc::Rc;

/// Parses the functions and procedures of `procedures.sql` against the tables of `catalog`.
///
/// # Errors
///
/// All errors that PostgreSQL would report, and all SQL that it accepts and this crate does not
/// support, with positions.
pub fn read_procedures(
    source: &Source,
    catalog: &Catalog,
) -> std::result::Result<Vec<Procedure>, Errors> {
    let mut findings = Findings::default();
    let procedures = read(source, catalog, None, &mut findings);
    findings.into_result(procedures)
}

/// As [`read_procedures`], for statements that namdb plans itself. They call `routines`.
///
/// # Errors
/// Those of [`read_procedures`].
pub fn read_routines(
    source: &Source,
    catalog: &Catalog,
    routines: &Routines,
) -> std::result::Result<Vec<Procedure>, Errors> {
    let mut findings = Findings::default();
    let procedures = read(source, catalog, Some(routines), &mut findings);
    findings.into_result(procedures)
}

/// The signature of the first procedure of a source, even if its body has an error; `None` if the
/// signature has one.
pub fn read_signature(
    source: &Source,
    catalog: &Catalog,
    routines: &Routines,
) -> Option<Procedure> {
    read(source, catalog, Some(routines), &mut Findings::default()).into_iter().next()
}

/// As [`read_procedures`]; returns the procedures whose headers are valid. `called` are the
/// routines that their bodies may call; `None` if PostgreSQL plans them.
pub(crate) fn read(
    source: &Source,
    catalog: &Catalog,
    called: Option<&Routines>,
    findings: &mut Findings,
) -> Vec<Procedure> {
    let tokens = match tokenize(source, 0, source.text()) {
        Ok(tokens) => tokens,
        Err(error) => {
            findings.add_unreadable_file(error);
            return Vec::new();
        }
    };
    let errors_before = findings.count();
    let routines = routine_names(&tokens);
    let mut cursor = Cursor::new(source, tokens, source.text().len());
    let mut procedures: Vec<Procedure> = Vec::new();
    while !cursor.is_at_end() {
        if cursor.accept(&Token::SemiColon) {
            continue;
        }
        let from = cursor.position();
        let mut compiler = compiler(source, catalog, cursor.clone(), &routines);
        compiler.findings = take(findings);
        compiler.names.has_own_plans = called.is_some();
        compiler.called = called;
        let read = compiler.routine(&procedures);
        *findings = take(&mut compiler.findings);
        match read {
            Ok(procedure) => {
                cursor = compiler.cursor;
                procedures.extend(procedure);
            }
            Err(error) => skip_routine(&mut cursor, from, error, findings),
        }
    }
    findings.sort_from(errors_before);
    procedures
}

/// The names after `FUNCTION` and `PROCEDURE` in a file.
fn routine_names(tokens: &[TokenWithSpan]) -> Rc<[String]> {
    let named = (0..tokens.len()).filter_map(|at| {
        let token = |behind: usize| tokens.get(at + behind).map(|token| &token.token);
        let is_one = |at, words: [&str; 2]| {
            token(at).is_some_and(|token| words.iter().any(|word| token_is_word(token, word)))
        };
        let creates = is_one(0, ["CREATE", "REPLACE"]);
        let is_routine = is_one(1, ["FUNCTION", "PROCEDURE"]);
        // The name may have the schema `public` in front of it.
        let name = if token(3) == Some(&Token::Period) { token(4) } else { token(2) };
        match name {
            Some(Token::Word(name)) if creates && is_routine => Some(name_of(name)),
            _ => None,
        }
    });
    named.collect()
}

/// Reports an error of the statement at `from`, and skips to the next statement.
fn skip_routine(cursor: &mut Cursor<'_>, from: usize, error: Error, findings: &mut Findings) {
    cursor.rewind(from);
    let mut is_atomic = false;
    while let Some(token) = cursor.next() {
        is_atomic |= token_is_word(&token.token, "ATOMIC");
        // An unquoted body contains semicolons, but no `CREATE`.
        let ends = !is_atomic || cursor.is_at_end() || cursor.is_word("CREATE");
        if token.token == Token::SemiColon && ends {
            break;
        }
    }
    let tokens = cursor.slice(from, cursor.position()).to_vec();
    findings.report(error, &tokens);
    routine_names(&tokens).iter().for_each(|name| findings.mark_damaged(name));
}

pub(crate) fn compiler<'a>(
    source: &'a Source,
    catalog: &'a Catalog,
    cursor: Cursor<'a>,
    routines: &Rc<[String]>,
) -> Compiler<'a> {
    Compiler {
        source,
        catalog,
        cursor,
        procedure: String::new(),
        names: Names::in_file(routines.clone()),
        variables: Vec::new(),
        statements: Vec::new(),
        returns: Returns::Nothing,
        has_outputs: false,
        open_records: Vec::new(),
        assigned: Assigned::initial(),
        enclosing: Vec::new(),
        nesting: 0,
        findings: Findings::default(),
        lost: BTreeSet::new(),
        called: None,
        before: Vec::new(),
        inlining: Inlining::default(),
        cursors: BTreeMap::new(),
        deduced: RefCell::default(),
    }
}

impl Compiler<'_> {
    /// Parses one statement that creates a procedure. If `before` has one of the same name, reports
    /// this and returns `None`.
    fn routine(&mut self, before: &[Procedure]) -> Result<Option<Procedure>> {
        let place = self.cursor.span();
        let header = self.header()?;
        if !self.cursor.is_at_end() {
            self.cursor.expect(&Token::SemiColon)?;
        }
        if before.iter().any(|known| known.name == header.name) {
            let sentence =
                format!("a second procedure called `{}` is outside the supported SQL", header.name);
            let error = Error::at(self.source, place, ErrorKind::Outside, sentence);
            self.findings.add(error.advise("give each procedure a different name"));
            return Ok(None);
        }
        Ok(Some(self.procedure(header, place)))
    }

    /// The procedure with its body; the body is empty if it has an error, which is reported.
    fn procedure(&mut self, header: Header, place: Span) -> Procedure {
        self.procedure = header.name.clone();
        self.returns = header.returns.clone();
        self.has_outputs = header.has_outputs;
        self.inlining.begin(&header.name);
        self.inlining.is_function = header.kind == RoutineKind::Function;
        let errors_before = self.findings.count();
        let behind = self.cursor.clone();
        let body = match self.quoted_body(&header, place) {
            Ok(body) => body,
            Err(error) => {
                self.report_body(error, errors_before);
                Body::Statements { statements: Vec::new(), results: Vec::new() }
            }
        };
        self.cursor = behind;
        if self.findings.count() > errors_before {
            self.findings.mark_damaged(&header.name);
        }
        Procedure {
            name: header.name,
            line: place.start.line as u32,
            kind: header.kind,
            parameters: header.parameters,
            // A function that returns records has the columns of its rows.
            returns: self.returns.clone(),
            volatility: header.volatility,
            is_strict: header.is_strict,
            variables: take(&mut self.variables),
            body,
            statements: take(&mut self.statements),
        }
    }

    fn quoted_body(&mut self, header: &Header, place: Span) -> Result<Body> {
        let (tokens, end) = body_tokens(self.source, &header.body)?;
        self.cursor = Cursor::new(self.source, tokens, end);
        if header.language == Language::Sql && self.called.is_none() {
            return self.sql_body();
        }
        // A body in `sql` with calls becomes a block, which has this variable.
        let found = self.add_variable("found", SqlType::Bool, place);
        self.inlining.found = found;
        if header.language == Language::Sql {
            return self.sql_body();
        }
        self.names.declare("found", found);
        Ok(Body::Block(self.body()?))
    }
}

/// The tokens of a body between its quotes, and the byte where it ends.
pub(crate) fn body_tokens(
    source: &Source,
    body: &TokenWithSpan,
) -> Result<(Vec<TokenWithSpan>, usize)> {
    let (start, end) = (source.offset(body.span.start), source.offset(body.span.end));
    let quote = match &body.token {
        Token::DollarQuotedString(quoted) => 2 + quoted.tag.as_ref().map_or(0, String::len),
        _ => 1,
    };
    let text = source.text().get(start + quote..end.saturating_sub(quote)).unwrap_or("");
    if quote == 1 && text.contains('\'') {
        let sentence = "a body with doubled quotes is outside the supported SQL";
        let error = Error::at(source, body.span, ErrorKind::Outside, sentence);
        return Err(error.advise("write the body between $$ and $$"));
    }
    let tokens = tokenize(source, start + quote, text)?;
    Ok((tokens, start + quote + text.len()))
}
