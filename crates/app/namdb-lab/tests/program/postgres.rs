//! `namdb bench DIR --postgres`.

use super::folder::small;
use super::support::{namdb, number, temporary, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs it for a short time; `None` without PostgreSQL.
fn beside(workload: &str, options: &str) -> Option<(String, Value)> {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("beside-{workload}"));
    let folder = small(workload, &scratch);
    let json = temporary(&format!("beside-{workload}.json"));
    let output = namdb(&format!(
        "bench {} --postgres --threads 2 --warm-up 0.2 --memory 1G --json {} {options}",
        folder.display(),
        json.display()
    ));
    let errors = text(&output.stderr);
    if output.status.code() == Some(2) && errors.contains("apt-get install postgresql") {
        assert!(std::env::var_os("NAMDB_CI").is_none(), "{errors}");
        println!("skipped: {errors}");
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let report = std::fs::read_to_string(&json).expect("the report was written");
    std::fs::remove_file(&json).expect("the report is ours");
    Some((text(&output.stdout), serde_json::from_str(&report).expect("the report is JSON")))
}

#[test]
fn subscribers_are_the_same_in_postgresql() {
    let Some((drawn, report)) = beside("tatp", "--seconds 0.5") else { return };
    assert!(drawn.contains("Beside PostgreSQL") && drawn.contains("namdb commits"), "{drawn}");
    assert!(drawn.lines().all(|line| line.len() <= 80), "too wide for a terminal:\n{drawn}");
    let theirs = &report["postgresql"];
    assert_eq!(
        (&theirs["isolation"], number(theirs, "/clients")),
        (&"repeatable read".into(), 2.0)
    );
    assert!(number(theirs, "/load/rows") > 5_000.0 && number(theirs, "/txn_per_s") > 0.0);
    assert_eq!(number(theirs, "/failed"), 0.0, "{theirs:#}");
    // By the specification, more than half of the writing calls are rolled back: 3.5 % of all
    // calls.
    for side in [theirs, &report["namdb"]] {
        let (committed, rolled_back) = (number(side, "/committed"), number(side, "/rolled_back"));
        let share = rolled_back / (committed + rolled_back);
        assert!((0.02..0.06).contains(&share), "{share} of {side:#}");
    }
    let shares = [theirs, &report["namdb"]].map(|side| {
        number(side, "/per_type/get_subscriber_data/count")
            / number(side, "/attempted_per_s")
            / number(side, "/seconds")
    });
    assert!(shares.iter().all(|share| (0.25..0.45).contains(share)), "{shares:?}");
    let ratio = number(&report, "/namdb/txn_per_s") / number(theirs, "/txn_per_s");
    assert!((number(&report, "/ratio") - ratio).abs() < 1e-6 * ratio);
}

/// Two clients on one warehouse: some calls conflict and are retried. Orders have arrays, payments
/// have decimals.
#[test]
fn orders_are_the_same_in_postgresql() {
    let Some((_, report)) = beside("tpcc", "--clients 3 --seconds 2") else { return };
    let theirs = &report["postgresql"];
    assert_eq!((number(theirs, "/clients"), number(theirs, "/failed")), (3.0, 0.0), "{theirs:#}");
    for kind in ["new_order", "payment"] {
        assert!(number(theirs, &format!("/per_type/{kind}/count")) > 0.0, "{theirs:#}");
    }
    assert!(number(theirs, "/retries") > 0.0, "{theirs:#}");
}

#[test]
fn a_comparison_at_a_rate_or_on_a_cluster_is_refused() {
    for option in ["--rate 100", "--cluster nowhere.toml"] {
        let output = namdb(&format!("bench {} --postgres {option}", shipped()));
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{option}: {errors}");
    }
}

fn shipped() -> String {
    format!("{}/../../../workloads/smallbank", env!("CARGO_MANIFEST_DIR"))
}

/// Servers and temporary folders left by an interrupted run.
#[cfg(target_os = "linux")]
fn left_behind(temporary: &Path) -> (Vec<String>, Vec<String>) {
    let name = temporary.display().to_string();
    let processes = std::fs::read_dir("/proc").expect("this is Linux").flatten();
    let commands = processes.filter_map(|process| {
        let command = std::fs::read(process.path().join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        command.contains(&name).then_some(command)
    });
    let folders = std::fs::read_dir(temporary).expect("it is ours").flatten();
    (commands.collect(), folders.map(|folder| folder.path().display().to_string()).collect())
}

/// Whether a file with this name exists somewhere below a folder.
#[cfg(target_os = "linux")]
fn has_file(folder: &Path, name: &str) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let path = entry.path();
        path.file_name().is_some_and(|found| found == name)
            || path.is_dir() && has_file(&path, name)
    })
}

