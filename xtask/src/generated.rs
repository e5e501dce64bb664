//! `cargo xtask layout` and `cargo xtask metrics`: pages of docs/ that crates generate from their
//! constants.
//!
//! An example of the crate writes the page, so that this program depends on no crate of the
//! product.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{process, workspace};

/// The task; the default is to write the page.
#[derive(Args, Default)]
pub struct Options {
    /// Fail if the file is not what would be written, and change nothing
    #[arg(long)]
    check: bool,
}

impl Options {
    /// Only checks whether the file is up to date.
    pub fn checking() -> Self {
        Self { check: true }
    }
}

/// A page, the example that writes it, and its task.
pub struct Page {
    task: &'static str,
    file: &'static str,
    /// The name of an example of the workspace.
    example: &'static str,
}

/// The words of remote memory.
pub const LAYOUT: Page = Page { task: "layout", file: "docs/layout.md", example: "tables" };
/// The metrics of servers.
pub const METRICS: Page = Page { task: "metrics", file: "docs/metrics.md", example: "page" };

/// Writes a page, or checks it.
pub fn run(root: &Path, page: &Page, options: &Options) -> Result<()> {
    let Page { task, file, example } = page;
    // For the whole workspace: for one package, cargo would compile libraries with other features
    // than for tests.
    let build = ["build", "--quiet", "--workspace", "--example", example];
    process::run(&mut process::cargo(root, &build))?;
    let program = workspace::target_directory(root)?.join("debug/examples").join(example);
    let text = process::capture(&mut Command::new(program))?;
    let path = root.join(file);
    if options.check {
        let found = std::fs::read_to_string(&path).with_context(|| format!("read {file}"))?;
        ensure!(is_same(&found, &text), "{file} is out of date; run `cargo xtask {task}`");
        println!("{task}: {file} is up to date");
        return Ok(());
    }
    std::fs::write(&path, text).with_context(|| format!("write {file}"))?;
    println!("{task}: {file} is written");
    Ok(())
}

/// Whether two pages are equal except for line ends.
fn is_same(one: &str, other: &str) -> bool {
    one.lines().eq(other.lines())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_word_is_out_of_date_and_a_line_end_is_not() {
        assert!(is_same("a\nb\n", "a\r\nb\r\n"));
        assert!(!is_same("| 4 | tags |\n", "| 5 | tags |\n"));
        assert!(!is_same("a\n", "a\nb\n"));
    }
}
