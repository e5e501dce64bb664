//! Parses values that need no parentheses: constants, names, functions, and forms with special
//! syntax.

use super::lexer::Token;
use super::parser::{Parsed, Parser};
use super::{Expression, FunctionCall, Literal};

impl Parser<'_> {
    /// Parses a value that needs no parentheses.
    pub(super) fn atom(&mut self) -> Parsed<Expression> {
        let constant = |value| Expression::Constant { value, type_name: None };
        match self.take() {
            Some(Token::Number(digits)) => Ok(constant(Literal::Number(digits))),
            Some(Token::Text(text)) => Ok(constant(Literal::Text(text))),
            Some(Token::Parameter(number)) => Ok(Expression::Parameter(number)),
            Some(Token::Keyword(word)) => self.keyword(&word),
            Some(Token::Name(name)) => self.named(name),
            _ => {
                self.next = self.next.saturating_sub(1);
                self.error("a value is expected")
            }
        }
    }

    fn keyword(&mut self, word: &str) -> Parsed<Expression> {
        match word {
            "NULL" => Ok(Expression::Constant { value: Literal::Null, type_name: None }),
            "CASE" => self.case(),
            "ARRAY" => {
                self.mark('[')?;
                Ok(Expression::Array(self.list(']')?))
            }
            "ROW" => {
                self.mark('(')?;
                Ok(Expression::Row(self.list(')')?))
            }
            "COALESCE" | "GREATEST" | "LEAST" | "NULLIF" => self.call(word.to_owned()),
            "EXTRACT" => self.extract(),
            "POSITION" => self.position(),
            "SUBSTRING" => self.substring(),
            "TRIM" => self.trim(),
            "CURRENT_DATE" | "CURRENT_TIME" | "CURRENT_TIMESTAMP" | "LOCALTIME"
            | "LOCALTIMESTAMP" => {
                let precision = match self.takes_mark('(') {
                    false => None,
                    true => {
                        let digits = self.digits()?;
                        self.mark(')')?;
                        digits.parse().ok()
                    }
                };
                Ok(Expression::Moment { name: word.to_owned(), precision })
            }
            _ => {
                self.next -= 1;
                self.error(format!("{word} is not known in expressions of plans"))
            }
        }
    }

    /// Parses a list up to its closing mark.
    fn list(&mut self, close: char) -> Parsed<Vec<Expression>> {
        let mut elements = Vec::new();
        if self.takes_mark(close) {
            return Ok(elements);
        }
        loop {
            elements.push(self.value()?);
            if self.takes_mark(close) {
                return Ok(elements);
            }
            self.mark(',')?;
        }
    }

    fn case(&mut self) -> Parsed<Expression> {
        let has_operand = !matches!(self.peek(), Some(Token::Keyword(word)) if word == "WHEN");
        let operand = if has_operand { Some(Box::new(self.value()?)) } else { None };
        let mut branches = Vec::new();
        while self.takes_word("WHEN") {
            let condition = self.value()?;
            self.word("THEN")?;
            branches.push((condition, self.value()?));
        }
        let otherwise = if self.takes_word("ELSE") { Some(Box::new(self.value()?)) } else { None };
        self.word("END")?;
        Ok(Expression::Case { operand, branches, otherwise })
    }

    fn extract(&mut self) -> Parsed<Expression> {
        self.mark('(')?;
        let field = Literal::Text(self.name()?);
        self.word("FROM")?;
        let from = self.value()?;
        self.mark(')')?;
        let field = Expression::Constant { value: field, type_name: None };
        Ok(Expression::Call(FunctionCall::plain("EXTRACT", vec![field, from])))
    }

    fn position(&mut self) -> Parsed<Expression> {
        self.mark('(')?;
        self.mark('(')?;
        let part = self.value()?;
        self.mark(')')?;
        self.word("IN")?;
        self.mark('(')?;
        let whole = self.value()?;
        self.mark(')')?;
        self.mark(')')?;
        Ok(Expression::Call(FunctionCall::plain("POSITION", vec![part, whole])))
    }

    fn trim(&mut self) -> Parsed<Expression> {
        self.mark('(')?;
        let sides = ["BOTH", "LEADING", "TRAILING"];
        let Some(side) = sides.into_iter().find(|side| self.takes_word(side)) else {
            return self.error("BOTH, LEADING or TRAILING is expected");
        };
        let has_characters = !matches!(self.peek(), Some(Token::Keyword(word)) if word == "FROM");
        let characters = if has_characters { Some(self.value()?) } else { None };
        self.word("FROM")?;
        let side = Literal::Text(side.to_owned());
        let side = Expression::Constant { value: side, type_name: None };
        let mut arguments = vec![side, self.value()?];
        arguments.extend(characters);
        self.mark(')')?;
        Ok(Expression::Call(FunctionCall::plain("TRIM", arguments)))
    }

    fn substring(&mut self) -> Parsed<Expression> {
        self.mark('(')?;
        let mut arguments = vec![self.value()?];
        self.word("FROM")?;
        arguments.push(self.value()?);
        if self.takes_word("FOR") {
            arguments.push(self.value()?);
        }
        self.mark(')')?;
        Ok(Expression::Call(FunctionCall::plain("SUBSTRING", arguments)))
    }

    /// Parses a column, a whole row, a boolean or a function call.
    fn named(&mut self, first: String) -> Parsed<Expression> {
        match self.peek() {
            Some(Token::Mark('(')) => return self.call(first),
            Some(Token::Mark('.')) => {}
            _ if first == "true" || first == "false" => {
                let value = Literal::Boolean(first == "true");
                return Ok(Expression::Constant { value, type_name: None });
            }
            _ => return Ok(Expression::Column { relation: None, column: first }),
        }
        self.mark('.')?;
        if self.takes(&Token::Operator("*".to_owned())) {
            return Ok(Expression::WholeRow { relation: first });
        }
        let second = self.name()?;
        match self.peek() {
            Some(Token::Mark('(')) => self.call(format!("{first}.{second}")),
            _ => Ok(Expression::Column { relation: Some(first), column: second }),
        }
    }

    fn call(&mut self, function: String) -> Parsed<Expression> {
        self.mark('(')?;
        let mut call = FunctionCall::plain(&function, Vec::new());
        call.distinct = self.takes_word("DISTINCT");
        call.star = self.takes(&Token::Operator("*".to_owned()));
        if !call.star && !matches!(self.peek(), Some(Token::Mark(')'))) {
            call.arguments.push(self.value()?);
            while self.takes_mark(',') {
                call.arguments.push(self.value()?);
            }
        }
        if self.takes_word("ORDER") {
            self.word("BY")?;
            call.order_by.push(self.sort_key()?);
            while self.takes_mark(',') {
                call.order_by.push(self.sort_key()?);
            }
        }
        self.mark(')')?;
        if self.takes_word("FILTER") {
            self.mark('(')?;
            self.word("WHERE")?;
            call.filter = Some(Box::new(self.value()?));
            self.mark(')')?;
        }
        Ok(Expression::Call(call))
    }
}

impl FunctionCall {
    fn plain(function: &str, arguments: Vec<Expression>) -> Self {
        Self {
            function: function.to_owned(),
            arguments,
            star: false,
            distinct: false,
            order_by: Vec::new(),
            filter: None,
        }
    }
}
