//! Finds the functions of a Rust file and how long they are.

use super::lexer::is_word;
use super::tree::{closing, line_of, words};

/// One function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// The line of the keyword `fn`.
    pub line: usize,
    /// From that line to the closing brace, both included.
    pub lines: usize,
}

/// All functions with a body, those inside other functions too; the text must be code alone.
pub fn functions(code: &str) -> Vec<Function> {
    words(code, "fn").filter_map(|offset| function(code, offset)).collect()
}

fn function(code: &str, offset: usize) -> Option<Function> {
    // `r#fn` is an identifier, and `fn(` a type.
    if code[..offset].ends_with('#') {
        return None;
    }
    let after = &code[offset + "fn".len()..];
    let rest = after.trim_start();
    let name: String = rest
        .bytes()
        .take_while(|&byte| is_word(byte) || byte == b'$' || byte == b'#')
        .map(char::from)
        .collect();
    if name.is_empty() {
        return None;
    }
    let signature = offset + "fn".len() + (after.len() - rest.len()) + name.len();
    let open = body(code, signature)?;
    let close = closing(code, open)?;
    let line = line_of(code, offset);
    Some(Function { name, line, lines: line_of(code, close) - line + 1 })
}

/// The offset of the brace that opens the body; `None` if the declaration ends without one. Braces
/// inside brackets of any kind belong to constant expressions: `Foo<{ N + 1 }>`, `[u8; { N }]`.
fn body(code: &str, signature: usize) -> Option<usize> {
    let bytes = code.as_bytes();
    let mut angles = 0_usize;
    let mut at = signature;
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' => at = closing(code, at)?,
            b'{' if angles > 0 => at = closing(code, at)?,
            b'{' => return Some(at),
            b';' => return None,
            b'<' => angles += 1,
            // The arrow of a return type is no bracket.
            b'>' if bytes[at - 1] != b'-' => angles = angles.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lexer::split;

    fn found(text: &str) -> Vec<(String, usize, usize)> {
        let functions = functions(&split(text).code);
        functions.into_iter().map(|found| (found.name, found.line, found.lines)).collect()
    }

    #[test]
    fn length_reaches_from_the_keyword_to_the_last_brace() {
        let text = "/// Doc.\npub async fn f(\n    a: u8,\n) -> u8 {\n    a\n}\n\nfn g() {}\n";
        assert_eq!(found(text), [("f".to_string(), 2, 5), ("g".to_string(), 8, 1)]);
    }

    #[test]
    fn braces_in_literals_and_comments_do_not_count() {
        let text = "fn f() {\n  a('}', \"}\", r#\"}\"#); // }\n  /* } */\n}\n";
        assert_eq!(found(text), [("f".to_string(), 1, 4)]);
    }

    #[test]
    fn signatures_with_brackets_find_their_body() {
        let text = "fn f<const N: usize>(a: [u8; 4]) -> A<{ N + 1 }, fn(u8) -> u8>\n\
                    where B<{ 2 }>: C, F: Fn(u8) -> D<E>\n{\n}\n";
        assert_eq!(found(text), [("f".to_string(), 1, 4)]);
    }

    #[test]
    fn declarations_and_types_have_no_body() {
        assert_eq!(found("trait T { fn f(&self) -> u8; }\nstruct S { g: fn(u8) }\n"), []);
        assert_eq!(found("trait T {\nfn f(&self);\nfn g(&self) {\n}\n}")[0].0, "g");
    }

    #[test]
    fn inner_functions_are_found_too() {
        assert_eq!(found("fn f() {\n  fn g() {\n  }\n}\n").len(), 2);
    }
}
