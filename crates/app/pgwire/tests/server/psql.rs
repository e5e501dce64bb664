//! PostgreSQL's own client, where it is installed.

use crate::world::World;
use std::process::{Command, Stdio};

/// Runs psql with a query; returns its output, or `None` if it is not installed.
fn psql(world: &World, query: &str) -> Option<String> {
    let port = world.server.address().port().to_string();
    let arguments = ["-X", "-A", "-h", "127.0.0.1", "-U", "ada", "-p", &port, "-c", query];
    let run = Command::new("psql").args(arguments).stdin(Stdio::null()).output();
    match run {
        Ok(run) => Some(format!(
            "{}{}",
            String::from_utf8_lossy(&run.stdout),
            String::from_utf8_lossy(&run.stderr)
        )),
        Err(error) => {
            eprintln!("skipped: psql is not installed ({error})");
            None
        }
    }
}

#[test]
fn psql_prints_rows_and_errors() {
    let world = World::new();
    let Some(rows) = psql(&world, "rows 2") else { return };
    assert_eq!(rows, "n\n0\n1\n(2 rows)\n");
    assert_eq!(psql(&world, "insert 1").as_deref(), Some("INSERT 0 1\n"));
    let refused = psql(&world, "refuse").unwrap_or_default();
    assert!(refused.contains("ERROR:  syntax error\nLINE 1: refuse\n          ^"), "{refused}");
    let copied = psql(&world, "copyout 2");
    assert_eq!(copied.as_deref(), Some("line 1\nline 0\n"));
}
