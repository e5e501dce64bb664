//! `procedures.sql`: `CREATE FUNCTION` and `CREATE PROCEDURE`.
//!
//! [`header`] reads what stands around the body, [`parameter`] and [`returns`] what calls look like, [`sql_body`] the bodies
//! in `sql`; those in `plpgsql` are [`crate::plpgsql`]'s.

mod header;
mod parameter;
mod returns;
mod sql_body;

use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Result};
use crate::plpgsql::{Assigned, Compiler};
use crate::procedure::{Body, Procedure, Returns, Variable};
use crate::resolve::names::Names;
use crate::source::Source;
use crate::token::{Cursor, tokenize};
use crate::types::SqlType;
use header::{Header, Language};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// Reads the functions and procedures of `procedures.sql` over the tables of `catalog`.
///
/// # Errors
///
/// What PostgreSQL would refuse, and what it takes and we do not, with its place.
pub fn read_procedures(source: &Source, catalog: &Catalog) -> Result<Vec<Procedure>> {
    let tokens = tokenize(source, 0, source.text())?;
    let mut cursor = Cursor::new(source, tokens, source.text().len());
    let mut procedures: Vec<Procedure> = Vec::new();
    while !cursor.is_at_end() {
        if cursor.accept(&Token::SemiColon) {
            continue;
        }
        let place = cursor.span();
        let mut compiler = compiler(source, catalog, cursor);
        let header = compiler.header()?;
        cursor = compiler.cursor.clone();
        if procedures.iter().any(|known| known.name == header.name) {
            let sentence =
                format!("a second procedure called `{}` is outside the supported SQL", header.name);
            let error = Error::at(source, place, ErrorKind::Outside, sentence);
            return Err(error.advise("give each a name of its own"));
        }
        procedures.push(compiler.procedure(header, place)?);
        if !cursor.is_at_end() {
            cursor.expect(&Token::SemiColon)?;
        }
    }
    Ok(procedures)
}

fn compiler<'a>(source: &'a Source, catalog: &'a Catalog, cursor: Cursor<'a>) -> Compiler<'a> {
    Compiler {
        source,
        catalog,
        cursor,
        procedure: String::new(),
        names: Names::default(),
        variables: Vec::new(),
        statements: Vec::new(),
        returns: Returns::Nothing,
        has_outputs: false,
        open_records: Vec::new(),
        assigned: Assigned::at_first(),
        enclosing: Vec::new(),
        nesting: 0,
    }
}

impl Compiler<'_> {
    fn procedure(mut self, header: Header, place: Span) -> Result<Procedure> {
        self.procedure = header.name.clone();
        self.returns = header.returns.clone();
        self.has_outputs = header.has_outputs;
        let (tokens, end) = body_tokens(self.source, &header.body)?;
        self.cursor = Cursor::new(self.source, tokens, end);
        let body = match header.language {
            Language::PlPgSql => {
                let found = self.variables.len();
                self.variables.push(Variable {
                    name: "found".to_owned(),
                    sql_type: SqlType::Bool,
                    line: place.start.line as u32,
                    is_constant: false,
                    is_not_null: false,
                });
                self.names.declare("found", found);
                Body::Block(self.body()?)
            }
            Language::Sql => self.sql_body()?,
        };
        Ok(Procedure {
            name: header.name,
            line: place.start.line as u32,
            kind: header.kind,
            parameters: header.parameters,
            returns: header.returns,
            volatility: header.volatility,
            is_strict: header.is_strict,
            variables: self.variables,
            body,
            statements: self.statements,
        })
    }
}

/// The tokens of a body between its quotes, and the byte at which it ends.
fn body_tokens(source: &Source, body: &TokenWithSpan) -> Result<(Vec<TokenWithSpan>, usize)> {
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
