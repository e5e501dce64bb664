//! The branches that simulated runs hardly take.

use crate::profile::Profile;
use crate::site::{Purpose, Site};
use anyhow::{Context, Result};
use serde_json::json;
use std::fmt::Write;

/// A branch is rare if fewer than one of this many runs takes it.
pub const RARE: u64 = 1000;

/// A branch and the number of runs that take it.
pub type Taken<'a> = (&'a Site, u64);

/// The rare branches, by file and line.
pub fn rare<'a>(sites: &'a [Site], profile: &Profile) -> Vec<Taken<'a>> {
    let branches = sites.iter().filter(|site| site.purpose == Purpose::Branch);
    let taken = branches.map(|site| (site, profile.visits(site.number)));
    let mut rare: Vec<Taken<'a>> =
        taken.filter(|&(_, runs)| runs * RARE < profile.runs()).collect();
    rare.sort_by(|(one, _), (other, _)| (&one.file, one.line).cmp(&(&other.file, other.line)));
    rare
}

/// The report as text.
pub fn text(sites: &[Site], profile: &Profile) -> String {
    let (mut text, mut file) = (String::new(), "");
    let rare = rare(sites, profile);
    for (site, runs) in &rare {
        if site.file != file {
            file = &site.file;
            writeln!(text, "{file}").expect("a string takes all");
        }
        let Site { line, function, what, .. } = site;
        writeln!(text, "{runs:>7}  {line:>4}  {function}: {what}").expect("a string takes all");
    }
    let branches = sites.iter().filter(|site| site.purpose == Purpose::Branch).count();
    writeln!(
        text,
        "{} of {branches} branches are taken in fewer than 1 of {RARE} runs, {} of them never; {} \
         runs of {} worlds",
        rare.len(),
        rare.iter().filter(|&&(_, runs)| runs == 0).count(),
        profile.runs(),
        profile.worlds.len()
    )
    .expect("a string takes all");
    text
}

/// The report as JSON.
///
/// # Errors
/// If a site has no JSON.
pub fn json(sites: &[Site], profile: &Profile) -> Result<String> {
    let rare = rare(sites, profile);
    let branches: Vec<_> = rare
        .iter()
        .map(|(site, runs)| json!({ "branch": site, "identity": site.identity(), "runs": runs }))
        .collect();
    let report = json!({ "runs": profile.runs(), "rare": branches });
    Ok(serde_json::to_string_pretty(&report).context("a branch is not JSON")? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instrument::instrument;
    use crate::profile::WorldProfile;
    use std::collections::BTreeSet;

    #[test]
    fn rare_branches_are_listed_with_the_number_of_runs() {
        let source = "fn f() -> T { if let A = b { c } else { d } }";
        let sites = instrument("f.rs", source, 1, &BTreeSet::new()).expect("it is Rust").sites;
        let number =
            |what: &str| sites.iter().find(|site| site.what == what).map(|site| site.number);
        let visits = [("call", 2000), ("then", 1), ("else", 2)];
        let visits = visits.map(|(what, runs)| (number(what).expect("it is a branch"), runs));
        let world = WorldProfile {
            world: "a".to_owned(),
            runs: 2000,
            seconds: 1.0,
            failures: std::collections::BTreeMap::new(),
            sites: visits.into_iter().collect(),
        };
        let profile = Profile { worlds: vec![world] };
        let found: Vec<(&str, u64)> = rare(&sites, &profile)
            .into_iter()
            .map(|(site, runs)| (site.what.as_str(), runs))
            .collect();
        assert_eq!(found, [("then", 1)]);
        let text = text(&sites, &profile);
        assert!(text.starts_with("f.rs\n      1     1  f: then\n1 of 3 branches"), "{text}");
    }
}
