//! A recursive-descent parser of expressions.

use super::lexer::{Placed, Token, tokens};
use super::{Expression, ExpressionError, SortKey, State};

/// Maximum nesting of expressions: more than occurs in practice, and less than the stack allows.
const DEPTH_MAX: u32 = 100;

pub(super) type Parsed<T> = Result<T, ExpressionError>;

/// Parses a text as one expression.
pub(super) fn expression(text: &str) -> Parsed<Expression> {
    let mut parser = Parser::new(text)?;
    let expression = parser.value()?;
    parser.end()?;
    Ok(expression)
}

/// Parses a text as a sort key.
pub(super) fn sort_key(text: &str) -> Parsed<SortKey> {
    let mut parser = Parser::new(text)?;
    let key = parser.sort_key()?;
    parser.end()?;
    Ok(key)
}

/// The tokens of a text, and the position of the parser.
pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Placed>,
    pub(super) next: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parsed<Self> {
        Ok(Self { text, tokens: tokens(text)?, next: 0, depth: 0 })
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    pub(super) fn take(&mut self) -> Option<Token> {
        let token = self.peek()?.clone();
        self.next += 1;
        Some(token)
    }

    pub(super) fn error<T>(&self, sentence: impl Into<String>) -> Parsed<T> {
        let end = self.text.chars().count() + 1;
        let position = self.tokens.get(self.next).map_or(end, |(position, _)| *position);
        Err(ExpressionError { text: self.text.to_owned(), position, sentence: sentence.into() })
    }

    /// Takes the next token if it is `token`.
    pub(super) fn takes(&mut self, token: &Token) -> bool {
        let is_next = self.peek() == Some(token);
        self.next += usize::from(is_next);
        is_next
    }

    pub(super) fn takes_mark(&mut self, mark: char) -> bool {
        self.takes(&Token::Mark(mark))
    }

    pub(super) fn takes_word(&mut self, keyword: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Keyword(word)) if word == keyword);
        self.next += usize::from(is_next);
        is_next
    }

    fn takes_name(&mut self, wanted: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Name(name)) if name == wanted);
        self.next += usize::from(is_next);
        is_next
    }

    pub(super) fn mark(&mut self, mark: char) -> Parsed<()> {
        if self.takes_mark(mark) { Ok(()) } else { self.error(format!("`{mark}` is expected")) }
    }

    pub(super) fn word(&mut self, keyword: &str) -> Parsed<()> {
        if self.takes_word(keyword) { Ok(()) } else { self.error(format!("{keyword} is expected")) }
    }

    pub(super) fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(Token::Name(name)) => {
                let name = name.clone();
                self.next += 1;
                Ok(name)
            }
            _ => self.error("a name is expected"),
        }
    }

    fn end(&self) -> Parsed<()> {
        if self.next == self.tokens.len() { Ok(()) } else { self.error("the end is expected") }
    }

    /// Parses a value with the casts and selections after it.
    pub(super) fn value(&mut self) -> Parsed<Expression> {
        if self.depth == DEPTH_MAX {
            return self.error(format!("expressions may be nested at most {DEPTH_MAX} deep"));
        }
        self.depth += 1;
        let value = match self.peek() {
            Some(Token::Mark('(')) => self.group(),
            _ => self.atom().and_then(|atom| self.selected(atom)),
        };
        self.depth -= 1;
        value
    }

    /// Parses `::type`, `[position]` and `.field` after a value.
    fn selected(&mut self, value: Expression) -> Parsed<Expression> {
        let mut value = value;
        loop {
            value = match self.peek() {
                Some(Token::Cast) => self.cast(value)?,
                Some(Token::Mark('[')) => {
                    let mut positions = Vec::new();
                    while self.takes_mark('[') {
                        positions.push(self.value()?);
                        self.mark(']')?;
                    }
                    Expression::Element { array: Box::new(value), positions }
                }
                Some(Token::Mark('.')) => {
                    self.next += 1;
                    Expression::Field { record: Box::new(value), field: self.name()? }
                }
                _ => return Ok(value),
            };
        }
    }

    fn cast(&mut self, value: Expression) -> Parsed<Expression> {
        self.next += 1;
        let type_name = self.type_name()?;
        Ok(match value {
            Expression::Constant { value, type_name: None } => {
                Expression::Constant { value, type_name: Some(type_name) }
            }
            operand => Expression::Cast { operand: Box::new(operand), type_name },
        })
    }

    /// Parses a type of one or more words: `timestamp(3) without time zone[]`.
    fn type_name(&mut self) -> Parsed<String> {
        let mut name = match self.name()? {
            name if name == "char" => "\"char\"".to_owned(),
            name => name,
        };
        if self.takes_mark('.') {
            name = format!("{name}.{}", self.name()?);
        }
        if name == "double" && self.takes_name("precision") {
            name.push_str(" precision");
        }
        if matches!(&*name, "character" | "bit") && self.takes_name("varying") {
            name.push_str(" varying");
        }
        if self.takes_mark('(') {
            let mut digits = vec![self.digits()?];
            while self.takes_mark(',') {
                digits.push(self.digits()?);
            }
            self.mark(')')?;
            name = format!("{name}({})", digits.join(","));
        }
        for zone in ["with", "without"] {
            if name.starts_with("time") && self.takes_name(zone) {
                if !(self.takes_name("time") && self.takes_name("zone")) {
                    return self.error("`time zone` is expected");
                }
                name = format!("{name} {zone} time zone");
            }
        }
        while self.peek() == Some(&Token::Mark('['))
            && self.tokens.get(self.next + 1).is_some_and(|(_, token)| *token == Token::Mark(']'))
        {
            self.next += 2;
            name.push_str("[]");
        }
        Ok(name)
    }

    pub(super) fn digits(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(Token::Number(digits)) => {
                let digits = digits.clone();
                self.next += 1;
                Ok(digits)
            }
            _ => self.error("digits are expected"),
        }
    }

    /// Parses the content of parentheses: an operation, or a value that another node computes.
    fn group(&mut self) -> Parsed<Expression> {
        self.mark('(')?;
        if let Some(name) = self.sub_plan()? {
            self.mark(')')?;
            return Ok(Expression::SubPlan { name });
        }
        if let Some(operation) = self.prefixed()? {
            self.mark(')')?;
            return self.selected(operation);
        }
        let first = self.value()?;
        if self.takes_mark(')') {
            return match self.peek() {
                Some(Token::Cast | Token::Mark('[' | '.')) => self.selected(first),
                _ => Ok(Expression::Computed(Box::new(first))),
            };
        }
        let operation = self.operation(first)?;
        self.mark(')')?;
        self.selected(operation)
    }

    /// Parses `SubPlan 1`.
    fn sub_plan(&mut self) -> Parsed<Option<String>> {
        let is_sub_plan = |token: Option<&Placed>| matches!(token, Some((_, Token::Name(name))) if name == "SubPlan");
        if is_sub_plan(self.tokens.get(self.next + 1)) && self.takes_name("hashed") {
            return self.error(
                "a hashed sub plan does not show what it compares, so it cannot be read; write NOT IN as NOT EXISTS, \
                 and IN as a join",
            );
        }
        if !self.takes_name("SubPlan") {
            return Ok(None);
        }
        Ok(Some(format!("SubPlan {}", self.digits()?)))
    }

    fn prefixed(&mut self) -> Parsed<Option<Expression>> {
        if self.takes_word("NOT") {
            return Ok(Some(Expression::Not(Box::new(self.value()?))));
        }
        let Some(Token::Operator(operator)) = self.peek().cloned() else { return Ok(None) };
        self.next += 1;
        Ok(Some(Expression::Unary { operator, operand: Box::new(self.value()?) }))
    }

    /// Parses the rest of an operation after its first operand.
    fn operation(&mut self, first: Expression) -> Parsed<Expression> {
        let left = Box::new(first);
        match self.peek().cloned() {
            Some(Token::Operator(operator)) => {
                self.next += 1;
                self.second(left, operator)
            }
            Some(Token::Keyword(word)) => match &*word {
                "AND" => Ok(Expression::And(self.chain(*left, "AND")?)),
                "OR" => Ok(Expression::Or(self.chain(*left, "OR")?)),
                "IS" => {
                    self.next += 1;
                    self.is(left)
                }
                "COLLATE" => {
                    self.next += 1;
                    Ok(Expression::Collate { operand: left, collation: self.name()? })
                }
                "AT" => {
                    self.next += 1;
                    self.word("TIME")?;
                    self.word("ZONE")?;
                    Ok(Expression::AtTimeZone { operand: left, zone: Box::new(self.value()?) })
                }
                _ => self.error(format!("{word} is not known between operands")),
            },
            _ => self.error("an operator is expected"),
        }
    }

    fn second(&mut self, left: Box<Expression>, operator: String) -> Parsed<Expression> {
        for (word, all) in [("ANY", false), ("ALL", true)] {
            if self.takes_word(word) {
                self.mark('(')?;
                let array = Box::new(self.value()?);
                self.mark(')')?;
                return Ok(Expression::Quantified { operator, left, array, all });
            }
        }
        Ok(Expression::Binary { operator, left, right: Box::new(self.value()?) })
    }

    fn chain(&mut self, first: Expression, word: &str) -> Parsed<Vec<Expression>> {
        let mut parts = vec![first];
        while self.takes_word(word) {
            parts.push(self.value()?);
        }
        Ok(parts)
    }

    fn is(&mut self, operand: Box<Expression>) -> Parsed<Expression> {
        if self.takes_word("DISTINCT") {
            self.word("FROM")?;
            return Ok(Expression::Distinct { left: operand, right: Box::new(self.value()?) });
        }
        let negated = self.takes_word("NOT");
        let states = [
            ("NULL", State::Null),
            ("TRUE", State::True),
            ("FALSE", State::False),
            ("UNKNOWN", State::Unknown),
        ];
        for (word, state) in states {
            if self.takes_word(word) {
                return Ok(Expression::Is { operand, negated, state });
            }
        }
        self.error("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM is expected")
    }

    /// Parses a value with its direction and the position of nulls.
    pub(super) fn sort_key(&mut self) -> Parsed<SortKey> {
        let mut value = self.value()?;
        if self.takes_word("COLLATE") {
            value = Expression::Collate { operand: Box::new(value), collation: self.name()? };
        }
        let descending = self.takes_word("DESC");
        let mut nulls_first = descending;
        if self.takes_word("NULLS") {
            nulls_first = self.takes_word("FIRST");
            if !nulls_first {
                self.word("LAST")?;
            }
        }
        Ok(SortKey { value, descending, nulls_first })
    }
}
