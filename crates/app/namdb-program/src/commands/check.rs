//! `namdb check history`: which isolation a recorded history is of.

use crate::bench::json;
use crate::judgement::{self, Judgement};
use crate::{Verdict, output};
use anyhow::{Context, Result, anyhow};
use clap::{Args, Subcommand, ValueEnum};
use history_judge::{History, Level, Report, Shape, Witness, witness};
use std::io::Write;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  namdb bench append --seconds 5 --history run.edn         record a history
  namdb check history run.edn                              judge it by every level of isolation
  namdb check history run.edn --isolation serializable     by one, with an exit code that tells
  namdb check history run.edn --svg cycle.svg              draw what was found
  namdb check history run.edn --json -                     for programs
  namdb check history run.edn --registers run.txt          for checkers of registers

A history of two transactions that overlook each other's appends, so that it is not serializable:
  {:type :ok, :process 0, :value [[:r 1 nil] [:append 2 5]]}
  {:type :ok, :process 1, :value [[:r 2 nil] [:append 1 6]]}

The exit code is 0 if the level asked for holds, 1 if an anomaly forbids it, 2 if the file is no history, \
3 if the history does not tell. Unless a level is asked for, the code is about snapshot.";

/// Options of `check`.
#[derive(Args)]
pub struct CheckArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Judge a recorded history: which isolation it is of, and proof where it is not
    History(HistoryArguments),
}

#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct HistoryArguments {
    /// A history in EDN, as Jepsen and Elle have them, or lines such as r(key,value,session,transaction)
    file: PathBuf,
    /// Judge by this level alone [default: all of them]
    #[arg(long, value_enum)]
    isolation: Option<LevelName>,
    /// Also write the verdicts as JSON; `-` is the output, and the text then goes to the error stream
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also write what was found as a graph for Graphviz
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Also draw what was found
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Also write the history as registers, a line r(key,value,session,transaction) or w(...) each
    #[arg(long, value_name = "FILE")]
    registers: Option<PathBuf>,
}

/// Levels of isolation by their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum LevelName {
    /// Reads come from a snapshot; of concurrent writers of a key one commits
    Snapshot,
    /// And the snapshot has all that its session did before
    StrongSessionSnapshot,
    /// And the snapshot has all that was committed before the transaction began
    StrongSnapshot,
    /// As if one transaction ran after the other
    Serializable,
    /// In an order that every session's own agrees with
    StrongSessionSerializable,
    /// In an order that real time agrees with
    StrictSerializable,
}

impl From<LevelName> for Level {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::Snapshot => Self::Snapshot,
            LevelName::StrongSessionSnapshot => Self::StrongSessionSnapshot,
            LevelName::StrongSnapshot => Self::StrongSnapshot,
            LevelName::Serializable => Self::Serializable,
            LevelName::StrongSessionSerializable => Self::StrongSessionSerializable,
            LevelName::StrictSerializable => Self::StrictSerializable,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &CheckArguments) -> Result<Verdict> {
    let What::History(arguments) = &arguments.what;
    let files = [&arguments.json, &arguments.dot, &arguments.svg, &arguments.registers];
    for path in files.into_iter().flatten() {
        json::probe(path, &[&arguments.file])?;
    }
    let name = arguments.file.display().to_string();
    let history = read(&arguments.file)?;
    let report = history_judge::judge(&history).map_err(|error| anyhow!("{name}: {error}"))?;
    let levels: Vec<Level> =
        arguments.isolation.map_or(Level::ALL.to_vec(), |level| vec![level.into()]);
    write_files(arguments, &history, &report, &levels)?;
    let judgement = Judgement::new(&name, &history, &report, &levels);
    let text = judgement::in_words(&name, &history, &report, &levels);
    json::deliver(&judgement, arguments.json.as_deref(), &text)?;
    Ok(match report.verdict(levels[0]) {
        history_judge::Verdict::Holds => Verdict::Sound,
        history_judge::Verdict::Violated => Verdict::Damaged,
        history_judge::Verdict::Unknown(_) => Verdict::Incomplete,
    })
}

/// Reads a history in the form that its first character shows.
fn read(path: &Path) -> Result<History> {
    let name = path.display();
    let text = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    let history = match first {
        Some(b'r' | b'w') => history_judge::read_text(&text),
        _ => history_judge::read_edn(&text),
    };
    let history = history.map_err(|error| anyhow!("{name}: {error}"))?;
    if history.transactions().is_empty() {
        return Err(anyhow!("{name} has no transactions, so there is nothing to judge"));
    }
    Ok(history)
}

fn write_files(
    arguments: &HistoryArguments,
    history: &History,
    report: &Report,
    levels: &[Level],
) -> Result<()> {
    let witnesses: Vec<&Witness> =
        judgement::told(report, levels).map(|found| &found.witness).collect();
    if witnesses.is_empty() && (arguments.dot.is_some() || arguments.svg.is_some()) {
        output::say("namdb: nothing was found, so the graph is empty");
    }
    if let Some(path) = &arguments.dot {
        write(path, |file| Ok(witness::write_dot(history, &witnesses, file)?))?;
    }
    if let Some(path) = &arguments.svg {
        write(path, |file| Ok(witness::write_svg(history, &witnesses, file)?))?;
    }
    if let Some(path) = &arguments.registers {
        write(path, |file| Ok(history_judge::write_text(history, file)?))?;
        let hidden: Vec<String> = report
            .anomalies()
            .filter(|anomaly| is_hidden_by_text(anomaly.shape))
            .map(|anomaly| anomaly.to_string())
            .collect();
        if !hidden.is_empty() {
            output::say(&format!(
                "namdb: {} does not show what was found of kind {}: registers in this form have no place for it",
                path.display(),
                hidden.join(", "),
            ));
        }
    }
    Ok(())
}

/// Whether an anomaly has no place in the text form of registers.
fn is_hidden_by_text(shape: Shape) -> bool {
    matches!(shape, Shape::Internal | Shape::DuplicateElement | Shape::IncompatibleOrder)
}

fn write(path: &Path, content: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut bytes = Vec::new();
    content(&mut bytes)?;
    output::replace(path, &bytes)
}
