//! The instrumented text of a source file.

use crate::edits::Placed;
use crate::site::Site;
use crate::walk::Walk;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use syn::visit::Visit;

/// A source file with its mutants and counted branches.
pub struct Instrumented {
    pub text: String,
    pub sites: Vec<Site>,
    /// The place of each site in the text.
    pub placed: Vec<Placed>,
}

/// Instruments a file. Sites get the numbers from `first` on; those with an identity in `excluded`
/// are left out.
///
/// # Errors
/// If the text is no Rust.
pub fn instrument(
    file: &str,
    source: &str,
    first: u32,
    excluded: &BTreeSet<String>,
) -> Result<Instrumented> {
    let tree = syn::parse_file(source).with_context(|| format!("cannot parse {file}"))?;
    let mut walk = Walk::new(file, source, first, excluded);
    walk.visit_file(&tree);
    let Walk { edits, sites, .. } = walk;
    let (text, placed) = edits.apply(source);
    Ok(Instrumented { text, sites, placed })
}
