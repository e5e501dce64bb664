//! Measurements that are stored in a file while others are made: an interrupted run resumes from
//! it.
//!
//! Decision: docs/decisions/0265-regret-is-found-by-successive-halving-on-fresh-tables.md

use std::collections::BTreeMap;
use std::fs::{File, read_to_string};
use std::io::Write;
use std::path::Path;

/// The separator within a line.
const TAB: char = '\t';

/// The speed of a design.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Rate {
    /// Calls per second.
    pub per_s: f64,
    /// Retries in percent of all attempts.
    pub retries_percent: f64,
    pub busiest: String,
}

/// Measurements by their descriptions. Without a file they are only in memory.
#[derive(Default)]
pub(crate) struct MeasurementCache {
    known: BTreeMap<String, Rate>,
    file: Option<File>,
}

impl MeasurementCache {
    /// The measurements of a file that the same version of the program has written; any other file
    /// is overwritten.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn of(path: &Path, program: &str) -> std::io::Result<Self> {
        let text = if path.exists() { read_to_string(path)? } else { String::new() };
        let head = format!("measured by {program}\n");
        let lines = text.strip_prefix(&head).unwrap_or_default();
        // A killed program may have left half a line.
        let whole = lines.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let mut file = File::create(path)?;
        file.write_all(head.as_bytes())?;
        let mut kept = Self { known: BTreeMap::new(), file: Some(file) };
        for (what, rate) in whole.filter_map(parsed) {
            kept.put(what, rate)?;
        }
        Ok(kept)
    }

    /// The measurement with this description.
    pub fn get(&self, what: &str) -> Option<&Rate> {
        self.known.get(what)
    }

    /// Stores a measurement.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put(&mut self, what: &str, rate: Rate) -> std::io::Result<()> {
        if let Some(file) = &mut self.file {
            // This format reads back as the same numbers.
            let Rate { per_s, retries_percent, busiest } = &rate;
            let line = format!("{what}{TAB}{per_s}{TAB}{retries_percent}{TAB}{busiest}\n");
            file.write_all(line.as_bytes())?;
        }
        self.known.insert(what.to_owned(), rate);
        Ok(())
    }
}

fn parsed(line: &str) -> Option<(&str, Rate)> {
    let mut fields = line.split(TAB);
    let what = fields.next()?;
    let per_s = fields.next()?.parse().ok()?;
    let retries_percent = fields.next()?.parse().ok()?;
    let busiest = fields.next()?.to_owned();
    fields.next().is_none().then_some((what, Rate { per_s, retries_percent, busiest }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_s: f64) -> Rate {
        Rate { per_s, retries_percent: 100.0 / 3.0, busiest: "link out".to_owned() }
    }

    #[test]
    fn whole_lines_of_the_same_program_are_kept() {
        let path = std::env::temp_dir().join(format!("namdb-kept-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let open = |program| MeasurementCache::of(&path, program).expect("there is room");
        let mut kept = open("one");
        kept.put("first", rate(1e9 / 7.0)).expect("there is room");
        kept.put("second", rate(2.0)).expect("there is room");
        drop(kept);
        let text = read_to_string(&path).expect("it was written");
        // Killed while the last line was written.
        std::fs::write(&path, &text[..text.len() - 3]).expect("there is room");
        let mut kept = open("one");
        assert_eq!(kept.get("first"), Some(&rate(1e9 / 7.0)));
        assert_eq!(kept.get("second"), None);
        kept.put("second", rate(3.0)).expect("there is room");
        drop(kept);
        assert_eq!(open("one").get("second"), Some(&rate(3.0)));
        assert_eq!(open("another").get("first"), None, "another program measures otherwise");
        assert_eq!(open("one").get("first"), None, "it was begun anew");
        std::fs::remove_file(&path).expect("it is ours");
    }
}
