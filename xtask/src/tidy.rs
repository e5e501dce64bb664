//! `cargo xtask tidy`: the rules of the workspace that no compiler knows, one file each.
//!
//! A check is a function from the text of the whole workspace to violations, so its tests plant one
//! in a few lines of text and need no files.

mod ascii;
mod comment_width;
mod commits;
mod decisions;
mod documents;
mod english;
mod examples;
mod fields;
mod functions;
mod home_paths;
mod layers;
mod leftovers;
mod lengths;
mod lexer;
mod manifest;
mod module_doc;
mod prose;
mod ratchet;
mod safety;
mod tree;

use std::path::Path;
use std::{fmt, fs};

use anyhow::{Context, Result, bail};
use clap::Args;

use tree::Tree;

/// One broken rule: where, what, and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    path: String,
    line: usize,
    what: String,
}

impl Violation {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Violation {
        assert!(line > 0, "lines count from 1");
        Violation { path: path.to_string(), line, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.what)
    }
}

type Check = fn(&Tree) -> Vec<Violation>;

const CHECKS: [Check; 16] = [
    layers::check,
    safety::check_tokens,
    safety::check_attributes,
    lengths::check,
    leftovers::check,
    module_doc::check,
    decisions::check_pages,
    decisions::check_references,
    decisions::check_libraries,
    documents::check,
    home_paths::check,
    fields::check,
    ascii::check,
    english::check,
    examples::check,
    comment_width::check,
];

/// Other tasks than the check.
#[derive(Args)]
pub struct Options {
    /// Print all recorded violations of the package with this folder name, and do nothing else
    #[arg(long, value_name = "PACKAGE", conflicts_with = "lower")]
    list: Option<String>,
    /// Lower the numbers of xtask/tidy-ratchet.toml to those of today, then check
    #[arg(long)]
    lower: bool,
}

/// Reads the workspace, runs every check, and prints all violations before failing.
pub fn run(root: &Path) -> Result<()> {
    run_with(root, &Options { list: None, lower: false })
}

/// The check, or what the options choose instead.
pub fn run_with(root: &Path, options: &Options) -> Result<()> {
    let mut tree = Tree::read(root)?;
    if let Some(package) = &options.list {
        list(&tree, package);
        return Ok(());
    }
    if options.lower {
        lower(root, &tree)?;
        tree = Tree::read(root)?;
    }
    let mut violations: Vec<Violation> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    violations.extend(commits::check(root, &tree)?);
    violations.sort();
    for violation in &violations {
        eprintln!("{violation}");
    }
    if !violations.is_empty() {
        bail!("tidy found {} violations in {} files", violations.len(), tree.files().len());
    }
    eprintln!("tidy: {} files are in order", tree.files().len());
    Ok(())
}

fn list(tree: &Tree, package: &str) {
    let mut violations = english::find(tree);
    violations.extend(comment_width::find(tree));
    violations.retain(|violation| ratchet::package(tree, &violation.path) == package);
    violations.sort();
    for violation in &violations {
        println!("{violation}");
    }
}

fn lower(root: &Path, tree: &Tree) -> Result<()> {
    let before = tree.file(ratchet::PATH).context("the ratchet is missing")?;
    let after = comment_width::lower(tree, &english::lower(tree, &before.text));
    if after != before.text {
        fs::write(root.join(ratchet::PATH), after).context("write the ratchet")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_reads_as_path_line_and_sentence() {
        let violation = Violation::new("crates/engine/txn/src/lib.rs", 3, "this is wrong, mend it");
        assert_eq!(violation.to_string(), "crates/engine/txn/src/lib.rs:3: this is wrong, mend it");
    }

    #[test]
    fn violations_of_several_checks_are_found_in_one_tree() {
        let tree = Tree::of(&[("crates/engine/txn/src/lib.rs", "fn f() { dbg!(1); }\n")]);
        let found: Vec<Violation> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
        // The missing module doc, the missing attribute, the leftover.
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
