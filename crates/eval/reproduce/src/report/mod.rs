//! `docs/reproduction.md` and a page per experiment in `docs/reproduction`, with all numbers from
//! records of runs.
//!
//! The texts are in the folder `text` of this crate: `front.md`, `method.md`, and one per
//! experiment. A text may refer to a number of a run ([`template`]); it is refused if the run does
//! not have that number. Equal records give equal bytes.
//!
//! Decision: docs/decisions/0144-the-reproduction-pages-are-generated.md

mod markdown;
mod template;
mod texts;

use crate::experiment::EXPERIMENTS;
use crate::outcome::{Role, Series};
use crate::record::{Comparison, Record};
use markdown::{at, brief, with_unit};
use std::collections::BTreeMap;
use template::Asked;

/// Records by the names of their experiments.
pub type Records = BTreeMap<String, Record>;

/// A page: its path below `docs`, and its text.
#[derive(Debug)]
pub struct Page {
    /// With `/`, such as `reproduction/oracle.md`.
    pub path: String,
    /// Markdown.
    pub text: String,
}

/// All pages, the first page first. The page of an experiment without a record says so.
///
/// # Errors
/// A text names a number that no run has; the sentence names text, line and place.
pub fn pages(records: &Records) -> Result<Vec<Page>, String> {
    let front = template::fill(texts::FRONT, |place| match place {
        "published" => Ok(published(records)),
        "summary" => Ok(summary(records)),
        "experiments" => Ok(experiments(records)),
        _ => Err("no such place; there are published, summary, experiments".to_owned()),
    });
    let method = template::fill(texts::METHOD, |place| match place {
        "calibration" => Ok(calibration(records)),
        _ => Err("no such place; there is calibration".to_owned()),
    });
    let page = |name: &str, text: Result<String, String>| {
        let text = text.map_err(|problem| format!("text/{name}.md: {problem}"))?;
        Ok(Page { path: format!("reproduction/{name}.md"), text: format!("{}\n", text.trim_end()) })
    };
    let front = Page { path: "reproduction.md".to_owned(), ..page("front", front)? };
    let each = EXPERIMENTS.iter().map(|experiment| {
        let name = experiment.name;
        let text = texts::of(name).ok_or(format!("{name}: no text; write text/{name}.md"))?;
        page(name, records.get(name).map_or_else(|| Ok(empty(text, name)), |of| section(text, of)))
    });
    [Ok(front), page("method", method)].into_iter().chain(each).collect()
}

/// The page of an experiment that has no record.
fn empty(text: &str, name: &str) -> String {
    let title = text.lines().next().unwrap_or_default();
    format!("{title}\n\nNo run is recorded: `namdb reproduce {name} --report docs` records one.")
}

/// The text of an experiment with the numbers of a run.
fn section(text: &str, record: &Record) -> Result<String, String> {
    let filled = template::fill(text, |place| {
        let value = match Asked::parse(place)? {
            Asked::Run => markdown::run(record),
            Asked::Picture => markdown::picture(record),
            Asked::Compared => markdown::compared(record),
            Asked::Points => markdown::points(record),
            Asked::Tables => markdown::tables(record),
            Asked::Notes => markdown::notes(record),
            Asked::Ours(what) => {
                let compared = comparison(record, what)?;
                with_unit(compared.ours, &compared.unit)
            }
            Asked::Error(what) => markdown::error(comparison(record, what)?),
            Asked::First(name) => brief(end(series(record, name)?.points.first())?.1),
            Asked::Last(name) => brief(end(series(record, name)?.points.last())?.1),
            Asked::Most(name) => brief(most(series(record, name)?)?.1),
            Asked::MostAt(name) => at(most(series(record, name)?)?.0),
            Asked::At(x, name) => value_at(series(record, name)?, x),
        };
        Ok(value)
    });
    filled.map(|text| text.trim_end().to_owned())
}

fn comparison<'a>(record: &'a Record, what: &str) -> Result<&'a Comparison, String> {
    let found = record.compared.iter().find(|compared| compared.what == what);
    let names = || record.compared.iter().map(|compared| compared.what.as_str());
    found.ok_or_else(|| format!("nothing of this name is compared, but {}", listed(names())))
}

fn series<'a>(record: &'a Record, name: &str) -> Result<&'a Series, String> {
    let found = record.series.iter().find(|series| series.name == name);
    let names = || record.series.iter().map(|series| series.name.as_str());
    found.ok_or_else(|| format!("there is no curve of this name, but {}", listed(names())))
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

