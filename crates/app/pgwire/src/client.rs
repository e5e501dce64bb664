//! A blocking client, for the command line and for tests.

use crate::login::scram::{self, Proof};
use crate::message::HEADER_BYTES;
use crate::message::backend::{self, Backend};
use crate::message::frontend::Frontend;
use crate::message::startup::{Packet, Startup, VERSION_3_0};
use sql_session::{Severity, SqlError};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Maximal length of a server's message.
const MESSAGE_BYTES_MAX: usize = 1 << 30;
/// How long a connection attempt may take.
const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// Bytes that one system call reads at most; more within long messages.
const READ_BYTES: usize = 8 << 10;

/// Where a server is, and who connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub database: String,
    pub password: Option<String>,
}

/// The reason why a call has failed.
#[derive(Debug)]
pub enum Failure {
    /// The connection cannot be made, or is lost.
    Network(io::Error),
    /// The server has refused.
    Server(SqlError),
    /// The server does not follow the protocol, or needs something that this client lacks.
    Protocol(String),
    /// The server requires a password.
    NoPassword,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(error) => error.fmt(formatter),
            Self::Server(error) => error.fmt(formatter),
            Self::Protocol(problem) => formatter.write_str(problem),
            Self::NoPassword => formatter.write_str(
                "the server requires a password; set PGPASSWORD, or write postgresql://USER:PASSWORD@HOST",
            ),
        }
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Network(error)
    }
}

impl Target {
    /// Parses an address such as `postgresql://user@host:5432/database`; all parts are optional,
    /// `defaults` has the others.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn parse(url: &str, defaults: Self) -> Result<Self, String> {
        let mut target = defaults;
        let rest =
            ["postgresql://", "postgres://"].iter().find_map(|scheme| url.strip_prefix(scheme));
        let rest = rest.unwrap_or(url);
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        if !options.is_empty() {
            return Err(format!("`{url}` has options behind `?`, which are not supported"));
        }
        let (server, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, server) = server.rsplit_once('@').unwrap_or(("", server));
        let (user, password) = match user.split_once(':') {
            Some((user, password)) => (user, Some(unescaped(password)?)),
            None => (user, None),
        };
        target.password = password.or(target.password);
        let is_v6 = server.starts_with('[') && server.ends_with(']');
        let (host, port) = match server.rsplit_once(':') {
            Some((host, port)) if !is_v6 => (host, port),
            _ => (server, ""),
        };
        if !port.is_empty() {
            target.port =
                port.parse().map_err(|_| format!("`{port}` is not a port: 1 to 65535"))?;
        }
        let host = host.trim_start_matches('[').trim_end_matches(']');
        for (own, part) in
            [(&mut target.host, host), (&mut target.user, user), (&mut target.database, database)]
        {
            if !part.is_empty() {
                part.clone_into(own);
            }
        }
        Ok(target)
    }
}

/// A connection to a server.
pub struct Client {
    socket: TcpStream,
    input: Vec<u8>,
    /// Bytes of `input` that were already parsed.
    done: usize,
    output: Vec<u8>,
    /// Process and secret, for cancel requests.
    key: (u32, Vec<u8>),
    /// The settings that the server has reported.
    pub settings: Vec<(String, String)>,
}

/// Cancels statements of a connection, from any thread.
#[derive(Clone, Debug)]
pub struct Canceller {
    server: SocketAddr,
    process: u32,
    secret: Vec<u8>,
}

impl Canceller {
    /// Requests that the running statement ends. The server does not say whether there was one.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub fn cancel(&self) -> io::Result<()> {
        let mut socket = TcpStream::connect_timeout(&self.server, CONNECT_WAIT)?;
        let mut packet = Vec::new();
        Packet::Cancel { process: self.process, secret: self.secret.clone() }.write(&mut packet);
        socket.write_all(&packet)?;
        // The server closes the connection when it has done it.
        let _ = socket.read(&mut [0]);
        Ok(())
    }
}

