//! Orders of members that name paths of the compute server's host.

use crate::cluster::{Cluster, PATIENCE};
use folder_benchmark::ShippedFolder;
use namdb_program::bench::order::{Answer, Greeting, Line, Order, Request, SHIPPED};
use namdb_program::bench::part::Part;
use std::net::TcpStream;
use std::path::PathBuf;

/// The compute server's answer to an order, once it is no longer busy with the one before.
fn answer(cluster: &Cluster, arguments: &[&str], folder: Option<ShippedFolder>) -> String {
    let start = std::time::Instant::now();
    loop {
        let said = first_answer(cluster, arguments, folder.clone());
        if !said.contains("busy with another run") || start.elapsed() > PATIENCE {
            return said;
        }
    }
}

fn first_answer(cluster: &Cluster, arguments: &[&str], folder: Option<ShippedFolder>) -> String {
    let compute = cluster.compute_server();
    let address = compute.addresses.work.as_deref().expect("it takes work");
    let socket = TcpStream::connect(address).expect("it listens");
    let line = Line::connect(socket, cluster.keys.as_ref(), &cluster.secret, 0);
    let mut line = line.expect("it is a member");
    let greeting = Greeting {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        cluster: cluster.settings.id.0,
        server: compute.identity,
    };
    line.say(&Request::Greeting(greeting)).expect("it reads");
    assert!(matches!(line.hear(PATIENCE), Ok(Some(Answer::Ready(_)))));
    let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
    let (threads, lanes, part) = (1, 1, Part::WHOLE);
    let order = Order { arguments, folder, threads, threads_in_all: 1, lanes, part };
    line.say(&Request::Order(Box::new(order))).expect("it reads");
    loop {
        match line.hear(PATIENCE).expect("it answers") {
            Some(Answer::Failed(why) | Answer::Refused(why)) => return why,
            Some(Answer::Standing(_)) => {}
            Some(_) => return "it was carried out".to_owned(),
            None => panic!("it does not answer"),
        }
    }
}

#[test]
fn orders_that_name_paths_are_refused_and_leave_no_trace() {
    let cluster = Cluster::up("orders", false);
    let trace = std::env::temp_dir().join(format!("namdb-ports-trace-{}", std::process::id()));
    let path = trace.display().to_string();
    let (json, data) = (format!("--json={path}"), format!("--data={path}"));
    let history = format!("--history={path}");
    let cases: [(&[&str], &str); 10] = [
        (&["folder", "/etc"], "names no path"),
        (&["folder", "../../workloads/tatp"], "names no path"),
        (&["folder", SHIPPED, "--design", "/etc/passwd"], "names no path"),
        (&["folder", SHIPPED, "--postgres", "127.0.0.1:5432"], "names no path"),
        (&["folder", SHIPPED], "ships no files"),
        (&["tpcc", &json], "names no path"),
        (&["tpcc", &data], "names no path"),
        (&["tpcc", "--metrics=0.0.0.0:0"], "names no path"),
        (&["append", &history], "names no path"),
        (&["bank", "--cluster=/etc/passwd"], "names no path"),
    ];
    for (arguments, expected) in cases {
        let said = answer(&cluster, arguments, None);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    assert!(!trace.exists());
    let shipped = r#"{"files":{"../../evil.sql":"x"},"has_design":false}"#;
    let shipped: ShippedFolder = serde_json::from_str(shipped).expect("it is JSON");
    let said = answer(&cluster, &["folder", SHIPPED], Some(shipped));
    assert!(said.contains("which no workload has"), "{said}");
    cluster.serves_members();
}

/// A folder that the compute server does not have is run from the files of the order.
#[test]
fn a_folder_is_run_from_the_files_of_the_order() {
    let cluster = Cluster::up("shipped", false);
    let ledger =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../sql/interpreter/tests/ledger");
    let options = "--threads 1 --seconds 0.2 --warm-up 0 --compute-servers 1 --json -";
    let run = cluster.run(&format!("bench {} {options}", ledger.display()));
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{told}");
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).expect("it is JSON");
    assert!(report["committed"].as_f64().is_some_and(|count| count > 0.0), "{report:#}");
    // The files are removed with the order.
    let left = std::fs::read_dir(std::env::temp_dir()).expect("a folder").flatten();
    let process = format!("namdb-order-{}-", cluster.compute_server().pid);
    let mut left = left.filter(|file| file.file_name().to_string_lossy().starts_with(&process));
    assert!(left.next().is_none());
}
