//! A site: a place of the sources that the copy instruments, a mutant or a branch.

use serde::{Deserialize, Serialize};

/// The purpose of a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// A change of the program that a number turns on.
    Mutant,
    /// A branch whose visits are counted.
    Branch,
}

/// A mutant or a branch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Site {
    /// The number that turns it on, from 1. It changes with every build.
    pub number: u32,
    pub purpose: Purpose,
    /// The path of the file, from the root of the workspace.
    pub file: String,
    /// The function, with the type it belongs to.
    pub function: String,
    /// The change, or the branch.
    pub what: String,
    /// Its position among the equal ones of the function.
    pub ordinal: u32,
    /// The line in the source, from 1.
    pub line: usize,
}

impl Site {
    /// The identity, which survives moved lines.
    pub fn identity(&self) -> String {
        let Self { file, function, what, ordinal, .. } = self;
        format!("{file} {function}: {what} #{ordinal}")
    }

    /// The line of a report.
    pub fn describe(&self) -> String {
        let Self { file, line, function, what, .. } = self;
        format!("{file}:{line} {function}: {what}")
    }
}