impl Client {
    /// Connects and starts a session with these settings.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the session.
    pub fn connect(target: &Target, settings: &[(&str, &str)]) -> Result<Self, Failure> {
        let socket = connect_to_any((target.host.as_str(), target.port).to_socket_addrs()?)?;
        socket.set_nodelay(true)?;
        let parameters = [("user", target.user.as_str()), ("database", &target.database)];
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let parameters = parameters.iter().chain(settings).map(owned).collect();
        let mut client = Self {
            socket,
            input: Vec::new(),
            done: 0,
            output: Vec::new(),
            key: (0, Vec::new()),
            settings: Vec::new(),
        };
        let startup = Packet::Startup(Startup { version: VERSION_3_0, parameters });
        startup.write(&mut client.output);
        client.flush()?;
        loop {
            match client.read()? {
                Backend::Authentication(0, _) => {}
                Backend::Authentication(backend::SASL, mechanisms) => {
                    client.prove(target, &mechanisms)?;
                }
                Backend::Authentication(..) => {
                    let problem = "the server asks for a proof of the user that is not supported";
                    return Err(Failure::Protocol(problem.to_owned()));
                }
                Backend::Error(error) if is_error(&error) => return Err(Failure::Server(error)),
                Backend::Ready(_) => return Ok(client),
                _ => {}
            }
        }
    }

    /// Proves that the user has the password.
    fn prove(&mut self, target: &Target, mechanisms: &[u8]) -> Result<(), Failure> {
        let broken = |problem: &str| Failure::Protocol(problem.to_owned());
        let mut offered = mechanisms.split(|&byte| byte == 0);
        if !offered.any(|name| name == scram::PLAIN.as_bytes()) {
            return Err(broken("the server does not offer SCRAM-SHA-256"));
        }
        let Some(password) = &target.password else { return Err(Failure::NoPassword) };
        let mut proof = Proof::new(password);
        let first = proof.first();
        let mut message = scram::PLAIN.as_bytes().to_vec();
        message.push(0);
        message.extend((first.len() as u32).to_be_bytes());
        message.extend(first.as_bytes());
        let server = self.exchange(&message, backend::SASL_CONTINUE)?;
        let answer = proof.answer(&server);
        let answer = answer.ok_or_else(|| broken("the server does not follow SCRAM-SHA-256"))?;
        let last = self.exchange(answer.as_bytes(), backend::SASL_FINAL)?;
        match proof.is_answered(&last) {
            true => Ok(()),
            false => Err(broken("the server does not know the password: it is another server")),
        }
    }

    /// Sends a message of a proof; returns the server's.
    fn exchange(&mut self, message: &[u8], kind: i32) -> Result<String, Failure> {
        self.put(&Frontend::Password(message));
        self.flush()?;
        loop {
            match self.read()? {
                Backend::Authentication(found, data) if found == kind => {
                    return String::from_utf8(data)
                        .map_err(|_| Failure::Protocol("the server sends no text".to_owned()));
                }
                Backend::Error(error) if is_error(&error) => return Err(Failure::Server(error)),
                Backend::Error(_) => {}
                _ => {
                    let problem = "the server does not follow SCRAM-SHA-256";
                    return Err(Failure::Protocol(problem.to_owned()));
                }
            }
        }
    }

