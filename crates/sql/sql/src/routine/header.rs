//! Parses the parts of a routine around its body.

use crate::error::{Error, ErrorKind, Result};
use crate::keyword::misspelt;
use crate::namespace::own_name;
use crate::plpgsql::Compiler;
use crate::procedure::{Parameter, Returns, RoutineKind, Volatility};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// A routine with an unparsed body.
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) kind: RoutineKind,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returns: Returns,
    pub(crate) has_outputs: bool,
    pub(super) language: Language,
    pub(super) volatility: Volatility,
    pub(crate) is_strict: bool,
    pub(crate) body: TokenWithSpan,
}

impl Header {
    /// Whether the body is in `sql`.
    pub(crate) fn is_sql(&self) -> bool {
        self.language == Language::Sql
    }
}

/// The language of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    PlPgSql,
    Sql,
}

/// Words of statements that belong in the schema.
const TABLE_WORDS: [&str; 4] = ["TABLE", "INDEX", "UNIQUE", "ALTER"];

/// The attributes after the parameters that are parsed so far.
#[derive(Default)]
struct Attributes {
    language: Option<Language>,
    volatility: Option<Volatility>,
    is_strict: Option<bool>,
    body: Option<TokenWithSpan>,
}

impl Compiler<'_> {
    pub(crate) fn header(&mut self) -> Result<Header> {
        let start = self.cursor.span();
        let kind = self.routine_kind(start)?;
        let name = self.routine_name()?;
        // The procedure's name is the label of its parameters.
        self.names.open(Some(own_name(&name)));
        let mut parameters = self.parameters()?;
        let (returns, has_outputs) = self.returns(kind, &mut parameters, start)?;
        let mut attributes = Attributes::default();
        while !matches!(self.cursor.peek(), None | Some(Token::SemiColon)) {
            self.attribute(&mut attributes, kind)?;
        }
        let missing =
            |what: &str| self.cursor.error(start, ErrorKind::Syntax, format!("this has no {what}"));
        let body = attributes.body.ok_or_else(|| missing("body: write AS $$ ... $$"))?;
        let language = attributes
            .language
            .ok_or_else(|| missing("language; write LANGUAGE plpgsql or sql"))?;
        self.names.columns_win = language == Language::Sql;
        Ok(Header {
            name,
            kind,
            parameters,
            returns,
            has_outputs,
            language,
            volatility: attributes.volatility.unwrap_or(Volatility::Volatile),
            is_strict: attributes.is_strict.unwrap_or(false),
            body,
        })
    }

    fn routine_kind(&mut self, start: Span) -> Result<RoutineKind> {
        if !self.cursor.accept_word("CREATE") {
            return Err(self.no_routine(start));
        }
        self.cursor.accept_words(&["OR", "REPLACE"]);
        if self.cursor.accept_word("FUNCTION") {
            Ok(RoutineKind::Function)
        } else if self.cursor.accept_word("PROCEDURE") {
            Ok(RoutineKind::Procedure)
        } else {
            Err(self.no_routine(start))
        }
    }

    /// The error that the statement at `start` creates no procedure; the cursor is at the word that
    /// shows this.
    fn no_routine(&self, start: Span) -> Error {
        if let Some(word) = self.cursor.peek().and_then(misspelt) {
            let shown = self.cursor.span();
            let words = self.source.slice(Span::new(start.start, shown.end));
            let sentence = format!("PostgreSQL has no statement `{words}`");
            let error = self.cursor.error(shown, ErrorKind::Syntax, sentence);
            return error.advise(format!("is `{word}` meant?"));
        }
        let advice = match self.cursor.peek() {
            Some(Token::Word(word)) if TABLE_WORDS.contains(&&*word.value.to_uppercase()) => {
                "move it to schema.sql"
            }
            _ => "leave it out",
        };
        let what = "a statement other than CREATE FUNCTION and CREATE PROCEDURE";
        self.cursor.outside(start, what, advice)
    }

    fn routine_name(&mut self) -> Result<String> {
        if self.cursor.peek_at(1) != Some(&Token::Period) {
            return self.cursor.routine_identifier("a procedure").map(|(name, _)| name);
        }
        let (name, span) = self.cursor.identifier("the procedure's name")?;
        self.cursor.expect(&Token::Period)?;
        if name != "public" {
            return Err(self.cursor.outside(span, "another schema", "write the name alone"));
        }
        self.cursor.identifier("the procedure's name").map(|(name, _)| name)
    }

    fn attribute(&mut self, attributes: &mut Attributes, kind: RoutineKind) -> Result<()> {
        let span = self.cursor.span();
        let function_only = |compiler: &Self| match kind {
            RoutineKind::Function => Ok(()),
            RoutineKind::Procedure => Err(compiler.cursor.error(
                span,
                ErrorKind::Syntax,
                "a procedure does not have this attribute",
            )),
        };
        if self.cursor.accept_word("LANGUAGE") {
            let language = self.language()?;
            return self.once(&mut attributes.language, language, span);
        }
        if self.cursor.accept_word("AS") {
            let body = self.body_token()?;
            return self.once(&mut attributes.body, body, span);
        }
        let volatilities = [
            ("VOLATILE", Volatility::Volatile),
            ("STABLE", Volatility::Stable),
            ("IMMUTABLE", Volatility::Immutable),
        ];
        if let Some((_, volatility)) =
            volatilities.iter().find(|(word, _)| self.cursor.is_word(word))
        {
            self.cursor.next();
            function_only(self)?;
            return self.once(&mut attributes.volatility, *volatility, span);
        }
        if self.cursor.accept_word("STRICT")
            || self.cursor.accept_words(&["RETURNS", "NULL", "ON", "NULL", "INPUT"])
        {
            function_only(self)?;
            return self.once(&mut attributes.is_strict, true, span);
        }
        if self.cursor.accept_words(&["CALLED", "ON", "NULL", "INPUT"]) {
            function_only(self)?;
            return self.once(&mut attributes.is_strict, false, span);
        }
        self.idle_attribute(span, kind)
    }

    /// Skips attributes without meaning here, and refuses unsupported ones.
    fn idle_attribute(&mut self, span: Span, kind: RoutineKind) -> Result<()> {
        let is_function = kind == RoutineKind::Function;
        if is_function && self.cursor.accept_word("PARALLEL") {
            let (_, span) = self.cursor.name("SAFE, UNSAFE or RESTRICTED")?;
            let word = self.source.slice(span).to_uppercase();
            if !["SAFE", "UNSAFE", "RESTRICTED"].contains(&&*word) {
                return Err(self.cursor.error(
                    span,
                    ErrorKind::Syntax,
                    "write SAFE, UNSAFE or RESTRICTED",
                ));
            }
            return Ok(());
        }
        if is_function && (self.cursor.accept_word("COST") || self.cursor.accept_word("ROWS")) {
            return match self.cursor.next().map(|token| token.token) {
                Some(Token::Number(_, _)) => Ok(()),
                _ => Err(self.cursor.error(
                    span,
                    ErrorKind::Syntax,
                    "a number is expected after this",
                )),
            };
        }
        if is_function
            && (self.cursor.accept_word("LEAKPROOF")
                || self.cursor.accept_words(&["NOT", "LEAKPROOF"]))
        {
            return Ok(());
        }
        if self.cursor.accept_words(&["SECURITY", "INVOKER"])
            || self.cursor.accept_words(&["EXTERNAL", "SECURITY", "INVOKER"])
        {
            return Ok(());
        }
        if self.names.has_own_plans && self.cursor.accept_words(&["SET", "search_path"]) {
            return self.search_path();
        }
        let outside = ["SECURITY", "EXTERNAL", "SET", "WINDOW", "TRANSFORM", "SUPPORT"];
        if outside.iter().any(|word| self.cursor.is_word(word)) {
            return Err(self.cursor.outside(span, "this attribute", "leave it out"));
        }
        if self.cursor.is_word("BEGIN") || self.cursor.is_word("RETURN") {
            return Err(self.cursor.outside(span, "a body without quotes", "write AS $$ ... $$"));
        }
        Err(self.cursor.expected("an attribute of the procedure or `;`"))
    }

    /// Skips the schemas of `SET search_path`; the session has read them.
    fn search_path(&mut self) -> Result<()> {
        if self.cursor.accept_words(&["FROM", "CURRENT"]) {
            return Ok(());
        }
        if !self.cursor.accept_word("TO") {
            self.cursor.expect(&Token::Eq)?;
        }
        loop {
            match self.cursor.next().map(|token| token.token) {
                Some(Token::Word(_) | Token::SingleQuotedString(_)) => {}
                _ => return Err(self.cursor.expected("the name of a schema")),
            }
            if !self.cursor.accept(&Token::Comma) {
                return Ok(());
            }
        }
    }

    fn once<T>(&self, slot: &mut Option<T>, value: T, span: Span) -> Result<()> {
        if slot.is_some() {
            return Err(self.cursor.error(
                span,
                ErrorKind::Syntax,
                "this attribute is given twice",
            ));
        }
        *slot = Some(value);
        Ok(())
    }

    fn language(&mut self) -> Result<Language> {
        let span = self.cursor.span();
        let name = match self.cursor.next().map(|token| token.token) {
            Some(Token::Word(word)) => crate::token::name_of(&word),
            Some(Token::SingleQuotedString(name)) => name,
            _ => {
                return Err(self.cursor.error(
                    span,
                    ErrorKind::Syntax,
                    "a language is expected here",
                ));
            }
        };
        match &*name {
            "plpgsql" => Ok(Language::PlPgSql),
            "sql" => Ok(Language::Sql),
            _ => Err(self.cursor.outside(
                span,
                &format!("the language `{name}`"),
                "write plpgsql or sql",
            )),
        }
    }

    fn body_token(&mut self) -> Result<TokenWithSpan> {
        let span = self.cursor.span();
        let expected = self.cursor.expected("the body between $$ and $$");
        let Some(token) = self.cursor.next() else {
            return Err(expected);
        };
        match token.token {
            Token::DollarQuotedString(_) | Token::SingleQuotedString(_) => {}
            Token::EscapedStringLiteral(_) => {
                return Err(self.cursor.outside(
                    span,
                    "a body with escapes",
                    "write it between $$ and $$",
                ));
            }
            _ => return Err(expected),
        }
        if self.cursor.peek() == Some(&Token::Comma) {
            return Err(self.cursor.error(
                span,
                ErrorKind::Syntax,
                "a body in these languages is a single text",
            ));
        }
        Ok(token)
    }
}
