//! A PostgreSQL server: a running one, or a private one.

mod database;
mod interrupt;
mod private;
mod process;
mod programs;
mod scratch;

pub use database::Database;
pub use interrupt::{clear_away, interrupt, is_interrupted};
use private::PrivateServer;
use process::Limit;
use scratch::Scratch;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Maximum run time of a script.
const SCRIPT_WITHIN: Duration = Duration::from_secs(300);

/// Why plans cannot be collected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    #[error(
        "PostgreSQL's {programs} are neither in the path nor in /usr/lib/postgresql: install PostgreSQL (Debian: apt-get \
         install postgresql), or name a server by --server"
    )]
    Absent { programs: &'static str },
    /// No suitable user for the server exists.
    #[error(
        "a PostgreSQL server does not run as root, and neither the user postgres nor nobody exists: run this as \
         another user, or name a server by --server"
    )]
    NoUser,
    #[error("cannot create a folder for temporary files: {error}; set TMPDIR to a writable folder")]
    Scratch {
        /// The system's error message.
        error: String,
    },
    #[error("cannot run {what}: {error}")]
    Run {
        /// The program.
        what: String,
        /// The system's error message.
        error: String,
    },
    #[error("{what} failed: {said}")]
    Failed {
        /// The program.
        what: String,
        /// Its output.
        said: String,
    },
    #[error("{what} was stopped after the time limit of {seconds} seconds")]
    Late {
        /// The program.
        what: String,
        /// The time limit.
        seconds: u64,
    },
    /// The user interrupted the process.
    #[error("interrupted by the user; PostgreSQL was stopped")]
    Interrupted,
    /// PostgreSQL refuses a file or a statement.
    #[error("PostgreSQL refuses {what}: {said}")]
    Refused {
        what: String,
        /// PostgreSQL's message.
        said: String,
    },
    /// PostgreSQL's output lacks a plan.
    #[error("PostgreSQL's output has no plan of {statement}")]
    NoPlan { statement: String },
}

/// The PostgreSQL server to use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServerChoice {
    /// A server that is started for this purpose and stopped afterwards.
    Private,
    /// As `Private`, with further settings such as `shared_buffers=1GB`, which override ours.
    PrivateWith(Vec<String>),
    /// A running server, given by a URL for `psql`. The user must be a superuser: a database is
    /// created and dropped, and the sizes of its tables are written into the catalog.
    Url(String),
}

/// A server with its `psql`; dropping this value removes a private server.
pub struct Server {
    url: String,
    psql: PathBuf,
    scratch: Scratch,
    // The last field, so that it is dropped after everything that uses it.
    own: Option<PrivateServer>,
}

impl Server {
    /// Connects to a server, or starts one.
    ///
    /// # Errors
    /// PostgreSQL is not installed, or its server does not start.
    pub fn open(choice: &ServerChoice) -> Result<Self, CollectError> {
        let psql = programs::psql()?;
        let scratch =
            Scratch::new().map_err(|error| CollectError::Scratch { error: error.to_string() })?;
        let (url, private) = match choice {
            ServerChoice::Url(url) => (url.clone(), None),
            ServerChoice::Private => private(&[])?,
            ServerChoice::PrivateWith(settings) => private(settings)?,
        };
        Ok(Self { url, psql, scratch, own: private })
    }

    /// Creates an empty database.
    ///
    /// # Errors
    /// The server does not respond, or its user may not create databases.
    pub fn database(&self) -> Result<Database<'_>, CollectError> {
        Database::create(self)
    }

    /// Whether it is a private server.
    fn is_private(&self) -> bool {
        self.own.is_some()
    }

    /// The folder for temporary files.
    fn folder(&self) -> &Path {
        self.scratch.path()
    }

    fn script(&self, name: &str, text: &str) -> Result<PathBuf, CollectError> {
        let path = self.folder().join(name);
        let written = std::fs::write(&path, text);
        written.map_err(|error| CollectError::Scratch { error: error.to_string() })?;
        Ok(path)
    }

    /// Runs scripts in one session unless the user interrupts, and returns their output, with
    /// unaligned rows.
    fn run(&self, what: &str, scripts: &[&Path]) -> Result<String, CollectError> {
        let limit = Limit { within: SCRIPT_WITHIN, is_unwanted: is_interrupted };
        self.run_unless(&limit, what, scripts)
    }

    fn run_unless(
        &self,
        limit: &Limit,
        what: &str,
        scripts: &[&Path],
    ) -> Result<String, CollectError> {
        let mut command = Command::new(&self.psql);
        command.args(["-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1", "-d", &self.url]);
        command.env("PGCONNECT_TIMEOUT", "20").env("PGAPPNAME", "namdb").env("PGOPTIONS", "");
        scripts.iter().for_each(|script| _ = command.arg("-f").arg(script));
        let finished = process::run(&mut command, "psql", self.folder(), limit)?;
        // Ctrl-C in a terminal ends this program, too.
        if (limit.is_unwanted)() && !finished.status.success() {
            return Err(CollectError::Interrupted);
        }
        if finished.status.success() {
            return Ok(finished.output);
        }
        let said = finished.complaint.trim().to_owned();
        Err(CollectError::Refused { what: what.to_owned(), said })
    }
}

/// Starts a private server and returns its URL.
fn private(settings: &[String]) -> Result<(String, Option<PrivateServer>), CollectError> {
    let server = PrivateServer::start(settings)?;
    let folder = server.folder().display();
    // Keywords need no escaping of the path; a URL would.
    let url = format!("host='{folder}' port=5432 user=postgres dbname=postgres");
    Ok((url, Some(server)))
}
