//! Every file begins with a module doc that gives its purpose.

use super::Violation;
use super::tree::Tree;

/// Checks the first line that is not blank.
pub fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust()
        .filter(|(file, _)| !file.text.trim_start().starts_with("//!"))
        .map(|(file, _)| {
            let what = "the file has no module doc, begin it with `//!` and what it is for";
            Violation::new(&file.path, 1, what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_module_doc_is_caught() {
        let check = |text| check(&Tree::of(&[("crates/engine/txn/src/lib.rs", text)])).len();
        assert_eq!(check("use std::fs;\n"), 1);
        assert_eq!(check("// A comment.\n//! Doc.\n"), 1);
        assert_eq!(check(""), 1);
        assert_eq!(check("\n//! Doc.\n"), 0);
    }
}
