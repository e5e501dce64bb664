//! Declarations of variables.

use super::Compiler;
use crate::catalog::Table;
use crate::error::{ErrorKind, Result};
use crate::procedure::{Block, Formula, Statement, StatementKind};
use crate::token::token_is_word;
use crate::type_name::parse_type;
use crate::types::SqlType;
use sqlparser::tokenizer::Token;

/// The declarations of a block. A call in an initial value runs behind the declarations before it,
/// so that the others are those of a block inside.
#[derive(Default)]
pub(super) struct Declared {
    /// The declarations before the first call.
    first: Vec<Declaration>,
    /// The bodies of calls, each with the declarations behind them.
    parts: Vec<(Vec<Statement>, Vec<Declaration>)>,
}

/// A variable with its initial value.
type Declaration = (usize, Option<Formula>);

impl Declared {
    fn add(&mut self, one: Option<Declaration>, calls: Vec<Statement>) {
        if !calls.is_empty() {
            self.parts.push((calls, Vec::new()));
        }
        match self.parts.last_mut() {
            Some((_, part)) => part.extend(one),
            None => self.first.extend(one),
        }
    }

    /// The block with these statements.
    pub(super) fn block(self, label: Option<String>, statements: Vec<Statement>) -> Block {
        let mut statements = statements;
        for (calls, declarations) in self.parts.into_iter().rev() {
            let line = calls.last().map_or(0, |call| call.line);
            let kind = StatementKind::Block(Block { label: None, declarations, statements });
            statements = calls;
            statements.push(Statement { line, kind });
        }
        Block { label, declarations: self.first, statements }
    }
}

