//! The mutants of a run: all, those of a file or function, or a sample.

use crate::site::{Purpose, Site};
use anyhow::{Result, bail};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The choice.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Parts of files or functions; empty: all.
    pub only: Vec<String>,
    /// The number of mutants; `None`: all.
    pub sample: Option<usize>,
    /// Another seed draws another sample.
    pub seed: u64,
}

/// The chosen mutants, in an order that the seed draws, so that a run that ends early has seen a
/// sample.
///
/// # Errors
/// If a part names no mutant.
pub fn choose<'a>(sites: &'a [Site], choice: &Choice) -> Result<Vec<&'a Site>> {
    let is_in = |site: &Site, part: &String| {
        site.file.contains(part.as_str()) || site.identity().contains(part.as_str())
    };
    let mut chosen: Vec<&Site> =
        sites.iter().filter(|site| site.purpose == Purpose::Mutant).collect();
    for part in &choice.only {
        if !chosen.iter().any(|site| is_in(site, part)) {
            bail!("no mutant is in a file or function {part:?}; --list prints all mutants");
        }
    }
    if !choice.only.is_empty() {
        chosen.retain(|site| choice.only.iter().any(|part| is_in(site, part)));
    }
    chosen.sort_by_cached_key(|site| {
        let mut hasher = DefaultHasher::new();
        (choice.seed, site.identity()).hash(&mut hasher);
        hasher.finish()
    });
    chosen.truncate(choice.sample.unwrap_or(usize::MAX));
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instrument::instrument;
    use std::collections::BTreeSet;

    #[test]
    fn a_sample_depends_on_the_seed_and_not_on_lines() {
        let source = "fn f() -> T { a < b; c < d; e < f; g < h }\nfn g() -> T { i < j }";
        let sites = |source: &str| {
            instrument("f.rs", source, 1, &BTreeSet::new()).expect("it is Rust").sites
        };
        let names = |source: &str, choice: &Choice| -> Vec<String> {
            let sites = sites(source);
            let chosen = choose(&sites, choice).expect("they name mutants");
            chosen.iter().map(|site| site.identity()).collect()
        };
        let sample = |seed| Choice { only: Vec::new(), sample: Some(3), seed };
        let one = names(source, &sample(1));
        assert_eq!(one.len(), 3);
        assert_eq!(names(&format!("\n\n{source}"), &sample(1)), one);
        assert!((2..9).any(|seed| names(source, &sample(seed)) != one));
        let only = Choice { only: vec!["f.rs g".to_owned()], ..Choice::default() };
        assert_eq!(names(source, &only), ["f.rs g: `<` of `i < j` becomes `<=` #1"]);
        let none = Choice { only: vec!["nowhere".to_owned()], ..Choice::default() };
        assert!(choose(&sites(source), &none).is_err());
    }
}
