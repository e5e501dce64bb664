//! The users of a SQL server: what its start message says about them, and a lost password.

use anyhow::{Context, Result, anyhow, ensure};
use namdb::Db;
use namdb::sql::SqlDatabase;
use pgwire::session::{Database, Session, SessionOptions};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::io::{BufRead, IsTerminal};

/// The line of the start message about users.
pub fn sentence(database: &SqlDatabase<Db>) -> String {
    match (database.trusts_host(), database.has_passwords()) {
        (false, _) => "with passwords (SCRAM-SHA-256)".to_owned(),
        (true, false) => "no passwords: everybody on this host may do everything, other hosts cannot connect\n          \
                          ALTER ROLE name PASSWORD '...' for the superuser changes that"
            .to_owned(),
        (true, true) => {
            let owner = database.owner().unwrap_or_default();
            format!(
                "this host needs no password as {owner}, who may do everything, until ALTER ROLE \"{owner}\" PASSWORD \
                 '...'"
            )
        }
    }
}

/// Gives a role the password on standard input. A user that may open the data directory may do
/// this.
pub fn set_password(database: &SqlDatabase<Db>, role: &str) -> Result<()> {
    let password = read_password(role).context("cannot read the password")?;
    ensure!(!password.is_empty(), "the password is empty; write it on standard input");
    let user = database.owner().unwrap_or_else(|| role.to_owned());
    let options = SessionOptions { user, database: "namdb".to_owned(), settings: Vec::new() };
    let failed = |error: pgwire::error::SqlError| anyhow!("{}", error.message);
    let mut session = Database::session(database, options).map_err(failed)?;
    let (name, password) = (role.replace('"', "\"\""), password.replace('\'', "''"));
    let text = format!("ALTER ROLE \"{name}\" LOGIN PASSWORD '{password}' VALID UNTIL 'infinity'");
    let prepared = Session::prepare(&mut session, &text, &[]).map_err(failed)?;
    Session::execute(&mut session, &prepared, &[]).map_err(failed)?;
    Session::close(&mut session);
    Ok(())
}

/// The first line of standard input, which a terminal does not show.
fn read_password(role: &str) -> std::io::Result<String> {
    let input = std::io::stdin();
    let before = match input.is_terminal() {
        true => tcgetattr(&input).ok(),
        false => None,
    };
    if let Some(before) = &before {
        crate::output::say(&format!("password for {role}:"));
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Now, &hidden)?;
    }
    let mut line = String::new();
    let read = input.lock().read_line(&mut line);
    if let Some(before) = &before {
        tcsetattr(&input, OptionalActions::Now, before)?;
    }
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
