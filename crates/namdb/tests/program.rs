//! The program as a user meets it: results, files, exit codes, and what it says to nonsense.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

fn namdb(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb"));
    command.args(arguments.split_whitespace()).output().expect("the program was built")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program writes UTF-8")
}

/// A file name of this test run that nobody else uses.
fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("namdb-test-{}-{name}", std::process::id()))
}

/// Runs a benchmark for a moment and returns its report.
fn bench(workload: &str) -> Value {
    let path = temporary(&workload.replace(|letter: char| !letter.is_alphanumeric(), "-"));
    let output = namdb(&format!(
        "bench {workload} --seconds 0.3 --warm-up 0.05 --memory 1G --json {}",
        path.display()
    ));
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{workload}: {errors}");
    let drawn = text(&output.stdout);
    assert!(drawn.contains("The database is consistent"), "{drawn}");
    assert!(
        drawn.lines().all(|line| line.len() <= 80),
        "a line is too long for a terminal:\n{drawn}"
    );
    let report = std::fs::read_to_string(&path).expect("the report was written");
    std::fs::remove_file(&path).expect("the report is ours");
    serde_json::from_str(&report).expect("the report is JSON")
}

fn number(report: &Value, pointer: &str) -> f64 {
    let found = report.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} of {report:#}"))
}

#[test]
fn the_report_has_everything_a_comparison_needs() {
    let report = bench("ycsb --records 2000 --record-bytes 100 --servers 2 --threads 2");
    for (pointer, value) in [
        ("/workload", "ycsb"),
        ("/fabric", "local"),
        ("/isolation", "snapshot"),
        ("/oracle", "double-collect"),
    ] {
        assert_eq!(report.pointer(pointer), Some(&Value::from(value)));
    }
    assert_eq!((number(&report, "/threads"), number(&report, "/servers")), (2.0, 2.0));
    assert_eq!(number(&report, "/seed"), 1.0);
    let seconds = number(&report, "/seconds");
    assert!((0.29..3.0).contains(&seconds), "{seconds} s instead of 0.3");
    for pointer in [
        "/cpu_seconds",
        "/txn_per_s",
        "/per_type/read/per_s",
        "/per_type/read/count",
        "/per_type/read/p50_us",
        "/per_type/read/verbs",
        "/per_type/read/bytes",
        "/memory/raw_bytes",
        "/memory/per_table/usertable/used_bytes",
    ] {
        assert!(number(&report, pointer) > 0.0, "{pointer}");
    }
    let quantiles = ["p50_us", "p99_us", "p999_us", "max_us"]
        .map(|quantile| number(&report, &format!("/per_type/update/{quantile}")));
    assert!(quantiles.is_sorted(), "{quantiles:?}");
    // A read is one round trip, and a further one where it meets a row that is being written.
    let round_trips = number(&report, "/per_type/read/round_trips");
    assert!((1.0..1.1).contains(&round_trips), "{round_trips} round trips for a read");
    for field in ["raw_bytes", "used_bytes", "per_table/usertable/rows"] {
        assert!(number(&report, &format!("/memory/after_load/{field}")) > 0.0, "{field}");
    }
    for field in ["given_up", "unknown"] {
        assert_eq!(number(&report, &format!("/per_type/update/{field}")), 0.0, "{field}");
    }
    let used = number(&report, "/memory/used_bytes");
    assert!(used > number(&report, "/memory/raw_bytes"));
    let checks = report["checks"].as_array().expect("a list");
    assert!(checks.len() >= 4 && checks.iter().all(|check| check["ok"] == true));
    assert!(checks.iter().all(|check| check["name"].is_string() && check["detail"].is_string()));
    assert!(report["aborts"].is_object() && report["machine"].is_string());
    assert!(report["commit"].is_string());
}

