//! Remote structures have fixed-width fields: both ends must agree on every byte.

use super::Violation;
use super::tree::{Tree, closing, line_of, words};

const FOLDER: &str = "crates/engine/layout/";
const WIDTHS: [&str; 2] = ["usize", "isize"];

/// Searches the `#[repr(C)]` structures of the crate `layout`.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (file, views) in tree.rust().filter(|(file, _)| file.path.starts_with(FOLDER)) {
        let code = &views.code;
        for (start, end) in structures(code) {
            for width in WIDTHS {
                for offset in words(&code[start..end], width).map(|offset| start + offset) {
                    // A conversion is part of an array's length, not of a field.
                    if !code[..offset].trim_end().ends_with(" as") {
                        let what = format!(
                            "a `{width}` in a remote structure differs between machines, \
                             take a fixed width"
                        );
                        violations.push(Violation::new(&file.path, line_of(code, offset), what));
                    }
                }
            }
        }
    }
    violations
}

/// Where the fields of each `#[repr(C)]` structure begin and end.
fn structures(code: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices("#[repr(") {
        let Some(end) = closing(code, start + 1) else {
            continue;
        };
        if words(&code[start..end], "C").next().is_none() {
            continue;
        }
        // Named fields open a brace, tuple fields a parenthesis; generics and bounds in between
        // have no parenthesis except that of a visibility, which precedes the keyword.
        let keyword = words(&code[end..], "struct").next().map(|offset| end + offset);
        let open = keyword.and_then(|at| code[at..].find(['{', '(', ';']).map(|to| at + to));
        found.extend(open.and_then(|open| Some((open, closing(code, open)?))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|violation| violation.line).collect()
    }

    const PATH: &str = "crates/engine/layout/src/row.rs";

    #[test]
    fn variable_widths_are_caught_in_remote_structures() {
        let named =
            "#[derive(Clone)]\n#[repr(C)]\npub(crate) struct A {\n    b: u64,\n    c: usize,\n}\n";
        assert_eq!(found(PATH, named), [5]);
        assert_eq!(found(PATH, "#[repr(C, align(8))]\nstruct A(isize);\n"), [2]);
    }

    #[test]
    fn everything_else_may_use_them() {
        assert_eq!(
            found(PATH, "struct A { b: usize }\n#[repr(transparent)]\nstruct C(usize);\n"),
            NONE
        );
        assert_eq!(found(PATH, "#[repr(C)]\nstruct A { b: [u8; N as usize] } // usize\n"), NONE);
        assert_eq!(
            found("crates/engine/txn/src/a.rs", "#[repr(C)]\nstruct A { b: usize }\n"),
            NONE
        );
    }
}
