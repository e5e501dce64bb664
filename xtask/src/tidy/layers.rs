//! A crate may use only crates of lower layers.

use super::Violation;
use super::manifest::{self, Dependency, Manifest};
use super::tree::Tree;

/// The wings and their crates by folder, lowest first.
const WINGS: [(&str, &[&str]); 6] = [
    (
        "engine",
        &[
            "layout",
            "fabric",
            "storage",
            "redo_log",
            "membership",
            "memory",
            "index",
            "txn",
            "durability",
            "metrics",
        ],
    ),
    (
        "proving",
        &[
            "hardware",
            "etcd_process",
            "sim",
            "fabric_conformance",
            "model",
            "history_judge",
            "workload",
            "scenario",
            "mutants",
            "portfolio",
            "mutation",
        ],
    ),
    (
        "sql",
        &[
            "sql",
            "grammar",
            "postgres_plan",
            "sql_value",
            "procedure",
            "planner",
            "datagen",
            "interpreter",
            "procedure_runtime",
            "codegen",
            "workload_code",
            "sql_session",
            "pg_catalog",
        ],
    ),
    (
        "spade",
        &[
            "spade_format",
            "spade",
            "shipping",
            "folder_benchmark",
            "microbench",
            "simulated_cluster",
        ],
    ),
    ("eval", &["baselines", "reproduce"]),
    ("app", &["namdb", "pgwire", "kill_test", "namdb-program", "namdb-lab", "capi"]),
];

/// Wings that do not use each other; the order of [`WINGS`] forbids the other direction.
const APART: (&str, &str) = ("sql", "proving");

/// Judges of the engine share no code with it, so that they do not share its mistakes.
const INDEPENDENT: [&str; 2] = ["history_judge", "model"];

/// Reads the edges from the manifests.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let (manifests, mut violations) = manifest::crates(tree);
    for manifest in &manifests {
        let path = &manifest.file.path;
        if layer(manifest.folder).is_none() || wing(manifest.folder) != Some(manifest.wing) {
            let what = format!(
                "the crate `{}` is not listed in the wing `{}`, add it to WINGS of xtask/src/tidy/layers.rs",
                manifest.folder, manifest.wing
            );
            violations.push(Violation::new(path, 1, what));
            continue;
        }
        for dependency in &manifest.dependencies {
            let used = match manifests.iter().find(|used| used.package == dependency.package) {
                Some(used) => used.folder,
                None if dependency.package == "xtask" => "xtask",
                None => continue,
            };
            if let Some(what) = refusal(manifest, dependency, used) {
                violations.push(Violation::new(path, dependency.line, what));
            }
        }
    }
    violations.extend(check_xtask(tree, &manifests));
    violations
}

/// The position of a crate among all of them.
fn layer(folder: &str) -> Option<usize> {
    WINGS.iter().flat_map(|(_, crates)| *crates).position(|layer| *layer == folder)
}

/// The wing that a crate belongs to.
fn wing(folder: &str) -> Option<&'static str> {
    WINGS.iter().find(|(_, crates)| crates.contains(&folder)).map(|(wing, _)| *wing)
}

fn refusal(user: &Manifest<'_>, dependency: &Dependency, used: &str) -> Option<String> {
    let user = user.folder;
    if used == "xtask" {
        return Some(format!("`{user}` may not use the tooling, remove the dependency"));
    }
    // Tests of everything above the fabric run in the simulator, those of the judges too, and the
    // judge of histories and the etcd of tests use no crate of ours.
    let is_for_tests = ["sim", "etcd_process"].contains(&used)
        || used == "history_judge" && !INDEPENDENT.contains(&user);
    let is_above = layer(user) > layer("fabric") && user != used;
    if dependency.is_dev && is_for_tests && is_above && user != "sim" {
        return None;
    }
    if INDEPENDENT.contains(&user) {
        return Some(format!("`{user}` may use no crate of ours, remove `{used}`"));
    }
    let (of_user, of_used) = (wing(user).unwrap_or_default(), wing(used).unwrap_or_default());
    if (of_user, of_used) == APART {
        return Some(format!("the wing `{of_user}` may not use `{of_used}`, remove `{used}`"));
    }
    if layer(used) < layer(user) {
        return None;
    }
    Some(format!(
        "`{user}` may not use `{used}`, which is not in a layer below it, \
         reverse the dependency or move the shared part down"
    ))
}

