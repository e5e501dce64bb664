//! A workload with its generated code linked, as a program and as a library: the code is up to
//! date, and it executes the calls, in one process, on simulated machines, and on the compute
//! servers of a cluster.

use codegen::project::{Project, Source};
use codegen::{folder, generate};
use namdb::procedures::{CallFailure, Database, Options, Tables};
use procedure::Workload;
use serde_json::Value;
use sql::WorkloadFolder;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

fn run(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lending"));
    command.args(arguments.split_whitespace()).output().expect("the program was built")
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns a file name that is unique to this test run.
fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("namdb-lending-{}-{name}", std::process::id()))
}

/// Runs a benchmark of a folder; returns its report, and what it printed to standard error.
fn bench(folder: &Path, options: &str) -> (Value, String) {
    let output = run(&format!("bench {} --json - {options}", folder.display()));
    let told = said(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{options}: {told}");
    (serde_json::from_slice(&output.stdout).expect("the report is JSON"), told)
}

/// Copies the folder, and changes a message in its procedures.
fn changed(name: &str) -> PathBuf {
    let copy = temporary(name);
    std::fs::create_dir_all(copy.join("plans")).expect("there is a place for temporary files");
    for of in ["", "plans"] {
        for entry in std::fs::read_dir(Path::new(FOLDER).join(of)).expect("it is there") {
            let entry = entry.expect("it can be read");
            if entry.path().is_file() {
                let to = copy.join(of).join(entry.file_name());
                std::fs::copy(entry.path(), to).expect("there is room");
            }
        }
    }
    let file = copy.join("procedures.sql");
    let text = std::fs::read_to_string(&file).expect("it was copied");
    std::fs::write(&file, text.replace("No copy is left", "All are away")).expect("it is ours");
    copy
}

#[test]
fn the_recorded_code_is_up_to_date() {
    let load = WorkloadFolder::read(Path::new(FOLDER)).expect("it is in order").load;
    let workload = Workload::read(Path::new(FOLDER)).expect("its plans are there");
    let generated = generate(&workload, &load);
    assert_eq!(generated.left, [], "no procedure is left to the executor");
    let project = Project::new(Path::new(FOLDER), &load.name);
    let changes = folder::write(&project.module(), &generated, true).expect("it can be read");
    let write = "write them with `namdb spade generate examples/lending --crate examples/lending`";
    assert!(changes.is_empty(), "{changes:?}: {write}");
    // A project elsewhere has the same program and library.
    let elsewhere = temporary("project");
    let source = Source::Checkout(Path::new(FOLDER).join("../.."));
    Project::new(&elsewhere, &load.name).write(&source, false).expect("there is room");
    for file in ["src/main.rs", "src/lib.rs"] {
        let [here, there] = [Path::new(FOLDER), &elsewhere]
            .map(|folder| std::fs::read_to_string(folder.join(file)).expect("it is there"));
        assert_eq!(here, there, "{file}");
    }
    std::fs::remove_dir_all(elsewhere).expect("it is ours");
}

#[test]
fn the_program_runs_the_workload_by_its_code() {
    let options = "--threads 2 --seconds 0.5 --warm-up 0.1 --memory 512M";
    for (code, expected) in [("", "generated code"), ("--code plans", "the executor of plans")] {
        let (report, told) = bench(Path::new(FOLDER), &format!("{options} {code}"));
        assert_eq!(report["options"]["code"], expected, "{told}");
        assert!(told.contains("The database is consistent: all 4 checks hold"), "{told}");
        assert!(report["per_type"]["lend"]["count"].as_f64() > Some(100.0), "{report:#}");
    }
    let help = said(&run("bench --help").stdout);
    assert!(help.contains("Usage: lending bench"), "{help}");
}

#[test]
fn simulated_machines_run_it_by_its_code() {
    let options = "--profile connectx3-fdr --machines 2 --lanes 4 --code generated";
    let (report, told) = bench(Path::new(FOLDER), options);
    assert_eq!(
        (&report["fabric"], &report["options"]["code"]),
        (&"sim".into(), &"generated code".into())
    );
    assert!(told.contains("The database is consistent"), "{told}");
}

/// Compute servers execute procedures with the code that the benchmark's process uses, and refuse
/// code that they do not have linked; here they run this program, too.
#[test]
fn compute_servers_of_a_cluster_run_it_by_its_code() {
    for (fabric, file) in [("tcp", temporary("tcp.toml")), ("shm", temporary("shm.toml"))] {
        let path = file.display();
        let servers = "--memory-servers 2 --compute-servers 2 --memory 128M";
        let up = run(&format!("cluster up --file {path} --fabric {fabric} {servers}"));
        assert_eq!(up.status.code(), Some(0), "{}", said(&up.stderr));
        let options = format!("--threads 1 --seconds 0.5 --warm-up 0.1 --cluster {path}");
        let (report, told) = bench(Path::new(FOLDER), &options);
        assert_eq!(report["options"]["code"], "generated code", "{told}");
        assert_eq!(report["fabric"], fabric);
        let servers = report["compute_servers"].as_array().map(Vec::len);
        assert_eq!(servers, Some(2), "{report:#}");
        assert!(told.contains("The database is consistent"), "{told}");

        // Another program joins the cluster, and calls by name.
        let options = Options {
            code: lending::code(),
            cluster: Some(file.clone()),
            tables: Tables::Present,
            sessions: 1,
            ..Options::default()
        };
        let database = Database::open(FOLDER, &options).unwrap_or_else(|error| panic!("{error}"));
        let session = database.session().unwrap_or_else(|error| panic!("{error}"));
        let mut look_up = session.call("look_up").expect("the workload has it");
        let rows = look_up.bind(0, 7).expect("an integer").execute().expect("it is there");
        assert_eq!(rows.len(), 1);
        assert_eq!((session.is_generated(), session.counts().generated), (true, 1));
        drop((look_up, session, database));
        let down = run(&format!("cluster down --file {path}"));
        assert_eq!(down.status.code(), Some(0), "{}", said(&down.stderr));
        std::fs::remove_file(&file).expect("it is ours");
    }
}

#[test]
fn code_of_other_procedures_is_ignored_with_a_message() {
    let copy = changed("changed");
    let options = "--threads 1 --seconds 0.2 --warm-up 0 --memory 512M";
    let (report, told) = bench(&copy, options);
    assert_eq!(report["options"]["code"], "the executor of plans");
    let sentence = "code for the workload lending was generated for other procedures";
    assert!(told.contains(sentence) && told.contains("run by the executor of plans"), "{told}");
    let refused = run(&format!("bench {} {options} --code generated", copy.display()));
    let told = said(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(told.contains(sentence) && told.contains("spade generate DIR --crate"), "{told}");

    let options = Options { code: lending::code(), sessions: 1, ..Options::default() };
    let database = Database::open(&copy, &options).unwrap_or_else(|error| panic!("{error}"));
    assert!(!database.session().expect("there are lanes").is_generated());
    std::fs::remove_dir_all(&copy).expect("it is ours");
}

/// Results and errors are the same with generated code and without it.
#[test]
fn programs_call_procedures_by_the_code() {
    for (code, is_generated) in [(lending::code(), true), (Vec::new(), false)] {
        let options = Options { code, sessions: 2, ..Options::default() };
        let database = Database::open(FOLDER, &options).unwrap_or_else(|error| panic!("{error}"));
        let session = database.session().expect("there are lanes");
        assert_eq!(session.is_generated(), is_generated);
        let mut lend = session.call("lend").expect("the workload has it");
        let lent = lend.bind("who", 1).and_then(|call| call.bind("what", 2));
        let left = lent.expect("both are integers").execute().expect("a copy is there");
        let left = left.int(0, 0).expect("an integer").expect("not null");
        for expected in (0..left).rev() {
            let rows = lend.execute().expect("a copy is there");
            assert_eq!(rows.int(0, 0), Ok(Some(expected)));
        }
        let refused = lend.execute().expect_err("all are away");
        let (sqlstate, message) = ("P0001".to_owned(), "No copy is left".to_owned());
        assert_eq!(refused, CallFailure::Refused { sqlstate, message });
        let calls = left as u64 + 2;
        let counts = session.counts();
        let expected = if is_generated { (calls, 0) } else { (0, calls) };
        assert_eq!((counts.generated, counts.executed), expected, "{counts:?}");
    }
}