#[test]
fn every_workload_runs_under_both_isolation_levels_and_oracles() {
    for world in ["--isolation serializable --threads 2", "--oracle frozen --threads 1"] {
        for workload in [
            "bank --records 100",
            "append --recorded 2000",
            "smallbank --records 1000",
            "ycsb --workload E --records 500 --record-bytes 50",
            "ycsb --ops-per-txn 4 --read-share 50 --uniform --records 500",
        ] {
            let report = bench(&format!("{workload} {world}"));
            assert!(number(&report, "/committed") > 0.0, "{workload} {world}");
        }
    }
}

#[test]
fn tpcc_reports_its_own_figure() {
    let report = bench("tpcc --warehouses 2 --distribution 50 --threads 2");
    assert!(number(&report, "/new_order_per_s") > 0.0);
    assert_eq!(report["per_type"].as_object().map(serde_json::Map::len), Some(5));
    // All twelve conditions, the eleventh of the time before the run.
    let checks = report["checks"].as_array().expect("a list");
    for condition in 1..=12 {
        let said = |check: &&Value| {
            let name = check["name"].as_str().expect("a sentence");
            name.contains(&format!("condition {condition}:"))
                && name.starts_with("after the load") == (condition == 11)
        };
        assert_eq!(checks.iter().filter(said).count(), 1, "condition {condition}");
    }
}

#[test]
fn aborts_are_told_by_type_and_reason() {
    let report = bench("smallbank --records 100 --hot 2 --threads 2 --isolation serializable");
    let by_type = report["per_type"].as_object().expect("a map").values();
    let reasons = by_type.flat_map(|kind| kind["aborts"].as_object().expect("a map").values());
    let sum: f64 = reasons.map(|count| count.as_f64().expect("a number")).sum();
    let all = report["aborts"].as_object().expect("a map").values();
    assert_eq!(sum, all.map(|count| count.as_f64().expect("a number")).sum::<f64>());
}

/// Memory runs out in the measured time, or before it: what was measured is reported, and the exit code
/// says that it was not all.
#[test]
fn a_run_that_fills_the_memory_says_so() {
    let path = temporary("full.json");
    for (warm_up, sentence) in [("0", "MEMORY RAN OUT after"), ("60", "RAN OUT before anything")] {
        let output = namdb(&format!(
            "bench ycsb --workload D --records 1000 --memory 48M --seconds 60 --threads 1 \
             --warm-up {warm_up} --json {}",
            path.display()
        ));
        let drawn = text(&output.stdout);
        assert_eq!(output.status.code(), Some(3), "{drawn}{}", text(&output.stderr));
        assert!(drawn.contains(sentence) && !drawn.contains("FAIL"), "{drawn}");
        let report: Value =
            serde_json::from_slice(&std::fs::read(&path).expect("written")).expect("JSON");
        assert_eq!(report["is_out_of_memory"], true);
        assert_eq!(report["is_interrupted"], false);
        assert!(number(&report, "/seconds") < 50.0);
        assert_eq!(number(&report, "/committed") > 0.0, warm_up == "0");
        // The check commits a row. Whether what is left will do for that is a matter of the load's extents.
        let problem = report.pointer("/problems/0").and_then(Value::as_str);
        assert!(problem.is_none_or(|problem| problem.contains("out_of_memory")), "{drawn}");
        assert_eq!(drawn.contains("NOT DONE"), problem.is_some(), "{drawn}");
    }
    std::fs::remove_file(path).expect("ours");
}

