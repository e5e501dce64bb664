//! Drivers of other languages, as `cargo xtask drivers` has installed them from `drivers/`. Each
//! program checks what it gets, and prints that it is served. Where a driver is not installed, its
//! test says so.

use crate::programs::{World, text};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder with the programs.
fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/drivers").join(name)
}

/// The folder of what was installed: `NAMDB_DRIVERS`, or that of `cargo xtask drivers`.
fn installed(path: &str) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/drivers");
    let folder = std::env::var_os("NAMDB_DRIVERS").map_or(own, PathBuf::from);
    let path = folder.join(path);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: there is no {}; `cargo xtask drivers` installs it", path.display());
    None
}

fn is_served(mut command: Command, program: &Path) {
    let world = World::new();
    let output = command
        .arg(program)
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", world.port().to_string())
        .env("PGUSER", "me")
        .env("PGCONNECT_TIMEOUT", "20")
        .stdin(Stdio::null())
        .output()
        .expect("it was installed");
    let said = text(&output);
    assert!(output.status.success() && said.contains("is served"), "{said}");
}

fn python_is_served(name: &str) {
    let Some(python) = installed("python/bin/python") else { return };
    is_served(Command::new(python), &program(name));
}

#[test]
fn psycopg_is_served() {
    python_is_served("psycopg_client.py");
}

#[test]
fn sqlalchemy_is_served() {
    python_is_served("sqlalchemy_client.py");
}

#[test]
fn alembic_is_served() {
    python_is_served("alembic_client.py");
}

#[test]
fn node_postgres_is_served() {
    let Some(modules) = installed("node/node_modules") else { return };
    let mut node = Command::new("node");
    node.env("NODE_PATH", modules);
    is_served(node, &program("node.js"));
}

#[test]
fn pgjdbc_is_served() {
    let Some(library) = installed("java/postgresql.jar") else { return };
    let mut java = Command::new("java");
    java.arg("-cp").arg(library);
    is_served(java, &program("Jdbc.java"));
}
