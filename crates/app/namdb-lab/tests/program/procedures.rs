//! Stored procedures on clusters, called by programs that embed the library.

use super::cluster::Cluster;
use super::folder::small;
use super::parts::partitioned;
use namdb::procedures::{CallFailure, Database, Options, Session, Tables};
use std::path::Path;

fn balance(session: &Session) -> i64 {
    let mut call = session.call("balance").expect("the workload has it");
    let rows = call.bind(0, 7).expect("a number").execute().expect("7 is there");
    rows.int(0, 0).expect("a number").expect("it is not null")
}

/// One program creates the tables and another finds them: each sees the other's payments.
fn are_called_over(fabric: &str) {
    let options = format!("--fabric {fabric} --memory-servers 2 --memory 64M");
    let cluster = Cluster::up(&format!("procedures-{fabric}"), &options);
    let by = [("accounts", "customer_id"), ("checking", "customer_id"), ("savings", "customer_id")];
    let folder = partitioned("smallbank", &format!("procedures-{fabric}"), &by);
    let file = Some(cluster.file.clone());
    let options = Options { cluster: file, sessions: 2, ..Options::default() };
    let open = |tables| Database::open(&folder, &Options { tables, ..options.clone() });
    let first = open(Tables::Loaded).unwrap_or_else(|error| panic!("{error}"));
    let tables = cluster.report("status")["tables"].clone();
    assert!(tables[0]["name"] == "accounts" && tables[0]["parts"] == 2, "{tables:#}");
    let second = open(Tables::Present).unwrap_or_else(|error| panic!("{error}"));
    let sessions = [&first, &second].map(|database| database.session().expect("it connects"));
    let before = balance(&sessions[1]);
    for session in &sessions {
        let mut call = session.call("deposit_checking").expect("the workload has it");
        call.bind(0, 7).and_then(|call| call.bind(1, 50)).expect("both are numbers");
        call.execute().expect("7 is there");
    }
    assert_eq!(sessions.each_ref().map(balance), [before + 100; 2]);
    let mut call = sessions[0].call("balance").expect("the workload has it");
    let refused = call.bind(0, 1_000_000).expect("a number").execute().err();
    assert!(matches!(refused, Some(CallFailure::Refused { .. })), "{refused:?}");
    let again = open(Tables::Loaded).err().expect("the tables are there").to_string();
    assert!(again.contains("cannot be created"), "{again}");
}

#[test]
fn procedures_are_called_over_shared_memory() {
    are_called_over("shm");
}

#[test]
fn procedures_are_called_over_messages() {
    are_called_over("tcp");
}

#[test]
fn a_cluster_that_is_not_there_is_told() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("procedures-nowhere");
    let folder = small("smallbank", &scratch);
    let cluster = Some("/nonexistent/namdb.toml".into());
    let options = Options { cluster, ..Options::default() };
    let told = Database::open(folder, &options).err().expect("there is none").to_string();
    assert!(told.contains("cluster of /nonexistent/namdb.toml cannot be used"), "{told}");
}