/// Nothing panics where nobody listens, or where the disk is full; the JSON is written all the same.
#[cfg(target_os = "linux")]
#[test]
fn closed_and_full_streams_are_borne() {
    use std::process::Stdio;
    let full = || {
        let options = std::fs::OpenOptions::new().write(true).open("/dev/full");
        Stdio::from(options.expect("Linux has it"))
    };
    // The reader of this pipe is gone.
    let closed = || {
        let (reader, writer) = std::io::pipe().expect("pipes are there");
        drop(reader);
        Stdio::from(writer)
    };
    let path = temporary("streams.json");
    let json = format!("--json {}", path.display());
    for command in [
        format!("bench bank --records 10 --seconds 0.1 --warm-up 0 --memory 128M {json}"),
        format!("trace bank --records 10 --memory 128M {json}"),
        "counts --workload point-read --transactions 10".to_owned(),
    ] {
        let outcomes = [(full(), full(), 2), (full(), closed(), 2), (closed(), full(), 0)];
        for (output, errors, code) in outcomes {
            let status = Command::new(env!("CARGO_BIN_EXE_namdb"))
                .args(command.split_whitespace())
                .stdout(output)
                .stderr(errors)
                .status()
                .expect("the program was built");
            assert_eq!(status.code(), Some(code), "{command}");
            if command.contains("--json") {
                let written = std::fs::read(&path).expect("the JSON comes first");
                serde_json::from_slice::<Value>(&written).expect("JSON");
                std::fs::remove_file(&path).expect("ours");
            }
        }
    }
}

/// The limit of `ulimit -v` bounds the memory servers, or is named as what there is too little of.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_address_space_is_kept_to() {
    let limited = |kibibytes: u32| {
        let program = env!("CARGO_BIN_EXE_namdb");
        let run = "bench bank --records 10 --seconds 0.1 --warm-up 0 --threads 1";
        let script = format!("ulimit -v {kibibytes}; exec {program} {run}");
        Command::new("sh").args(["-c", &script]).output().expect("there is a shell")
    };
    let output = limited(2 << 20);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = limited(550 << 10);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("MiB; make it smaller"), "{errors}");
}

#[test]
fn json_can_take_the_output() {
    for arguments in [
        "bench bank --records 10 --seconds 0.1 --warm-up 0 --memory 128M --json -",
        "trace bank --records 10 --memory 128M --json -",
    ] {
        let output = namdb(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("nothing but JSON");
        assert!(text(&output.stderr).contains("round trip"));
    }
}

#[test]
fn an_early_error_leaves_no_file() {
    let path = temporary("early.json");
    let output = namdb(&format!("bench ycsb --records 1 --json {}", path.display()));
    assert_eq!(output.status.code(), Some(2));
    assert!(!path.exists());
}

#[test]
fn counts_are_the_same_every_time() {
    for workload in ["tpcc", "ycsb", "smallbank", "point-read"] {
        let arguments = format!("counts --workload {workload} --transactions 200");
        let (first, second) = (namdb(&arguments), namdb(&arguments));
        assert!(first.status.success(), "{}", text(&first.stderr));
        assert_eq!(text(&first.stdout), text(&second.stdout));
        // What is said would be counted among the instructions.
        assert_eq!(text(&first.stderr), "");
        let line: Value = serde_json::from_slice(&first.stdout).expect("one line of JSON");
        assert_eq!((&line["workload"], &line["transactions"]), (&workload.into(), &200.into()));
        let types = line["types"].as_object().expect("a map");
        let count: f64 =
            types.keys().map(|kind| number(&line, &format!("/types/{kind}/count"))).sum();
        assert_eq!(count, 200.0);
        assert!(number(&line, "/round_trips") > 0.0);
    }
}

/// On a terminal there is a bar with the time left.
#[cfg(target_os = "linux")]
#[test]
fn counts_show_progress_on_a_terminal() {
    use rustix::pty;
    use std::io::Read;
    let master = pty::openpt(pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY).expect("a pty");
    pty::grantpt(&master).and_then(|()| pty::unlockpt(&master)).expect("it is ours");
    let name = pty::ptsname(&master, Vec::new()).expect("it has a name");
    let mut options = std::fs::OpenOptions::new();
    let name = name.into_string().expect("ASCII");
    let terminal = options.read(true).write(true).open(name).expect("it is unlocked");
    let window = rustix::termios::Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&terminal, window).expect("it is a terminal");
    let mut child = Command::new(env!("CARGO_BIN_EXE_namdb"))
        .args("counts --workload tpcc --transactions 20000".split_whitespace())
        .stdout(std::process::Stdio::null())
        .stderr(terminal)
        .env("TERM", "xterm")
        .spawn()
        .expect("the program was built");
    // The last reader of a terminal that all writers have left gets an error in place of an end.
    let mut said = Vec::new();
    let _ = std::fs::File::from(master).read_to_end(&mut said);
    assert!(child.wait().expect("it was started here").success());
    let said = text(&said);
    assert!(said.contains("running") && said.contains("s left"), "{said}");
    assert!(said.contains("20,000 transactions ("), "{said}");
}

