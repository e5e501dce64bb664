//! `namdb check history`: finds the isolation level of a recorded history.

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

Exit codes: 0 the requested level holds; 1 an anomaly contradicts it; 2 the file is not a history, \
3 the history does not suffice to decide. Without --isolation, the exit code is that of snapshot.";

/// Arguments of `namdb check`.
#[derive(Args)]
pub struct CheckArguments {
    #[command(subcommand)]
    what: CheckCommand,
}

#[derive(Subcommand)]
enum CheckCommand {
    /// Find the isolation level of a recorded history, with a proof for each level that it violates
    History(HistoryArguments),
}

#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct HistoryArguments {
    /// A history in EDN, as Jepsen and Elle write it, or lines such as
    /// r(key,value,session,transaction)
    file: PathBuf,
    /// Check this level only [default: all levels]
    #[arg(long, value_enum)]
    isolation: Option<LevelName>,
    /// Also write the verdicts as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also write the anomalies as a graph for Graphviz
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Also draw the anomalies
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Also write the history as registers, a line r(key,value,session,transaction) or w(...) per
    /// operation
    #[arg(long, value_name = "FILE")]
    registers: Option<PathBuf>,
}

/// Names of isolation levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum LevelName {
    /// Reads come from one snapshot; of concurrent writers of a key, one commits
    Snapshot,
    /// Also, the snapshot includes everything that its session did before
    StrongSessionSnapshot,
    /// Also, the snapshot includes everything committed before the transaction began
    StrongSnapshot,
    /// As if transactions ran one after the other
    Serializable,
    /// In an order that agrees with every session's order
    StrongSessionSerializable,
    /// In an order that agrees with real time
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
    let CheckCommand::History(arguments) = &arguments.what;
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

/// Reads a history; its first character shows the format.
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
        return Err(anyhow!("{name} has no transactions, so there is nothing to check"));
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
        output::say("namdb: no anomaly was found, so the graph is empty");
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

/// Whether the text form of registers cannot represent an anomaly.
fn is_hidden_by_text(shape: Shape) -> bool {
    matches!(shape, Shape::Internal | Shape::DuplicateElement | Shape::IncompatibleOrder)
}

fn write(path: &Path, content: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut bytes = Vec::new();
    content(&mut bytes)?;
    output::replace(path, &bytes)
}
