//! Protocol between a benchmark and the compute servers that run its transactions: lines of JSON.
//!
//! ```text
//! benchmark                compute server
//! proof of the secret <->
//! Greeting            ->
//!                     <-   Ready, or Refused
//! Order               ->
//!                     <-   Standing repeatedly, then Done or Failed
//! End (at any time)   ->
//! ```
//! If the benchmark disconnects, the run ends, too. Before the proof (see [`fabric::proof`]) the
//! server says the version of the protocol and nothing else.
//!
//! Decision: docs/decisions/0095-compute-servers-execute-orders.md

use super::driver::Standing;
use super::part::Part;
use super::run_record::RunRecord;
use anyhow::{Context, Result, bail, ensure};
use fabric::Secret;
use fabric::guests::GuestStage;
use fabric::proof::{Purpose, demand, prove};
use fabric::tcp::{TlsKeys, TlsStream};
use folder_benchmark::ShippedFolder;
use namdb::host::Moment;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Maximal length of a benchmark's line in bytes; it may have the files of a workload, escaped.
const REQUEST_BYTES_MAX: usize = 48 << 20;
/// Maximal length of a compute server's line in bytes; histories are long.
const ANSWER_BYTES_MAX: usize = 1 << 30;
/// First bytes of the alert that a TLS peer sends on unencrypted input, in any TLS version.
const TLS_ALERT: [u8; 2] = [21, 3];
/// Maximal duration of the handshake: TLS, and the proof of the secret.
const HANDSHAKE_TIME: Duration = Duration::from_secs(5);
/// Maximal time for the peer to read what is sent.
const WRITE_TIME: Duration = Duration::from_secs(10);

/// Stands for the shipped folder in an order's arguments.
pub const SHIPPED: &str = "shipped-with-the-order";

/// Messages of a benchmark.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request {
    /// The first message.
    Greeting(Greeting),
    /// The part of the run to execute.
    Order(Box<Order>),
    /// Ends the run now; the compute server then sends its measurements.
    End,
}

/// Identifies the compute server that the benchmark expects.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// Version of the program.
    pub program: String,
    /// The cluster's identifier.
    pub cluster: u64,
    /// The compute server's identity.
    pub server: u64,
}

/// A part of a run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// Command line after `namdb bench`. It names no path: [`SHIPPED`] stands for the files of
    /// `folder`.
    pub arguments: Vec<String>,
    /// The workload, if it is a folder.
    pub folder: Option<ShippedFolder>,
    /// Threads of this part.
    pub threads: u32,
    /// Threads of all parts.
    pub threads_in_all: u32,
    /// Lanes per thread.
    pub lanes: u32,
    /// Position of the part in the run.
    pub part: Part,
}

/// Messages of a compute server.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It accepts orders.
    Ready(Ready),
    /// It rejects the request, for this reason.
    Refused(String),
    /// Progress of the run.
    Standing(Standing),
    /// The run has ended.
    Done(Box<Done>),
    /// The run failed, for this reason.
    Failed(String),
}

/// Capacity of a compute server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ready {
    /// Configured number of threads.
    pub threads: u32,
    /// Configured lanes per thread.
    pub lanes: u32,
    /// Maximal useful number of lanes per thread: 1 if verbs take no time.
    pub lanes_max: u32,
    /// Name of the clock from which it takes times: its host's clock since boot.
    pub clock: String,
}

/// Result of a part.
#[derive(Debug, Serialize, Deserialize)]
pub struct Done {
    /// The measurements.
    pub run: RunRecord,
    /// Data that its transactions report to the workload's checks.
    pub testimony: String,
}

/// One end of a connection.
pub struct Line {
    wire: Wire,
    /// Bytes received and not yet returned.
    arrived: Vec<u8>,
    /// Length of the prefix of `arrived` that is known to contain no line end.
    looked: usize,
    /// Whether bytes have arrived since the last call of `has_heard`.
    has_heard: bool,
    /// Maximal length of a line.
    bytes_max: usize,
}