#[test]
fn a_trace_shows_the_verbs_of_each_type() {
    let output = namdb("trace smallbank --records 100 --memory 64M");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let traces = text(&output.stdout);
    for kind in ["amalgamate", "balance", "send_payment", "write_check"] {
        assert!(traces.lines().any(|line| line == kind), "no {kind} in\n{traces}");
    }
    assert!(traces.contains("round trip") && traces.contains("CompareAndSwap"));
}

#[test]
fn a_rate_limits_the_transactions_and_leaves_the_processors_time() {
    let output = namdb("bench bank --seconds 1 --threads 2 --rate 500 --memory 256M --json -");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!((400.0..550.0).contains(&number(&report, "/txn_per_s")), "{report}");
    assert!(number(&report, "/cpu_seconds") < 0.5, "{report}");
    assert!(text(&output.stderr).contains("at most 500 transactions per second"));
    assert!(!text(&output.stderr).contains("busy with other things"));
}

/// What a log of a soak holds.
fn logged(path: &std::path::Path) -> Vec<Value> {
    let log = std::fs::read_to_string(path).unwrap_or_default();
    log.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

#[test]
fn a_soak_samples_draws_and_writes() {
    let [json, plot, log] = ["soak.json", "soak.svg", "soak.jsonl"].map(temporary);
    let output = namdb(&format!(
        "soak --minutes 0.03 --sample 0.3 --warehouses 1 --threads 1 --memory 2G \
         --json {} --plot {} --log {}",
        json.display(),
        plot.display(),
        log.display()
    ));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let soak: Value =
        serde_json::from_slice(&std::fs::read(&json).expect("written")).expect("JSON");
    assert_eq!(soak["samples"].as_array().map(Vec::len), Some(6));
    assert_eq!(soak["samples"], Value::from(logged(&log)));
    assert!(number(&soak, "/samples/5/txn_per_s") > 0.0);
    assert!(number(&soak, "/samples/5/buffers_in_use") > 0.0);
    assert!(number(&soak, "/report/committed") > 0.0);
    assert!(text(&output.stdout).contains("version buffers in use"));
    assert!(std::fs::read_to_string(&plot).expect("written").starts_with("<svg"));
    for path in [json, plot, log] {
        std::fs::remove_file(path).expect("ours");
    }
}

/// A soak that is killed without a warning leaves the samples it has taken.
#[cfg(unix)]
#[test]
fn a_killed_soak_leaves_its_samples() {
    let [plot, log] = ["killed.svg", "killed.jsonl"].map(temporary);
    let arguments = format!(
        "soak --minutes 10 --sample 0.2 --warehouses 1 --threads 1 --memory 2G --plot {} --log {}",
        plot.display(),
        log.display()
    );
    // The time left behind the process size is that of the run, not of the load.
    let output = signalled(&arguments, "iB, ", rustix::process::Signal::KILL);
    assert_eq!(output.status.code(), None, "{}", text(&output.stderr));
    let samples = logged(&log);
    assert!(samples.len() > 1, "{samples:?}");
    assert!(samples.iter().all(|sample| number(sample, "/txn_per_s") > 0.0), "{samples:?}");
    assert!(samples.iter().map(|sample| number(sample, "/at_s")).is_sorted(), "{samples:?}");
    assert!(!plot.exists());
    std::fs::remove_file(log).expect("ours");
}

/// The report comes even if its samples cannot be written down.
#[cfg(target_os = "linux")]
#[test]
fn a_soak_bears_a_full_disk() {
    let plot = temporary("full.svg");
    let output = namdb(&format!(
        "soak --minutes 0.01 --warehouses 1 --threads 1 --memory 1G --plot {} --log /dev/full",
        plot.display()
    ));
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("the run goes on") && errors.contains("cannot write /dev/full"));
    assert!(text(&output.stdout).contains("The database is consistent"));
    std::fs::remove_file(plot).expect("ours");
}

