//! Checks a database before and after a run, and measures the memory of its tables.

use super::compute_servers::Loss;
use super::driver::Run;
use super::load::Loaded;
use super::progress::Progress;
use super::report::{CheckReport, TableReport, TablesReport};
use super::site::{LOCAL, Site, SiteSession, SiteWorkload};
use super::text::counted;
use anyhow::{Context, Result};
use fabric::Env;
use namdb::directory::{HeldLock, LockKind, StructureReport};
use namdb::{DirectoryStatistics, TableMemory, WholeMemory};
use std::cell::RefCell;
use std::collections::BTreeMap;
use workload::{RunTotals, Workload, count};

/// State of the database between load and run.
#[derive(Clone, Debug)]
pub struct BeforeRun {
    /// Result of the load.
    pub loaded: Loaded,
    pub memory: TablesReport,
    /// Results of the checks that only hold at this point.
    pub checks: Vec<CheckReport>,
    /// Checks and measurements that failed to run.
    pub problems: Vec<String>,
    /// Counters of the site's directory.
    pub directory: Option<DirectoryStatistics>,
}

impl BeforeRun {
    /// Examines the database right after the load.
    pub fn new<S: Site, W: SiteWorkload<S>>(site: &S, workload: &W, loaded: Loaded) -> Self {
        let mut problems = Vec::new();
        let mut checks = Vec::new();
        if workload.has_load_checks() {
            let totals = RunTotals::new(workload.transaction_types().len());
            let results = check_workload(site, workload, &totals, true);
            checks = kept(results, &mut problems, "the loaded database could not be checked");
        }
        let tables = memory(site, workload, &|_| ());
        let memory = kept(tables, &mut problems, "its memory could not be measured");
        let directory = site.directory_statistics();
        Self { loaded, memory, checks, problems, directory }
    }
}

/// Returns the value; on an error, adds a problem and returns the default.
fn kept<T: Default>(value: Result<T>, problems: &mut Vec<String>, sentence: &str) -> T {
    value.unwrap_or_else(|error| {
        problems.push(format!("{sentence}: {error:#}"));
        T::default()
    })
}

/// Memory and rows of the workload's tables, with progress per table.
fn memory<S: Site, W: SiteWorkload<S>>(
    site: &S,
    workload: &W,
    tell: &dyn Fn(&str),
) -> Result<TablesReport> {
    let session = site.session()?;
    let database = session.handle();
    session.wait(database.refresh())?;
    let mut per_table = BTreeMap::new();
    let used = TableMemory::of_whole_tables(session.wait(database.memory_usage())?);
    let mut lane = session.wait(database.lane())?;
    let names = workload.table_names();
    for &name in names {
        tell(name);
        let rows = session.wait(count::rows(&database, &mut lane, &[name]))?.into_iter().sum();
        let table = database.table(name).with_context(|| format!("there is no table {name}"))?;
        let schema = database.schema(table).with_context(|| format!("there is no table {name}"))?;
        let raw_bytes = rows * schema.raw_bytes();
        let whole = WholeMemory { used_bytes: 0, parts: 1, copies: 1 };
        let WholeMemory { used_bytes, parts, copies } = used.get(name).copied().unwrap_or(whole);
        let report = TableReport { rows, raw_bytes, used_bytes, parts, copies };
        per_table.insert(name.to_owned(), report);
    }
    Ok(TablesReport {
        raw_bytes: per_table.values().map(|table| table.raw_bytes).sum(),
        used_bytes: used.values().map(|whole| whole.used_bytes).sum(),
        per_table,
    })
}

/// Checks the database after a run and measures its memory.
pub fn check_after_run<S: Site, W: SiteWorkload<S>>(
    site: &S,
    workload: &W,
    run: &Run,
    (before, rows_before): (Vec<CheckReport>, &TablesReport),
    problems: &mut Vec<String>,
) -> (Vec<CheckReport>, TablesReport) {
    if let Some(problem) = unaccounted(&run.lost) {
        let mut checks = Vec::new();
        problems.push(problem);
        add_checks_after_load(&mut checks, before);
        return (checks, TablesReport::default());
    }
    let looked = Looked::begin(rows_before);
    let checked = check_workload(site, workload, &run.totals, false);
    // Each further attempt would wait for the lost server as long as the first did.
    let is_lost = run.is_unreachable && checked.is_err();
    let mut checks = kept(checked, problems, "the database could not be checked");
    add_checks_after_load(&mut checks, before);
    if is_lost {
        looked.progress.finish(&counted(checks.len() as u64, "check"));
        return (checks, TablesReport::default());
    }
    let structure = check_structure(site, workload, &|name| looked.at(name, "structure"));
    let structure = kept(structure, problems, "the structures could not be checked");
    let tables = memory(site, workload, &|name| looked.at(name, "rows"));
    let now = kept(tables, problems, "the memory of the tables could not be measured");
    checks.extend(check_rows::<S::Env, W>(workload, rows_before, &now, &run.totals));
    checks.extend(structure);
    looked.progress.finish(&counted(checks.len() as u64, "check"));
    (checks, now)
}

