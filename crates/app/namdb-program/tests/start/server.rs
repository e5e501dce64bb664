//! The server's start and end.

use crate::process::{Started, program, run, temporary, text};
use rustix::process::Signal;
use std::net::TcpListener;

#[test]
fn a_server_says_how_to_connect_and_ends_by_a_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let server = Started::new(&[]);
        let port = server.address.rsplit_once(':').expect("it has a port").1;
        assert!(
            server.said.contains(&format!("psql -h 127.0.0.1 -p {port} -U")),
            "{}",
            server.said
        );
        assert!(server.said.contains("in memory, lost at the end"), "{}", server.said);
        let (code, said) = server.end(signal);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("ended"), "{said}");
    }
}

#[test]
fn a_server_that_cannot_start_says_why_and_leaves_nothing() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    let address = taken.local_addr().expect("it has one").to_string();
    let data = temporary("not-made");
    let path = data.to_str().expect("it is UTF-8");
    let refused = |arguments: &[&str], sentence: &str| {
        let output = run(&[&["start"], arguments].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(sentence), "no `{sentence}` in `{said}`");
    };
    refused(&["--listen", &address, "--data", path], "is in use");
    assert!(!data.exists(), "the port is looked at first");
    refused(&["--listen", "0.0.0.0:0"], "no role has a password");
    refused(&["--listen", "0.0.0.0:0", "--data", path], "no role has a password");
    assert!(!data.exists(), "a new database has no users");
    refused(&["--tls-cert", "none.pem", "--tls-key", "none.key"], "none.pem: No such file");
    refused(&["--tls-cert", "none.pem"], "--tls-key");
    refused(&["--set-password", "me"], "needs the directory of a database");
    let free = ["--listen", "127.0.0.1:0"];
    refused(&[&free[..], &["--data", "/proc/none"]].concat(), "/proc/none");
    refused(&[&free[..], &["--data", "/dev/null"]].concat(), "/dev/null");
    refused(&[&free[..], &["--memory", "900T"]].concat(), "ask for less");
    refused(&[&free[..], &["--durability", "none"]].concat(), "needs --data");
}

#[test]
fn a_directory_is_opened_by_one_server() {
    let data = temporary("one");
    let path = data.to_str().expect("it is UTF-8");
    let server = Started::new(&["--data", path]);
    assert!(server.said.contains(path), "{}", server.said);
    let second = run(&["start", "--listen", "127.0.0.1:0", "--data", path]);
    assert_eq!(second.status.code(), Some(2), "{}", text(&second.stderr));
    assert_eq!(server.end(Signal::TERM).0, Some(0));
    std::fs::remove_dir_all(&data).expect("it is ours");
}

#[test]
fn metrics_and_health_are_exposed() {
    use std::io::{Read, Write};
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let address = free.expect("there are ports").to_string();
    let server = Started::new(&["--metrics", &address]);
    let get = |path: &str| {
        let mut stream = std::net::TcpStream::connect(&address).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n").expect("it reads");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("it answers");
        page
    };
    let page = get("/metrics");
    for metric in
        ["namdb_sql_connections 0", "namdb_sql_statements_total 0", "namdb_resident_bytes"]
    {
        assert!(page.contains(metric), "no {metric} in {page}");
    }
    for page in ["/healthz", "/readyz"] {
        assert!(get(page).starts_with("HTTP/1.1 200"), "{page}");
    }
    assert_eq!(server.end(Signal::TERM).0, Some(0));
}

