//! Separates code, comments and literals of a Rust file, so that each check searches only the right
//! one.
//!
//! It is a scanner, not a parser: it knows strings, raw strings, byte and C strings, character
//! literals versus lifetimes, and nested comments. Text is only ever blanked to spaces, never
//! moved, so byte offsets and line numbers stay those of the file.

/// The class of a byte of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// The same text three times, each with some kinds blanked.
#[derive(Debug)]
pub struct Views {
    /// Code alone: comments and literals are blank, their delimiters too.
    pub code: String,
    /// Comments alone, with their delimiters.
    pub comments: String,
    /// Code and literals.
    pub uncommented: String,
}

/// Splits the file; an unterminated literal or comment reaches to the end of the file.
pub fn split(text: &str) -> Views {
    let bytes = text.as_bytes();
    let mut kinds = Vec::with_capacity(bytes.len());
    while kinds.len() < bytes.len() {
        let start = kinds.len();
        let (kind, end) = token(bytes, start);
        let end = end.min(bytes.len());
        assert!(end > start, "every token has at least one byte");
        kinds.resize(end, kind);
    }
    Views {
        code: keep(bytes, &kinds, &[Kind::Code]),
        comments: keep(bytes, &kinds, &[Kind::Comment]),
        uncommented: keep(bytes, &kinds, &[Kind::Code, Kind::Literal]),
    }
}

fn keep(bytes: &[u8], kinds: &[Kind], kept: &[Kind]) -> String {
    let blanked = bytes
        .iter()
        .zip(kinds)
        .map(|(&byte, kind)| if kept.contains(kind) || byte == b'\n' { byte } else { b' ' })
        .collect();
    String::from_utf8(blanked).expect("tokens begin and end at whole characters")
}

/// The kind of the token at `start`, and the offset just after it.
fn token(bytes: &[u8], start: usize) -> (Kind, usize) {
    let rest = &bytes[start..];
    match rest[0] {
        b'/' if rest.starts_with(b"//") => (Kind::Comment, start + until(rest, b'\n')),
        b'/' if rest.starts_with(b"/*") => (Kind::Comment, start + block_comment(rest)),
        b'"' => (Kind::Literal, start + quoted(rest, b'"')),
        b'\'' => match character(rest) {
            Some(length) => (Kind::Literal, start + length),
            None => (Kind::Code, start + 1),
        },
        byte if is_word(byte) => word(bytes, start),
        _ => (Kind::Code, start + 1),
    }
}

/// A word, or the literal it is the prefix of: `b"…"`, `c"…"`, `b'…'`, `r#"…"#`, `br"…"`, `cr"…"`.
fn word(bytes: &[u8], start: usize) -> (Kind, usize) {
    let length = bytes[start..].iter().take_while(|&&byte| is_word(byte)).count();
    let end = start + length;
    let rest = &bytes[end..];
    let next = rest.first();
    match &bytes[start..end] {
        b"b" | b"c" if next == Some(&b'"') => (Kind::Literal, end + quoted(rest, b'"')),
        b"b" if next == Some(&b'\'') => (Kind::Literal, end + quoted(rest, b'\'')),
        b"r" | b"br" | b"cr" => match raw_string(rest) {
            Some(raw_length) => (Kind::Literal, end + raw_length),
            None => (Kind::Code, end),
        },
        _ => (Kind::Code, end),
    }
}

/// Letters, digits, underscore, and every byte of a character beyond ASCII.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn until(rest: &[u8], end: u8) -> usize {
    rest.iter().position(|&byte| byte == end).unwrap_or(rest.len())
}

fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a literal with escapes, both quotes included.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// The length of a raw string from its hashes on; `None` if this is a raw identifier or plain code.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let hashes = rest.iter().take_while(|&&byte| byte == b'#').count();
    if rest.get(hashes) != Some(&b'"') {
        return None;
    }
    let mut end = vec![b'"'];
    end.resize(1 + hashes, b'#');
    let body = &rest[hashes + 1..];
    let length = body.windows(end.len()).position(|window| window == end);
    Some(length.map_or(rest.len(), |length| hashes + 1 + length + end.len()))
}

/// The length of a character literal; `None` if the quote begins a lifetime or a label.
fn character(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        return Some(quoted(rest, b'\''));
    }
    let continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let more = rest.get(2..)?.iter().take_while(continuation).count();
    (rest.get(2 + more) == Some(&b'\'')).then_some(3 + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        let views = split(text);
        assert_eq!(views.code.len(), text.len(), "blanking keeps every offset");
        views.code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_literals_are_blank_in_code() {
        assert_eq!(code("a // unsafe\nb"), "a b");
        assert_eq!(code("a /* x /* unsafe */ y */ b"), "a b");
        assert_eq!(code(r#"a("un\"safe{", 'x', b'{', b"{", c"{")"#), "a( , , , , )");
        assert_eq!(code("a r#\"{\"}\"# b br\"\\\" c r##\"\"#\"## d"), "a b c d");
    }

    #[test]
    fn lifetimes_labels_and_raw_identifiers_stay_code() {
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(code("'outer: loop { break 'outer; }"), "'outer: loop { break 'outer; }");
        assert_eq!(code("r#type + number"), "r#type + number");
        assert_eq!(code("for r in x {}"), "for r in x {}");
    }

    #[test]
    fn difficult_characters_end_where_they_should() {
        assert_eq!(code(r"a('\'', '\\', '\u{7b}', '{', '}') b"), "a( , , , , ) b");
        assert_eq!(code("a('\u{e4}', '\u{1f600}', '\"') b"), "a( , , ) b");
        assert_eq!(code("match x { 'a'..='z' => 'b' }"), "match x { ..= => }");
    }

    #[test]
    fn unended_text_reaches_to_the_end() {
        assert_eq!(code("a \"b"), "a");
        assert_eq!(code("a /* b"), "a");
        assert_eq!(code("a r#\"b"), "a");
        assert_eq!(code("a \"b\\"), "a");
        assert_eq!(code("a '"), "a '");
    }

    #[test]
    fn the_other_views_hold_the_rest() {
        let views = split("a \"b\" // c");
        assert_eq!(views.comments.trim(), "// c");
        assert_eq!(views.uncommented.trim(), "a \"b\"");
    }
}
