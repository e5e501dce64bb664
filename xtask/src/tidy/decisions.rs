//! Decisions: each has one short page that the index lists, and each library has its reason.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::manifest::{self, package_of};
use super::tree::{File, Tree, line_of};

const FOLDER: &str = "docs/decisions/";
const INDEX: &str = "docs/decisions/README.md";
const DEPENDENCIES: &str = "docs/decisions/dependencies.md";
/// A longer page holds more than one decision.
const LINE_COUNT_MAX: usize = 40;
/// The parts of every page, in this order.
const PARTS: [&str; 4] = ["# ", "Code: `", "## Context", "## Decision"];

/// Checks the pages of decisions: form, number, and a line in the index.
pub fn check_pages(tree: &Tree) -> Vec<Violation> {
    let index = tree.file(INDEX).map_or("", |file| &file.text);
    let mut pages = BTreeMap::new();
    let mut violations = Vec::new();
    for file in tree.files() {
        let Some(name) = page_name(&file.path) else { continue };
        violations.extend(form(tree, file, name));
        if !index.contains(&format!("]({name})")) {
            violations.push(Violation::new(&file.path, 1, format!("add a line to {INDEX}")));
        }
        if let Some(other) = pages.insert(&name[..4], name) {
            let what = format!("{other} has the same number, take a free one");
            violations.push(Violation::new(&file.path, 1, what));
        }
    }
    violations
}

/// The name of the page, such as `0006-the-lock-is-not-the-version.md`; `None` for all other paths.
fn page_name(path: &str) -> Option<&str> {
    let name = path.strip_prefix(FOLDER)?;
    let number = name.get(..5)?.strip_suffix('-')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(name)
}

/// The faults of one page: its length, its parts, and code that has moved.
fn form(tree: &Tree, file: &File, name: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let line_count = file.text.lines().count();
    if line_count > LINE_COUNT_MAX {
        let what = format!("{line_count} lines, at most {LINE_COUNT_MAX}: one decision a page");
        violations.push(Violation::new(&file.path, line_count, what));
    }
    let number = name[..4].trim_start_matches('0');
    if !file.text.starts_with(&format!("# {number}. ")) {
        let what = format!("begin with `# {number}. ` and the title");
        violations.push(Violation::new(&file.path, 1, what));
    }
    let governed = file.text.lines().filter(|line| line.starts_with("Code: "));
    let governed: String = governed.collect();
    for path in governed.split('`').skip(1).step_by(2) {
        if tree.file(path).is_none() {
            violations.push(Violation::new(&file.path, 1, format!("there is no {path}")));
        }
    }
    let mut lines = file.text.lines();
    for part in PARTS {
        if !lines.any(|line| line.starts_with(part)) {
            let what = format!("`{part}` is missing, or not in the order of the other pages");
            violations.push(Violation::new(&file.path, 1, what));
        }
    }
    violations
}

/// Checks that every page that a comment names is there.
pub fn check_references(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (file, views) in tree.rust() {
        for (offset, _) in views.comments.match_indices(FOLDER) {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '.');
            let rest = &views.comments[offset..];
            let path = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
            let path = path.trim_end_matches('.');
            if page_name(path).is_some() && tree.file(path).is_none() {
                let line = line_of(&file.text, offset);
                violations.push(Violation::new(&file.path, line, format!("there is no {path}")));
            }
        }
    }
    violations
}

