//! The proof that a client is the user that it names.
//!
//! ```text
//! scram    SCRAM-SHA-256, the server's side and the client's    binding  channel binding
//! ```
//!
//! The lobby's thread takes part in the exchange, so a client that never finishes it occupies
//! neither a thread nor a connection. The server's part costs three hashes: the expensive ones are
//! the client's.
//!
//! Decision: docs/decisions/0349-the-lobby-authenticates-and-encrypts.md

pub mod binding;
pub mod scram;

use crate::error::{Result, SqlError};
use crate::session::Login;
use scram::Exchange;
use std::sync::Arc;

/// Decides about a user and a database; `true` for clients of this host.
pub type Doorman = Arc<dyn Fn(&str, &str, bool) -> Login + Send + Sync>;

/// The beginning of a login.
pub enum Entry {
    Open,
    Proof(Box<Exchange>),
}

/// Decides whether a client must prove that it is the user. `binding` identifies the server's
/// certificate if the connection is encrypted.
///
/// # Errors
/// The user may not connect.
pub fn enter(login: Login, user: &str, binding: Option<Arc<[u8]>>) -> Result<Entry> {
    let (verifier, refusal): (_, Option<SqlError>) = match login {
        Login::Trusted => return Ok(Entry::Open),
        Login::Refused(refusal) => return Err(refusal),
        Login::Password { verifier, refusal } => (verifier, refusal),
        Login::Nobody(mock) => (mock, Some(sql_session::wrong_password(user))),
    };
    Ok(Entry::Proof(Box::new(Exchange::new(user, verifier, refusal, binding))))
}
