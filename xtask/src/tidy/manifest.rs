//! The manifests of the crates, as far as the checks need them.

use toml::{Table, Value};

use super::Violation;
use super::tree::{File, Tree, line_of};

/// One `crates/*/*/Cargo.toml`.
pub struct Manifest<'a> {
    /// The folder's name, which identifies the crate in the layers.
    pub folder: &'a str,
    /// The folder around it.
    pub wing: &'a str,
    pub file: &'a File,
    /// The package's name, which may differ from the folder's.
    pub package: String,
    pub dependencies: Vec<Dependency>,
}

/// One line of a dependency table.
pub struct Dependency {
    /// The package, also if the key is an alias.
    pub package: String,
    pub is_dev: bool,
    pub line: usize,
}

/// The manifests of all crates; those that cannot be parsed are violations.
pub fn crates(tree: &Tree) -> (Vec<Manifest<'_>>, Vec<Violation>) {
    let mut manifests = Vec::new();
    let mut violations = Vec::new();
    let workspace = workspace_dependencies(tree);
    for file in tree.files() {
        let Some((wing, folder)) = folders(&file.path) else {
            continue;
        };
        match file.text.parse::<Table>() {
            Ok(table) => manifests.push(read((wing, folder), file, &table, &workspace)),
            Err(error) => violations.push(Violation::new(
                &file.path,
                1,
                format!("this is not a manifest: {}; fix it", error.message()),
            )),
        }
    }
    (manifests, violations)
}

/// `[workspace.dependencies]` of the root manifest; empty if there is none.
pub fn workspace_dependencies(tree: &Tree) -> Table {
    let table = tree.file("Cargo.toml").and_then(|file| file.text.parse::<Table>().ok());
    let section = table.as_ref().and_then(|table| table.get("workspace")?.get("dependencies"));
    section.and_then(Value::as_table).cloned().unwrap_or_default()
}

/// The package behind a key of a dependency table.
pub fn package_of(key: &str, value: &Value) -> String {
    value.get("package").and_then(Value::as_str).unwrap_or(key).to_string()
}

/// The line of a dependency's key; 1 if it is written in an unusual way.
pub fn line_of_key(text: &str, key: &str) -> usize {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = line.trim_start().trim_start_matches('"');
        let header =
            start.strip_prefix('[').and_then(|header| header.trim_end().rsplit('.').next());
        let is_header = header.is_some_and(|header| header.trim_end_matches(']') == key);
        let is_key = start
            .strip_prefix(key)
            .is_some_and(|rest| rest.trim_start_matches('"').trim_start().starts_with(['=', '.']));
        if is_header || is_key {
            return line_of(text, offset);
        }
        offset += line.len();
    }
    1
}

/// A crate's wing and its own folder.
fn folders(path: &str) -> Option<(&str, &str)> {
    let folders = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    folders.split_once('/').filter(|(_, folder)| !folder.contains('/'))
}

fn read<'a>(
    (wing, folder): (&'a str, &'a str),
    file: &'a File,
    table: &Table,
    workspace: &Table,
) -> Manifest<'a> {
    let name = table.get("package").and_then(|package| package.get("name"));
    let package = name.and_then(Value::as_str).unwrap_or(folder).to_string();
    let mut dependencies = Vec::new();
    // Targets have dependency tables of their own, `[target.'cfg(unix)'.dependencies]`.
    let targets = table.get("target").and_then(Value::as_table);
    let nested = targets.into_iter().flatten().filter_map(|(_, value)| value.as_table());
    for table in std::iter::once(table).chain(nested) {
        for (section, is_dev) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let section = table.get(section).and_then(Value::as_table);
            for (key, value) in section.into_iter().flatten() {
                let inherits = value.get("workspace").and_then(Value::as_bool) == Some(true);
                let source = if inherits { workspace.get(key) } else { Some(value) };
                let package = source.map_or_else(|| key.clone(), |value| package_of(key, value));
                let line = line_of_key(&file.text, key);
                dependencies.push(Dependency { package, is_dev, line });
            }
        }
    }
    Manifest { folder, wing, file, package, dependencies }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_dependency_is_found_under_its_package_name() {
        let tree = Tree::of(&[
            (
                "Cargo.toml",
                "[workspace.dependencies]\nfab = { path = \"x\", package = \"fabric\" }",
            ),
            (
                "crates/engine/txn/Cargo.toml",
                "[package]\nname = \"txn\"\n[dependencies]\nfab = { workspace = true }\n\
                 [dev-dependencies]\nsim.workspace = true\n\
                 [target.'cfg(unix)'.dependencies]\nrenamed = { path = \"y\", package = \"sql\" }\n\
                 [dependencies.index]\npath = \"z\"\n",
            ),
        ]);
        let (manifests, violations) = crates(&tree);
        assert!(violations.is_empty());
        let mut found: Vec<(&str, bool, usize)> = manifests[0]
            .dependencies
            .iter()
            .map(|dependency| (&*dependency.package, dependency.is_dev, dependency.line))
            .collect();
        found.sort();
        let expected =
            [("fabric", false, 4), ("index", false, 9), ("sim", true, 6), ("sql", false, 8)];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_broken_manifest_is_a_violation() {
        let (_, violations) =
            crates(&Tree::of(&[("crates/engine/txn/Cargo.toml", "[dependencies")]));
        assert_eq!(violations.len(), 1);
    }
}