/// What was measured is not lost with the file that was to keep it.
#[cfg(target_os = "linux")]
#[test]
fn a_report_survives_its_json() {
    let output =
        namdb("bench bank --records 10 --seconds 0.1 --warm-up 0 --memory 128M --json /dev/full");
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("cannot write /dev/full"), "{errors}");
    assert!(text(&output.stdout).contains("The database is consistent"));
}

#[test]
fn nonsense_is_answered_in_a_sentence() {
    for (arguments, sentence) in [
        ("bench tpcc --warehouses 0", "1..=32767"),
        ("bench tpcc --threads 64", "1..=63"),
        ("bench tpcc --seconds -3", "a time is a number over 0"),
        ("bench tpcc --seconds 1e-300", "a time is a number over 0"),
        ("bench tpcc --warm-up -1", "a time is a number from 0"),
        ("bench tpcc --warehouses -1", "1..=32767"),
        ("bench ycsb --zipf -1", "from 0 to 2"),
        ("bench ycsb --zipf 1e308", "1e308 was asked for"),
        ("bench ycsb --records 64 --ops-per-txn 64", "twice as many"),
        ("bench ycsb --records 1000 --memory 36M", "--memory 4"),
        ("soak --minutes 1 --sample 61", "at most the 60 s of the run"),
        ("soak --minutes 1 --rate 0", "a number of transactions per second, from 0.01"),
        ("bench bank --rate fast", "a number of transactions per second, from 0.01"),
        ("soak --minutes 1 --sample 0.05", "at least 0.1 s"),
        ("soak --minutes 1 --json same --plot same", "files of their own"),
        ("soak --minutes 1 --log same --plot same", "files of their own"),
        ("soak --minutes 1 --log -", "the output is the report's"),
        ("soak --minutes 1 --log /no/such/folder/soak.jsonl", "cannot write /no/such/folder"),
        ("bench tpcc --seconds 0", "a time is a number over 0"),
        ("bench ycsb --workload G", "A, B, C, D, E and F"),
        ("bench ycsb --records 1", "too few"),
        ("bench ycsb --ops-per-txn 65", "1 to 64 operations"),
        ("bench ycsb --record-bytes 100000", "1 to 7168 bytes"),
        ("bench ycsb --zipf 3", "from 0 to 2"),
        ("bench ycsb --uniform --zipf 0.5", "cannot be used with"),
        ("bench ycsb --records 1000000000000", "make it smaller"),
        ("bench ycsb --memory 1M", "make it smaller"),
        ("bench ycsb --memory 4000T", "this machine has"),
        ("bench ycsb --memory much", "such as 4G"),
        ("bench smallbank --records 10 --hot 11", "11 of 10 were asked for"),
        ("bench bank --json /no/such/folder/result.json", "cannot write /no/such/folder"),
        ("counts --workload chess --transactions 1", "possible values"),
        ("soak --minutes 0", "a time is a number over 0"),
        ("dance", "unrecognized subcommand"),
    ] {
        let output = namdb(arguments);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {errors}");
        assert!(errors.contains(sentence), "{arguments} is answered by: {errors}");
        assert!(output.stdout.is_empty(), "{arguments} has a result");
    }
}

