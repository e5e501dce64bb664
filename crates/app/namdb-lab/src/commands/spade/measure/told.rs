//! Summary of the measured points.

use crate::bench::text::{counted, duration_us, rate};
use ::microbench::experiment::Choice;
use spade::measurement::{
    AccessPath, Measurements, Operation, Parameters, Place, Point, Versions, storage_name,
};
use std::fmt::Write;
use std::path::Path;

/// Updates of a single row: each moves an old version to the overflow list.
const MOVING: Versions = Versions { beside: 1, keeps: true, among: 1 };

/// The state of all requested points.
pub struct PointCounts<'a> {
    /// Measured by this run.
    pub measured: usize,
    /// In the file before.
    pub found: usize,
    /// Not measured yet.
    pub missing: usize,
    /// Points whose operations were too slow, as text.
    pub left_out: &'a [String],
}

/// The points of the first design of each world, and the state of the file.
pub fn in_words(
    all: &Measurements,
    worlds: &[Choice],
    file: &Path,
    kept: &PointCounts<'_>,
) -> String {
    let mut text = String::new();
    for choice in worlds {
        draw(&mut text, all, choice);
    }
    let PointCounts { measured, found, missing, left_out } = kept;
    for point in *left_out {
        let _ = writeln!(text, "left out: {point}; increase --seconds");
    }
    let points = counted(*measured as u64, "point");
    let _ = write!(text, "{} has {points} more than the {found} from before", file.display());
    text.push_str(&match missing {
        0 => ".\n".to_owned(),
        1 => "; 1 is missing: run the same command again.\n".to_owned(),
        missing => format!("; {missing} are missing: run the same command again.\n"),
    });
    text
}

/// A line per operation and path of the first design, with two figures per place.
fn draw(text: &mut String, all: &Measurements, choice: &Choice) {
    let groups = choice.groups();
    let Some(usual) = groups.first().and_then(|group| group.first()) else { return };
    let world = &choice.world;
    let is_shipped = choice.places.contains(&Place::Shipped);
    let _ = writeln!(
        text,
        "{} ({}): machines {}, threads of each {}, lanes of each {}",
        world.fabric, world.hardware, world.machines, world.threads, world.lanes
    );
    let _ = writeln!(
        text,
        "rows of {} bytes; latency alone, operations/s of all lanes\n",
        usual.row_bytes
    );
    let _ = write!(text, "{:30}", "");
    let places: String =
        choice.places.iter().map(|place| format!("{:>21}", place.name())).collect();
    let _ = writeln!(text, "{places}");
    let is_shown = |point: &&Parameters| {
        let one = [1, 16].contains(&point.rows);
        one && point.row_bytes == usual.row_bytes
            && point.replicas == 1
            && [0, usual.neighbourhood].contains(&point.neighbourhood)
            && [0, usual.load_percent].contains(&point.load_percent)
            && point.versions.is_none_or(|of| of == MOVING)
    };
    let mut lines: Vec<Parameters> = Vec::new();
    for point in groups.iter().flatten().filter(is_shown) {
        let line = Parameters { place: choice.places[0], ..point.clone() };
        // The first node size is the usual one.
        let same = |other: &Parameters| {
            Parameters { node_bytes: line.node_bytes, ..other.clone() } == line
        };
        if !lines.iter().any(same) {
            lines.push(line);
        }
    }
    lines.sort_by_key(|line| (line.storage, line.path, line.operation, line.rows));
    let mut design: Option<(layout::Storage, AccessPath)> = None;
    for line in lines {
        let place_of = |place: Place| all.point(&Parameters { place, ..line.clone() });
        if design.replace((line.storage, line.path)) != Some((line.storage, line.path)) {
            let _ = writeln!(text, "{}, {}", storage_name(line.storage), line.path);
        }
        let rows = match (line.operation, line.rows) {
            _ if line.versions.is_some() => ", old one moved".to_owned(),
            (Operation::Lookup | Operation::Scan, rows) if rows > 1 => format!(" of {rows} rows"),
            _ => String::new(),
        };
        let _ = write!(text, "  {:28}", format!("{}{rows}", line.operation));
        for &place in &choice.places {
            let _ = write!(text, "{:>21}", place_of(place).map_or("-".to_owned(), figures));
        }
        text.push('\n');
    }
    text.push('\n');
    if !is_shipped {
        text.push_str(
            "Nothing was shipped: no compute server accepts calls; `namdb compute-server` starts one.\n\n",
        );
    }
}

/// Latency alone, and total throughput.
fn figures(point: &Point) -> String {
    let measured = &point.measured;
    let latency = duration_us(measured.alone.median_ns.median / 1e3);
    format!("{latency}, {}", rate(measured.loaded.operations_per_s.median))
}
