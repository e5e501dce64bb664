//! A private PostgreSQL server in a temporary folder, without a port, for one test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The message if PostgreSQL is not installed.
const MISSING: &str = "skipped: there is no PostgreSQL (apt-get install postgresql)";
/// The account for the server if root runs the test, because PostgreSQL refuses to run as root.
const ACCOUNT: &str = "postgres";

/// A running server, stopped on drop.
pub struct Server {
    folder: PathBuf,
    programs: PathBuf,
    as_root: bool,
}

impl Server {
    /// Starts a server, or prints why it cannot; with `NAMDB_CI=1` PostgreSQL must be installed.
    pub fn start(name: &str) -> Option<Self> {
        let Some(programs) = programs() else {
            println!("{MISSING}");
            assert!(std::env::var_os("NAMDB_CI").is_none(), "{MISSING}");
            return None;
        };
        let folder = std::env::temp_dir().join(format!("namdb-sql-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the server");
        let as_root = is_root();
        let server = Self { folder, programs, as_root };
        if as_root {
            server.shell_as_root(&format!("chown {ACCOUNT} '{}'", server.folder.display()));
        }
        let data = server.data();
        server.run(
            "initdb",
            &format!("-D '{data}' --auth=trust --no-sync --locale=C --encoding=UTF8 -U {ACCOUNT}"),
        );
        let options = format!(
            "-c listen_addresses= -c unix_socket_directories={} -c fsync=off -c timezone=UTC",
            server.folder.display()
        );
        server.run("pg_ctl", &format!("-D '{data}' -l '{data}/log' -w -t 60 -o '{options}' start"));
        Some(server)
    }

    fn data(&self) -> String {
        self.folder.join("data").display().to_string()
    }

    /// The output of `psql` for `script`, including errors, in order.
    pub fn psql(&self, script: &str) -> String {
        let path = self.folder.join("script.sql");
        std::fs::write(&path, script).expect("the script is written");
        let command = format!(
            "'{}/psql' -X -q -A -t -h '{}' -U {ACCOUNT} -d postgres -f '{}' 2>&1",
            self.programs.display(),
            self.folder.display(),
            path.display()
        );
        let output = Command::new("sh").args(["-c", &command]).stdin(Stdio::null()).output();
        text(output.expect("psql runs"))
    }

    /// Runs a program of PostgreSQL, which must succeed.
    fn run(&self, program: &str, arguments: &str) {
        let command = format!("'{}/{program}' {arguments} </dev/null", self.programs.display());
        let output = if self.as_root {
            Command::new("su")
                .args([ACCOUNT, "-s", "/bin/sh", "-c", &command])
                .current_dir("/")
                .output()
        } else {
            Command::new("sh").args(["-c", &command]).output()
        };
        let output = output.expect("a program of PostgreSQL runs");
        assert!(output.status.success(), "{program}: {}", text(output));
    }

    fn shell_as_root(&self, command: &str) {
        let status = Command::new("sh").args(["-c", command]).status().expect("a shell runs");
        assert!(status.success(), "{command}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.run("pg_ctl", &format!("-D '{}' -m immediate -w -t 60 stop", self.data()));
        // Leftover files in the temporary folder do no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn text(output: Output) -> String {
    let bytes = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("id runs");
    output.stdout.starts_with(b"0\n")
}

/// The folder of PostgreSQL's programs: the newest packaged version, or one in the path.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let has_all = |folder: &Path| {
        ["initdb", "pg_ctl", "postgres", "psql"].iter().all(|name| folder.join(name).is_file())
    };
    let mut found: Vec<PathBuf> = versions
        .map(|version| version.path().join("bin"))
        .filter(|folder| has_all(folder))
        .collect();
    found.sort();
    found.pop().or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| has_all(folder))
    })
}