impl Compiler<'_> {
    /// Parses declarations up to `BEGIN` or another `DECLARE`.
    pub(super) fn declarations(&mut self, declared: &mut Declared) -> Result<()> {
        while !self.cursor.is_word("BEGIN") && !self.cursor.is_word("DECLARE") {
            let from = self.cursor.position();
            let (read, calls) = self.with_calls(Self::declaration);
            match read {
                Ok(one) => declared.add(one, calls),
                Err(error) => self.skip_declaration(from, error)?,
            }
        }
        Ok(())
    }

    /// Parses one variable with its initial value; `None` for an alias.
    fn declaration(&mut self) -> Result<Option<(usize, Option<Formula>)>> {
        let (name, place) = self.cursor.name("a variable's name or `BEGIN`")?;
        if self.names.is_declared(&name) {
            let sentence = format!("`{name}` is declared twice in this block");
            return Err(self.cursor.error(place, ErrorKind::Name, sentence));
        }
        if self.cursor.accept_words(&["ALIAS", "FOR"]) {
            self.alias(&name)?;
            return Ok(None);
        }
        let is_constant = self.cursor.accept_word("CONSTANT");
        let span = self.cursor.span();
        if self.begins_cursor() {
            if self.called.is_some() {
                return self.cursor_declaration(&name, place).map(Some);
            }
            return Err(self.outside(span, "a cursor", "write FOR row IN query LOOP"));
        }
        let sql_type = self.declared_type()?;
        if sql_type == SqlType::Void {
            return Err(self.type_error(span, "a variable cannot be void"));
        }
        let is_not_null = self.cursor.accept_words(&["NOT", "NULL"]);
        let variable = self.add_variable(&name, sql_type.clone(), place);
        if sql_type == SqlType::Record(Vec::new()) {
            self.open_records.push(variable);
        }
        let value = self.initial(&sql_type, variable)?;
        if is_not_null && value.is_none() {
            let sentence = format!("`{name}` is NOT NULL but has no initial value");
            return Err(self.syntax(place, sentence));
        }
        self.variables[variable].is_constant = is_constant;
        self.variables[variable].is_not_null = is_not_null;
        self.names.declare(&name, variable);
        Ok(Some((variable, value)))
    }

    fn initial(&mut self, sql_type: &SqlType, variable: usize) -> Result<Option<Formula>> {
        let given = self.cursor.accept(&Token::Assignment)
            || self.cursor.accept(&Token::Eq)
            || self.cursor.accept_word("DEFAULT");
        if !given {
            self.cursor.expect(&Token::SemiColon)?;
            return Ok(None);
        }
        let span = self.cursor.span();
        let tokens = self.cursor.take_until(|token| *token == Token::SemiColon)?;
        self.cursor.expect(&Token::SemiColon)?;
        if self.open_records.contains(&variable) {
            return Err(self.outside(
                span,
                "an initial value of a record",
                "assign its fields by SELECT INTO",
            ));
        }
        self.formula(&tokens, span, Some(sql_type)).map(Some)
    }

    /// `name ALIAS FOR $1;`
    fn alias(&mut self, name: &str) -> Result<()> {
        let span = self.cursor.span();
        let variable = match self.cursor.peek() {
            Some(Token::Placeholder(text)) => {
                let number = text.get(1..).and_then(|digits| digits.parse::<usize>().ok());
                let place = number.and_then(|number| number.checked_sub(1));
                place.and_then(|place| self.names.positional.get(place)).copied()
            }
            Some(Token::Word(word)) => self.names.find(&crate::token::name_of(word)),
            _ => None,
        };
        let Some(variable) = variable else {
            return Err(self.cursor.error(
                span,
                ErrorKind::Name,
                "this parameter or variable does not exist",
            ));
        };
        self.cursor.next();
        self.names.declare(name, variable);
        self.cursor.expect(&Token::SemiColon)
    }

    /// Parses a type, including `variable%TYPE`, `table.column%TYPE`, `table%ROWTYPE` and `table`.
    pub(crate) fn declared_type(&mut self) -> Result<SqlType> {
        let from = self.cursor.position();
        if self.names.has_own_plans && self.cursor.accept_word("REFCURSOR") {
            // A cursor's variable holds its name.
            return Ok(SqlType::Text);
        }
        if let Some(sql_type) = self.copied_type()? {
            return Ok(sql_type);
        }
        self.cursor.rewind(from);
        let word = |at| match self.cursor.peek_at(at) {
            Some(Token::Word(word)) => Some(crate::token::name_of(word)),
            _ => None,
        };
        let has_schema = self.cursor.peek_at(1) == Some(&Token::Period);
        let parts = [word(0), word(2).filter(|_| has_schema)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if let Some(table) = self.named_table(&parts) {
            let fields = table.fields();
            self.cursor.next();
            if has_schema {
                self.cursor.next();
                self.cursor.next();
            }
            return Ok(SqlType::Record(fields));
        }
        parse_type(&mut self.cursor)
    }

    /// Parses a type written as a name with `%TYPE` or `%ROWTYPE`; `None` if the next tokens are
    /// something else.
    fn copied_type(&mut self) -> Result<Option<SqlType>> {
        let from = self.cursor.position();
        let Some(Token::Word(_)) = self.cursor.peek() else {
            return Ok(None);
        };
        let mut parts = vec![self.cursor.name("a name")?.0];
        while self.cursor.accept(&Token::Period) {
            parts.push(self.cursor.name("a name")?.0);
        }
        if !self.cursor.accept(&Token::Mod) {
            return Ok(None);
        }
        let span = self.cursor.span_from(from);
        let rows = self.cursor.accept_word("ROWTYPE");
        if !rows {
            self.cursor.expect_word("TYPE")?;
        }
        let array = matches!(self.cursor.peek(), Some(Token::LBracket));
        if array {
            return Err(self.outside(span, "an array of a copied type", "write the type's name"));
        }
        let found = match &parts[..] {
            table if rows => self.named_table(table).map(|table| SqlType::Record(table.fields())),
            [variable] => {
                self.names.find(variable).map(|variable| self.variables[variable].sql_type.clone())
            }
            [first, second] => self.qualified_type(first, second),
            [table @ .., column] => self.type_of_column(table, column),
            [] => None,
        };
        found.map(Some).ok_or_else(|| {
            let sentence = format!("`{}` has no type to copy", parts.join("."));
            self.cursor.error(span, ErrorKind::Name, sentence)
        })
    }

    /// The type of `label.variable` or `table.column`.
    fn qualified_type(&self, first: &str, second: &str) -> Option<SqlType> {
        if let Some(variable) = self.names.find_in(first, second) {
            return Some(self.variables[variable].sql_type.clone());
        }
        self.type_of_column(&[first.to_owned()], second)
    }

    fn type_of_column(&self, table: &[String], column: &str) -> Option<SqlType> {
        let table = self.named_table(table)?;
        table.column(column).map(|column| table.columns[column].sql_type.clone())
    }

    /// The table that a name of one or two parts means.
    fn named_table(&self, parts: &[String]) -> Option<&Table> {
        let schemas = &self.catalog.schemas;
        schemas.lookup(self.source.path(), parts, |full| self.catalog.table(full))
    }
}

/// Whether the tokens contain the word `word` outside all parentheses.
pub(super) fn has_word(
    tokens: &[sqlparser::tokenizer::TokenWithSpan],
    word: &str,
) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth -= 1,
            token if depth == 0 && token_is_word(token, word) => return Some(at),
            _ => {}
        }
    }
    None
}
