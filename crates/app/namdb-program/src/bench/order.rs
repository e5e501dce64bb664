//! What is said between a benchmark and the compute servers that run its transactions: lines of JSON.
//!
//! ```text
//! benchmark                compute server
//! Greeting            ->
//!                     <-   Ready, or Refused
//! Order               ->
//!                     <-   Standing, again and again; then Done or Failed
//! End (at any time)   ->
//! ```
//! A benchmark that is gone has ended the run, too.
//!
//! Decision: docs/decisions/0095-compute-servers-execute-orders.md

use super::driver::Standing;
use super::part::Part;
use super::travel::RunRecord;
use anyhow::{Context, Result, bail, ensure};
use fabric::tcp::{TlsKeys, TlsStream};
use namdb::host::Moment;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Most bytes of what a benchmark says in one line.
const REQUEST_BYTES_MAX: usize = 64 << 10;
/// Most bytes of what a compute server says in one line: histories are long.
const ANSWER_BYTES_MAX: usize = 1 << 30;
/// How an end that encrypts says that it has heard nothing encrypted: a record of TLS, of any version.
const TLS_ALERT: [u8; 2] = [21, 3];
/// How long both ends may take to prove who they are.
const HANDSHAKE_TIME: Duration = Duration::from_secs(5);
/// How long the other end may take to read what it is sent.
const WRITE_TIME: Duration = Duration::from_secs(10);

/// What a benchmark says.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// First of all.
    Greeting(Greeting),
    /// What to run.
    Order(Box<Order>),
    /// The run is to end now, and what was measured to be told.
    End,
}

/// Whom the benchmark takes the compute server for.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// Version of the program.
    pub program: String,
    /// The cluster.
    pub cluster: u64,
    /// The compute server's identity.
    pub server: u64,
}

/// A part of a run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// What was typed after `namdb bench`.
    pub arguments: Vec<String>,
    /// Threads of this part.
    pub threads: u32,
    /// Threads of all parts.
    pub threads_in_all: u32,
    /// Lanes of each thread.
    pub lanes: u32,
    /// Which part.
    pub part: Part,
}

/// What a compute server says.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It will run what it is ordered to.
    Ready(Ready),
    /// It will not, in a sentence.
    Refused(String),
    /// Where the run stands.
    Standing(Standing),
    /// The run is over.
    Done(Box<Done>),
    /// The run came to nothing, in a sentence.
    Failed(String),
}

/// What a compute server has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ready {
    /// Its threads, by its configuration.
    pub threads: u32,
    /// Lanes of each.
    pub lanes: u32,
    /// Most lanes that have a use: one where verbs take no time.
    pub lanes_max: u32,
    /// Which clock it notes times by: that of its host since it started.
    pub clock: String,
}

/// What came of a part.
#[derive(Debug, Serialize, Deserialize)]
pub struct Done {
    /// The measurements.
    pub run: RunRecord,
    /// What the workload leaves to the checks.
    pub testimony: String,
}

/// One end of a conversation.
pub struct Line {
    wire: Wire,
    /// What has arrived and was not taken.
    arrived: Vec<u8>,
    /// Of that, what is known to hold no end of a line.
    looked: usize,
    /// Whether anything has arrived since somebody asked.
    has_heard: bool,
    /// Most bytes of a line.
    bytes_max: usize,
}

/// What goes over a connection, as it is or encrypted.
enum Wire {
    Plain(TcpStream),
    Encrypted(Box<TlsStream>),
}

impl Wire {
    fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Encrypted(stream) => stream.socket(),
        }
    }

    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(room),
            Self::Encrypted(stream) => stream.read(room),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Plain(socket) => socket.write_all(bytes),
            Self::Encrypted(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }
}

impl Line {
    /// Of a compute server to whoever has connected, who has to prove that it is of the cluster where there are
    /// `keys`.
    pub fn accept(socket: TcpStream, keys: Option<&TlsKeys>) -> Result<Self> {
        prepare(&socket)?;
        let wire = match keys {
            None => Wire::Plain(socket),
            Some(keys) => {
                Wire::Encrypted(Box::new(TlsStream::accept(keys, socket, HANDSHAKE_TIME)?))
            }
        };
        Ok(Self::over(wire, REQUEST_BYTES_MAX))
    }

