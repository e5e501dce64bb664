//! Mutants that no run can tell from the program, each with the reason.

use crate::site::Site;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The list.
const FILE: &str = include_str!("../equivalent.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    mutant: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    identity: String,
    because: String,
}

/// The reasons by identity.
///
/// # Errors
/// If the list cannot be read, an entry has no reason, is there twice, or names no mutant.
pub fn read(sites: &[Site]) -> Result<BTreeMap<String, String>> {
    parse(FILE, sites)
}

fn parse(text: &str, sites: &[Site]) -> Result<BTreeMap<String, String>> {
    let list: List = toml::from_str(text).context("equivalent.toml cannot be read")?;
    let known: BTreeSet<String> = sites.iter().map(Site::identity).collect();
    let mut reasons = BTreeMap::new();
    for Entry { identity, because } in list.mutant {
        if !known.contains(&identity) {
            bail!("equivalent.toml names {identity:?}, which is no mutant any more; remove it");
        }
        if because.trim().is_empty() {
            bail!("equivalent.toml gives no reason for {identity:?}");
        }
        if reasons.insert(identity.clone(), because).is_some() {
            bail!("equivalent.toml names {identity:?} twice");
        }
    }
    Ok(reasons)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instrument::instrument;

    #[test]
    fn an_entry_names_a_mutant_and_has_a_reason() {
        let source = "fn f() -> T { a < b }";
        let sites = instrument("f.rs", source, 1, &BTreeSet::new()).expect("it is Rust").sites;
        let entry = |identity: &str, because: &str| {
            format!("[[mutant]]\nidentity = \"{identity}\"\nbecause = \"{because}\"\n")
        };
        let right = entry("f.rs f: `<` of `a < b` becomes `<=` #1", "a is never b.");
        assert_eq!(parse(&right, &sites).expect("it is right").len(), 1);
        assert!(parse(&right.repeat(2), &sites).is_err(), "it is there twice");
        assert!(parse(&entry("f.rs f: gone #1", "a is never b."), &sites).is_err());
        assert!(parse(&right.replace("a is never b.", " "), &sites).is_err());
    }

    #[test]
    fn the_list_names_mutants_of_the_sources() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../");
        let list: List = toml::from_str(FILE).expect("it can be read");
        let mut sites = Vec::new();
        let files: BTreeSet<&str> =
            list.mutant.iter().filter_map(|entry| entry.identity.split(' ').next()).collect();
        for file in files {
            let source = std::fs::read_to_string(format!("{root}{file}"))
                .unwrap_or_else(|error| panic!("{file}: {error}"));
            let whole = instrument(file, &source, 1, &BTreeSet::new()).expect("it is Rust");
            sites.extend(whole.sites);
        }
        parse(FILE, &sites).expect("each entry names a mutant");
    }
}
