//! Settings from outside the file: environment variables first, then flags.

use super::problem::{ClusterFileError, sentence_of};
use super::{ClusterFile, ENVIRONMENT_PREFIX};
use toml::{Table, Value};

/// Keys of single values, which may be set by variables. Those of servers come after the server's
/// number: `memory.0.listen`.
const KEYS: [&str; 25] = [
    "name",
    "id",
    "fabric",
    "directory",
    "data",
    "secret",
    "allow_unencrypted",
    "lease_seconds",
    "transaction_time_ms",
    "replicas",
    "oracle",
    "detector.lease_ms",
    "registry.kind",
    "registry.endpoints",
    "registry.prefix",
    "registry.tls.ca",
    "registry.tls.certificate",
    "registry.tls.key",
    "tls.ca",
    "tls.certificate",
    "tls.key",
    "verbs.device",
    "verbs.port",
    "verbs.gid_index",
    "verbs.queue_pairs_max",
];
const MEMORY_KEYS: [&str; 4] = ["listen", "bytes", "heartbeats", "control"];
const COMPUTE_KEYS: [&str; 5] = ["threads", "lanes", "listen", "calls", "control"];

/// A value from outside the file.
pub(super) struct Setting {
    /// Its source, as messages name it.
    pub(super) place: String,
    /// Keys and positions that lead to the value.
    pub(super) path: String,
    value: String,
}

impl Setting {
    /// Selects the environment variables with our prefix; a variable that is not a key is refused.
    pub(super) fn of_environment(
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Vec<Self>, ClusterFileError> {
        let mut settings = Vec::new();
        for (name, value) in variables {
            let Some(key) = name.strip_prefix(ENVIRONMENT_PREFIX) else { continue };
            let path = path_of_variable(key).ok_or_else(|| {
                let known: Vec<String> = KEYS.iter().map(|key| variable_of(key)).collect();
                let sentence = format!(
                    "there is no such setting; write one of {}, {ENVIRONMENT_PREFIX}MEMORY_<n>_<key> or \
                     {ENVIRONMENT_PREFIX}COMPUTE_<n>_<key>",
                    known.join(", ")
                );
                ClusterFileError::new(&name, sentence)
            })?;
            settings.push(Self { place: name, path, value });
        }
        // Sort, so that messages do not depend on the environment's order.
        settings.sort_by(|one, other| one.place.cmp(&other.place));
        Ok(settings)
    }

    pub(super) fn of_flags(flags: &[(String, String)]) -> Vec<Self> {
        flags
            .iter()
            .map(|(path, value)| Self {
                place: format!("--set {path}={value}"),
                path: path.clone(),
                value: value.clone(),
            })
            .collect()
    }

    /// Replaces the value in `table`, or adds it to a section that lacks it.
    pub(super) fn apply(&self, table: &Table) -> Result<Table, ClusterFileError> {
        let mut refusal = None;
        for value in self.readings() {
            let mut changed = table.clone();
            *self.slot(&mut changed)? = value;
            match changed.clone().try_into::<ClusterFile>() {
                Ok(_) => return Ok(changed),
                Err(error) => refusal = refusal.or(Some(sentence_of(&error))),
            }
        }
        Err(ClusterFileError::new(&self.place, refusal.expect("every text has a reading")))
    }

    /// Returns the possible meanings of the text, in the order in which they are tried: a list
    /// separated by commas, a number or a truth value if the key has one, or text.
    fn readings(&self) -> Vec<Value> {
        let text = || Value::String(self.value.clone());
        if self.path == "registry.endpoints" {
            let parts = self.value.split(',').map(|part| Value::String(part.trim().to_owned()));
            return vec![Value::Array(parts.collect())];
        }
        match (self.value.parse::<i64>(), self.value.parse::<bool>()) {
            (Ok(number), _) => vec![Value::Integer(number), text()],
            (_, Ok(is_set)) => vec![Value::Boolean(is_set), text()],
            _ => vec![text()],
        }
    }

    fn slot<'a>(&self, table: &'a mut Table) -> Result<&'a mut Value, ClusterFileError> {
        let no_such = |step: &str| {
            let sentence =
                format!("there is no `{step}` in `{}`, which the file would need", self.path);
            ClusterFileError::new(&self.place, sentence)
        };
        let (sections, last) = self.path.rsplit_once('.').unwrap_or(("", &self.path));
        let mut at = table;
        let mut steps = sections.split('.').filter(|step| !step.is_empty());
        while let Some(step) = steps.next() {
            let value = at.entry(step).or_insert_with(|| Value::Table(Table::new()));
            let next = match value {
                Value::Array(array) => {
                    let position = steps.next().unwrap_or_default();
                    let place = position.parse::<usize>().ok();
                    place.and_then(|place| array.get_mut(place)).ok_or_else(|| no_such(position))?
                }
                value => value,
            };
            at = next.as_table_mut().ok_or_else(|| no_such(step))?;
        }
        Ok(at.entry(last).or_insert(Value::Boolean(false)))
    }
}

fn variable_of(key: &str) -> String {
    format!("{ENVIRONMENT_PREFIX}{}", key.replace('.', "_").to_ascii_uppercase())
}

/// Returns the path of a variable without its prefix, such as `MEMORY_0_LISTEN`.
fn path_of_variable(name: &str) -> Option<String> {
    let full = format!("{ENVIRONMENT_PREFIX}{name}");
    if let Some(key) = KEYS.iter().find(|key| variable_of(key) == full) {
        return Some((*key).to_owned());
    }
    let (section, rest) = name.split_once('_')?;
    let (number, key) = rest.split_once('_')?;
    let number: usize = number.parse().ok()?;
    let key = key.to_ascii_lowercase();
    let (section, keys) = match section {
        "MEMORY" => ("memory", &MEMORY_KEYS[..]),
        "COMPUTE" => ("compute", &COMPUTE_KEYS[..]),
        _ => return None,
    };
    keys.contains(&key.as_str()).then(|| format!("{section}.{number}.{key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_whole_file_has_a_variable() {
        let whole = toml::from_str::<Table>(super::super::tests::WHOLE).expect("it is TOML");
        for (key, value) in &whole {
            let section = Table::from_iter([(key.clone(), value.clone())]);
            for path in leaves("", &Value::Table(section)) {
                let name = path.replace('.', "_").to_ascii_uppercase();
                assert_eq!(path_of_variable(&name).as_deref(), Some(path.as_str()));
            }
        }
    }

    fn leaves(path: &str, value: &Value) -> Vec<String> {
        let below = |step: String, value| {
            leaves(if path.is_empty() { step } else { format!("{path}.{step}") }.as_str(), value)
        };
        match value {
            Value::Table(table) => {
                table.iter().flat_map(|(key, value)| below(key.clone(), value)).collect()
            }
            Value::Array(array) if array.iter().all(Value::is_table) => array
                .iter()
                .enumerate()
                .flat_map(|(n, value)| below(n.to_string(), value))
                .collect(),
            _ => vec![path.to_owned()],
        }
    }
}
