//! Finds the ends of statements in lines that a user enters.

/// Text up to a semicolon that is not in quotes, comments or parentheses.
#[derive(Default)]
pub struct Splitter {
    text: String,
}

/// The construct that a character is in.
enum Inside {
    Statement,
    /// A quote that ends with this character.
    Quote(char),
    /// A dollar quote that ends with this tag.
    Dollar(String),
    /// A comment to the end of the line.
    Line,
    /// Nested comments.
    Block(u32),
}

impl Splitter {
    pub fn push(&mut self, line: &str) {
        if !self.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }

    /// Whether nothing is entered yet.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Takes the next whole statement.
    pub fn next_statement(&mut self) -> Option<String> {
        let end = end_of_statement(&self.text)?;
        let rest = self.text.split_off(end);
        let statement = std::mem::replace(&mut self.text, rest.trim_start().to_owned());
        Some(statement)
    }

    /// Takes the rest, if there is a statement without a semicolon.
    pub fn finish(self) -> Option<String> {
        (!self.is_empty()).then_some(self.text)
    }
}

/// Offset behind the first semicolon that ends a statement.
fn end_of_statement(text: &str) -> Option<usize> {
    let mut inside = Inside::Statement;
    let mut depth = 0u32;
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        let mut step = letter.len_utf8();
        match &mut inside {
            Inside::Statement => match letter {
                ';' if depth == 0 => return Some(at + 1),
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                '\'' | '"' => inside = Inside::Quote(letter),
                '-' if rest.starts_with("--") => inside = Inside::Line,
                '/' if rest.starts_with("/*") => (inside, step) = (Inside::Block(1), 2),
                '$' => {
                    if let Some(tag) = dollar_tag(rest) {
                        step = tag.len();
                        inside = Inside::Dollar(tag.to_owned());
                    }
                }
                _ => {}
            },
            Inside::Quote(end) if letter == *end => inside = Inside::Statement,
            Inside::Dollar(tag) if rest.starts_with(tag.as_str()) => {
                step = tag.len();
                inside = Inside::Statement;
            }
            Inside::Line if letter == '\n' => inside = Inside::Statement,
            Inside::Block(nested) if rest.starts_with("*/") => {
                *nested -= 1;
                step = 2;
                if *nested == 0 {
                    inside = Inside::Statement;
                }
            }
            Inside::Block(nested) if rest.starts_with("/*") => (*nested, step) = (*nested + 1, 2),
            _ => {}
        }
        at += step;
    }
    None
}

/// `$$` or `$tag$` at the beginning of a text.
fn dollar_tag(text: &str) -> Option<&str> {
    let end = text[1..].find('$')? + 1;
    let tag = &text[1..end];
    let is_tag = tag.chars().all(|letter| letter == '_' || letter.is_alphanumeric())
        && !tag.starts_with(|letter: char| letter.is_ascii_digit());
    is_tag.then(|| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(lines: &[&str]) -> (Vec<String>, Option<String>) {
        let (mut splitter, mut statements) = (Splitter::default(), Vec::new());
        for line in lines {
            splitter.push(line);
            while let Some(statement) = splitter.next_statement() {
                statements.push(statement);
            }
        }
        (statements, splitter.finish())
    }

    #[test]
    fn statements_end_at_semicolons() {
        let (statements, rest) = split(&["select 1; select", "2;", "select 3"]);
        assert_eq!(statements, ["select 1;", "select\n2;"]);
        assert_eq!(rest.as_deref(), Some("select 3"));
        assert_eq!(split(&["", "  "]), (vec![], None));
    }

    #[test]
    fn semicolons_in_quotes_comments_and_parentheses_do_not_count() {
        for text in [
            "select ';', \";\", 'it''s;' -- ; \n;",
            "select /* ; /* ; */ ; */ 1;",
            "do $$ begin; end $$;",
            "do $a_1$ ; $$ ; $a_1$;",
            "create rule r as (select 1; select 2);",
            "select $1;",
        ] {
            assert_eq!(split(&[text]), (vec![text.to_owned()], None), "{text}");
        }
        assert_eq!(split(&["select 'open;"]).0.len(), 0);
    }
}