fn end(point: Option<&(f64, f64)>) -> Result<(f64, f64), String> {
    point.copied().ok_or_else(|| "the curve has no point".to_owned())
}

fn most(series: &Series) -> Result<(f64, f64), String> {
    end(series.points.iter().max_by(|one, other| one.1.total_cmp(&other.1)))
}

/// The value at `x`, if it exists: quick runs have fewer points than the texts mention.
fn value_at(series: &Series, x: f64) -> String {
    let point = series.points.iter().find(|point| point.0 == x);
    point.map_or("(no point)".to_owned(), |point| brief(point.1))
}

/// Every published number beside ours, with the reason of a miss in a line.
fn published(records: &Records) -> String {
    let head = ["experiment", "repeats", "what", "paper", "ours", "error", "role", "reason"];
    let of_list = EXPERIMENTS.iter().filter_map(|experiment| records.get(experiment.name));
    let rows = of_list.flat_map(|record| {
        record.compared.iter().map(|compared| {
            let why = compared.why.as_deref().unwrap_or("not known");
            vec![
                link(&record.experiment),
                record.figure.clone(),
                compared.what.clone(),
                with_unit(compared.published, &compared.unit),
                with_unit(compared.ours, &compared.unit),
                markdown::error(compared),
                compared.role.name().to_owned(),
                if compared.is_near() { String::new() } else { why.to_owned() },
            ]
        })
    });
    markdown::table(&head.map(str::to_owned), &rows.collect::<Vec<_>>())
}

/// How many predictions came out.
fn summary(records: &Records) -> String {
    let predictions = records.values().flat_map(|record| &record.compared);
    let predictions: Vec<&Comparison> =
        predictions.filter(|compared| compared.role == Role::Prediction).collect();
    let near = predictions.iter().filter(|compared| compared.is_near()).count();
    let count = predictions.len();
    format!("Of {count} predictions {near} are within 15 % of the published number.")
}

/// The page of each experiment, with how many published numbers came out.
fn experiments(records: &Records) -> String {
    let head = ["experiment", "repeats", "shows", "published", "within 15 %", "largest error"];
    let rows = EXPERIMENTS.iter().map(|experiment| {
        let compared = records.get(experiment.name).map_or(&[][..], |record| &record.compared);
        let near = compared.iter().filter(|compared| compared.is_near()).count();
        let size = |compared: &&Comparison| compared.error_percent().abs();
        let largest = compared.iter().max_by(|one, other| size(one).total_cmp(&size(other)));
        let counts = match compared.len() {
            0 => ["none in hand".to_owned(), String::new()],
            count => [count.to_string(), near.to_string()],
        };
        let [all, near] = counts;
        let largest = largest.map(markdown::error).unwrap_or_default();
        let (figure, shows) = (experiment.figure.to_owned(), experiment.shows.to_owned());
        vec![link(experiment.name), figure, shows, all, near, largest]
    });
    markdown::table(&head.map(str::to_owned), &rows.collect::<Vec<_>>())
}

/// A link from the first page to an experiment's.
fn link(name: &str) -> String {
    format!("[{name}](reproduction/{name}.md)")
}