/// A connection, plain or encrypted.
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
    /// A compute server's end of a new connection, whose peer must prove the cluster's secret and,
    /// with `keys`, that it has a certificate. Notes how far the peer is.
    pub fn accept(
        socket: TcpStream,
        keys: Option<&TlsKeys>,
        secret: &Secret,
        note: impl Fn(GuestStage),
    ) -> Result<Self> {
        prepare(&socket)?;
        let start = Moment::now();
        socket.set_read_timeout(Some(HANDSHAKE_TIME))?;
        socket.peek(&mut [0]).map_err(in_time)?;
        note(GuestStage::Spoken);
        let mut wire = match keys {
            None => Wire::Plain(socket),
            Some(keys) => {
                let left = HANDSHAKE_TIME.saturating_sub(start.instant().elapsed());
                Wire::Encrypted(Box::new(TlsStream::accept(keys, socket, left)?))
            }
        };
        let mut handshake = Handshake { wire: &mut wire, start, first: Vec::new() };
        let marked = || note(GuestStage::Marked);
        let proven = demand(&mut handshake, secret, Purpose::Work, &mut [], marked);
        let proven = proven.map_err(in_time)?;
        handshake.write_all(&proven.seal(secret, &[]))?;
        Ok(Self::over(wire, REQUEST_BYTES_MAX))
    }

    /// A benchmark's end of a connection to compute server `number`. With `keys`, the peer must
    /// prove that it is this server; without, that it knows the cluster's secret.
    pub fn connect(
        socket: TcpStream,
        keys: Option<&TlsKeys>,
        secret: &Secret,
        number: u16,
    ) -> Result<Self> {
        prepare(&socket)?;
        let start = Moment::now();
        let mut wire = match keys {
            None => Wire::Plain(socket),
            Some(keys) => {
                let name = TlsKeys::compute_server_name(number);
                let stream = TlsStream::connect(keys, name, socket, HANDSHAKE_TIME)
                    .context("it cannot prove its identity")?;
                Wire::Encrypted(Box::new(stream))
            }
        };
        let mut handshake = Handshake { wire: &mut wire, start, first: Vec::new() };
        if let Err(error) = prove(&mut handshake, secret, Purpose::Work, &[], &mut []) {
            ensure!(
                !handshake.first.starts_with(&TLS_ALERT),
                "it accepts TLS only; add a section `tls` to the cluster's file"
            );
            return Err(in_time(error).into());
        }
        Ok(Self::over(wire, ANSWER_BYTES_MAX))
    }

    /// Wraps a connection whose peer sends lines of at most `bytes_max`.
    fn over(wire: Wire, bytes_max: usize) -> Self {
        Self { wire, arrived: Vec::new(), looked: 0, has_heard: false, bytes_max }
    }

    /// Sends a message.
    pub fn say(&mut self, what: &impl Serialize) -> Result<()> {
        let mut text = serde_json::to_vec(what).context("the message cannot be encoded as JSON")?;
        text.push(b'\n');
        self.wire.write_all(&text).context("the other end does not read its messages")
    }

    /// Whether bytes have arrived since the last call; a long line may take a while.
    pub fn has_heard(&mut self) -> bool {
        std::mem::take(&mut self.has_heard)
    }

    /// Reads the next message; `None` if none arrives within `patience`.
    ///
    /// # Errors
    /// If the peer has disconnected or sends an invalid message.
    pub fn hear<T: DeserializeOwned>(&mut self, patience: Duration) -> Result<Option<T>> {
        let start = Moment::now();
        loop {
            let unseen = &self.arrived[self.looked..];
            if let Some(end) = unseen.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.arrived.drain(..=self.looked + end).collect();
                self.looked = 0;
                return Ok(Some(
                    serde_json::from_slice(&line).context("it sends an unknown message")?,
                ));
            }
            self.looked = self.arrived.len();
            ensure!(
                self.looked <= self.bytes_max,
                "it sends a line of more than {} bytes",
                self.bytes_max
            );
            let left = patience.saturating_sub(start.instant().elapsed());
            if left.is_zero() && self.looked > 0 && !patience.is_zero() {
                return Ok(None);
            }
            self.wire.socket().set_read_timeout(Some(left.max(Duration::from_micros(1))))?;
            let mut bytes = [0; 64 << 10];
            match self.wire.read(&mut bytes) {
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

/// A connection during its handshake: reading ends with the handshake's time, however the peer cuts
/// what it sends.
struct Handshake<'a> {
    wire: &'a mut Wire,
    start: Moment,
    /// The first bytes of the peer.
    first: Vec<u8>,
}

impl Read for Handshake<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let left = HANDSHAKE_TIME.saturating_sub(self.start.instant().elapsed());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.wire.socket().set_read_timeout(Some(left))?;
        let count = self.wire.read(room)?;
        let missing = TLS_ALERT.len().saturating_sub(self.first.len());
        self.first.extend(room[..count].iter().take(missing));
        Ok(count)
    }
}

impl Write for Handshake<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.wire.write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Says what the ends of a handshake mean.
fn in_time(error: std::io::Error) -> std::io::Error {
    let sentence = match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "it has not completed the handshake in time",
        ErrorKind::UnexpectedEof => "it has closed the connection",
        _ => return error,
    };
    std::io::Error::new(error.kind(), sentence)
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
        assert!(garbage.to_string().contains("unknown message"), "{garbage}");
        let (mut line, mut other) = ends(1000);
        other.write_all(&[b'x'; 5000]).expect("it reads");
        let endless = line.hear::<Request>(PATIENCE).expect_err("it is too long");
        assert!(endless.to_string().contains("more than 1000 bytes"), "{endless}");
    }
}