/// The tooling must build when the product does not.
fn check_xtask(tree: &Tree, manifests: &[Manifest<'_>]) -> Vec<Violation> {
    let Some(file) = tree.file("xtask/Cargo.toml") else {
        return Vec::new();
    };
    let names = manifests.iter().map(|manifest| &manifest.package);
    names
        .filter(|name| file.text.parse::<toml::Table>().is_ok_and(|table| uses(&table, name)))
        .map(|name| {
            let what = format!("xtask may use no crate of ours, remove `{name}`");
            Violation::new(&file.path, manifest::line_of_key(&file.text, name), what)
        })
        .collect()
}

fn uses(table: &toml::Table, name: &str) -> bool {
    ["dependencies", "dev-dependencies", "build-dependencies"].iter().any(|section| {
        let section = table.get(*section).and_then(toml::Value::as_table);
        section.is_some_and(|section| section.contains_key(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The violations when `user` has the dependency lines `lines`, beside one empty crate `used`.
    fn found(user: &str, lines: &str, used: &str) -> Vec<Violation> {
        let wing = |of| wing(of).unwrap_or("engine");
        let user_path = format!("crates/{}/{user}/Cargo.toml", wing(user));
        let used_path = format!("crates/{}/{used}/Cargo.toml", wing(used));
        let used_text = format!("[package]\nname = \"{used}\"\n");
        check(&Tree::of(&[(&user_path, lines), (&used_path, &used_text)]))
    }

    #[test]
    fn an_edge_downwards_is_allowed() {
        let lines = "[dependencies]\nlayout = { workspace = true }\nserde = \"1\"\n";
        assert_eq!(found("txn", lines, "layout"), []);
    }

    #[test]
    fn an_edge_upwards_is_caught_with_its_line() {
        let lines = "[package]\nname = \"memory\"\n[dependencies]\ntxn = { workspace = true }\n";
        let violations = found("memory", lines, "txn");
        assert_eq!(violations.len(), 1);
        assert_eq!(
            (&*violations[0].path, violations[0].line),
            ("crates/engine/memory/Cargo.toml", 4)
        );
    }

    #[test]
    fn development_dependencies_obey_except_for_the_simulator_and_the_judge() {
        assert_eq!(found("memory", "[dev-dependencies]\ntxn.workspace = true\n", "txn").len(), 1);
        assert_eq!(found("history_judge", "[dev-dependencies]\nsim.workspace = true\n", "sim"), []);
        assert_eq!(found("fabric", "[dev-dependencies]\nsim.workspace = true\n", "sim").len(), 1);
        let judge = "history_judge.workspace = true\n";
        let judged =
            |section: &str| found("txn", &format!("[{section}]\n{judge}"), "history_judge");
        assert_eq!(judged("dev-dependencies"), []);
        assert_eq!(judged("dependencies").len(), 1);
    }

    #[test]
    fn judges_are_independent() {
        assert_eq!(
            found("history_judge", "[dependencies]\nlayout.workspace = true\n", "layout").len(),
            1
        );
        assert_eq!(found("model", "[dependencies]\nlayout.workspace = true\n", "layout").len(), 1);
    }

    #[test]
    fn an_unknown_crate_needs_a_layer() {
        assert_eq!(found("gateway", "[package]\nname = \"gateway\"\n", "layout").len(), 1);
    }

    #[test]
    fn sql_does_not_use_what_proves_the_engine() {
        let lines = "[dependencies]\nworkload.workspace = true\n";
        assert_eq!(found("interpreter", lines, "workload").len(), 1);
        assert_eq!(found("sql", "[dev-dependencies]\nsim.workspace = true\n", "sim"), []);
    }

    #[test]
    fn a_crate_is_in_its_wing() {
        let tree = Tree::of(&[("crates/sql/txn/Cargo.toml", "[package]\nname = \"txn\"\n")]);
        assert_eq!(check(&tree).len(), 1);
    }

    #[test]
    fn the_tooling_stands_apart() {
        assert_eq!(
            found("txn", "[dependencies]\nxtask = { path = \"../../xtask\" }\n", "sql").len(),
            1
        );
        let tree = Tree::of(&[
            ("crates/engine/txn/Cargo.toml", "[package]\nname = \"txn\"\n"),
            ("xtask/Cargo.toml", "[dependencies]\ntxn = { workspace = true }\n"),
        ]);
        assert_eq!(check(&tree).len(), 1);
    }
}