/// Starts the program with its own temporary folder, and interrupts it this many times once the
/// file exists.
#[cfg(target_os = "linux")]
fn interrupted(arguments: &str, file: &str, interrupts: u32, place: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb-lab"));
    command.args(arguments.split_whitespace()).env("TMPDIR", place);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program was built");
    let mut looks = 0;
    while !has_file(place, file) && child.try_wait().expect("it is ours").is_none() {
        looks += 1;
        assert!(looks < 6000, "{file} does not come");
        namdb::host::sleep_ms(10);
    }
    for _ in 0..interrupts {
        // It may have exited already.
        let _ = kill_process(Pid::from_child(&child), Signal::INT);
        namdb::host::sleep_ms(1);
    }
    child.wait_with_output().expect("it was started here")
}

/// A terminal sends Ctrl-C to the whole process group. The server is not in this group, and before
/// the measured time there is no rate.
#[cfg(target_os = "linux")]
#[test]
fn what_ends_before_anything_counts_has_no_rate() {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::CommandExt;
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ended-early");
    let folder = small("smallbank", &scratch).display().to_string();
    let bench = format!("bench {folder} --postgres --memory 1G --threads 1 --warm-up 20");
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb-lab"));
    command.args(bench.split_whitespace()).process_group(0);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program was built");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let mut said: Vec<String> = Vec::new();
    let is_loaded = |line: &String| line.contains("loading PostgreSQL") && line.contains(" row");
    while let Some(line) = lines.next().map(|line| line.expect("UTF-8")) {
        said.push(line);
        if said.last().is_some_and(is_loaded) {
            namdb::host::sleep_ms(300);
            rustix::process::kill_process_group(Pid::from_child(&child), Signal::INT)
                .expect("it runs");
        }
    }
    let status = child.wait().expect("it was started here");
    let said = said.join("\n");
    if said.contains("apt-get install postgresql") {
        assert!(std::env::var_os("NAMDB_CI").is_none(), "{said}");
        return println!("skipped: {said}");
    }
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("ended by the user before PostgreSQL was measured"), "{said}");
    assert!(!said.contains("transactions/s") && !said.contains("lost its connection"), "{said}");
}

/// After one or two Ctrl-C while PostgreSQL loads or plans, its server stops and the temporary
/// folder is empty.
#[cfg(target_os = "linux")]
#[test]
fn nothing_of_postgresql_stays_behind_when_the_user_ends_the_run() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interrupted");
    let folder = small("smallbank", &scratch).display().to_string();
    // Enough rows for many seconds.
    let bench = format!("bench {folder} --postgres --units 2000 --memory 1G --threads 1");
    let plan = format!("spade plan {folder} --check");
    for (arguments, file, interrupts) in [
        (&bench, "table0.copy", 1),
        (&bench, "table0.copy", 2),
        (&plan, "PG_VERSION", 1),
        (&plan, "PG_VERSION", 2),
    ] {
        let place = temporary("interrupted");
        std::fs::create_dir(&place).expect("there is a place for temporary files");
        let output = interrupted(arguments, file, interrupts, &place);
        let said = text(&output.stderr);
        if said.contains("apt-get install postgresql") {
            assert!(std::env::var_os("NAMDB_CI").is_none(), "{said}");
            std::fs::remove_dir_all(&place).expect("it is ours");
            return println!("skipped: {said}");
        }
        assert!(matches!(output.status.code(), Some(2 | 130)), "{arguments}: {said}");
        assert!(said.contains("press Ctrl-C again"), "{arguments}: {said}");
        assert_eq!(left_behind(&place), (Vec::new(), Vec::new()), "{arguments}: {said}");
        std::fs::remove_dir_all(&place).expect("it is ours");
    }
}