#[test]
fn help_teaches_by_example() {
    for command in ["", "bench", "bench ycsb", "demo", "soak", "counts", "trace"] {
        let output = namdb(&format!("{command} --help"));
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("namdb "), "{command}");
    }
    assert!(text(&namdb("--help").stdout).contains("Examples:"));
}

/// Two transactions that overlook each other's appends.
const WRITE_SKEW: &str = "\
{:type :ok, :process 0, :value [[:r 1 nil] [:append 2 5]]}
{:type :ok, :process 1, :value [[:r 2 nil] [:append 1 6]]}
";

#[test]
fn a_history_is_judged_and_drawn() {
    let paths = ["skew.edn", "skew.svg", "skew.dot", "skew.txt"].map(temporary);
    let [history, svg, dot, registers] = paths.each_ref().map(|path| path.display().to_string());
    std::fs::write(&history, WRITE_SKEW).expect("the folder is there");
    let judged = namdb(&format!("check history {history} --svg {svg} --dot {dot}"));
    let told = text(&judged.stdout);
    // Snapshots allow it, and nobody asked for more.
    assert_eq!(judged.status.code(), Some(0), "{told}");
    assert!(told.contains("2 transactions in 2 sessions on 2 keys"), "{told}");
    assert!(told.contains("T1 read key 1 before any write, and did not see that T2 wrote 6"));
    let serializable = |form: &str, options: &str| {
        namdb(&format!("check history {form} --isolation serializable {options}"))
    };
    let options = format!("--json - --registers {registers}");
    let judged = serializable(&history, &options);
    assert_eq!(judged.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&judged.stdout).expect("the output is JSON");
    assert_eq!(report["levels"][0]["verdict"], "violated");
    assert_eq!(report["levels"][0]["forbidden"][0], "G2");
    assert_eq!(report["findings"][0]["transactions"][1]["line"], 2);
    // The same as registers.
    let written = std::fs::read_to_string(&registers).expect("it was asked for");
    assert_eq!(written, "r(1,0,0,0)\nw(2,5,0,0)\nr(2,0,1,1)\nw(1,6,1,1)\n");
    assert_eq!(serializable(&registers, "").status.code(), Some(1));
    let drawn = [&svg, &dot].map(|path| std::fs::read_to_string(path).expect("it was asked for"));
    assert!(drawn[0].starts_with("<svg") && drawn[1].starts_with("digraph"));
    // Without beginnings nobody knows what came before what.
    let strong = namdb(&format!("check history {history} --isolation strong-snapshot"));
    assert_eq!(strong.status.code(), Some(3), "{}", text(&strong.stdout));
    paths.iter().for_each(|path| std::fs::remove_file(path).expect("the file is ours"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_survives_its_history() {
    let output = namdb("bench append --seconds 0.1 --threads 1 --memory 256M --history /dev/full");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot write /dev/full"));
    assert!(text(&output.stdout).contains("transactions committed per second"));
}

#[test]
fn a_run_records_a_history_that_is_judged_again() {
    let path = temporary("run.edn");
    let options = "--recorded 3000 --lists 3 --threads 2 --isolation serializable";
    let report = bench(&format!("append {options} --history {}", path.display()));
    let checks = report["checks"].as_array().expect("a run has checks");
    let names: Vec<_> = checks.iter().filter_map(|check| check["name"].as_str()).collect();
    assert!(names.contains(&"the history is serializable"), "{names:?}");
    let judged = namdb(&format!("check history {} --isolation serializable", path.display()));
    let told = text(&judged.stdout);
    assert_eq!(judged.status.code(), Some(0), "{told}");
    // Two threads, and who looked at all lists in the end.
    assert!(told.contains("3,001 transactions in 3 sessions"), "{told}");
    std::fs::remove_file(&path).expect("the file is ours");
}

#[test]
fn a_file_that_is_no_history_is_answered_in_a_sentence() {
    let path = temporary("no-history.edn");
    for (content, sentence) in [
        ("{:type :ok\n :value [[:append 1 x]]}", "line 2, column 21: a value is an integer"),
        ("", "has no transactions, so there is nothing to judge"),
        (
            "{:type :ok :value [[:w 1 1]]}\n{:type :ok :value [[:w 1 1]]}",
            "lines 1 and 2 both write 1 to key 1",
        ),
        ("w(1,2,3)", "line 1, column 7: four numbers belong here"),
    ] {
        std::fs::write(&path, content).expect("the folder is there");
        let output = namdb(&format!("check history {}", path.display()));
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(sentence) && told.lines().count() == 1, "{told}");
    }
    std::fs::remove_file(&path).expect("the file is ours");
    let output = namdb("check history no-such-file.edn");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot read no-such-file.edn"));
}

/// Starts the program, signals it once its progress says `sentence`, and returns what it says then.
#[cfg(unix)]
fn signalled(arguments: &str, sentence: &str, signal: rustix::process::Signal) -> Output {
    use std::io::BufRead;
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb"));
    let mut child = command
        .args(arguments.split_whitespace())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program was built");
    let errors = child.stderr.take().expect("it is piped");
    let mut lines = std::io::BufReader::new(errors).lines();
    let said = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(sentence)));
    assert!(said.is_some(), "{arguments} ended without saying {sentence}");
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, signal).expect("it runs");
    let rest: Vec<String> = lines.map(|line| line.expect("UTF-8")).collect();
    let mut output = child.wait_with_output().expect("it was started here");
    output.stderr = rest.join("\n").into_bytes();
    output
}