    /// The socket, for tests.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// A handle that cancels the running statement.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn canceller(&self) -> io::Result<Canceller> {
        let (process, secret) = self.key.clone();
        Ok(Canceller { server: self.socket.peer_addr()?, process, secret })
    }

    /// Appends a message to those that the next [`Client::flush`] sends.
    pub fn put(&mut self, message: &Frontend<'_>) {
        message.write(&mut self.output);
    }

    /// Sends all messages.
    ///
    /// # Errors
    /// The connection is lost.
    pub fn flush(&mut self) -> io::Result<()> {
        self.socket.write_all(&self.output)?;
        self.output.clear();
        Ok(())
    }

    /// Reads the next message. Keys and settings are stored.
    ///
    /// # Errors
    /// The connection is lost, or the server does not follow the protocol.
    pub fn read(&mut self) -> Result<Backend, Failure> {
        loop {
            let rest = &self.input[self.done..];
            if let Some(length) = message_length(rest)?
                && let Some(message) = rest.get(..length)
            {
                let parsed = backend::parse(message);
                self.done += length;
                let parsed = parsed.map_err(|error| Failure::Protocol(error.to_string()))?;
                match &parsed {
                    Backend::ParameterStatus(name, value) => {
                        self.settings.retain(|(own, _)| own != name);
                        self.settings.push((name.clone(), value.clone()));
                    }
                    Backend::KeyData { process, secret } => self.key = (*process, secret.clone()),
                    _ => {}
                }
                return Ok(parsed);
            }
            self.receive()?;
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        self.input.drain(..self.done);
        self.done = 0;
        let length = self.input.len();
        self.input.resize(length + READ_BYTES.max(length), 0);
        let read = self.socket.read(&mut self.input[length..]);
        self.input.truncate(length + read.as_ref().copied().unwrap_or(0));
        match read {
            Ok(0) => {
                let problem = "the server has closed the connection";
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            read => read.map(|_| ()),
        }
    }

    /// Runs a simple query; `show` gets each message up to ReadyForQuery, with the client for the
    /// data of a copy. Returns the letter of the transaction's state.
    ///
    /// # Errors
    /// The connection is lost. Errors of statements go to `show`.
    pub fn query(
        &mut self,
        text: &str,
        mut show: impl FnMut(&mut Self, Backend) -> Result<(), Failure>,
    ) -> Result<u8, Failure> {
        self.put(&Frontend::Query(text));
        self.flush()?;
        loop {
            match self.read()? {
                Backend::Ready(status) => return Ok(status),
                message => show(self, message)?,
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.put(&Frontend::Terminate);
        // A server that is gone needs no farewell.
        let _ = self.flush();
    }
}

/// A part of a URL with its escaped characters.
fn unescaped(part: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        let code = if byte == b'%' { [rest.next(), rest.next()] } else { [None, None] };
        bytes.push(match (byte, code) {
            (b'%', [Some(high), Some(low)]) => {
                let digits = [high, low];
                let digits = std::str::from_utf8(&digits).unwrap_or("");
                u8::from_str_radix(digits, 16).map_err(|_| "`%` in a URL needs two digits")?
            }
            (b'%', _) => return Err("`%` in a URL needs two digits".to_owned()),
            (byte, _) => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| "the password in the URL is not UTF-8".to_owned())
}

/// Whether it is more than a notice.
pub fn is_error(error: &SqlError) -> bool {
    matches!(error.severity, Severity::Error | Severity::Fatal)
}

fn connect_to_any(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_WAIT) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Length of the message at the beginning of a buffer, if it is there.
fn message_length(buffer: &[u8]) -> Result<Option<usize>, Failure> {
    let Some(length) = buffer.get(1..HEADER_BYTES) else { return Ok(None) };
    let length = u32::from_be_bytes(length.try_into().expect("it has four bytes")) as usize;
    if (4..MESSAGE_BYTES_MAX).contains(&length) {
        return Ok(Some(length + 1));
    }
    Err(Failure::Protocol("the server does not speak PostgreSQL's protocol".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_optional_parts() {
        let target = |host: &str, port, user: &str, database: &str| Target {
            host: host.to_owned(),
            port,
            user: user.to_owned(),
            database: database.to_owned(),
            password: None,
        };
        let parse = |url| Target::parse(url, target("127.0.0.1", 5432, "me", "me"));
        assert_eq!(parse(""), Ok(target("127.0.0.1", 5432, "me", "me")));
        assert_eq!(parse("postgresql://ada@db:7/shop"), Ok(target("db", 7, "ada", "shop")));
        let with_password = parse("ada:a%3Ab@db").map(|target| (target.user, target.password));
        assert_eq!(with_password, Ok(("ada".to_owned(), Some("a:b".to_owned()))));
        assert_eq!(parse("localhost:7"), Ok(target("localhost", 7, "me", "me")));
        assert_eq!(parse("postgres://[::1]:7"), Ok(target("::1", 7, "me", "me")));
        assert_eq!(parse("[::1]"), Ok(target("::1", 5432, "me", "me")));
        assert!(parse("a:%4@c").is_err() && parse("h:0x").is_err() && parse("h?x=1").is_err());
    }
}
