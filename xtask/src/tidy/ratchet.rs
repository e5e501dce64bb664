//! Rules that old text does not keep yet: each package has a number of violations that only falls.
//!
//! `xtask/tidy-ratchet.toml` records the numbers, one section for each rule, by the folder of the
//! package. A package without an entry has no violation.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::tree::Tree;

/// The file with the recorded numbers.
pub const PATH: &str = "xtask/tidy-ratchet.toml";

/// A rule with a section in the ratchet.
pub struct Ratcheted {
    pub section: &'static str,
    /// The violations, in the plural.
    pub what: &'static str,
}

/// The violations to report, given all of the rule. A package with more than its number reports
/// the number, since nothing says which ones are new.
pub fn judge(tree: &Tree, rule: &Ratcheted, found: Vec<Violation>) -> Vec<Violation> {
    let Some(recorded) = recorded(tree, rule) else {
        let what = format!("`{}` is not a table of numbers, fix it", rule.section);
        return vec![Violation::new(PATH, 1, what)];
    };
    let counts = count(tree, &found);
    let names: BTreeSet<&String> = counts.keys().chain(recorded.keys()).collect();
    let mut violations = Vec::new();
    for &name in &names {
        let count = counts.get(name).copied().unwrap_or(0);
        let limit = recorded.get(name).copied().unwrap_or(0);
        let (section, what) = (rule.section, rule.what);
        if count > limit && limit > 0 {
            let what = format!(
                "`{name}` has {count} {what}, {limit} are recorded in [{section}]; \
                 `cargo xtask tidy --list {name}` prints them"
            );
            violations.push(Violation::new(PATH, 1, what));
        } else if count < limit {
            let what = format!(
                "`{name}` has only {count} {what} now, {limit} are recorded in [{section}]; \
                 run `cargo xtask tidy --lower`"
            );
            violations.push(Violation::new(PATH, 1, what));
        }
    }
    let is_new = |violation: &Violation| !recorded.contains_key(&package(tree, &violation.path));
    violations.extend(found.into_iter().filter(is_new));
    violations
}

/// The ratchet's text with the numbers that have fallen, without those that are 0 now.
pub fn lower(tree: &Tree, rule: &Ratcheted, found: &[Violation], ratchet: &str) -> String {
    let counts = count(tree, found);
    let mut lowered = String::new();
    let mut is_section = false;
    for line in ratchet.lines() {
        if line.starts_with('[') {
            is_section = line == format!("[{}]", rule.section);
        }
        let entry = line.split_once(" = ").filter(|_| is_section && !line.starts_with('#'));
        let Some((name, limit)) = entry else {
            lowered.push_str(line);
            lowered.push('\n');
            continue;
        };
        let limit = limit.parse().unwrap_or(usize::MAX);
        let count = counts.get(name).copied().unwrap_or(0).min(limit);
        if count > 0 {
            lowered.push_str(&format!("{name} = {count}\n"));
        }
    }
    lowered
}

/// The folder name of the package that a file belongs to, that of the nearest manifest.
pub fn package(tree: &Tree, path: &str) -> String {
    let mut folder = path;
    while let Some((parent, _)) = folder.rsplit_once('/') {
        folder = parent;
        if tree.file(&format!("{folder}/Cargo.toml")).is_some() {
            break;
        }
    }
    folder.rsplit('/').next().unwrap_or(folder).to_string()
}

fn count(tree: &Tree, found: &[Violation]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for violation in found {
        *counts.entry(package(tree, &violation.path)).or_insert(0) += 1;
    }
    counts
}

/// The recorded numbers; `None` if the ratchet cannot be read.
fn recorded(tree: &Tree, rule: &Ratcheted) -> Option<BTreeMap<String, usize>> {
    let Some(file) = tree.file(PATH) else {
        return Some(BTreeMap::new());
    };
    let mut table: toml::Table = toml::from_str(&file.text).ok()?;
    match table.remove(rule.section) {
        Some(section) => section.try_into().ok(),
        None => Some(BTreeMap::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Ratcheted = Ratcheted { section: "rule", what: "faults" };
    const FILE: &str = "crates/engine/txn/src/lib.rs";

    fn tree(ratchet: &str) -> Tree {
        Tree::of(&[("crates/engine/txn/Cargo.toml", ""), (FILE, "//! A.\n"), (PATH, ratchet)])
    }

    fn faults(count: usize) -> Vec<Violation> {
        (1..=count).map(|line| Violation::new(FILE, line, "fault")).collect()
    }

    fn judged(ratchet: &str, count: usize) -> usize {
        judge(&tree(ratchet), &RULE, faults(count)).len()
    }

    #[test]
    fn numbers_only_fall() {
        let ratchet = "[rule]\ntxn = 3\n";
        assert_eq!(judged(ratchet, 3), 0);
        assert_eq!(judged(ratchet, 4), 1);
        assert_eq!(judged(ratchet, 2), 1);
        assert_eq!(judged(ratchet, 0), 1);
    }

    #[test]
    fn packages_without_entry_have_none() {
        assert_eq!(judged("[functions]\n", 2), 2);
        assert_eq!(judged("[rule]\nindex = 3\n", 0), 1);
        assert_eq!(judged("rule = 3\n", 0), 1);
    }

    #[test]
    fn lowering_keeps_everything_else() {
        let ratchet = "# Why.\n[functions]\ntxn = 9\n\n[rule]\nindex = 2\ntxn = 3\n";
        let lowered = lower(&tree(ratchet), &RULE, &faults(2), ratchet);
        assert_eq!(lowered, "# Why.\n[functions]\ntxn = 9\n\n[rule]\ntxn = 2\n");
        assert_eq!(
            lower(&tree(ratchet), &RULE, &faults(5), "[rule]\ntxn = 3\n"),
            "[rule]\ntxn = 3\n"
        );
    }
}