/// All parameters that were chosen so that a published result is obtained.
fn calibration(records: &Records) -> String {
    let mut rows = Vec::new();
    for name in hardware::NAMES {
        let profile = hardware::profile(name).expect("it is built in");
        for (path, number) in profile.numbers().filter(|(_, number)| !number.fits.is_empty()) {
            let number_of = format!("`{path}` = {} of profile `{name}`", number.value);
            rows.push(vec![number_of, number.fits.join("; ")]);
        }
    }
    for record in EXPERIMENTS.iter().filter_map(|experiment| records.get(experiment.name)) {
        let chosen = record.compared.iter().filter(|compared| compared.role == Role::Calibration);
        rows.extend(chosen.map(|compared| {
            let published = with_unit(compared.published, &compared.unit);
            vec![
                format!("experiment `{}`", record.experiment),
                format!("{}: {published}", compared.what),
            ]
        }));
    }
    markdown::table(&["what was chosen", "such that it comes out"].map(str::to_owned), &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::small;

    const TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/");

    fn records_of_the_tree() -> Records {
        let read =
            |name: &str| std::fs::read_to_string(format!("{TREE}reproduction/{name}.json")).ok();
        let texts = EXPERIMENTS.iter().filter_map(|experiment| read(experiment.name));
        let records = texts.map(|text| Record::parse(&text).expect("a command has written it"));
        records.map(|record| (record.experiment.clone(), record)).collect()
    }

    #[test]
    fn the_pages_are_what_texts_and_records_give_and_every_experiment_has_one() {
        let records = records_of_the_tree();
        let pages = pages(&records).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(pages.len(), 2 + EXPERIMENTS.len());
        for page in &pages {
            let kept = std::fs::read_to_string(format!("{TREE}{}", page.path)).unwrap_or_default();
            let name = &page.path;
            assert!(kept == page.text, "run `namdb reproduce report` to write docs/{name} again");
        }
        for (page, experiment) in pages[2..].iter().zip(&EXPERIMENTS) {
            let name = experiment.name;
            assert!(page.text.contains(&format!("`namdb reproduce {name}")), "{name}");
            assert!(pages[0].text.contains(&format!("({})", page.path)), "{name}");
        }
    }

    #[test]
    fn every_text_has_a_title_and_places_that_are_known() {
        for experiment in &EXPERIMENTS {
            let text = texts::of(experiment.name).expect(experiment.name);
            assert!(text.starts_with("# "), "{}", experiment.name);
            let mut places = Vec::new();
            let known = template::fill(text, |place| {
                places.push(place.to_owned());
                Asked::parse(place).map(|_| String::new())
            });
            known.unwrap_or_else(|problem| panic!("{}: {problem}", experiment.name));
            for needed in ["run", "picture"] {
                assert!(
                    places.iter().any(|place| place == needed),
                    "{}: {needed}",
                    experiment.name
                );
            }
        }
    }

    #[test]
    fn numbers_of_a_run_come_into_its_text() {
        let text = "# Title\n\n{{ours: drop}} {{error: drop}} {{first: 8 bytes, one}} {{last: 8 bytes, one}} \
            {{most: 8 bytes, one}} {{most at: 8 bytes, one}} {{at 140: as printed}} {{at 7: as printed}}\n";
        let filled = "# Title\n\n2.50 M/s +25 % 112 1.23 M 1.23 M 0.08 120 (no point)";
        assert_eq!(section(text, &small()).as_deref(), Ok(filled));
        let wrong = section("\n{{most: 9 bytes}}", &small()).expect_err("there is no such curve");
        assert_eq!(
            wrong,
            "line 2: {{most: 9 bytes}}: there is no curve of this name, but \"8 bytes, one\", \"as printed\""
        );
        assert!(
            section("{{ours: rise}}", &small()).is_err_and(|told| told.contains("but \"drop\""))
        );
    }

    #[test]
    fn the_summary_counts_what_came_near_and_what_was_chosen_is_listed() {
        let mut record = small();
        record.compared.push(Comparison { ours: 2.1, ..record.compared[0].clone() });
        record.compared.push(Comparison { role: Role::Calibration, ..record.compared[0].clone() });
        let records = Records::from([("queue-pairs".to_owned(), record)]);
        let listed = experiments(&records);
        assert!(listed.contains("size | 3 | 1 | +25 % |"), "{listed}");
        assert!(listed.contains("| none in hand |  |  |"), "{listed}");
        let told = summary(&records);
        assert_eq!(told, "Of 2 predictions 1 are within 15 % of the published number.");
        let page = "| [queue-pairs](reproduction/queue-pairs.md) | NAM-DB figure 9 |";
        let missed = format!("{page} drop | 2.00 M/s | 2.50 M/s | +25 % | prediction | because |");
        let numbers = published(&records);
        assert!(numbers.contains(&missed), "{numbers}");
        let chosen = calibration(&records);
        assert!(
            chosen.contains(
                "| `card.wire_ns` = 450 of profile `connect-ib-2xfdr` | blog: 1 KB in about 1 us |"
            ),
            "{chosen}"
        );
        assert!(chosen.contains("| experiment `queue-pairs` | drop: 2.00 M/s |"), "{chosen}");
    }

    #[test]
    fn an_experiment_without_a_record_says_how_to_get_one() {
        let pages = pages(&Records::new()).unwrap_or_else(|problem| panic!("{problem}"));
        let oracle = pages.iter().find(|page| page.path == "reproduction/oracle.md");
        let text = &oracle.expect("every experiment has a page").text;
        assert!(text.contains("`namdb reproduce oracle --report docs` records one"), "{text}");
    }
}
