//! The guards of the engine that a scenario may remove (its mutants), by the engine's names.

use crate::near;
use fabric::Mutant;

/// The guards without an effect in scenarios: torn rows are a promise that the simulated network
/// breaks, with a key of its own, and databases of scenarios have no redo log.
const OTHERS: [Mutant; 3] =
    [Mutant::FabricUntornRows, Mutant::RedoAfterPublish, Mutant::RedoBeforeLocks];

/// The mutants that the engine checks.
fn removable() -> impl Iterator<Item = Mutant> {
    Mutant::ALL.iter().copied().filter(|mutant| !OTHERS.contains(mutant))
}

/// The mutants with these names; names without a mutant are left out, since [`problem`] has refused
/// them.
pub(crate) fn removed(names: &[String]) -> Vec<Mutant> {
    names.iter().filter_map(|name| Mutant::named(name)).collect()
}

/// The error message for a name that is not a guard; `None` if it is one.
pub fn problem(name: &str) -> Option<String> {
    if removable().any(|mutant| mutant.name() == name) {
        return None;
    }
    let names: Vec<&str> = removable().map(Mutant::name).collect();
    let known = near::names(name, &names);
    Some(format!("there is no guard {name:?} to remove; write one of {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Collects the mutants in the source files of a folder.
    fn asked_in(folder: &Path, asked: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                asked_in(&path, asked);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).expect("it is text");
                let calls = text.split(".mutant(").skip(1);
                let variants = calls.filter_map(|rest| rest.trim_start().strip_prefix("Mutant::"));
                let end = |variant: &str| variant.find(|end: char| !end.is_alphanumeric());
                asked.extend(variants.filter_map(|rest| Some(rest[..end(rest)?].to_owned())));
            }
        }
    }

    #[test]
    fn the_engine_asks_for_every_mutant() {
        let mut asked = BTreeSet::new();
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let engine = ["engine/fabric", "engine/memory", "engine/index", "engine/txn"];
        for folder in engine.into_iter().chain(["proving/sim", "proving/workload"]) {
            asked_in(&crates.join(folder).join("src"), &mut asked);
        }
        let checked = Mutant::ALL.iter().filter(|&&mutant| mutant != Mutant::FabricUntornRows);
        let all: BTreeSet<String> = checked.map(|mutant| format!("{mutant:?}")).collect();
        assert_eq!(asked, all);
    }

    #[test]
    fn an_unknown_guard_is_refused_with_suggestions() {
        assert_eq!(problem("commit::skip_entry"), None);
        let said = problem("mover::skip").expect("it is none");
        assert!(said.ends_with("write one of mover::drop_needed, mover::skip_link"), "{said}");
        let said = problem("nope").expect("it is none");
        assert!(said.contains("\"nope\"") && said.contains("tree::whole_leaves"), "{said}");
    }
}
