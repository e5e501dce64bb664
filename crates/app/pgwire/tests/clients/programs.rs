//! A server over a database in memory, and programs that connect to it.

use namdb::Db;
use namdb::sql::SqlDatabase;
use pgwire::{Limits, Server};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub struct World {
    pub server: Server<SqlDatabase<Db>>,
}

impl World {
    pub fn new() -> Self {
        let config = namdb::Config { server_bytes: 512 << 20, lanes: 64, ..Default::default() };
        let db = namdb::open(config).expect("there is memory");
        let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
        let database = db.sql().expect("a new database has an empty catalog");
        let server = Server::start(listener, database, Limits::default()).expect("it starts");
        Self { server }
    }

    pub fn port(&self) -> u16 {
        self.server.address().port()
    }

    /// Runs a program of PostgreSQL; `None`, with the reason, if it is not installed.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Option<Output> {
        run(program, "127.0.0.1", self.port(), arguments)
    }

    /// Runs psql with these commands; returns output and errors.
    pub fn psql(&self, commands: &[&str]) -> Option<String> {
        let mut arguments = vec!["-X", "-d", "postgres"];
        commands.iter().for_each(|command| arguments.extend(["-c", command]));
        self.run("psql", &arguments).map(|output| text(&output))
    }
}

/// Runs a program with the address in its environment.
pub fn run(program: &str, host: &str, port: u16, arguments: &[&str]) -> Option<Output> {
    let output = Command::new(program)
        .args(arguments)
        .env("PGHOST", host)
        .env("PGPORT", port.to_string())
        .env("PGUSER", "me")
        .env("PGCONNECT_TIMEOUT", "20")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("skipped: {program} is not installed ({error})");
            None
        }
    }
}

/// Output and errors of a program.
pub fn text(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// A private PostgreSQL, for comparisons.
pub struct Reference {
    folder: PathBuf,
    binaries: PathBuf,
}

impl Reference {
    /// Starts it on a socket in a temporary folder; `None`, with the reason, if it is not
    /// installed or may not be started by this user.
    pub fn start(name: &str) -> Option<Self> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
        let binaries = versions.filter_map(Result::ok).map(|entry| entry.path().join("bin"));
        let Some(binaries) = binaries.max().filter(|path| path.join("initdb").exists()) else {
            eprintln!("skipped: no PostgreSQL is installed to compare with");
            return None;
        };
        let folder = std::env::temp_dir().join(format!("pgwire-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("there is room");
        let reference = Self { folder, binaries };
        let data = reference.folder.join("data");
        let (data, folder) = (data.to_str()?.to_owned(), reference.folder.to_str()?.to_owned());
        let options = ["-U", "me", "--no-sync", "-E", "UTF8", "--locale=C"];
        if !reference.call("initdb", &[&["-D", &data], &options[..]].concat()) {
            eprintln!("skipped: PostgreSQL cannot be started, which the user root may not do");
            return None;
        }
        let settings = format!("-c listen_addresses= -c unix_socket_directories={folder}");
        let start = ["-D", &data, "-w", "-l", &format!("{folder}/log"), "-o", &settings, "start"];
        assert!(reference.call("pg_ctl", &start), "it was just created");
        Some(reference)
    }

    fn call(&self, program: &str, arguments: &[&str]) -> bool {
        let mut command = Command::new(self.binaries.join(program));
        // PostgreSQL refuses to run as root; another user may.
        if rustix::process::geteuid().is_root() {
            use std::os::unix::process::CommandExt;
            const NOBODY: u32 = 65_534;
            let owner = std::os::unix::fs::chown(&self.folder, Some(NOBODY), Some(NOBODY));
            if owner.is_err() {
                return false;
            }
            command.uid(NOBODY).gid(NOBODY);
        }
        let run = command.args(arguments).current_dir(&self.folder).stdout(Stdio::null());
        run.stderr(Stdio::null()).stdin(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    /// The folder of its socket.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn psql(&self, commands: &[&str]) -> String {
        let mut arguments = vec!["-X", "-d", "postgres"];
        commands.iter().for_each(|command| arguments.extend(["-c", command]));
        let folder = self.folder.to_str().expect("it is UTF-8");
        text(&run("psql", folder, 5432, &arguments).expect("it is installed with the server"))
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let data = self.folder.join("data");
        self.call("pg_ctl", &["-D", &data.to_string_lossy(), "-m", "immediate", "-w", "stop"]);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
