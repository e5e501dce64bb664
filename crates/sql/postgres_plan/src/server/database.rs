//! A database of our own on a server that may be somebody else's.

use super::interrupt::is_interrupted;
use super::process::Limit;
use super::{CollectError, SCRIPT_WITHIN, Server};
use std::path::{Path, PathBuf};

/// A database that is made empty, and dropped with this.
pub struct Database<'a> {
    server: &'a Server,
    name: String,
    connect: PathBuf,
}

impl<'a> Database<'a> {
    pub(super) fn create(server: &'a Server) -> Result<Self, CollectError> {
        // As the folder is called: one for each process and server.
        let folder = server.folder().file_name().unwrap_or_default();
        let name = folder.to_string_lossy().replace('-', "_");
        // Texts compare byte by byte, as they do in namdb.
        let create = format!(
            "DROP DATABASE IF EXISTS {name};\n\
             CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C';\n"
        );
        let script = format!("SET client_min_messages = warning;\n{create}");
        server.run("a database of its own", &[&server.script("create.sql", &script)?])?;
        let connect = server.script("connect.sql", &format!("\\connect {name}\n"))?;
        Ok(Self { server, name, connect })
    }

    /// Runs scripts one after the other in one session; returns what they print, rows without decoration. `what` stands in
    /// the message if one is refused.
    ///
    /// # Errors
    /// At the first statement that is refused, unless a script says `\set ON_ERROR_STOP off`.
    pub fn run(&self, what: &str, scripts: &[&Path]) -> Result<String, CollectError> {
        let mut all: Vec<&Path> = vec![&self.connect];
        all.extend(scripts);
        self.server.run(what, &all)
    }

    /// Writes a script beside the others, to be run later.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn script(&self, name: &str, text: &str) -> Result<PathBuf, CollectError> {
        self.server.script(name, text)
    }

    /// Where files may be put that scripts read; they go with the server.
    pub fn folder(&self) -> &Path {
        self.server.folder()
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        // A server of our own goes with its databases. On another one it is dropped whatever the user wants.
        if self.server.is_private() && is_interrupted() {
            return;
        }
        let limit = Limit::within(SCRIPT_WITHIN);
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE);\n", self.name);
        // A database that stays behind is dropped by whoever makes it anew.
        let _ = self
            .server
            .script("drop.sql", &drop)
            .and_then(|script| self.server.run_unless(&limit, "to drop its database", &[&script]));
    }
}
