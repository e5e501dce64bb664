//! The seeds that are known to catch each mutant, in the file `caught.txt`.

use std::collections::BTreeMap;

/// The file.
const KNOWN: &str = include_str!("../caught.txt");

/// A seed, and the detection that it leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    pub seed: u64,
    /// The anomaly, or the check that detects it.
    pub by: String,
}

impl Known {
    /// Whether the clients' history alone shows it.
    pub fn is_judged(&self) -> bool {
        !["structure", "shadow", "assertion"].contains(&self.by.as_str())
    }
}

/// The known seeds, by mutant.
pub fn known() -> BTreeMap<String, Known> {
    read(KNOWN)
}

fn read(text: &str) -> BTreeMap<String, Known> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(line).collect()
}

fn line(line: &str) -> (String, Known) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[mutant, seed, by] = &words[..] else {
        panic!("not a mutant, a seed, an anomaly: {line}")
    };
    let seed = seed.parse().unwrap_or_else(|_| panic!("not a seed: {line}"));
    (mutant.to_owned(), Known { seed, by: by.to_owned() })
}

/// The text of the file.
pub fn write(known: &BTreeMap<String, Known>) -> String {
    let width = known.keys().map(String::len).max().unwrap_or(0);
    let line = |(mutant, Known { seed, by }): (&String, &Known)| {
        format!("{mutant:width$}  {seed:>5}  {by}\n")
    };
    let head = "# Mutant, a seed that catches it, what shows it. `cargo xtask mutants --keep` writes this.\n";
    std::iter::once(head.to_owned()).chain(known.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_seeds_round_trip() {
        let known = BTreeMap::from([
            ("a::b".to_owned(), Known { seed: 7, by: "G2".to_owned() }),
            ("a::long_name".to_owned(), Known { seed: 1234, by: "lost-update".to_owned() }),
        ]);
        assert_eq!(read(&write(&known)), known);
    }
}
