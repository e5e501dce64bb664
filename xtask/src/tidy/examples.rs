//! Every public function and type of the library `namdb` has an example: in its doc comment, in
//! that of its `impl`, or in that of another item, which the comment names: "[`Retry`] has an
//! example".

use std::collections::BTreeSet;

use super::Violation;
use super::tree::Tree;

const FOLDER: &str = "crates/app/namdb/src/";
/// Private modules with methods of public types.
const EXTENSIONS: [&str; 3] = ["long_values", "persistence", "statements"];
/// Signs of an example in a doc comment.
const SIGNS: [&str; 2] = ["```", "has an example"];
const HIDDEN: &str = "#[doc(hidden)]";
const KINDS: [&str; 5] = ["fn ", "struct ", "enum ", "trait ", "type "];

/// Checks the modules that the library shows.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let Some(library) = tree.file(&format!("{FOLDER}lib.rs")) else { return Vec::new() };
    let modules: Vec<&str> = public_modules(&library.text).chain(EXTENSIONS).collect();
    let is_shown = |path: &str| {
        let path = path.strip_prefix(FOLDER).and_then(|path| path.strip_suffix(".rs"));
        // A module in a folder shows the items of all its files.
        path.and_then(|path| path.split('/').next()).is_some_and(|name| modules.contains(&name))
    };
    let files: Vec<_> = tree.files().iter().filter(|file| is_shown(&file.path)).collect();
    let types: BTreeSet<&str> = files.iter().flat_map(|file| public_types(&file.text)).collect();
    let mut violations = Vec::new();
    for file in files {
        for line in without_example(&file.text, &types) {
            let what = "a public item has no example, add one or say which item \"has an example\"";
            violations.push(Violation::new(&file.path, line, what));
        }
    }
    violations
}

/// The modules that the documentation shows.
fn public_modules(library: &str) -> impl Iterator<Item = &str> {
    shown_lines(library)
        .filter_map(|line| line.strip_prefix("pub mod ").and_then(|name| name.strip_suffix(';')))
}

/// The lines that do not follow one that hides them.
fn shown_lines(text: &str) -> impl Iterator<Item = &str> {
    let before = std::iter::once("").chain(text.lines());
    before.zip(text.lines()).filter(|(before, _)| *before != HIDDEN).map(|(_, line)| line)
}

/// The name after a keyword.
fn name(rest: &str) -> &str {
    rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or("")
}

/// The public item of a line, without visibility and qualifiers.
fn public_item(line: &str) -> Option<&str> {
    let item = line.trim_start().strip_prefix("pub ")?;
    let item = item.strip_prefix("const ").unwrap_or(item);
    KINDS.iter().any(|kind| item.starts_with(kind)).then_some(item)
}

fn public_types(text: &str) -> impl Iterator<Item = &str> {
    let items = shown_lines(text).filter(|line| line.starts_with("pub ")).filter_map(public_item);
    items.filter_map(|item| item.split_once(' ')).map(|(_, rest)| name(rest))
}

/// The type of an `impl` at the beginning of a line.
fn implemented(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let mut depth = 0_usize;
    let of_type = |(offset, letter): (usize, char)| {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0 && letter == ' ').then_some(offset + 1)
    };
    let at = rest.char_indices().find_map(of_type)?;
    Some(name(&rest[at..]))
}

/// The comment before an item, attributes in between included.
#[derive(Clone, Copy, Default)]
struct Comment {
    has_example: bool,
    is_hidden: bool,
}

/// The lines of public items without an example.
fn without_example(text: &str, types: &BTreeSet<&str>) -> Vec<usize> {
    let mut found = Vec::new();
    let (mut comment, mut of_impl) = (Comment::default(), Comment::default());
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim_start();
        if line == "mod tests {" {
            break;
        }
        if trimmed.starts_with("///") {
            comment.has_example |= SIGNS.iter().any(|sign| trimmed.contains(sign));
        } else if trimmed == HIDDEN {
            comment.is_hidden = true;
        } else if line.starts_with("impl") {
            of_impl = std::mem::take(&mut comment);
            // Methods of private types are not shown.
            of_impl.is_hidden |= !implemented(line).is_some_and(|of| types.contains(of));
        } else if public_item(line).is_some() {
            let of_item = std::mem::take(&mut comment);
            let around = if line.starts_with(' ') { of_impl } else { Comment::default() };
            let is_hidden = of_item.is_hidden || around.is_hidden;
            if !is_hidden && !of_item.has_example && !around.has_example {
                found.push(number);
            }
        } else if trimmed.is_empty() || trimmed.ends_with(['{', ';']) {
            comment = Comment::default();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "//! Doc.\npub mod a;\nmod private;\n#[doc(hidden)]\npub mod hidden;\n";

    fn found(module: &str, text: &str) -> Vec<usize> {
        let path = format!("{FOLDER}{module}.rs");
        let tree = Tree::of(&[(&format!("{FOLDER}lib.rs"), LIBRARY), (&path, text)]);
        check(&tree).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn public_items_without_example_are_caught() {
        assert_eq!(found("a", "/// Doc.\npub fn f() {}\n\n/// Doc.\npub struct S;\n"), [2, 5]);
        let methods = "/// ```\npub struct S;\n\nimpl<T: Into<u8>> S {\n    /// Doc.\n    pub const fn f() {\n        let x = 1;\n    }\n}\n";
        assert_eq!(found("a", methods), [6]);
        let attributes =
            "/// ```\n#[a(\n    b = \"c\",\n)]\npub trait T {}\n/// Doc.\npub type U = u8;\n";
        assert_eq!(found("a", attributes), [7]);
        assert_eq!(found("a/part", "/// Doc.\npub fn f() {}\n"), [2]);
    }

    #[test]
    fn examples_of_the_item_of_its_impl_and_of_others_count() {
        let text =
            "/// ```\npub struct S;\n\n/// ```\nimpl S {\n    /// Doc.\n    pub fn f() {}\n}\n";
        assert_eq!(found("a", text), [0; 0]);
        assert_eq!(found("a", "/// [`S`] has an example.\npub enum E {}\n"), [0; 0]);
    }

    #[test]
    fn what_the_documentation_does_not_show_needs_none() {
        let private = "/// Doc.\npub(crate) fn f() {}\nstruct P;\nimpl P {\n    pub fn f() {}\n}\n";
        assert_eq!(found("a", private), [0; 0]);
        assert_eq!(found("a", "/// Doc.\n#[doc(hidden)]\npub fn f() {}\n"), [0; 0]);
        let hidden = "#[doc(hidden)]\npub struct S;\nimpl S {\n    pub fn f() {}\n}\n";
        assert_eq!(found("a", hidden), [0; 0]);
        assert_eq!(found("a", "mod tests {\n    pub fn f() {}\n}\n"), [0; 0]);
        assert_eq!(found("private", "pub fn f() {}\n"), [0; 0]);
        assert_eq!(found("hidden", "pub fn f() {}\n"), [0; 0]);
        assert_eq!(found("a", "/// Doc.\npub const C: u8 = 1;\n"), [0; 0]);
    }
}
