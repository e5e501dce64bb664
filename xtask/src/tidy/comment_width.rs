//! Comments fit in 100 columns, as code does; rustfmt does not wrap them.

use super::Violation;
use super::lengths;
use super::ratchet::{self, Ratcheted};
use super::tree::Tree;

const COLUMNS_MAX: usize = 100;

/// The section of the ratchet.
const RATCHETED: Ratcheted = Ratcheted { section: "wide-comments", what: "wide comments" };

/// Compares the number of each package with the recorded one.
pub fn check(tree: &Tree) -> Vec<Violation> {
    ratchet::judge(tree, &RATCHETED, find(tree))
}

/// Replaces the recorded numbers in the ratchet's text that are higher than today's.
pub fn lower(tree: &Tree, ratchet: &str) -> String {
    ratchet::lower(tree, &RATCHETED, &find(tree), ratchet)
}

/// All lines with a comment that reaches beyond the last column; an address cannot be wrapped.
pub fn find(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (file, views) in tree.rust().filter(|(file, _)| !lengths::is_generated(&file.path)) {
        for (index, line) in views.comments.lines().enumerate() {
            let columns = line.trim_end().chars().count();
            if columns > COLUMNS_MAX && !line.contains("://") {
                let what = format!("the comment has {columns} columns, wrap it at {COLUMNS_MAX}");
                violations.push(Violation::new(&file.path, index + 1, what));
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        let tree = Tree::of(&[("crates/engine/txn/src/commit.rs", text)]);
        find(&tree).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn only_comments_beyond_the_last_column_are_found() {
        let words = "x".repeat(COLUMNS_MAX - 3);
        assert_eq!(found(&format!("// {words}\n// {words}y\n    // {words}\n")), [2, 3]);
        assert_eq!(found(&format!("f(\"{words}y\");\n// https://{words}\n")), [0; 0]);
    }
}
