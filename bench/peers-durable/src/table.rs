//! The result: medians, and the ratio to the best peer.

use crate::engine::Turn;
use serde::Serialize;

/// All turns of a database with one number of sessions.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub sessions: usize,
    pub name: &'static str,
    pub way: String,
    /// Medians of the turns.
    pub commits_per_s: f64,
    pub syncs_per_s: Option<f64>,
    pub commits_per_sync: Option<f64>,
    /// Commits per second of the slowest and the fastest turn.
    pub slowest: f64,
    pub fastest: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Results {
    pub machine: String,
    pub directory: String,
    /// Processes that were ready to run: before the first turn, and after the last one.
    pub load_before: String,
    pub load_after: String,
    pub turns: usize,
    pub seconds_per_turn: f64,
    pub rows: Vec<Row>,
}

impl Row {
    pub fn new(sessions: usize, name: &'static str, way: String, turns: &[Turn]) -> Self {
        let rates: Vec<f64> = turns.iter().map(|turn| turn.commits as f64 / turn.seconds).collect();
        let syncs: Option<Vec<f64>> =
            turns.iter().map(|turn| Some(turn.syncs? as f64 / turn.seconds)).collect();
        let (commits_per_s, syncs_per_s) = (median(&rates), syncs.map(|syncs| median(&syncs)));
        Self {
            sessions,
            name,
            way,
            commits_per_s,
            syncs_per_s,
            commits_per_sync: syncs_per_s.map(|syncs| commits_per_s / syncs.max(1e-9)),
            slowest: rates.iter().copied().fold(f64::INFINITY, f64::min),
            fastest: rates.iter().copied().fold(0.0, f64::max),
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

impl Results {
    /// Commits per second of namdb by those of the best peer.
    fn ratio(&self, sessions: usize) -> Option<f64> {
        let rows = || self.rows.iter().filter(|row| row.sessions == sessions);
        let own = rows().find(|row| row.name == "namdb")?.commits_per_s;
        let peers = rows().filter(|row| !["namdb", "the disk"].contains(&row.name));
        Some(own / peers.map(|row| row.commits_per_s).reduce(f64::max)?)
    }

    pub fn text(&self) -> String {
        let Self { machine, directory, load_before, load_after, turns, seconds_per_turn, .. } =
            self;
        let mut text = format!(
            "{machine}\ndirectory {directory}; load {load_before} before, {load_after} after; \
             medians of {turns} turns of {seconds_per_turn} s\n\n\
             sessions  database   commits/s     syncs/s  per sync    slowest     fastest  way\n"
        );
        for row in &self.rows {
            let of = |value: Option<f64>, digits: usize| {
                value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
            };
            text.push_str(&format!(
                "{:>8}  {:<8} {:>11.0} {:>11} {:>9} {:>10.0} {:>11.0}  {}\n",
                row.sessions,
                row.name,
                row.commits_per_s,
                of(row.syncs_per_s, 0),
                of(row.commits_per_sync, 1),
                row.slowest,
                row.fastest,
                row.way
            ));
            let is_last = self.rows.iter().rfind(|other| other.sessions == row.sessions);
            if is_last.is_some_and(|last| last.name == row.name)
                && let Some(ratio) = self.ratio(row.sessions)
            {
                text.push_str(&format!("          namdb has {ratio:.2} x the best peer\n"));
            }
        }
        text
    }
}
