//! A temporary database on a server that others may use, too.

use super::interrupt::is_interrupted;
use super::process::Limit;
use super::{CollectError, SCRIPT_WITHIN, Server};
use std::path::{Path, PathBuf};

/// An empty database; dropping this value drops the database.
pub struct Database<'a> {
    server: &'a Server,
    name: String,
    connect: PathBuf,
}

impl<'a> Database<'a> {
    pub(super) fn create(server: &'a Server) -> Result<Self, CollectError> {
        // Named like the temporary folder: unique per process and server.
        let folder = server.folder().file_name().unwrap_or_default();
        let name = folder.to_string_lossy().replace('-', "_");
        // Texts are compared bytewise, as in namdb.
        let create = format!(
            "DROP DATABASE IF EXISTS {name};\n\
             CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';\n"
        );
        let script = format!("SET client_min_messages = warning;\n{create}");
        server.run("a new database", &[&server.script("create.sql", &script)?])?;
        let connect = server.script("connect.sql", &format!("\\connect {name}\n"))?;
        Ok(Self { server, name, connect })
    }

    /// Runs scripts in one session and returns their output, with unaligned rows. `what` names the
    /// scripts in error messages.
    ///
    /// # Errors
    /// A statement is refused. Execution stops there, unless a script says `\set ON_ERROR_STOP
    /// off`.
    pub fn run(&self, what: &str, scripts: &[&Path]) -> Result<String, CollectError> {
        let mut all: Vec<&Path> = vec![&self.connect];
        all.extend(scripts);
        self.server.run(what, &all)
    }

    /// Writes a script into the temporary folder, to be run later.
    ///
    /// # Errors
    /// The script cannot be written.
    pub fn script(&self, name: &str, text: &str) -> Result<PathBuf, CollectError> {
        self.server.script(name, text)
    }

    /// The folder for files that scripts read; it is removed with the server.
    pub fn folder(&self) -> &Path {
        self.server.folder()
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        // A private server is removed with its databases. On another server, drop the database even
        // if the user interrupts.
        if self.server.is_private() && is_interrupted() {
            return;
        }
        let limit = Limit::within(SCRIPT_WITHIN);
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE);\n", self.name);
        // If this fails, the next creation of the database drops the old one.
        let _ = self
            .server
            .script("drop.sql", &drop)
            .and_then(|script| self.server.run_unless(&limit, "to drop its database", &[&script]));
    }
}