/// Checks that `[workspace.dependencies]`, and dependencies of crates outside of it, have reasons.
/// The tooling's own libraries need none: they never reach a user.
pub fn check_libraries(tree: &Tree) -> Vec<Violation> {
    let reasons = tree.file(DEPENDENCIES).map_or("", |file| &file.text);
    let (manifests, _) = manifest::crates(tree);
    let ours: BTreeSet<&str> = manifests.iter().map(|manifest| &*manifest.package).collect();
    let mut uses = Vec::new();
    let root = tree.file("Cargo.toml").map_or("", |file| &file.text);
    for (key, value) in &manifest::workspace_dependencies(tree) {
        let line = manifest::line_of_key(root, key);
        // A path leads to one of our crates, even to one without a manifest yet.
        if value.get("path").is_none() {
            uses.push((package_of(key, value), "Cargo.toml", line));
        }
    }
    for manifest in &manifests {
        for dependency in &manifest.dependencies {
            uses.push((dependency.package.clone(), &manifest.file.path, dependency.line));
        }
    }
    let mut seen = BTreeSet::new();
    uses.into_iter()
        .filter(|(package, ..)| !ours.contains(package.as_str()))
        .filter(|(package, ..)| !reasons.contains(&format!("`{package}`")))
        .filter(|(package, ..)| seen.insert(package.clone()))
        .map(|(package, path, line)| {
            let what = format!("`{package}` has no reason, write a line in {DEPENDENCIES}");
            Violation::new(path, line, what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "[workspace.dependencies]\ntxn = { path = \"crates/txn\" }\n\
        clap = \"4.6\"\ncrc = { version = \"1.5\", package = \"crc32fast\" }\n";
    const PAGE: &str =
        "# 6. A lock\n\nCode: `crates/a.rs`\n\n## Context\n\nWhy.\n\n## Decision\n\nThis.\n";
    const LISTED: (&str, &str) = (INDEX, "- [6. A lock](0006-a-lock.md)\n");

    /// The sentences about a page of this name and text beside the index.
    fn told(path: &str, text: &str) -> Vec<String> {
        let tree = Tree::of(&[LISTED, (path, text), ("crates/a.rs", "//! A.\n")]);
        check_pages(&tree).into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn a_listed_page_of_the_right_form_satisfies() {
        assert_eq!(told("docs/decisions/0006-a-lock.md", PAGE), [""; 0]);
    }

    #[test]
    fn a_page_that_is_not_listed_is_caught() {
        let found = told("docs/decisions/0006-another.md", PAGE);
        assert_eq!(found, [format!("add a line to {INDEX}")]);
    }

    #[test]
    fn a_long_page_and_a_page_without_code_are_caught() {
        let long = format!("{PAGE}{}", "More.\n".repeat(LINE_COUNT_MAX));
        assert_eq!(told("docs/decisions/0006-a-lock.md", &long).len(), 1);
        let bare = PAGE.replace("Code: `crates/a.rs`\n", "");
        // The search for the missing part reads to the end, so the next parts are missing, too.
        assert!(told("docs/decisions/0006-a-lock.md", &bare)[0].contains("Code"));
    }

    #[test]
    fn code_that_has_moved_is_caught() {
        let moved = PAGE.replace("crates/a.rs", "crates/b.rs");
        assert_eq!(told("docs/decisions/0006-a-lock.md", &moved), ["there is no crates/b.rs"]);
    }

    #[test]
    fn a_number_that_is_taken_or_not_the_title_s_is_caught() {
        let pages = [
            LISTED,
            ("docs/decisions/0006-a-lock.md", PAGE),
            ("docs/decisions/0006-a-lock.md.md", PAGE),
        ];
        let found = check_pages(&Tree::of(&pages));
        assert!(found.iter().any(|violation| violation.what.contains("same number")), "{found:?}");
        assert!(told("docs/decisions/0007-a-lock.md", PAGE)[0].contains("`# 7. `"));
    }

    #[test]
    fn a_page_that_code_names_and_that_is_not_there_is_caught() {
        let page = ("docs/decisions/0006-a-lock.md", PAGE);
        let there = format!("//! See {FOLDER}0006-a-lock.md.\n");
        let gone = format!("//! A.\n//! - {FOLDER}0006-another.md\n");
        assert_eq!(check_references(&Tree::of(&[page, ("crates/a.rs", &there)])), []);
        let found = check_references(&Tree::of(&[page, ("crates/a.rs", &gone)]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
    }

    #[test]
    fn a_library_without_reason_is_caught_with_its_line() {
        let tree = Tree::of(&[("Cargo.toml", ROOT), (DEPENDENCIES, "- `clap`: arguments.\n")]);
        let violations = check_libraries(&tree);
        assert_eq!(violations.len(), 1);
        assert_eq!((&*violations[0].path, violations[0].line), ("Cargo.toml", 4));
    }

    #[test]
    fn reasons_for_all_satisfy() {
        let reasons = (DEPENDENCIES, "`clap`, `crc32fast`: good.\n");
        assert_eq!(check_libraries(&Tree::of(&[("Cargo.toml", ROOT), reasons])), []);
    }

    #[test]
    fn a_library_taken_in_past_the_workspace_is_caught_once() {
        let manifest = "[dependencies]\nrand = \"0.9\"\n[dev-dependencies]\nrand = \"0.9\"\n";
        let tree = Tree::of(&[("crates/engine/txn/Cargo.toml", manifest)]);
        assert_eq!(check_libraries(&tree).len(), 1);
    }
}
