//! Code and literals are plain ASCII, so that what one sees is what is compiled.

use super::Violation;
use super::tree::{Tree, line_of};

/// Looks at everything but comments; one violation for each line.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (file, views) in tree.rust() {
        let mut last = 0;
        for (offset, character) in views.uncommented.char_indices().filter(|(_, c)| !c.is_ascii()) {
            let line = line_of(&file.text, offset);
            if line > last {
                let escape = character.escape_unicode();
                let what = format!("a character beyond ASCII outside comments, write `{escape}`");
                violations.push(Violation::new(&file.path, line, what));
                last = line;
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_beyond_ascii_are_caught_outside_comments() {
        let check = |text| check(&Tree::of(&[("crates/engine/txn/src/lib.rs", text)]));
        assert_eq!(check("// caf\u{e9}\n/* \u{2192} */\n"), []);
        let violations = check("// fine\nf(\"caf\u{e9} \u{2192}\");\n");
        assert_eq!((violations.len(), violations[0].line), (1, 2));
        assert_eq!(check("let caf\u{e9} = 1;\n").len(), 1);
    }
}
