//! Names in generated code.

use std::collections::BTreeSet;

const KEYWORDS: [&str; 39] = [
    "as", "async", "await", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "pub", "ref", "return", "static", "struct", "super", "trait",
    "true", "type", "union", "use", "where",
];

/// Names that generated functions use themselves.
const OURS: [&str; 25] = [
    "call",
    "check",
    "tables",
    "arguments",
    "known",
    "number",
    "text",
    "self",
    "while",
    "yield",
    "try",
    "virtual",
    "override",
    "priv",
    "abstract",
    "typeof",
    "unsized",
    "count",
    "element",
    "core",
    "fabric",
    "layout",
    "runtime",
    "std",
    "txn",
];

/// Names of short-lived values in generated functions.
const PASSING: [&str; 8] = ["a", "b", "error", "left", "range", "right", "v", "value"];

/// The names of a function, all different.
#[derive(Clone, Debug, Default)]
pub struct Names {
    used: BTreeSet<String>,
}

impl Names {
    /// Returns a new name: `wanted`, with a suffix if it is in use.
    pub fn fresh(&mut self, wanted: &str) -> String {
        let mut wanted = identifier(wanted);
        if PASSING.contains(&wanted.as_str()) {
            wanted.push_str("_value");
        }
        let numbered = |number: u32| match number {
            1 => wanted.clone(),
            _ => format!("{wanted}_{number}"),
        };
        let name = (1..).map(numbered).find(|name| !self.used.contains(name));
        let name = name.expect("there are as many names as numbers");
        self.used.insert(name.clone());
        name
    }
}

/// Converts `name` to a Rust identifier: letters, digits and underscores, and no keyword.
pub fn identifier(name: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' }
    };
    let name: String = name.chars().map(plain).collect();
    let is_taken = KEYWORDS.contains(&name.as_str()) || OURS.contains(&name.as_str());
    match name.chars().next() {
        Some(first) if first.is_ascii_digit() => format!("n{name}"),
        None => "unnamed".to_owned(),
        _ if is_taken => format!("{name}_value"),
        _ => name,
    }
}

/// Converts `name` to the name of a constant.
pub fn constant(name: &str) -> String {
    identifier(name).to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_rust_and_differ() {
        let mut names = Names::default();
        let wanted = ["type", "type", "Stock Row", "2nd", "call", "range"];
        let given = wanted.map(|name| names.fresh(name));
        let expected =
            ["type_value", "type_value_2", "stock_row", "n2nd", "call_value", "range_value"];
        assert_eq!(given, expected);
        assert_eq!(constant("d_next_o_id"), "D_NEXT_O_ID");
    }
}
