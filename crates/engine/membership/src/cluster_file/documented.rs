//! Checks that the operators' table of keys is complete and correct: every key with its default,
//! and no others.

use super::tests::WHOLE;
use super::*;
use std::collections::BTreeMap;
use toml::Value;

const TEXT: &str = include_str!("../../../../../docs/operating.md");

/// Parses the table: keys with their defaults, or `None`.
fn told() -> BTreeMap<String, Option<String>> {
    let rows = TEXT.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
    let keys = cells.filter(|cells| cells.len() == 3 && is_key(cells[0]));
    keys.map(|cells| {
        let default = cells[1].strip_prefix('`').and_then(|text| text.strip_suffix('`'));
        (cells[0].trim_end_matches('`').to_owned(), default.map(str::to_owned))
    })
    .collect()
}

/// Whether the cell is a key. Other tables begin with names of events, which contain spaces, or of
/// fabrics.
fn is_key(cell: &str) -> bool {
    let words: Vec<&str> = cell.trim_end_matches('`').split('.').collect();
    let sections = ["detector", "registry", "tls", "verbs", "memory", "compute"];
    let mut whole: Table = toml::from_str(WHOLE).expect("it is right");
    sections.iter().for_each(|section| drop(whole.remove(*section)));
    match words[..] {
        [word] => whole.contains_key(word),
        _ => sections.contains(&words[0]),
    }
}

/// Flattens a file to values by key; the servers of a kind share their keys.
fn flat(key: &str, value: &Value, to: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => {
            let path =
                |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
            table.iter().for_each(|(name, value)| flat(&path(name), value, to));
        }
        Value::Array(array) if array.iter().all(Value::is_table) => {
            array.iter().for_each(|value| flat(&format!("{key}.N"), value, to));
        }
        Value::Array(array) => {
            let texts: Vec<&str> = array.iter().filter_map(Value::as_str).collect();
            to.insert(key.to_owned(), texts.join(", "));
        }
        Value::String(text) => drop(to.insert(key.to_owned(), text.clone())),
        other => drop(to.insert(key.to_owned(), other.to_string())),
    }
}

fn flattened(text: &str) -> BTreeMap<String, String> {
    let cluster: ClusterFile = toml::from_str(text).expect("it is right");
    let mut values = BTreeMap::new();
    flat("", &Value::try_from(cluster).expect("it is a table"), &mut values);
    values
}

#[test]
fn the_table_has_every_key_and_no_other() {
    let told: Vec<String> = told().into_keys().collect();
    let there: Vec<String> = flattened(WHOLE).into_keys().collect();
    assert_eq!(told, there);
}

#[test]
fn defaults_are_those_of_a_file_that_says_nothing() {
    let small =
        "name = \"dev\"\nid = \"4f1c0a9be2d37788\"\n[[memory]]\nbytes = 16777216\n[[compute]]\n";
    let values = flattened(small);
    let told = told();
    assert!(told.values().flatten().count() > 10, "{told:?}");
    for (key, default) in told {
        if let Some(default) = default {
            assert_eq!(values.get(&key), Some(&default), "{key}");
        }
    }
}
