//! `LOOP`, `WHILE`, `FOR` and `FOREACH`.

use super::declare::has_word;
use super::{Assigned, Compiler, Enclosing};
use crate::error::{ErrorKind, Result};
use crate::expression::{Expr, ExprKind, Test};
use crate::procedure::{Formula, Over, Statement, StatementKind, Target};
use crate::token::{name_of, token_is_word};
use crate::types::SqlType;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

impl Compiler<'_> {
    pub(super) fn loop_statement(&mut self, label: Option<String>) -> Result<StatementKind> {
        // The loop's label qualifies its variable.
        self.names.open(label.as_deref());
        let (from, line) = (self.cursor.position(), self.line(self.cursor.span()));
        let (head, mut calls) = self.with_calls(Self::loop_head);
        let over = match head {
            Ok(over) => over,
            Err(error) => {
                self.skip_head(from, "LOOP", error)?;
                Over::Forever
            }
        };
        self.enclosing.push(Enclosing::new(label.clone(), true));
        let before = match over {
            Over::Forever => Assigned::unreachable(),
            _ => self.assigned.clone(),
        };
        let mut body = self.statements()?;
        let over = match over {
            // The calls run before each iteration.
            Over::While(condition) if !calls.is_empty() => {
                calls.push(Statement { line, kind: exit_unless(condition) });
                calls.append(&mut body);
                body = std::mem::take(&mut calls);
                Over::Forever
            }
            over => over,
        };
        self.before.extend(calls);
        self.assigned = before;
        self.leave_enclosing();
        self.names.close();
        self.cursor.expect_word("END")?;
        self.cursor.expect_word("LOOP")?;
        self.end_label(label.as_deref())?;
        self.semicolon()?;
        Ok(StatementKind::Loop { label, over, body })
    }

    /// Parses the loop's head up to `LOOP`.
    fn loop_head(&mut self) -> Result<Over> {
        if self.cursor.accept_word("LOOP") {
            Ok(Over::Forever)
        } else if self.cursor.accept_word("WHILE") {
            let span = self.cursor.span();
            let tokens = self.until_word("LOOP")?;
            Ok(Over::While(self.condition_formula(&tokens, span)?))
        } else if self.cursor.accept_word("FOREACH") {
            self.foreach()
        } else {
            self.cursor.expect_word("FOR")?;
            self.for_loop()
        }
    }

    fn for_loop(&mut self) -> Result<Over> {
        let from = self.cursor.position();
        let place = self.cursor.span();
        self.cursor.take_until(|token| token_is_word(token, "IN") || *token == Token::SemiColon)?;
        self.cursor.expect_word("IN")?;
        let reverse = self.cursor.accept_word("REVERSE");
        let span = self.cursor.span();
        let is_text = self.cursor.is_word("EXECUTE");
        if is_text && self.called.is_none() {
            return Err(self.outside(span, "EXECUTE", "write the query itself"));
        }
        let tokens = self.until_word("LOOP")?;
        let body = self.cursor.position();
        self.cursor.rewind(from);
        if self.called.is_some()
            && let Some(over) = self.cursor_loop(&tokens, span)?
        {
            self.cursor.rewind(body);
            return Ok(over);
        }
        let over = match points(&tokens) {
            _ if is_text => {
                let targets = self.row_targets(place)?;
                self.dynamic_loop(targets, &tokens[1..], span)?
            }
            Some(at) => self.range(&tokens, at, reverse, span)?,
            None if reverse => {
                return Err(self.syntax(span, "REVERSE is only allowed for ranges of integers"));
            }
            None => {
                let into = self.row_targets(place)?;
                let sql = self.embedded_query(&[&tokens], "", span)?;
                let fields = sql.query.outputs();
                if fields.is_empty() {
                    return Err(
                        self.type_error(span, "this statement returns no rows to loop over")
                    );
                }
                Over::Rows { into: self.row_into(into, false, &fields, span)?, sql }
            }
        };
        self.cursor.rewind(body);
        Ok(over)
    }

    /// `FOR i IN from .. to BY step`; the loop has its own variable.
    fn range(
        &mut self,
        tokens: &[TokenWithSpan],
        points: usize,
        reverse: bool,
        span: Span,
    ) -> Result<Over> {
        let (name, place) = self.cursor.name("a variable")?;
        if !self.cursor.is_word("IN") {
            return Err(self.syntax(place, "a loop over a range has exactly one variable"));
        }
        let upper = &tokens[points + 2..];
        let (upper, by) = match has_word(upper, "BY") {
            Some(at) => (&upper[..at], Some(&upper[at + 1..])),
            None => (upper, None),
        };
        let first = |part: &[TokenWithSpan]| part.first().map_or(span, |token| token.span);
        let from = self.formula(&tokens[..points], span, Some(&SqlType::Int4))?;
        let to = self.formula(upper, first(upper), Some(&SqlType::Int4))?;
        let by = match by {
            Some(by) => Some(self.formula(by, first(by), Some(&SqlType::Int4))?),
            None => None,
        };
        let variable = self.add_variable(&name, SqlType::Int4, place);
        self.names.declare(&name, variable);
        Ok(Over::Range { variable, from, to, by, reverse })
    }

    fn foreach(&mut self) -> Result<Over> {
        let place = self.cursor.span();
        let (variable, field) = self.datum()?;
        self.check_assignable(variable, place)?;
        let span = self.cursor.span();
        if self.cursor.is_word("SLICE") {
            return Err(self.outside(span, "SLICE", "loop over single elements"));
        }
        self.cursor.expect_word("IN")?;
        self.cursor.expect_word("ARRAY")?;
        let span = self.cursor.span();
        let tokens = self.until_word("LOOP")?;
        let array: Formula = self.formula(&tokens, span, None)?;
        let SqlType::Array(element) = &array.expr.sql_type else {
            let sentence =
                format!("an array is required here, but this is {}", array.expr.sql_type);
            return Err(self.type_error(span, sentence));
        };
        let wanted = self.datum_type(variable, field);
        let element = self.converted_column(0, element, &wanted, span)?;
        let target = match field {
            Some(field) => Target::Field { variable, field },
            None => Target::Variable(variable),
        };
        Ok(Over::Elements { target, element, array })
    }

    /// Parses the targets between `FOR` and `IN`: a record variable, or several other variables.
    fn row_targets(&mut self, place: Span) -> Result<Vec<super::Datum>> {
        if let Some(Token::Word(word)) = self.cursor.peek()
            && self.names.find(&name_of(word)).is_none()
            && self.cursor.peek_at(1) != Some(&Token::Period)
        {
            let sentence = "a loop over rows needs declared variables";
            let error = self.cursor.error(place, ErrorKind::Name, sentence);
            return Err(error.advise("declare a variable of type record after DECLARE"));
        }
        let targets = self.targets()?;
        self.cursor.expect_word("IN")?;
        Ok(targets)
    }
}

/// `EXIT` if a condition does not hold.
fn exit_unless(condition: Formula) -> StatementKind {
    let operand = Box::new(condition.expr);
    let expr = Expr::boolean(ExprKind::Is { operand, test: Test::True, negated: true });
    let when = Some(Formula { expr, number: condition.number });
    StatementKind::Leave { label: None, continues: false, when }
}

/// Position of `..` outside all parentheses.
fn points(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth -= 1,
            Token::Period if depth == 0 => {
                let next = tokens.get(at + 1);
                if next.is_some_and(|next| {
                    next.token == Token::Period && next.span.start == token.span.end
                }) {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}
