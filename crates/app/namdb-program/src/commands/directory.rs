//! `namdb backup`, `restore`, `verify` and `inspect`: directories of databases as files.

use crate::bench::progress::Progress;
use crate::bench::{json, text};
use crate::{Verdict, line};
use anyhow::{Context, Result, ensure};
use clap::Args;
use namdb::directory::{
    BlockInfo, Content, Copied, Inspection, SegmentState, StoredTable, back_up, inspect, verify,
};
use namdb::{Config, OpenProgress};
use serde::Serialize;
use std::cell::{Cell, OnceCell};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const BACKUP_EXAMPLES: &str = "\
Examples:
  namdb backup data /backup/monday         while a program has data open, or not
  namdb verify /backup/monday              read every byte of the copy

The copy has everything that was acknowledged before the command began.";

const RESTORE_EXAMPLES: &str = "\
Examples:
  namdb restore /backup/monday data        data must be empty or missing
  namdb verify data

A directory of another version of namdb is refused with the version that wrote it.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  namdb verify data
  namdb verify data --memory 20G --json -

Exit codes: 0 sound; 1 indexes and rows contradict each other; 2 a file is damaged or missing.";

const INSPECT_EXAMPLES: &str = "\
Examples:
  namdb inspect data                       tables, checkpoint, segments of the redo log
  namdb inspect data --groups              also each group of commits
  namdb inspect data --json - | jq .tables";

/// Arguments of `namdb backup`.
#[derive(Args)]
#[command(after_help = BACKUP_EXAMPLES)]
pub struct BackupArguments {
    /// The directory of the database
    directory: PathBuf,
    /// The directory of the copy, which is created; its parent must exist
    to: PathBuf,
}

/// Arguments of `namdb restore`.
#[derive(Args)]
#[command(after_help = RESTORE_EXAMPLES)]
pub struct RestoreArguments {
    /// The directory of a copy
    from: PathBuf,
    /// The new directory of the database, which is created; its parent must exist
    directory: PathBuf,
}

/// Arguments of `namdb verify`.
#[derive(Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub struct VerifyArguments {
    /// The directory of the database
    directory: PathBuf,
    /// Memory for the rows, such as 4G [default: half of the available memory]
    #[arg(long, allow_negative_numbers = true, value_parser = text::parse_bytes)]
    memory: Option<u64>,
    /// Also write the result as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Arguments of `namdb inspect`.
#[derive(Args)]
#[command(after_help = INSPECT_EXAMPLES)]
pub struct InspectArguments {
    /// The directory of the database
    directory: PathBuf,
    /// Also list the groups of commits
    #[arg(long)]
    groups: bool,
    /// Also write the result as JSON; `-` is standard output, and the text then goes to standard
    /// error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub fn back_up_directory(arguments: &BackupArguments) -> Result<Verdict> {
    copy("backup", &arguments.directory, &arguments.to)
}

pub fn restore_directory(arguments: &RestoreArguments) -> Result<Verdict> {
    copy("restore", &arguments.from, &arguments.directory)
}

fn copy(name: &'static str, from: &Path, to: &Path) -> Result<Verdict> {
    let bytes_there = |path: &Path| -> u64 {
        let files = std::fs::read_dir(path).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
    };
    let progress = Progress::begin(name, bytes_there(from));
    let done = Cell::new(0);
    let note = |bytes| {
        done.set(done.get() + bytes);
        progress.show(done.get(), &text::bytes(done.get()));
    };
    let Copied { files, bytes, group, tables } =
        back_up(from, to, note).with_context(|| format!("cannot copy to `{}`", to.display()))?;
    progress.finish(&text::bytes(bytes));
    crate::output::print(&format!(
        "{} has {} up to group {}: {}, {}\n",
        to.display(),
        text::counted(tables as u64, "table"),
        text::grouped(group),
        text::counted(files, "file"),
        text::bytes(bytes)
    ))?;
    Ok(Verdict::Sound)
}

