//! A user's workload folder: a table without a primary key, rows that violate the schema, and the
//! report of failing calls.

use super::folder::small;
use crate::support::{namdb, number, temporary, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Accounts and transfers between them; transfers have no primary key.
const LEDGER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sql/interpreter/tests/ledger");

/// Visitors who come alone or in pairs, and leave.
const VISITS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../spade/folder_benchmark/tests/rows/visits");

/// The ledger with one text of its `workload.toml` replaced.
fn changed(name: &str, from: &str, to: &str) -> PathBuf {
    changed_copy(Path::new(LEDGER), name, from, to)
}

fn changed_copy(original: &Path, name: &str, from: &str, to: &str) -> PathBuf {
    let folder = temporary(name);
    fs::create_dir_all(folder.join("plans")).expect("there is a place for temporary files");
    for file in ["schema.sql", "procedures.sql"] {
        fs::copy(original.join(file), folder.join(file)).expect("it is there");
    }
    for plan in fs::read_dir(original.join("plans")).expect("there are plans") {
        let plan = plan.expect("it can be read");
        fs::copy(plan.path(), folder.join("plans").join(plan.file_name())).expect("there is room");
    }
    let load = fs::read_to_string(original.join("workload.toml")).expect("it is there");
    assert!(load.contains(from), "{from}");
    fs::write(folder.join("workload.toml"), load.replacen(from, to, 1)).expect("there is room");
    folder
}

/// Runs a folder for a short time.
fn bench(folder: &Path, options: &str) -> (Option<i32>, String, Value) {
    let output = namdb(&format!(
        "bench {} --threads 1 --seconds 0.5 --warm-up 0 --memory 512M --json - {options}",
        folder.display()
    ));
    let report = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), text(&output.stderr), report)
}

#[test]
fn a_table_without_a_primary_key_is_loaded_and_used() {
    let (code, told, report) = bench(Path::new(LEDGER), "");
    assert_eq!(code, Some(0), "{told}");
    assert!(number(&report, "/memory/after_load/per_table/transfer/rows") > 100.0);
    assert!(number(&report, "/per_type/pay/count") > 0.0);
    assert_eq!(report["options"]["code"], "the executor of plans", "there is no generated code");
    // Payers without money, missing payees, zero amounts and payments to oneself violate the
    // schema.
    assert!(number(&report, "/per_type/pay/rolled_back") > 0.0, "{told}");
    assert!(told.contains("Failed by the workload's rules:") && told.contains("pay: "), "{told}");
}

#[test]
fn rows_that_the_schema_refuses_are_told_before_anything_runs() {
    for (name, from, to, said) in [
        (
            "refused-check",
            "{ uniform = [1, 10000], decimals = 2 }",
            "{ constant = 0 }",
            "its check transfer_amount_check does not hold for (amount) = (0.00)",
        ),
        (
            "refused-reference",
            "columns.receiver = { uniform = [1, \"account.rows\"], except = \"sender\" }",
            "columns.receiver = { uniform = [\"account.rows + 1\", \"account.rows + 1\"] }",
            "no row of account has the id that (receiver) = (101) references",
        ),
        (
            "refused-key",
            "columns.id = { sequence = [1, \"account.rows\"] }",
            "columns.id = { sequence = [1, 99] }",
            "account cannot be loaded, because of its row with (id) = (1): another row has this key already",
        ),
    ] {
        let folder = changed(name, from, to);
        let (code, told, _) = bench(&folder, "");
        assert_eq!(code, Some(2), "{name}: {told}");
        assert!(told.contains(said) && told.contains(" in workload.toml"), "{name}: {told}");
        fs::remove_dir_all(&folder).expect("the folder is ours");
    }
}

#[test]
fn a_call_that_ends_as_none_should_is_told_with_its_arguments() {
    let folder = changed(
        "strange-call",
        "sum = { uniform = [0, 5000], decimals = 2 }",
        "sum = { constant = 99999999999 }",
    );
    let (code, told, _) = bench(&folder, "");
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("a call of pay(") && told.contains("99999999999"), "{told}");
    assert!(told.contains("SQLSTATE 22003"), "{told}");
    fs::remove_dir_all(&folder).expect("the folder is ours");
}

