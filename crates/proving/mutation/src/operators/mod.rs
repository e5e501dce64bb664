//! The mutation operators, and the counters of branches.
//!
//! Each file adds the edits of one group. In an edit the alternative comes first, as it was
//! written; what is behind `else` has the edits inside it.

pub(crate) mod branches;
pub(crate) mod conditions;
pub(crate) mod exchanges;
pub(crate) mod literals;
pub(crate) mod returns;
pub(crate) mod statements;

use crate::edits::Piece;
use std::ops::Range;

/// The condition that is true while the mutant is active.
pub(crate) fn on(site: u32) -> String {
    format!("::fabric::mutation::on({site})")
}

/// `alternative` while the mutant is active, else the range with its edits.
pub(crate) fn instead(site: u32, alternative: Vec<Piece>, range: Range<usize>) -> Vec<Piece> {
    let mut pieces = vec![Piece::New(format!("(if {} {{ ", on(site)))];
    pieces.extend(alternative);
    pieces.push(Piece::New(" } else { ".into()));
    pieces.push(Piece::Edited(range));
    pieces.push(Piece::New(" })".into()));
    pieces
}

#[cfg(test)]
pub(crate) mod testing {
    use crate::instrument::instrument;
    use std::collections::BTreeSet;

    /// Instruments a function body, and returns all mutants as `what` and the text that results
    /// if only this one is added. Each result must parse.
    pub fn mutants(source: &str) -> Vec<(String, String)> {
        let all = instrument("file.rs", source, 1, &BTreeSet::new()).expect("it is Rust");
        syn::parse_file(&all.text).expect("the result with all mutants parses");
        let identities = all.sites.iter().map(super::super::site::Site::identity);
        let identities: BTreeSet<String> = identities.collect();
        let alone = |site: &crate::site::Site| {
            let mut others = identities.clone();
            others.remove(&site.identity());
            let one = instrument("file.rs", source, 1, &others).expect("it is Rust");
            syn::parse_file(&one.text).expect("the result with one mutant parses");
            let text = one.text.replace("::fabric::mutation::", "");
            (site.what.clone(), text)
        };
        let is_mutant = |site: &&crate::site::Site| site.purpose == crate::site::Purpose::Mutant;
        all.sites.iter().filter(is_mutant).map(alone).collect()
    }

    /// The text that results from the mutant with this description.
    pub fn mutated(source: &str, what: &str) -> String {
        let found = mutants(source);
        let names: Vec<&String> = found.iter().map(|(name, _)| name).collect();
        let found = found.iter().find(|(name, _)| name == what);
        found.unwrap_or_else(|| panic!("no mutant {what} among {names:?}")).1.clone()
    }
}
