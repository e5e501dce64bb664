//! `namdb spade forecast`: what given designs should reach on a measured cluster.

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
  namdb spade forecast mine --design mine/design.json                        what to expect of it
  namdb spade forecast mine --design a.json --design b.json                  two of them, and how they differ
  namdb spade forecast mine --design a.json --default-design --machines 50   beside the default one, on 50 machines
  namdb spade forecast mine --design a.json --json forecast.json             everything, for programs

Designs are what namdb spade tune --out, namdb spade design --out or an editor writes; measurements are what namdb spade measure \
writes. The first design is A; what others differ from it by stands in parentheses. Latencies are those of calls while nothing else \
runs, but for the one with all lanes busy. A forecast takes the time of a command: nothing is made and nothing is loaded. The \
forecast of what the tuner has decided is the tuner's own, digit by digit.

Hardware, machines and units are those of workload.toml if nothing is said. docs/spade.md tells what a forecast cannot know. The \
exit code is 0 if there is a forecast, 2 if there is none.";

/// Designs that are shown side by side, at most.
const DESIGNS_MAX: usize = 8;

/// Options of `spade forecast`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ForecastArguments {
    #[command(flatten)]
    question: Question,
    /// A design; say it again for each further one
    #[arg(long = "design", value_name = "FILE")]
    designs: Vec<PathBuf>,
    /// Also forecast the default design, which follows from procedures and load alone
    #[arg(long)]
    default_design: bool,
    /// Also write everything as JSON; `-` is the output, and the text then goes to the error stream
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A forecast with its design, as JSON has them.
#[derive(Serialize)]
struct Entry {
    /// The file, or that it is the default design.
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
        format!("designs of {} cannot be forecast", arguments.question.folder.display())
    })?;
    arguments.ensure_built()?;
    let each = designs.into_iter().map(|(name, design)| {
        let forecast =
            forecaster.forecast(&design).with_context(|| format!("{name} cannot be forecast"))?;
        Ok(Entry { design: name, forecast })
    });
    let entries: Vec<Entry> = each.collect::<Result<_>>()?;
    let named: Vec<Named<'_>> =
        entries.iter().map(|entry| (&*entry.design, &entry.forecast)).collect();
    json::deliver(&entries, arguments.json.as_deref(), &beside(&named))?;
    Ok(Verdict::Sound)
}

impl ForecastArguments {
    /// Refuses designs that nobody could build, by what `verify`, `bench` and `spade apply` ask before they do.
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
        let design = Design::parse(&text).with_context(|| format!("{name} cannot be read"))?;
        all.push((name, design));
    }
    if arguments.default_design {
        // Its rows grow with the units as those of a file do.
        all.push(("the default design".to_owned(), default_design(folder, None)?));
    }
    ensure!(
        !all.is_empty(),
        "no design is named; name a file with --design, as `namdb spade tune {folder} --out design.json` writes one, or take \
         --default-design",
        folder = folder.display()
    );
    ensure!(
        all.len() <= DESIGNS_MAX,
        "{} designs are named, and at most {DESIGNS_MAX} stand side by side; name fewer",
        all.len()
    );
    Ok(all)
}