/// Calls that find nothing are counted separately, and an unexpected rate is no damage.
#[test]
fn a_rate_that_is_not_as_expected_is_no_damage() {
    let folder = small("tatp", &temporary("rates"));
    let (code, told, report) = bench(&folder, "");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("of the committed found no row, which counts as failed"), "{told}");
    assert!(told.contains("get_access_data: "), "{told}");
    let (committed, nothing) = (number(&report, "/committed"), number(&report, "/found_nothing"));
    assert!(nothing > 0.1 * committed && nothing < 0.4 * committed, "{nothing} of {committed}");
    let rate = (committed - nothing) / number(&report, "/seconds");
    assert!((number(&report, "/succeeded_per_s") / rate - 1.0).abs() < 1e-6);

    let file = folder.join("workload.toml");
    let load = fs::read_to_string(&file).expect("it is there");
    assert!(load.contains("succeeds = [0.59, 0.66]"), "{load}");
    fs::write(&file, load.replacen("succeeds = [0.59, 0.66]", "succeeds = 0.9", 1))
        .expect("it is ours");
    let (code, told, report) = bench(&folder, "");
    assert_eq!(code, Some(5), "{told}");
    assert!(told.contains("A RATE IS NOT AS EXPECTED") && !told.contains("DAMAGED"), "{told}");
    assert!(told.contains("  RATE ") && told.contains("checks of its data hold"), "{told}");
    let checks = report["checks"].as_array().expect("a list");
    let failed: Vec<&Value> = checks.iter().filter(|check| check["ok"] == false).collect();
    assert!(failed.len() == 1 && failed[0]["is_rate"] == true, "{failed:?}");
    fs::remove_dir_all(folder.parent().expect("it is in a folder")).expect("it is ours");
}

#[test]
fn rows_that_calls_do_not_leave_are_damage() {
    let named = |report: &Value, ok: bool| {
        let checks = report["checks"].as_array().expect("a list").iter();
        let of_rows = checks.filter(|check| check["name"] == "rows of visit add up");
        of_rows.map(|check| check["ok"] == ok).collect::<Vec<bool>>()
    };
    let (code, told, report) = bench(Path::new(VISITS), "");
    assert_eq!((code, named(&report, true)), (Some(0), vec![true]), "{told}");
    assert!(told.contains("tables without INSERT and DELETE keep their rows"), "{told}");
    assert!(told.lines().all(|line| line.len() <= 80), "too long for a terminal:\n{told}");

    let changed = |name: &str, from: &str, to: &str| {
        let folder = changed_copy(Path::new(VISITS), name, from, to);
        let ended = bench(&folder, "");
        fs::remove_dir_all(&folder).expect("the folder is ours");
        ended
    };
    let (code, told, report) = changed("rows-of-pairs", "rows.visit = 2", "rows.visit = 1");
    assert_eq!((code, named(&report, false)), (Some(1), vec![true]), "{told}");
    assert!(told.contains("THE DATABASE IS DAMAGED: 1 of "), "{told}");
    let (code, told, _) = changed("rows-of-visits", "rows.visit = 2", "rows.visits = 2");
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("workload.toml:") && told.contains("is `visit` meant?"), "{told}");
}

/// Both commands need the same of a folder, and report where it is missing.
#[test]
fn a_column_that_nothing_is_said_of_is_refused_before_plans_are_made() {
    let balance = "columns.balance = { uniform = [0, 20000], decimals = 2 }\n";
    let folder = changed("not-said", balance, "");
    for command in ["bench", "spade plan"] {
        let output = namdb(&format!("{command} {}", folder.display()));
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {told}");
        let place = "workload.toml:5: the column account.balance has no draw";
        assert!(told.contains(place), "{command}: {told}");
    }
    fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn plans_of_a_table_that_begins_empty_and_grows_are_warned_of() {
    let drawn = "rows = { uniform = [0, 4] }\nfor_each = \"account\"\ncolumns.sender = { same = \"account.id\" }";
    let folder = changed("empty", drawn, "rows = 0\ncolumns.sender = { constant = 1 }");
    let (code, told, _) = bench(&folder, "");
    assert_eq!(code, Some(0), "{told}");
    let said = "table transfer is planned with 0 rows, but pay adds some";
    assert!(told.contains(said) && told.contains("sent.1"), "{told}");
    fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn every_error_of_a_folder_is_reported_in_one_run() {
    let folder = changed("errors", "frequency = 50", "frequncy = 50");
    let edit = |file: &str, from: &str, to: &str| {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).expect("it was copied");
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replacen(from, to, 1)).expect("there is room");
    };
    edit("schema.sql", "owner varchar(24)", "owner text");
    edit("schema.sql", "CREATE INDEX", "CREATE INDX");
    edit("procedures.sql", "WHERE id = payee", "WHERE id = paye");
    edit("procedures.sql", "count(*), sum(amount)", "count(*), md5(note)");
    for command in ["bench", "spade plan"] {
        let output = namdb(&format!("{command} {}", folder.display()));
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {told}");
        for said in [
            "/schema.sql:4:11: at `text`",
            "is `INDEX` meant?",
            "is `payer` meant?",
            "PostgreSQL has `md5`",
            "is `frequency` meant?",
            "\n5 errors",
        ] {
            assert!(told.contains(said), "{command}: {said}: {told}");
        }
    }
    fs::remove_dir_all(&folder).expect("the folder is ours");
}