/// The result of `namdb verify`.
#[derive(Serialize)]
struct Verified {
    tables: usize,
    rows: u64,
    log_entries: u64,
    load_seconds: f64,
    torn_bytes: u64,
    faults: Vec<String>,
}

pub fn verify_directory(arguments: &VerifyArguments) -> Result<Verdict> {
    let VerifyArguments { directory, memory, json: path } = arguments;
    if let Some(path) = path {
        json::probe(path, &[])?;
    }
    let mut config = Config::default();
    config.server_bytes = memory.unwrap_or(config.server_bytes);
    let bar = OnceCell::new();
    let show = |progress: OpenProgress| {
        let bar = bar.get_or_init(|| Progress::begin("verifying", progress.all_rows));
        let per_second = text::rate(progress.rows as f64 / progress.elapsed_s.max(1e-3));
        bar.show(progress.rows, &format!("{per_second} rows/s"));
    };
    let found = verify(directory, &config, &show)?;
    if let Some(bar) = bar.into_inner() {
        bar.finish(&text::counted(found.rows, "row"));
    }
    let result = Verified {
        tables: found.tables,
        rows: found.rows,
        log_entries: found.log_entries,
        load_seconds: found.load_s,
        torn_bytes: found.torn_bytes,
        faults: found.structures.defects(),
    };
    let mut told = String::new();
    line!(
        told,
        "{}: {}, {}, and {} in the log, loaded in {:.1} s",
        directory.display(),
        text::counted(result.tables as u64, "table"),
        text::counted(result.rows, "row"),
        text::counted(result.log_entries, "change"),
        result.load_seconds
    );
    if result.torn_bytes > 0 {
        let torn = text::counted(result.torn_bytes, "byte");
        line!(told, "  {torn} behind the last group: a commit that was never acknowledged");
    }
    for fault in &result.faults {
        line!(told, "  {fault}");
    }
    let is_sound = result.faults.is_empty();
    line!(told, "  {}", if is_sound { "every file and every index is sound" } else { "damaged" });
    json::deliver(&result, path.as_deref(), &told)?;
    Ok(if is_sound { Verdict::Sound } else { Verdict::Damaged })
}

/// The result of `namdb inspect`.
#[derive(Serialize)]
struct Inspected {
    database: String,
    tables: Vec<TableOf>,
    checkpoint: Option<CheckpointOf>,
    segments: Vec<SegmentOf>,
    damage: Option<String>,
}

#[derive(Serialize)]
struct TableOf {
    number: u32,
    name: String,
    columns: usize,
    indexes: Vec<String>,
    checkpoint_rows: Option<u64>,
    checkpoint_bytes: Option<u64>,
}

#[derive(Serialize)]
struct CheckpointOf {
    number: u64,
    replay_segment: u64,
    replay_offset: u64,
    rows: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct SegmentOf {
    segment: u64,
    start: u32,
    state: &'static str,
    end: u64,
    synced: u64,
    groups: Vec<GroupOf>,
}

#[derive(Serialize)]
struct GroupOf {
    number: u64,
    offset: u64,
    /// Bytes of the entries that were written with it.
    entry_bytes: u64,
}

impl Inspected {
    fn of(found: &Inspection) -> Self {
        let control = &found.control;
        let file_of = |table: &StoredTable| {
            let checkpoint = control.checkpoint.as_ref()?;
            checkpoint.files.iter().find(|file| file.table == table.number)
        };
        let table = |table: &StoredTable| TableOf {
            number: table.number,
            name: table.name.clone(),
            columns: table.columns.len(),
            indexes: table.indexes.iter().map(|index| index.name.clone()).collect(),
            checkpoint_rows: file_of(table).map(|file| file.rows),
            checkpoint_bytes: file_of(table).map(|file| file.bytes),
        };
        let checkpoint = control.checkpoint.as_ref().map(|checkpoint| CheckpointOf {
            number: checkpoint.number,
            replay_segment: checkpoint.replay_from.0,
            replay_offset: checkpoint.replay_from.1,
            rows: checkpoint.files.iter().map(|file| file.rows).sum(),
            bytes: checkpoint.files.iter().map(|file| file.bytes).sum(),
        });
        let segments = found.segments.iter().map(|(info, blocks)| SegmentOf {
            segment: info.segment,
            start: info.incarnation.0,
            state: state_name(info.state),
            end: info.end,
            synced: info.synced,
            groups: groups_of(blocks),
        });
        Self {
            database: control.identity().to_string(),
            tables: control.tables.iter().map(table).collect(),
            checkpoint,
            segments: segments.collect(),
            damage: found.damage.clone(),
        }
    }
}

const fn state_name(state: SegmentState) -> &'static str {
    match state {
        SegmentState::Open => "open",
        SegmentState::Sealed => "sealed",
        SegmentState::Closed => "closed",
    }
}

