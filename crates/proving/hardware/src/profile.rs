//! Profiles: the built-in files, and a parsed profile.
//!
//! Decision: docs/decisions/0109-every-hardware-number-has-a-source-and-a-basis.md

use crate::card::Card;
use crate::core::Core;
use crate::memory::Memory;
use crate::number::Number;
use crate::problem::HardwareError;
use crate::sheet::Sheet;
use serde::Deserialize;
use std::collections::BTreeMap;

const FILES: [(&str, &str); 9] = [
    ("connectx3-fdr", include_str!("../profiles/connectx3-fdr.toml")),
    ("connect-ib-2xfdr", include_str!("../profiles/connect-ib-2xfdr.toml")),
    ("connectx3-fdr-pair", include_str!("../profiles/connectx3-fdr-pair.toml")),
    ("connectx5-100g", include_str!("../profiles/connectx5-100g.toml")),
    ("connectx6-200g", include_str!("../profiles/connectx6-200g.toml")),
    ("ethernet-10g", include_str!("../profiles/ethernet-10g.toml")),
    ("ethernet-1g", include_str!("../profiles/ethernet-1g.toml")),
    ("ipoib-fdr", include_str!("../profiles/ipoib-fdr.toml")),
    ("cxl", include_str!("../profiles/cxl.toml")),
];

/// The names of all profiles.
pub const NAMES: [&str; FILES.len()] = {
    let mut names = [""; FILES.len()];
    let mut index = 0;
    while index < FILES.len() {
        names[index] = FILES[index].0;
        index += 1;
    }
    names
};

/// The numbers of a machine and its network.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    pub name: String,
    /// One line that describes the hardware.
    pub describes: String,
    pub card: Card,
    pub core: Core,
    /// The memory of the machine.
    pub memory: Memory,
    sections: BTreeMap<&'static str, BTreeMap<String, Number>>,
}

/// A profile as its file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    describes: String,
    card: BTreeMap<String, Number>,
    core: BTreeMap<String, Number>,
    memory: BTreeMap<String, Number>,
}

/// The built-in profile of this name.
///
/// # Errors
/// If no profile has this name; the message lists the names.
pub fn profile(name: &str) -> Result<Profile, HardwareError> {
    match FILES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Profile::parse(name, text),
        None => {
            let sentence = format!("there is no such profile; choose from {}", NAMES.join(", "));
            Err(HardwareError { profile: name.to_owned(), sentence })
        }
    }
}

impl Profile {
    /// Parses the text of a profile.
    ///
    /// # Errors
    /// If the text is not TOML, if a key is missing, unknown or out of range, or if a number has no
    /// source.
    pub fn parse(name: &str, text: &str) -> Result<Self, HardwareError> {
        let error = |sentence| HardwareError { profile: name.to_owned(), sentence };
        let file: File = toml::from_str(text).map_err(|problem| {
            let line = problem.span().map(|span| 1 + text[..span.start].matches('\n').count());
            let place = line.map_or(String::new(), |line| format!("line {line}: "));
            error(format!("{place}{}", problem.message().replace('\n', "; ")))
        })?;
        if file.name != name {
            return Err(error(format!("its file names it {:?}", file.name)));
        }
        let (mut card, mut core, mut memory) = (
            Sheet::new("card", &file.card),
            Sheet::new("core", &file.core),
            Sheet::new("memory", &file.memory),
        );
        let parts = (Card::read(&mut card), Core::read(&mut core), Memory::read(&mut memory));
        card.finish().and_then(|()| core.finish()).and_then(|()| memory.finish()).map_err(error)?;
        let sections = [("card", file.card), ("core", file.core), ("memory", file.memory)];
        Ok(Self {
            name: file.name,
            describes: file.describes,
            card: parts.0,
            core: parts.1,
            memory: parts.2,
            sections: sections.into_iter().collect(),
        })
    }

    /// The number at a path such as `card.wire_ns`.
    pub fn number(&self, path: &str) -> Option<&Number> {
        let (section, key) = path.split_once('.')?;
        self.sections.get(section)?.get(key)
    }

    /// All numbers with their paths, in the order of the paths.
    pub fn numbers(&self) -> impl Iterator<Item = (String, &Number)> {
        self.sections.iter().flat_map(|(section, numbers)| {
            numbers.iter().map(move |(key, number)| (format!("{section}.{key}"), number))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Basis;

    fn text() -> &'static str {
        FILES[1].1
    }

    /// The error that the second profile's text gives after a replacement.
    fn refusal(from: &str, to: &str) -> String {
        assert!(text().contains(from), "{from}");
        let error = Profile::parse(FILES[1].0, &text().replacen(from, to, 1));
        error.expect_err("the text is wrong").to_string()
    }

    #[test]
    fn every_profile_is_read_and_every_number_has_a_source() {
        for name in NAMES {
            let profile = profile(name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(profile.numbers().count(), 39, "{name}");
            assert!(!profile.describes.is_empty());
        }
        let refused = profile("token-ring").expect_err("nobody has that").to_string();
        assert!(refused.contains("choose from connectx3-fdr, connect-ib-2xfdr"), "{refused}");
    }

    #[test]
    fn numbers_are_found_by_their_paths() {
        let profile = profile("connect-ib-2xfdr").expect("it is built in");
        let wire = profile.number("card.wire_ns").expect("it is there");
        assert_eq!((wire.value, wire.basis), (450.0, Basis::Fitted));
        assert_eq!(wire.fits, ["blog: 1 KB in about 1 us"]);
        assert_eq!(profile.card.wire_ps, 450_000);
        assert!(profile.number("card.colour").is_none() && profile.number("wire_ns").is_none());
    }

    #[test]
    fn errors_name_the_key_and_the_remedy() {
        let unknown = refusal("wire_ns", "wires_ns");
        assert!(unknown.contains("card.wire_ns is missing"), "{unknown}");
        let extra =
            refusal("[core]", "colour = { value = 1, basis = \"prior\", source = \"x\" }\n[core]");
        assert!(extra.contains("card.colour is not a key of a profile"), "{extra}");
        let negative = refusal("value = 450,", "value = -1,");
        assert!(negative.contains("card.wire_ns must be from 0"), "{negative}");
        let broken = refusal("ports = { value = 2,", "ports = { value = 1.5,");
        assert!(broken.contains("card.ports must be a whole number"), "{broken}");
        let basis = refusal("basis = \"datasheet\"", "basis = \"guess\"");
        assert!(basis.contains("line") && basis.contains("unknown variant `guess`"), "{basis}");
        let unnamed = refusal("fits = [\"blog: 1 KB in about 1 us\"]", "fits = []");
        assert!(unnamed.contains("names no published result"), "{unnamed}");
        let section = refusal("[memory]", "[memories]");
        assert!(section.contains("unknown field `memories`"), "{section}");
        let renamed = refusal("name = \"connect-ib-2xfdr\"", "name = \"other\"");
        assert!(renamed.contains("its file names it \"other\""), "{renamed}");
    }
}
