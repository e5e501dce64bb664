//! Checks that tables have as many rows after a run as the calls have left.
//!
//! ```text
//! rows after = rows before + sum over procedures of rows per successful call x successful calls
//! ```
//! This applies to tables for which `workload.toml` says how many rows calls of some procedure add;
//! all other procedures must add none. Tables without `INSERT` and `DELETE` must keep their rows.
//!
//! Decision: docs/decisions/0279-rows-in-workload-toml-says-how-many-rows-calls-add.md

use crate::names::kept;
use procedure::node::Workload as Ready;
use sql::Load;
use workload::{CheckResult, RunTotals};

/// Name of the check for tables without `INSERT` and `DELETE`.
const UNCHANGED: &str = "tables without INSERT and DELETE keep their rows";

/// How calls change the number of rows of each table.
pub(crate) struct RowCounts {
    /// Names of the tables, in the order of the schema.
    tables: Vec<&'static str>,
    /// Tables that no procedure inserts into or deletes from.
    unchanged: Vec<usize>,
    /// Tables for which the load says how many rows calls add.
    counted: Vec<Counted>,
}

/// A table for which the load says how many rows calls add.
struct Counted {
    table: usize,
    /// Name of the check.
    name: &'static str,
    /// Procedures that insert into it or delete from it.
    changes: Vec<RowChange>,
}

/// The effect of a procedure's calls on a table.
struct RowChange {
    procedure: usize,
    name: &'static str,
    /// Rows that a successful call adds; `None` if the load does not say, and then it should add
    /// none.
    rows: Option<i64>,
}

/// The effect of all calls on a table.
#[derive(Default)]
struct RowSum {
    /// Rows added.
    added: i128,
    /// Tolerance below and above, because of calls with unknown outcome.
    spread: (i128, i128),
    /// Calls with unknown outcome.
    unknown: u64,
    /// Contributions of procedures, for the report.
    terms: Vec<String>,
    /// Procedures with successful calls for which the load does not say how many rows they add.
    unsaid: Vec<&'static str>,
}

impl RowCounts {
    /// Collects the procedures that change each table.
    pub fn new(ready: &Ready, load: &Load) -> Self {
        let tables = &ready.catalog.tables;
        let of_table = |(table, name): (usize, &str)| {
            let mut changes = Vec::new();
            for (procedure, of) in ready.procedures.iter().enumerate() {
                let of = &of.routine;
                if of.inserts_into(table) || of.deletes_from(&ready.catalog, table) {
                    let said = load.procedures.iter().find(|said| said.procedure == of.name);
                    let said = said.and_then(|said| said.rows.iter().find(|(of, _)| of == name));
                    let rows = said.map(|(_, rows)| *rows);
                    changes.push(RowChange { procedure, name: kept(&of.name), rows });
                }
            }
            let name = kept(&format!("rows of {name} add up"));
            Counted { table, name, changes }
        };
        let all = tables.iter().map(|table| table.name.as_str()).enumerate().map(of_table);
        let (unchanged, changed): (Vec<_>, Vec<_>) = all.partition(|of| of.changes.is_empty());
        let is_said = |of: &Counted| of.changes.iter().any(|change| change.rows.is_some());
        Self {
            tables: tables.iter().map(|table| kept(&table.name)).collect(),
            unchanged: unchanged.into_iter().map(|of| of.table).collect(),
            counted: changed.into_iter().filter(is_said).collect(),
        }
    }

    /// Compares the row counts before and after a run, in the order of the schema.
    pub fn judge(&self, before: &[u64], now: &[u64], totals: &RunTotals) -> Vec<CheckResult> {
        assert_eq!((before.len(), now.len()), (self.tables.len(), self.tables.len()));
        let unchanged = (!self.unchanged.is_empty()).then(|| self.judge_unchanged(before, now));
        let counted =
            self.counted.iter().map(|of| of.judge(before[of.table], now[of.table], totals));
        unchanged.into_iter().chain(counted).collect()
    }

    fn judge_unchanged(&self, before: &[u64], now: &[u64]) -> CheckResult {
        let differs = |&&table: &&usize| before[table] != now[table];
        match self.unchanged.iter().find(differs) {
            Some(&table) => {
                let (name, before, now) = (self.tables[table], before[table], now[table]);
                CheckResult::fails(UNCHANGED, format!("{name} has {now} rows instead of {before}"))
            }
            None => {
                let rows: u64 = self.unchanged.iter().map(|&table| now[table]).sum();
                let tables = match self.unchanged.len() {
                    1 => "1 table".to_owned(),
                    several => format!("{several} tables"),
                };
                CheckResult::holds(UNCHANGED, format!("{tables}, {rows} rows"))
            }
        }
    }
}

impl Counted {
    fn judge(&self, before: u64, now: u64, totals: &RunTotals) -> CheckResult {
        let sum = self.sum(totals);
        let expected = i128::from(before) + sum.added;
        let (least, most) = (expected + sum.spread.0, expected + sum.spread.1);
        let holds = (least..=most).contains(&i128::from(now));
        let mut detail = format!("{before} before the run");
        sum.terms.iter().for_each(|term| detail += &format!(", {term}"));
        detail += &match holds && expected == i128::from(now) {
            true => format!(": {now}"),
            false => format!(": expected {expected}, found {now}"),
        };
        if sum.unknown > 0 {
            let calls = if sum.unknown == 1 { "call" } else { "calls" };
            let unknown = sum.unknown;
            detail += &format!("; {unknown} {calls} of unknown outcome allow {least} to {most}");
        }
        if holds {
            return CheckResult::holds(self.name, detail);
        }
        for name in sum.unsaid {
            detail += &format!("; workload.toml has no `rows` for {name}");
        }
        CheckResult::fails(self.name, detail)
    }

    fn sum(&self, totals: &RunTotals) -> RowSum {
        let mut sum = RowSum::default();
        for RowChange { procedure, name, rows } in &self.changes {
            let seen = totals.kind(*procedure);
            let successes = seen.committed - seen.skipped;
            let each = rows.unwrap_or(0);
            sum.added += i128::from(each) * i128::from(successes);
            // A call with unknown outcome may or may not have taken effect.
            let unknown = i128::from(each) * i128::from(seen.unknown);
            sum.spread = (sum.spread.0 + unknown.min(0), sum.spread.1 + unknown.max(0));
            sum.unknown += if each == 0 { 0 } else { seen.unknown };
            if successes > 0 && rows.is_none() {
                sum.unsaid.push(name);
            } else if successes > 0 {
                sum.terms.push(format!("{successes} times {each:+} by {name}"));
            }
        }
        sum
    }
}