/// Signals end a run early, and what was measured until then is reported.
#[cfg(unix)]
#[test]
fn an_interrupted_run_still_reports() {
    use rustix::process::Signal;
    for (signal, warm_up) in [(Signal::INT, "0.05"), (Signal::TERM, "0.05"), (Signal::HUP, "600")] {
        let path = temporary("interrupted.json");
        let arguments = format!(
            "bench bank --records 100 --seconds 600 --threads 1 --warm-up {warm_up} --memory 256M \
             --json {}",
            path.display()
        );
        let sentence = if warm_up == "600" { "warming up" } else { "s left" };
        let output = signalled(&arguments, sentence, signal);
        let drawn = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{drawn}{}", text(&output.stderr));
        let report: Value =
            serde_json::from_slice(&std::fs::read(&path).expect("written")).expect("JSON");
        assert_eq!(report["is_interrupted"], true);
        let seconds = number(&report, "/seconds");
        if warm_up == "600" {
            // All that ran is in the database, though none of it counts: no check may miss it.
            assert!(drawn.contains("ended before anything was measured"), "{drawn}");
            assert!(drawn.contains("The database is consistent"), "{drawn}");
            assert_eq!(seconds, 0.0);
        } else {
            assert!(drawn.contains("ended early by the user"), "{drawn}");
            assert!((0.1..60.0).contains(&seconds), "{seconds}");
        }
        std::fs::remove_file(path).expect("ours");
    }
}

/// A soak that is ended before its first sample says so, and draws nothing.
#[cfg(unix)]
#[test]
fn a_soak_without_samples_says_so() {
    let [plot, log] = ["none.svg", "none.jsonl"].map(temporary);
    let arguments = format!(
        "soak --minutes 10 --sample 600 --warehouses 1 --threads 1 --memory 1G --plot {} --log {}",
        plot.display(),
        log.display()
    );
    let output = signalled(&arguments, "warming up", rustix::process::Signal::INT);
    let drawn = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{drawn}{}", text(&output.stderr));
    assert!(drawn.contains("No sample was taken"), "{drawn}");
    assert!(!plot.exists() && !log.exists());
}
