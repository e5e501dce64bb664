//! Splits an expression into tokens.

use super::ExpressionError;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// An unquoted word in capitals: PostgreSQL prints keywords so, and quotes such names.
    Keyword(String),
    /// A name without its quotes.
    Name(String),
    /// A number, possibly with a point and an exponent.
    Number(String),
    /// A text literal without its quotes.
    Text(String),
    /// `$n`.
    Parameter(u32),
    Operator(String),
    /// `::`.
    Cast,
    /// One of `( ) [ ] , . :`.
    Mark(char),
}

/// The position of a token's first character, from 1, and the token.
pub(super) type Placed = (usize, Token);

const OPERATOR_CHARACTERS: &str = "+-*/<>=~!@#%^&|`?";
const MARKS: &str = "()[],.:";

/// Splits a text into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Placed>, ExpressionError> {
    let mut lexer = Lexer { text, characters: text.chars().collect(), next: 0 };
    let mut tokens = Vec::new();
    while let Some(character) = lexer.peek() {
        let position = lexer.next + 1;
        if character.is_whitespace() {
            lexer.next += 1;
            continue;
        }
        tokens.push((position, lexer.token(character)?));
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a str,
    characters: Vec<char>,
    next: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.next).copied()
    }

    fn error(&self, sentence: &str) -> ExpressionError {
        let text = self.text.to_owned();
        ExpressionError { text, position: self.next + 1, sentence: sentence.to_owned() }
    }

    fn token(&mut self, first: char) -> Result<Token, ExpressionError> {
        match first {
            '\'' => Ok(Token::Text(self.quoted('\'')?)),
            '"' => Ok(Token::Name(self.quoted('"')?)),
            '$' => self.parameter(),
            '0'..='9' => Ok(Token::Number(self.number())),
            _ if is_name_start(first) => Ok(self.word()),
            ':' if self.characters.get(self.next + 1) == Some(&':') => {
                self.next += 2;
                Ok(Token::Cast)
            }
            _ if MARKS.contains(first) => {
                self.next += 1;
                Ok(Token::Mark(first))
            }
            _ if OPERATOR_CHARACTERS.contains(first) => {
                Ok(Token::Operator(self.run(|character| OPERATOR_CHARACTERS.contains(character))))
            }
            _ => Err(self.error("this character is not part of an expression")),
        }
    }

    /// The next characters for which `belongs` holds.
    fn run(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let rest = &self.characters[self.next..];
        let run: String = rest.iter().take_while(|&&character| belongs(character)).collect();
        self.next += run.chars().count();
        run
    }

    /// The content of a quoted text; a doubled quote means one.
    fn quoted(&mut self, quote: char) -> Result<String, ExpressionError> {
        let mut content = String::new();
        self.next += 1;
        loop {
            let Some(character) = self.peek() else {
                return Err(self.error("the closing quote is missing"));
            };
            self.next += 1;
            if character == quote {
                if self.peek() != Some(quote) {
                    return Ok(content);
                }
                self.next += 1;
            }
            content.push(character);
        }
    }

    fn parameter(&mut self) -> Result<Token, ExpressionError> {
        self.next += 1;
        let digits = self.run(|character| character.is_ascii_digit());
        let number = digits.parse().map_err(|_| self.error("a number is missing after `$`"))?;
        Ok(Token::Parameter(number))
    }

    fn number(&mut self) -> String {
        let mut number = self.run(|character| character.is_ascii_digit() || character == '.');
        let exponent: String =
            self.characters[self.next..].iter().take(2).collect::<String>().to_ascii_lowercase();
        if matches!(&*exponent, "e+" | "e-") {
            self.next += 2;
            number.push_str(&exponent);
            number.push_str(&self.run(|character| character.is_ascii_digit()));
        }
        number
    }

    fn word(&mut self) -> Token {
        let word =
            self.run(|character| is_name_start(character) || "0123456789$".contains(character));
        let has_capitals = word.chars().any(char::is_uppercase);
        if has_capitals && !word.chars().any(char::is_lowercase) {
            Token::Keyword(word)
        } else {
            Token::Name(word)
        }
    }
}

fn is_name_start(character: char) -> bool {
    character.is_alphabetic() || character == '_'
}
