//! No file names a directory that exists on one machine only.

use super::Violation;
use super::lexer::is_word;
use super::tree::{Tree, line_of};

/// Prefixes of home directories, in pieces so that this file is no violation.
const HOMES: [&str; 3] = [concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/ro", "ot/")];

/// Searches every text file, literals and comments included.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files() {
        for home in HOMES {
            for (offset, _) in file.text.match_indices(home) {
                if begins(&file.text, offset) {
                    let line = line_of(&file.text, offset);
                    let what = "a path into someone's home, make it relative or a setting";
                    violations.push(Violation::new(&file.path, line, what));
                }
            }
        }
    }
    violations
}

/// Whether a path begins here: `https://example.org/home/` is an address, and a path may also
/// continue after a variable.
fn begins(text: &str, offset: usize) -> bool {
    let before = offset.checked_sub(1).map(|index| text.as_bytes()[index]);
    !before.is_some_and(|byte| is_word(byte) || b".-~}".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn home_directories_are_caught_in_any_text() {
        for home in HOMES {
            assert_eq!(
                found("crates/engine/txn/src/lib.rs", &format!("f(\"{home}ada/data\");\n")),
                1
            );
            assert_eq!(found("README.md", &format!("See {home}ada.\n")), 1);
            assert_eq!(found(".ci/run", &format!("cd {home}ada\n")), 1);
            assert_eq!(found("README.md", &format!("https://example.org{home}ada\n")), 0);
            assert_eq!(found("README.md", &format!("${{PREFIX}}{home}ada\n")), 0);
        }
    }
}
