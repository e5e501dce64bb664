//! `namdb spade forecast`: forecasts the performance of given designs on a measured cluster.

use super::question::Question;
use crate::Verdict;
use crate::bench::json;
use anyhow::{Context, Result, ensure};
use clap::Args;
use folder_benchmark::default_design;
use serde::Serialize;
use spade::design::{BYTES_MAX, Design};
use spade::tune::{DesignForecast, Forecaster, Named, beside};
use sql::file::read_text;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  namdb spade forecast mine --design mine/design.json                        forecast of one design
  namdb spade forecast mine --design a.json --design b.json                  compare two designs
  namdb spade forecast mine --design a.json --default-design --machines 50   with the default design, on 50 machines
  namdb spade forecast mine --design a.json --json forecast.json             everything as JSON

Designs are files written by `namdb spade tune --out`, `namdb spade design --out` or an editor; measurements are written by \
`namdb spade measure`. The first design is A; differences to it are in parentheses. Latencies are those of calls while nothing \
else runs, except the one with all lanes busy. A forecast creates and loads nothing, so it takes no longer than the command. \
The forecast of a tuned design equals that of the tuner, digit by digit.

Hardware, machines and units are by default those of workload.toml. docs/spade/model.md says what a forecast does not cover. Exit \
codes: 0 forecast printed; 2 no forecast.";

/// Maximal number of designs shown side by side.
const DESIGNS_MAX: usize = 8;

/// Arguments of `namdb spade forecast`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ForecastArguments {
    #[command(flatten)]
    question: Question,
    /// A design; repeat the option for each further one
    #[arg(long = "design", value_name = "FILE")]
    designs: Vec<PathBuf>,
    /// Also forecast the default design, which follows from procedures and load alone
    #[arg(long)]
    default_design: bool,
    /// Also write everything as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A forecast and its design, as in the JSON.
#[derive(Serialize)]
struct Entry {
    /// File name, or the name of the default design.
    design: String,
    forecast: DesignForecast,
}

/// Runs the command.
pub fn run(arguments: &ForecastArguments) -> Result<Verdict> {
    if let Some(path) = &arguments.json {
        let designs = arguments.designs.iter().map(PathBuf::as_path);
        let inputs: Vec<&Path> = arguments.question.inputs().into_iter().chain(designs).collect();
        json::probe(path, &inputs)?;
    }
    let designs = designs(arguments)?;
    let read = arguments.question.read()?;
    let options = arguments.question.options();
    let forecaster = Forecaster::new(read.input(), &options).with_context(|| {
        format!("cannot forecast designs of {}", arguments.question.folder.display())
    })?;
    arguments.ensure_built()?;
    let each = designs.into_iter().map(|(name, design)| {
        let forecast =
            forecaster.forecast(&design).with_context(|| format!("cannot forecast {name}"))?;
        Ok(Entry { design: name, forecast })
    });
    let entries: Vec<Entry> = each.collect::<Result<_>>()?;
    let named: Vec<Named<'_>> =
        entries.iter().map(|entry| (&*entry.design, &entry.forecast)).collect();
    json::deliver(&entries, arguments.json.as_deref(), &beside(&named))?;
    Ok(Verdict::Sound)
}

impl ForecastArguments {
    /// Rejects designs that cannot be built, by the checks of `verify`, `bench` and `spade apply`.
    fn ensure_built(&self) -> Result<()> {
        let units = self.question.options().units;
        for design in &self.designs {
            folder_benchmark::ensure_fits(&self.question.folder, design, units)?;
        }
        Ok(())
    }
}

/// The designs with their names.
fn designs(arguments: &ForecastArguments) -> Result<Vec<(String, Design)>> {
    let folder = &arguments.question.folder;
    let mut all = Vec::new();
    for path in &arguments.designs {
        let name = path.display().to_string();
        let text = read_text(path, BYTES_MAX).with_context(|| format!("cannot read {name}"))?;
        let design =
            Design::parse(&text).with_context(|| format!("cannot read the design {name}"))?;
        all.push((name, design));
    }
    if arguments.default_design {
        // Its rows grow with the units, as those of a file do.
        all.push(("the default design".to_owned(), default_design(folder, None)?));
    }
    ensure!(
        !all.is_empty(),
        "no design is given; give a file with --design, such as one from `namdb spade tune {folder} --out design.json`, or use \
         --default-design",
        folder = folder.display()
    );
    ensure!(
        all.len() <= DESIGNS_MAX,
        "{} designs are given, but at most {DESIGNS_MAX} fit side by side",
        all.len()
    );
    Ok(all)
}
