//! The shipped workload folders.

use sql::{CHECKS, Program, WorkloadFolder};
use std::fs;
use std::path::{Path, PathBuf};

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads");
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join("procedures.sql").is_file())
        .collect();
    folders.sort();
    folders
}

#[test]
fn every_shipped_folder_is_read() {
    for folder in folders() {
        let program = Program::read(&folder).unwrap_or_else(|error| panic!("{error}"));
        assert!(program.embedded_statements().count() > 0, "{}", folder.display());
        if folder.join("workload.toml").is_file() {
            WorkloadFolder::read(&folder).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// The number of checks of `smallbank` with this `checks.sql`, or the error.
fn told(name: &str, checks: &str) -> Result<usize, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder can be made");
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads/smallbank");
    for file in ["schema.sql", "procedures.sql", "workload.toml"] {
        fs::copy(shipped.join(file), folder.join(file)).expect("it is shipped");
    }
    fs::write(folder.join(CHECKS), checks).expect("a file can be written");
    let read = WorkloadFolder::read(&folder);
    read.map(|folder| folder.checks.procedures.len()).map_err(|error| error.to_string())
}

#[test]
fn checks_are_functions_without_parameters_that_give_rows() {
    let rows =
        "RETURNS TABLE (who bigint) LANGUAGE sql STABLE AS $$ SELECT customer_id FROM savings $$;";
    assert_eq!(told("none", ""), Ok(0));
    assert_eq!(told("right", &format!("CREATE FUNCTION wrong_rows() {rows}")), Ok(1));
    let refused = |name: &str, text: &str| told(name, text).expect_err("it is no check");
    let parameter = refused("parameter", &format!("\nCREATE FUNCTION wrong_rows(x bigint) {rows}"));
    assert!(parameter.contains("checks.sql:2:1"), "{parameter}");
    assert!(parameter.contains("`wrong_rows` has parameters, returns no rows"), "{parameter}");
    assert!(parameter.contains("RETURNS TABLE"), "{parameter}");
    let value = "CREATE FUNCTION wrong_rows() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT 1::bigint $$;";
    assert!(refused("value", value).contains("returns no rows"));
    let taken = refused("taken", &format!("CREATE FUNCTION balance() {rows}"));
    assert!(taken.contains("the check `balance` has the name of a procedure"), "{taken}");
}
