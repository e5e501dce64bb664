//! A PostgreSQL to ask: one that runs, or one of our own.

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

/// How long a script may take.
const SCRIPT_WITHIN: Duration = Duration::from_secs(300);

/// Why there are no plans.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// PostgreSQL is not installed.
    #[error(
        "{programs} of PostgreSQL cannot be found in the path or in /usr/lib/postgresql: install it (Debian: apt-get \
         install postgresql), or name a server by --server"
    )]
    Absent {
        /// What is looked for.
        programs: &'static str,
    },
    /// There is no user to run it as.
    #[error(
        "a server of PostgreSQL does not run as root, and there is neither a user postgres nor nobody: run this as \
         another user, or name a server by --server"
    )]
    NoUser,
    /// Temporary files.
    #[error("no folder for temporary files can be made: {error}; TMPDIR says where")]
    Scratch {
        /// What the system says.
        error: String,
    },
    /// A program cannot be run.
    #[error("{what} cannot be run: {error}")]
    Run {
        /// Which.
        what: String,
        /// What the system says.
        error: String,
    },
    /// A program has failed.
    #[error("{what} has failed: {said}")]
    Failed {
        /// Which.
        what: String,
        /// What it said.
        said: String,
    },
    /// A program takes too long.
    #[error("{what} was ended after {seconds} seconds")]
    Late {
        /// Which.
        what: String,
        /// How long it was let.
        seconds: u64,
    },
    /// The user wants the program to end.
    #[error("ended by the user; PostgreSQL was stopped")]
    Interrupted,
    /// PostgreSQL refuses a file or a statement.
    #[error("PostgreSQL refuses {what}: {said}")]
    Refused {
        /// What.
        what: String,
        /// What it said.
        said: String,
    },
    /// The answer is not what it should be.
    #[error("the answer of PostgreSQL has no plan of {statement}")]
    NoPlan {
        /// Of which statement.
        statement: String,
    },
}

/// Which PostgreSQL is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ServerChoice {
    /// One that is started for the purpose and stopped afterwards.
    Private,
    /// The same with further settings, such as `shared_buffers=1GB`, which take the place of ours.
    PrivateWith(Vec<String>),
    /// One that runs, by a URL as `psql` takes it. Its user has to be a superuser: a database is made and dropped, and
    /// the sizes of its tables are written into the catalog.
    Url(String),
}

/// A server that can be asked, by its own `psql`; one of our own goes with this.
pub struct Server {
    url: String,
    psql: PathBuf,
    scratch: Scratch,
    // Behind everything that uses it.
    own: Option<PrivateServer>,
}

impl Server {
    /// Finds a server, or starts one.
    ///
    /// # Errors
    /// If PostgreSQL is not installed, or its server does not start.
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

    /// An empty database of our own.
    ///
    /// # Errors
    /// If the server does not answer, or its user may not make one.
    pub fn database(&self) -> Result<Database<'_>, CollectError> {
        Database::create(self)
    }

    /// Whether it was started here.
    fn is_private(&self) -> bool {
        self.own.is_some()
    }

    /// Where files may be put.
    fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Writes a script.
    fn script(&self, name: &str, text: &str) -> Result<PathBuf, CollectError> {
        let path = self.folder().join(name);
        let written = std::fs::write(&path, text);
        written.map_err(|error| CollectError::Scratch { error: error.to_string() })?;
        Ok(path)
    }

    /// Runs scripts one after the other in one session, unless the user wants the program to end; returns what they print, rows
    /// without decoration.
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
        // Whoever presses Ctrl-C in a terminal ends this program, too.
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

/// Starts a server, and says how it is reached.
fn private(settings: &[String]) -> Result<(String, Option<PrivateServer>), CollectError> {
    let server = PrivateServer::start(settings)?;
    let folder = server.folder().display();
    // Of key words, since a path in a URL would have to be written in another way.
    let url = format!("host='{folder}' port=5432 user=postgres dbname=postgres");
    Ok((url, Some(server)))
}