fn groups_of(blocks: &[BlockInfo]) -> Vec<GroupOf> {
    let (mut groups, mut entry_bytes) = (Vec::new(), 0);
    for block in blocks {
        match block.content {
            Content::Entries { .. } => entry_bytes += block.bytes,
            Content::Group(_) => {
                groups.push(GroupOf { number: block.group, offset: block.offset, entry_bytes });
                entry_bytes = 0;
            }
        }
    }
    groups
}

pub fn inspect_directory(arguments: &InspectArguments) -> Result<Verdict> {
    let InspectArguments { directory, groups, json: path } = arguments;
    if let Some(path) = path {
        json::probe(path, &[])?;
    }
    let found = Inspected::of(&inspect(directory)?);
    let told = tell(directory, &found, *groups);
    json::deliver(&found, path.as_deref(), &told)?;
    ensure!(found.damage.is_none(), "{}", found.damage.unwrap_or_default());
    Ok(Verdict::Sound)
}

fn tell(directory: &Path, found: &Inspected, shows_groups: bool) -> String {
    let mut told = String::new();
    line!(told, "{}: database {}", directory.display(), found.database);
    line!(told);
    line!(told, "  {:>6}  {:<32} {:>14} {:>12}", "table", "name", "rows in the", "bytes");
    line!(told, "  {:>6}  {:<32} {:>14} {:>12}", "", "", "checkpoint", "");
    for table in &found.tables {
        let (rows, bytes) = (table.checkpoint_rows, table.checkpoint_bytes);
        line!(
            told,
            "  {:>6}  {:<32} {:>14} {:>12}",
            table.number,
            table.name,
            rows.map_or("-".to_owned(), text::grouped),
            bytes.map_or("-".to_owned(), text::grouped)
        );
        for index in &table.indexes {
            line!(told, "  {:>6}    index {index}", "");
        }
    }
    line!(told);
    match &found.checkpoint {
        None => line!(told, "  no checkpoint: a restart replays the whole log"),
        Some(checkpoint) => line!(
            told,
            "  checkpoint {}: {}; a restart replays from byte {} of segment {}",
            checkpoint.number,
            text::counted(checkpoint.rows, "row"),
            text::grouped(checkpoint.replay_offset),
            checkpoint.replay_segment
        ),
    }
    line!(told);
    line!(
        told,
        "  {:>10} {:>6} {:<7} {:>8} {:>14} {:>14}",
        "segment",
        "start",
        "state",
        "groups",
        "ends at byte",
        "marked up to"
    );
    for segment in &found.segments {
        line!(
            told,
            "  {:>10} {:>6} {:<7} {:>8} {:>14} {:>14}",
            segment.segment,
            segment.start,
            segment.state,
            text::grouped(segment.groups.len() as u64),
            text::grouped(segment.end),
            text::grouped(segment.synced)
        );
        for group in segment.groups.iter().filter(|_| shows_groups) {
            line!(
                told,
                "             group {:>10} at byte {:>12}, {:>10} bytes of entries",
                group.number,
                text::grouped(group.offset),
                text::grouped(group.entry_bytes)
            );
        }
    }
    told
}
