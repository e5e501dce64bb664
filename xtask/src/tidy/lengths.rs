//! Files and functions stay short; the functions that are too long may only shrink.
//!
//! `xtask/tidy-ratchet.toml` lists the longer ones by `path::name`. If several functions of a file
//! have one name, the longest counts.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Violation;
use super::functions::functions;
use super::tree::Tree;

/// Generated code: a function is as long as its procedure.
const GENERATED: [&str; 5] = [
    "crates/sql/workload_code/src/",
    "crates/sql/codegen/tests/corners/code/",
    "crates/sql/codegen/tests/edges/code/",
    "crates/sql/codegen/tests/shop/code/",
    "examples/lending/src/lending/",
];

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;
const RATCHET: &str = "xtask/tidy-ratchet.toml";

/// The known long functions and their lengths in lines.
#[derive(Default, Deserialize)]
struct Ratchet {
    functions: BTreeMap<String, usize>,
}

/// Whether the file is generated code.
pub fn is_generated(path: &str) -> bool {
    GENERATED.iter().any(|folder| path.starts_with(folder))
}

/// Measures every Rust file and function.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = check_files(tree);
    let ratchet = match tree.file(RATCHET).map(|file| toml::from_str::<Ratchet>(&file.text)) {
        None => Ratchet::default(),
        Some(Ok(ratchet)) => ratchet,
        Some(Err(error)) => {
            let what = format!("the ratchet cannot be read: {}; fix it", error.message());
            violations.push(Violation::new(RATCHET, 1, what));
            return violations;
        }
    };
    let mut longest: BTreeMap<String, (usize, &str, usize)> = BTreeMap::new();
    for (file, views) in tree.rust().filter(|(file, _)| !is_generated(&file.path)) {
        for function in functions(&views.code) {
            let place = (function.lines, file.path.as_str(), function.line);
            let entry = longest.entry(format!("{}::{}", file.path, function.name)).or_insert(place);
            *entry = place.max(*entry);
        }
    }
    for (name, &(lines, path, line)) in &longest {
        let recorded = ratchet.functions.get(name).copied();
        if let Some(what) = judge(name, lines, recorded) {
            violations.push(Violation::new(path, line, what));
        }
    }
    for name in ratchet.functions.keys().filter(|name| !longest.contains_key(*name)) {
        let what = format!("the function `{name}` is gone, remove its entry");
        violations.push(Violation::new(RATCHET, 1, what));
    }
    violations
}

fn check_files(tree: &Tree) -> Vec<Violation> {
    let files = tree.rust().map(|(file, _)| (&file.path, file.text.lines().count()));
    files
        .filter(|(_, lines)| *lines > FILE_LINES_MAX)
        .map(|(path, lines)| {
            let what = format!(
                "the file has {lines} lines, split it by ideas until none has more than \
                 {FILE_LINES_MAX}"
            );
            Violation::new(path, FILE_LINES_MAX + 1, what)
        })
        .collect()
}

/// The fault of a function with this length, given its entry in the ratchet.
fn judge(name: &str, lines: usize, recorded: Option<usize>) -> Option<String> {
    let is_long = lines > FUNCTION_LINES_MAX;
    match recorded {
        None if is_long => Some(format!(
            "the function has {lines} lines, take parts out until it has at most \
             {FUNCTION_LINES_MAX}"
        )),
        Some(_) if !is_long => {
            Some(format!("the function fits now, remove `{name}` from {RATCHET}"))
        }
        Some(recorded) if lines > recorded => Some(format!(
            "the function grew from {recorded} to {lines} lines, take parts out until it has \
             {recorded} again"
        )),
        Some(recorded) if lines < recorded => Some(format!(
            "the function shrank to {lines} lines, write that for `{name}` in {RATCHET}"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/engine/txn/src/commit.rs";

    fn function(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
    }

    fn found(lines: usize, recorded: Option<usize>) -> Vec<Violation> {
        let text = function(lines);
        let entry = recorded.map(|lines| format!("\"{PATH}::long\" = {lines}\n"));
        let ratchet = format!("[functions]\n{}", entry.unwrap_or_default());
        check(&Tree::of(&[(PATH, &text), (RATCHET, &ratchet)]))
    }

    #[test]
    fn long_functions_are_caught() {
        assert_eq!(found(70, None), []);
        assert_eq!(found(71, None).len(), 1);
    }

    #[test]
    fn the_ratchet_only_turns_one_way() {
        assert_eq!(found(90, Some(90)), []);
        assert_eq!(found(91, Some(90)).len(), 1);
        assert_eq!(found(89, Some(90)).len(), 1);
        assert_eq!(found(70, Some(90)).len(), 1);
    }

    #[test]
    fn entries_of_lost_functions_are_caught() {
        let ratchet = "[functions]\n\"crates/engine/txn/src/gone.rs::f\" = 80\n";
        assert_eq!(check(&Tree::of(&[(RATCHET, ratchet)])).len(), 1);
        assert_eq!(check(&Tree::of(&[(RATCHET, "functions = 3")])).len(), 1);
    }

    #[test]
    fn long_files_are_caught() {
        let text = "//! A.\n".repeat(801);
        let violations = check(&Tree::of(&[(PATH, &text)]));
        assert_eq!((violations.len(), violations[0].line), (1, 801));
        assert_eq!(check(&Tree::of(&[(PATH, &text[7..])])), []);
    }
}