/// Why a database cannot be checked after compute servers were lost.
fn unaccounted(lost: &[Loss]) -> Option<String> {
    let why: Vec<&str> = lost.iter().map(|loss| loss.why.as_str()).collect();
    (!lost.is_empty()).then(|| {
        format!(
            "{}; the database was not checked, since transactions of a lost server are not counted and rows that it had \
             locked stay locked",
            why.join("; ")
        )
    })
}

/// Progress of the checks, in rows: the structure check reads and counts all of them. The
/// workload's own checks come first and have no known length.
struct Looked<'t> {
    progress: Progress,
    tables: &'t TablesReport,
    /// Number of finished rows, and the current table and check.
    standing: RefCell<(u64, Option<(&'static str, String)>)>,
}

impl<'t> Looked<'t> {
    fn begin(tables: &'t TablesReport) -> Self {
        let rows: u64 = tables.per_table.values().map(|of| of.rows).sum();
        let progress = Progress::begin("checking", (2 * rows).max(1));
        progress.announce("what must hold of the workload");
        Self { progress, tables, standing: RefCell::default() }
    }

    /// Continues with a table; each of its parts has the table's name.
    fn at(&self, name: &str, what: &'static str) {
        let (done, at) = &mut *self.standing.borrow_mut();
        let now = Some((what, name.to_owned()));
        if *at == now {
            return;
        }
        let before =
            std::mem::replace(at, now).and_then(|(_, name)| self.tables.per_table.get(&name));
        *done += before.map_or(0, |of| of.rows);
        self.progress.show(*done, &format!("{what} of {name}"));
    }
}

/// Runs the workload's checks on the row counts of the report; skipped if rows could not be
/// counted, which is reported.
fn check_rows<E: Env, W: Workload<E>>(
    workload: &W,
    before: &TablesReport,
    now: &TablesReport,
    totals: &RunTotals,
) -> Vec<CheckReport> {
    let rows = |report: &TablesReport| -> Option<Vec<u64>> {
        let names = workload.table_names().iter();
        names.map(|&name| report.per_table.get(name).map(|table| table.rows)).collect()
    };
    let (Some(before), Some(now)) = (rows(before), rows(now)) else { return Vec::new() };
    workload.check_rows(&before, &now, totals).into_iter().map(CheckReport::from).collect()
}

/// Adds the checks from before the run: those that only hold there, and those that failed.
fn add_checks_after_load(checks: &mut Vec<CheckReport>, before: Vec<CheckReport>) {
    for check in before {
        if !check.ok || !checks.iter().any(|after| after.name == check.name) {
            checks.push(CheckReport { name: format!("after the load, {}", check.name), ..check });
        }
    }
}

fn check_workload<S: Site, W: SiteWorkload<S>>(
    site: &S,
    workload: &W,
    totals: &RunTotals,
    after_load: bool,
) -> Result<Vec<CheckReport>> {
    let session = site.session()?;
    let database = session.handle();
    let mut lane = session.wait(database.lane())?;
    let results = session.wait(workload.check(&database, &mut lane, totals, after_load))?;
    Ok(results.into_iter().map(CheckReport::from).collect())
}

/// Checks only the workload's own tables: others may be working on theirs in the same cluster.
fn check_structure<S: Site, W: SiteWorkload<S>>(
    site: &S,
    workload: &W,
    tell: &dyn Fn(&str),
) -> Result<Option<CheckReport>> {
    let session = site.session()?;
    let database = session.handle();
    let is_own = |name: &str| {
        let is_own = workload.table_names().contains(&name);
        if is_own {
            tell(name);
        }
        is_own
    };
    let structure = session.wait(database.check_tables(&is_own))?;
    Ok(Some(structure_check(&structure, site.facts().fabric != LOCAL)))
}

/// In a cluster, other processes may have left locks behind, or stand still: the data is sound.
/// Locks that this process has left are a damage.
fn structure_check(structure: &StructureReport, has_others: bool) -> CheckReport {
    let locked = locked(&structure.locks, has_others);
    let is_lock = has_others && structure.errors.is_empty() && locked.is_some();
    let wrong = structure.errors.first().cloned().or(locked);
    CheckReport {
        name: "every table and index is well formed, nothing is left locked".to_owned(),
        is_rate: false,
        is_lock,
        ok: wrong.is_none(),
        detail: wrong.unwrap_or_else(|| counted(structure.lines.len() as u64, "structure")),
    }
}

/// A sentence about the locks that are held.
fn locked(locks: &[HeldLock], has_others: bool) -> Option<String> {
    let first = locks.first()?;
    let more = match locks.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    if !has_others {
        return Some(format!("{first}{more} left locked"));
    }
    let are_rows = locks.iter().all(|lock| lock.kind == LockKind::Row);
    let locked = match (are_rows, locks.len()) {
        (true, 1) => "1 row is".to_owned(),
        (true, count) => format!("{count} rows are"),
        (false, 1) => "1 bucket or leaf is".to_owned(),
        (false, count) => format!("{count} rows, buckets or leaves are"),
    };
    Some(format!("{locked} locked by a process that has left or stands still: {first}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;
    use crate::bench::report::{Parameters, Report, Subject};
    use crate::bench::table::verdicts;
    use crate::bench::trial;
    use fabric::run_now;
    use layout::{GlobalPtr, NodeId, RegionId};
    use memory::Label;
    use memory::extent::allocate_extent;
    use namdb::{Db, Isolation};

    /// Takes the remaining small extents, so that even the smallest request finds no memory.
    fn take_the_rest(db: &Db) {
        let database = db.handle();
        for bytes in [1 << 20, 64 << 10, 4 << 10, 8] {
            let take = || allocate_extent(database.env(), NodeId(0), bytes, Label(u64::MAX));
            while run_now(take()).is_ok() {}
        }
    }

    /// A lock is a damage only where nobody else could have left it.
    #[test]
    fn a_lock_that_another_process_left_is_no_damage() {
        let locks = [3, 4].map(|byte| HeldLock {
            structure: "account".to_owned(),
            kind: LockKind::Row,
            word: GlobalPtr::new(RegionId(0), byte),
        });
        let structure = StructureReport { locks: locks.to_vec(), ..StructureReport::default() };
        for has_others in [true, false] {
            let check = structure_check(&structure, has_others);
            assert_eq!((check.shows_damage(), check.shows_lock()), (!has_others, has_others));
            let mut text = String::new();
            verdicts(&mut text, &[check], &[], false);
            assert_eq!(text.contains("DAMAGED"), !has_others, "{text}");
            assert_eq!(text.contains("LEFT LOCKED"), has_others, "{text}");
            assert!(text.contains(&format!("{} and 1 more", locks[0])), "{text}");
            let said = "2 rows are locked by a process that has left or stands still";
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(text.contains(said), has_others, "{text}");
        }
        let errors = vec!["account: a leaf is torn".to_owned()];
        let check = structure_check(&StructureReport { errors, ..structure }, true);
        assert!(check.shows_damage(), "locks do not hide a damage");
    }

    /// A database whose memory is full can still be checked, since checks only read.
    #[test]
    fn a_check_needs_no_memory() {
        let (db, workload, loaded) = trial::loaded();
        take_the_rest(&db);
        let before = BeforeRun::new(&db, &workload, loaded);
        let run = trial::run(&db, &workload);
        assert!(!run.is_out_of_memory && run.totals.committed() > 0, "{run:?}");
        let isolation = Isolation::Snapshot;
        let subject = Subject {
            parameters: Parameters::default(),
            isolation,
            threads: 1,
            rate: None,
            seed: 1,
        };
        let report = Report::new(&db, &workload, &subject, before, &run, &[]);
        assert!(report.problems.is_empty(), "{:?}", report.problems);
        assert!(report.checks.len() > 1, "{:?}", report.checks);
        assert!(report.checks.iter().all(|check| check.ok), "{:?}", report.checks);
        assert_eq!(report.verdict(), Verdict::Sound);
    }
}