#[test]
fn slow_statements_are_logged() {
    let server = Started::new(&["--log-min-duration-statement", "0"]);
    let ran = server.sql(&["-c", "select 40 + 2", "-c", "set log_min_duration_statement = '1h'"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let (code, said) = server.end(Signal::TERM);
    assert_eq!(code, Some(0), "{said}");
    let line = said.lines().find(|line| line.contains("select 40 + 2")).unwrap_or_default();
    assert!(line.contains("duration: ") && line.contains(" ms  statement: select"), "{said}");
    let server = Started::new(&[]);
    server.sql(&["-c", "select 40 + 2"]);
    assert!(!server.end(Signal::TERM).1.contains("duration"), "none is logged by default");
}

#[test]
fn a_directory_keeps_tables_and_rows() {
    let data = temporary("kept");
    let path = data.to_str().expect("it is UTF-8");
    let server = Started::new(&["--data", path]);
    let create = "create table town (id int primary key, name varchar(20) not null)";
    let made = server.sql(&["-c", create, "-c", "insert into town values (1, 'Ghent')"]);
    assert_eq!(text(&made.stdout), "CREATE TABLE\nINSERT 0 1\n", "{}", text(&made.stderr));
    // A process that is killed keeps what it has reported.
    let (code, _) = server.end(Signal::KILL);
    assert_eq!(code, None);
    let server = Started::new(&["--data", path]);
    let read = server.sql(&[
        "-c",
        "insert into town values (2, 'Bruges')",
        "-c",
        "select * from town order by id",
    ]);
    let expected =
        "INSERT 0 1\n id |  name\n----+--------\n  1 | Ghent\n  2 | Bruges\n(2 rows)\n\n";
    assert_eq!(text(&read.stdout), expected, "{}", text(&read.stderr));
    assert_eq!(server.end(Signal::TERM).0, Some(0));
    let server = Started::new(&["--data", path]);
    let count = server.sql(&["-c", "select count(*) from town"]);
    assert!(text(&count.stdout).contains("     2\n"), "{}", text(&count.stdout));
    assert_eq!(server.end(Signal::INT).0, Some(0));
    std::fs::remove_dir_all(&data).expect("it is ours");
}

#[test]
fn a_killed_server_publishes_no_part_of_a_transaction() {
    let data = temporary("killed");
    let path = data.to_str().expect("it is UTF-8");
    let server = Started::new(&["--data", path]);
    let make = "create table a (id int primary key, n int); insert into a values (1, 10)";
    assert!(server.sql(&["-c", make]).status.success());
    let open = "begin; insert into a values (2, 20); create table b (id int); \
                insert into b values (1); create index a_by_n on a (n);\nselect 'open';\n";
    let client = server.open_sql(open, "open");
    assert_eq!(server.end(Signal::KILL).0, None);
    client.end();
    let server = Started::new(&["--data", path]);
    let read = server.sql(&["-c", "select * from a", "-c", "select * from b"]);
    assert!(text(&read.stdout).contains("(1 row)"), "{}", text(&read.stdout));
    assert!(text(&read.stderr).contains("relation \"b\" does not exist"), "{}", text(&read.stderr));

    // The same transaction, committed.
    let committed = format!("{open}commit;\nselect 'done';\n");
    let client = server.open_sql(&committed, "done");
    assert_eq!(server.end(Signal::KILL).0, None);
    client.end();
    let server = Started::new(&["--data", path]);
    let read = server.sql(&["-c", "select count(*) from a, b where a.n = 20"]);
    assert!(text(&read.stdout).contains("     1\n"), "{}", text(&read.stdout));
    assert_eq!(server.end(Signal::TERM).0, Some(0));
    std::fs::remove_dir_all(&data).expect("it is ours");
}

/// A user that may open the directory can give a role a password without the network, and the
/// server requires it then.
#[test]
fn a_password_is_set_without_the_network() {
    use std::io::Write;
    use std::process::Stdio;
    let data = temporary("password");
    let path = data.to_str().expect("it is UTF-8");
    assert_eq!(Started::new(&["--data", path]).end(Signal::TERM).0, Some(0));
    let set = |role: &str, password: &str| {
        let arguments = ["start", "--data", path, "--memory", "128M", "--set-password", role];
        let mut child = program()
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program was built");
        writeln!(child.stdin.take().expect("it is piped"), "{password}").expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = set("me", "it's secret");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("me has a new password"), "{said}");
    let (code, said) = set("nobody", "x");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("role \"nobody\" does not exist"), "{said}");
    let server = Started::at("0.0.0.0:0", &["--data", path]);
    assert!(server.said.contains("users   with passwords"), "{}", server.said);
    assert!(server.said.contains("readers of the network"), "{}", server.said);
    let port = server.address.rsplit_once(':').expect("it has a port").1.to_owned();
    let ask = |password: &str| {
        let mut command = program();
        command.args(["sql", &format!("postgresql://me@127.0.0.1:{port}/x"), "-c", "SELECT 1"]);
        command.env("PGPASSWORD", password).stdin(Stdio::null());
        command.output().expect("the program was built")
    };
    assert!(text(&ask("it's secret").stdout).contains('1'));
    assert!(text(&ask("wrong").stderr).contains("password authentication failed"));
    assert_eq!(server.end(Signal::TERM).0, Some(0));
    std::fs::remove_dir_all(&data).expect("it is ours");
}
