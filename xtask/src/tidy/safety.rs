//! Unsafe code is in one folder per crate, and each block explains why it is sound.

use super::Violation;
use super::lexer::{Views, is_word};
use super::tree::{File, Tree, line_of, words};

/// The folders that may hold unsafe code.
const UNSAFE_FOLDERS: [&str; 2] = ["crates/engine/fabric/src/raw/", "crates/app/capi/src/raw/"];

/// The crates with such a folder: `forbid` could not be lifted inside it, so they deny.
const DENYING_CRATES: [&str; 2] = ["crates/engine/fabric/", "crates/app/capi/"];

/// Finds the keyword outside its folders, and blocks without an argument inside them.
pub fn check_tokens(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (file, views) in tree.rust() {
        let is_allowed = UNSAFE_FOLDERS.iter().any(|folder| file.path.starts_with(folder));
        for offset in words(&views.code, "unsafe") {
            let line = line_of(&file.text, offset);
            if !is_allowed {
                let what = "unsafe code outside the `raw` folders of `fabric` and `capi`, move it there behind a safe function";
                violations.push(Violation::new(&file.path, line, what));
            } else if needs_argument(&views.code[offset..]) && !has_argument(views, line) {
                let what = "unsafe without its reason, write a `// SAFETY:` comment directly above";
                violations.push(Violation::new(&file.path, line, what));
            }
        }
    }
    violations
}

/// Blocks and implementations claim something; an `unsafe fn` only passes the duty on.
fn needs_argument(code: &str) -> bool {
    let rest = code["unsafe".len()..].trim_start();
    let word: String = rest.chars().take_while(char::is_ascii_lowercase).collect();
    rest.starts_with('{') || word == "impl"
}

/// Whether `SAFETY:` is in a comment on this line or above the statement of this line.
fn has_argument(views: &Views, line: usize) -> bool {
    let code: Vec<&str> = views.code.lines().collect();
    let comments: Vec<&str> = views.comments.lines().collect();
    if comments[line - 1].contains("SAFETY:") {
        return true;
    }
    for index in (0..line - 1).rev() {
        if comments[index].contains("SAFETY:") && code[index].trim().is_empty() {
            return true;
        }
        let (code, comment) = (code[index].trim(), comments[index].trim());
        let is_attribute = code.starts_with("#[");
        let is_blank = code.is_empty() && comment.is_empty();
        // The statement begins after a line that ends another one, or opens a block.
        if is_blank || (code.ends_with([';', '{', '}', ',']) && !is_attribute) {
            return false;
        }
    }
    false
}

/// Every crate root forbids unsafe code, so the compiler confirms the search above.
pub fn check_attributes(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (file, views) in tree.rust() {
        if !is_crate_root(file) {
            continue;
        }
        let denies = DENYING_CRATES.iter().any(|folder| file.path.starts_with(folder));
        let level = if denies { "deny" } else { "forbid" };
        let code: String = views.code.split_whitespace().collect();
        if !code.contains(&format!("#![{level}(unsafe_code)]")) {
            let what = format!("a crate root must say `#![{level}(unsafe_code)]`, add it");
            violations.push(Violation::new(&file.path, 1, what));
        }
    }
    violations
}

fn is_crate_root(file: &File) -> bool {
    let Some((package, source)) = file.path.split_once("/src/") else {
        return false;
    };
    let is_package = package == "xtask"
        || package
            .strip_prefix("crates/")
            .and_then(|path| path.split_once('/'))
            .is_some_and(|(_, name)| name.bytes().all(|byte| is_word(byte) || byte == b'-'));
    let is_binary = match source.strip_prefix("bin/") {
        Some(binary) => !binary.contains('/') || binary.ends_with("/main.rs"),
        None => false,
    };
    is_package && (source == "lib.rs" || source == "main.rs" || is_binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn tokens(path: &str, text: &str) -> Vec<usize> {
        check_tokens(&Tree::of(&[(path, text)])).iter().map(|violation| violation.line).collect()
    }

    const RAW: &str = "crates/engine/fabric/src/raw/words.rs";

    #[test]
    fn the_keyword_is_caught_outside_its_folder_only() {
        let text = "// SAFETY: none.\nunsafe { f() }\n";
        assert_eq!(tokens("crates/engine/txn/src/lib.rs", text), [2]);
        assert_eq!(tokens("crates/engine/txn/tests/a.rs", text), [2]);
        assert_eq!(tokens(RAW, text), NONE);
        assert_eq!(
            tokens("crates/engine/txn/src/lib.rs", "// unsafe\n\"unsafe\" unsafe_code"),
            NONE
        );
    }

    #[test]
    fn a_block_without_its_argument_is_caught() {
        assert_eq!(tokens(RAW, "fn f() {\n    unsafe { g() }\n}\n"), [2]);
        assert_eq!(tokens(RAW, "// SAFETY: far away.\n\nlet a = 1;\nunsafe { g() }\n"), [4]);
        assert_eq!(tokens(RAW, "unsafe impl Send for A {}\n"), [1]);
        assert_eq!(tokens(RAW, "f(\"SAFETY:\");\nunsafe { g() }\n"), [2]);
        // One argument does not serve two statements.
        assert_eq!(tokens(RAW, "// SAFETY: a.\nunsafe { g() };\nunsafe { h() };\n"), [3]);
    }

    #[test]
    fn an_argument_above_the_statement_is_seen() {
        assert_eq!(
            tokens(RAW, "// SAFETY: a\n// and b.\nlet x = y\n    .z(unsafe { g() });\n"),
            NONE
        );
        assert_eq!(tokens(RAW, "// SAFETY: a.\n#[inline]\nunsafe impl Send for A {}\n"), NONE);
        assert_eq!(tokens(RAW, "f(/* SAFETY: a. */ unsafe { g() });\n"), NONE);
        assert_eq!(tokens(RAW, "unsafe fn f() {}\nunsafe extern \"C\" {}\n"), NONE);
    }

    fn attributes(path: &str, text: &str) -> usize {
        check_attributes(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn crate_roots_need_the_attribute() {
        assert_eq!(attributes("crates/engine/txn/src/lib.rs", "//! A.\n"), 1);
        assert_eq!(attributes("crates/engine/txn/src/lib.rs", "//! #![forbid(unsafe_code)]\n"), 1);
        assert_eq!(attributes("crates/engine/txn/src/lib.rs", "#![deny(unsafe_code)]\n"), 1);
        assert_eq!(attributes("crates/engine/txn/src/lib.rs", "#![forbid(unsafe_code)]\n"), 0);
        assert_eq!(attributes("crates/engine/fabric/src/lib.rs", "#![deny(unsafe_code)]\n"), 0);
        assert_eq!(attributes("crates/app/namdb/src/main.rs", "fn main() {}\n"), 1);
        assert_eq!(attributes("crates/app/namdb/src/bin/a.rs", "fn main() {}\n"), 1);
        assert_eq!(attributes("crates/engine/txn/src/commit.rs", "//! A.\n"), 0);
    }
}
