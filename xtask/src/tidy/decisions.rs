//! Every library we use has its reason in `docs/decisions.md`, under its name in backticks.

use std::collections::BTreeSet;

use super::Violation;
use super::manifest::{self, package_of};
use super::tree::Tree;

const DECISIONS: &str = "docs/decisions.md";

/// Checks `[workspace.dependencies]`, and dependencies of crates that are not listed there. The
/// tooling's own libraries need no reason: they never reach a user.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let decisions = tree.file(DECISIONS).map_or("", |file| &file.text);
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
    let mut asked = BTreeSet::new();
    uses.into_iter()
        .filter(|(package, ..)| !ours.contains(package.as_str()))
        .filter(|(package, ..)| !decisions.contains(&format!("`{package}`")))
        .filter(|(package, ..)| asked.insert(package.clone()))
        .map(|(package, path, line)| {
            let what = format!("`{package}` has no reason, write one line about it in {DECISIONS}");
            Violation::new(path, line, what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "[workspace.dependencies]\ntxn = { path = \"crates/txn\" }\n\
        clap = \"4.6\"\ncrc = { version = \"1.5\", package = \"crc32fast\" }\n";

    #[test]
    fn a_library_without_reason_is_caught_with_its_line() {
        let tree = Tree::of(&[("Cargo.toml", ROOT), (DECISIONS, "- `clap`: arguments.\n")]);
        let violations = check(&tree);
        assert_eq!(violations.len(), 1);
        assert_eq!((&*violations[0].path, violations[0].line), ("Cargo.toml", 4));
    }

    #[test]
    fn reasons_for_all_satisfy() {
        let tree = Tree::of(&[("Cargo.toml", ROOT), (DECISIONS, "`clap`, `crc32fast`: good.\n")]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_library_taken_in_past_the_workspace_is_caught_once() {
        let manifest = "[dependencies]\nrand = \"0.9\"\n[dev-dependencies]\nrand = \"0.9\"\n";
        let tree = Tree::of(&[("crates/txn/Cargo.toml", manifest)]);
        assert_eq!(check(&tree).len(), 1);
    }
}