    /// To compute server `number`, which has to prove that it is that one where there are `keys`.
    pub fn connect(socket: TcpStream, keys: Option<&TlsKeys>, number: u16) -> Result<Self> {
        prepare(&socket)?;
        let wire = match keys {
            None => Wire::Plain(socket),
            Some(keys) => {
                let name = TlsKeys::compute_server_name(number);
                let stream = TlsStream::connect(keys, name, socket, HANDSHAKE_TIME)
                    .context("it does not prove who it is")?;
                Wire::Encrypted(Box::new(stream))
            }
        };
        Ok(Self::over(wire, ANSWER_BYTES_MAX))
    }

    /// The other end says at most so much at a time.
    fn over(wire: Wire, bytes_max: usize) -> Self {
        Self { wire, arrived: Vec::new(), looked: 0, has_heard: false, bytes_max }
    }

    /// Says something.
    pub fn say(&mut self, what: &impl Serialize) -> Result<()> {
        let mut text = serde_json::to_vec(what).context("it cannot be put into words")?;
        text.push(b'\n');
        self.wire.write_all(&text).context("the other end does not listen")
    }

    /// Whether anything has arrived since the last time this was asked: long lines take their time.
    pub fn has_heard(&mut self) -> bool {
        std::mem::take(&mut self.has_heard)
    }

    /// What the other end says next; none if it has said nothing within `patience`.
    ///
    /// # Errors
    /// It is gone, or says what nobody understands.
    pub fn hear<T: DeserializeOwned>(&mut self, patience: Duration) -> Result<Option<T>> {
        let start = Moment::now();
        loop {
            let unseen = &self.arrived[self.looked..];
            if let Some(end) = unseen.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.arrived.drain(..=self.looked + end).collect();
                self.looked = 0;
                return Ok(Some(
                    serde_json::from_slice(&line).context("it says what nobody knows")?,
                ));
            }
            self.looked = self.arrived.len();
            ensure!(
                self.looked <= self.bytes_max,
                "it says more than {} bytes at a time",
                self.bytes_max
            );
            let left = patience.saturating_sub(start.instant().elapsed());
            if left.is_zero() && self.looked > 0 && !patience.is_zero() {
                return Ok(None);
            }
            self.wire.socket().set_read_timeout(Some(left.max(Duration::from_micros(1))))?;
            let mut bytes = [0; 64 << 10];
            match self.wire.read(&mut bytes) {
                Ok(0) if self.arrived.starts_with(&TLS_ALERT) => {
                    bail!("it speaks TLS only; the cluster's file wants a section `tls`")
                }
                Ok(0) => bail!("it has closed the connection"),
                Ok(count) => {
                    self.arrived.extend_from_slice(&bytes[..count]);
                    self.has_heard = true;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error).context("the connection is broken"),
            }
        }
    }
}

fn prepare(socket: &TcpStream) -> Result<()> {
    socket.set_nodelay(true)?;
    Ok(socket.set_write_timeout(Some(WRITE_TIME))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const PATIENCE: Duration = Duration::from_secs(5);

    fn ends(bytes_max: usize) -> (Line, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let other = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (stream, _) = listener.accept().expect("somebody connects");
        (Line::over(Wire::Plain(stream), bytes_max), other)
    }

    #[test]
    fn lines_arrive_whole_however_they_are_cut() {
        let (mut line, mut other) = ends(1000);
        let nothing: Option<Request> = line.hear(Duration::from_millis(1)).expect("it is there");
        assert!(nothing.is_none());
        other.write_all(b"\"En").expect("it reads");
        let half: Option<Request> = line.hear(Duration::from_millis(20)).expect("it is there");
        assert!(half.is_none());
        other.write_all(b"d\"\n\"End\"\n").expect("it reads");
        for _ in 0..2 {
            assert!(matches!(line.hear(PATIENCE), Ok(Some(Request::End))));
        }
        drop(other);
        let gone = line.hear::<Request>(PATIENCE).expect_err("nobody is there");
        assert!(gone.to_string().contains("closed"), "{gone}");
    }

    #[test]
    fn garbage_and_endless_lines_are_refused() {
        let (mut line, mut other) = ends(1000);
        other.write_all(b"GET / HTTP/1.1\n").expect("it reads");
        let garbage = line.hear::<Request>(PATIENCE).expect_err("it is no request");
        assert!(garbage.to_string().contains("nobody knows"), "{garbage}");
        let (mut line, mut other) = ends(1000);
        other.write_all(&[b'x'; 5000]).expect("it reads");
        let endless = line.hear::<Request>(PATIENCE).expect_err("it is too long");
        assert!(endless.to_string().contains("more than 1000 bytes"), "{endless}");
    }
}
