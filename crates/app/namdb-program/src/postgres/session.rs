//! A connection to PostgreSQL for prepared procedures. Each call is one transaction and one message
//! in each direction.

use super::encode::{form, put, statement};
use super::wire::{Answer, Answers, Failure, Form, Requests};
use anyhow::{Context, Result, bail};
use sql::{Procedure, SqlType};
use sql_value::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Maximal wait for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// Address of a server, with user and database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    /// Host name, or the folder of a Unix socket.
    pub host: String,
    /// Port; for a socket, part of its name.
    pub port: u16,
    /// Name of the user.
    pub user: String,
    /// Name of the database.
    pub database: String,
}

/// A connection's stream.
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// A prepared procedure.
struct Prepared {
    name: String,
    forms: Vec<Form>,
    types: Vec<SqlType>,
}

/// A connection.
pub struct Session {
    stream: Stream,
    requests: Requests,
    answers: Answers,
    procedures: Vec<Prepared>,
}

impl Session {
    /// Connects without a password, executes the statements in `settings`, and prepares procedures,
    /// which are called by position.
    ///
    /// # Errors
    /// If the server is unreachable, requires a password, or rejects a statement.
    pub fn open(address: &Address, settings: &str, procedures: &[&Procedure]) -> Result<Self> {
        let Address { host, port, user, database } = address;
        let stream = connect(host, *port)
            .with_context(|| format!("no connection to PostgreSQL at {host}, port {port}"))?;
        let prepared = procedures.iter().enumerate().map(|(at, procedure)| {
            let types: Vec<SqlType> =
                procedure.inputs().map(|(_, variable)| variable.sql_type.clone()).collect();
            Prepared { name: format!("p{at}"), forms: types.iter().map(form).collect(), types }
        });
        let prepared: Vec<Prepared> = prepared.collect();
        let (requests, answers) = Default::default();
        let mut session = Self { stream, requests, answers, procedures: prepared };
        session.requests.startup(user, database);
        session.ask().context("PostgreSQL has refused the connection")?;
        session.requests.query(settings);
        session.ask().with_context(|| format!("PostgreSQL has refused {settings}"))?;
        for (prepared, procedure) in session.procedures.iter().zip(procedures) {
            session.requests.parse(&prepared.name, &statement(procedure));
        }
        session.requests.sync();
        session.ask().context("PostgreSQL has refused to prepare the procedures")?;
        Ok(session)
    }

    /// Calls a procedure; returns the number of rows or the server's error.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn call(
        &mut self,
        procedure: usize,
        arguments: &[Value],
    ) -> io::Result<Result<usize, Failure>> {
        let Prepared { name, forms, types } = &self.procedures[procedure];
        self.requests.bind(name, forms, |requests| {
            arguments.iter().zip(types).for_each(|(value, of)| put(requests, value, of));
        });
        self.requests.execute();
        self.requests.sync();
        self.exchange()
    }

    /// Sends the requests; an error of the server becomes an error of this function.
    fn ask(&mut self) -> Result<()> {
        match self.exchange()? {
            Ok(_) => Ok(()),
            Err(Failure { sqlstate, message }) => bail!("{message} (SQLSTATE {sqlstate})"),
        }
    }

    /// Sends the requests and waits for all answers.
    fn exchange(&mut self) -> io::Result<Result<usize, Failure>> {
        self.stream.write_all(self.requests.bytes())?;
        self.requests.clear();
        let mut rows = 0;
        let mut failed = None;
        loop {
            match self.answers.next(&mut self.stream)? {
                Answer::Row => rows += 1,
                Answer::Failed(failure) => {
                    // After these errors the server closes the connection.
                    if failure.sqlstate.starts_with("28") || failure.sqlstate.starts_with("3D") {
                        return Ok(Err(failure));
                    }
                    failed = Some(failure);
                }
                Answer::Ready => return Ok(failed.map_or(Ok(rows), Err)),
                Answer::Authenticate(0) | Answer::Other => {}
                Answer::Authenticate(_) => {
                    return Err(io::Error::new(
                        io::ErrorKind::PermissionDenied,
                        "the server requires a password, which benchmarks cannot give: let it trust this user (pg_hba.conf), or \
                         give no address, so that a server is started for the run",
                    ));
                }
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.requests.clear();
        self.requests.terminate();
        // A lost server need not be informed.
        let _ = self.stream.write_all(self.requests.bytes());
    }
}

fn connect(host: &str, port: u16) -> io::Result<Stream> {
    if host.starts_with('/') {
        let stream = UnixStream::connect(format!("{host}/.s.PGSQL.{port}"))?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        stream.set_write_timeout(Some(ANSWER_WITHIN))?;
        return Ok(Stream::Unix(stream));
    }
    let stream = TcpStream::connect((host, port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.set_write_timeout(Some(ANSWER_WITHIN))?;
    Ok(Stream::Tcp(stream))
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(into),
            Self::Tcp(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(from),
            Self::Tcp(stream) => stream.write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
