//! The document: records, plots, and the pages that show them.
//!
//! The record of an experiment is `reproduction/NAME.json`, so that an experiment run alone
//! replaces only its own page.

use super::{drawn, make, put};
use anyhow::{Context, Result, anyhow};
use reproduce::report::{Records, pages};
use reproduce::{EXPERIMENTS, Experiment, Record};
use std::path::{Path, PathBuf};

/// Path of an experiment's record in a folder.
pub fn file(folder: &Path, experiment: &Experiment) -> PathBuf {
    folder.join(format!("{}.json", experiment.name))
}

fn kept(documents: &Path) -> PathBuf {
    documents.join("reproduction")
}

/// Copies these experiments' records from a folder to the document's folder.
pub fn take_over<'a>(
    experiments: impl Iterator<Item = &'a Experiment>,
    folder: &Path,
    documents: &Path,
) -> Result<()> {
    let kept = kept(documents);
    make(&kept)?;
    for experiment in experiments {
        put(&file(&kept, experiment), &read(&file(folder, experiment))?)?;
    }
    Ok(())
}

/// Writes pages and plots from the document's records. Returns the path of the first page.
pub fn write(documents: &Path) -> Result<PathBuf> {
    let kept = kept(documents);
    make(&kept)?;
    let mut records = Records::new();
    for experiment in EXPERIMENTS.iter().filter(|experiment| file(&kept, experiment).exists()) {
        let path = file(&kept, experiment);
        let record = Record::parse(&read(&path)?);
        let record = record.map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
        put(&path.with_extension("svg"), &drawn(&record)?)?;
        records.insert(experiment.name.to_owned(), record);
    }
    for page in pages(&records).map_err(|problem| anyhow!(problem))? {
        put(&documents.join(page.path), &page.text)?;
    }
    Ok(documents.join("reproduction.md"))
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reproduce::{MadeOf, Run, find};

    #[test]
    fn a_record_is_taken_over_and_its_page_shows_it() {
        let folder = std::env::temp_dir().join(format!("namdb-report-{}", std::process::id()));
        let (runs, documents) = (folder.join("runs"), folder.join("docs"));
        make(&runs).expect("there is room");
        let experiment = find("ethernet-bound").expect("it is one of them");
        let mut progress = |_, _, _: &str| {};
        let mut run =
            Run { seed: 1, is_quick: true, threads: 1, keep: None, progress: &mut progress };
        let made_of = MadeOf { commit: String::new(), seed: 1, is_quick: true, wall_time_s: 1.0 };
        let record = Record::new(experiment, made_of, (experiment.run)(&mut run));
        put(&file(&runs, experiment), &record.json()).expect("there is room");

        take_over([experiment].into_iter(), &runs, &documents).expect("it is there");
        let page = write(&documents).expect("the texts fit");
        let front = read(&page).expect("it was written");
        assert!(front.contains("(reproduction/ethernet-bound.md)"), "{front}");
        let own = documents.join("reproduction/ethernet-bound.md");
        let text = read(&own).expect("it was written");
        assert!(text.contains("`namdb reproduce ethernet-bound --quick`"), "{text}");
        let other = read(&documents.join("reproduction/oracle.md")).expect("it was written");
        assert!(other.contains("No run is recorded: `namdb reproduce oracle"), "{other}");
        let picture = read(&documents.join("reproduction/ethernet-bound.svg"));
        assert_eq!(picture.expect("it is drawn"), drawn(&record).expect("it can be drawn"));

        let again = write(&documents).and_then(|_| read(&own));
        assert_eq!(again.expect("nothing has changed"), text);
        put(&file(&kept(&documents), experiment), "{}").expect("there is room");
        let broken = write(&documents).expect_err("a record has more than that").to_string();
        assert!(broken.contains("ethernet-bound.json: missing field"), "{broken}");
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}
