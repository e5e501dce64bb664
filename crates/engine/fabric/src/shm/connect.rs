//! Connects a compute process to the memory servers of its host, and to compute servers that it
//! calls.

use crate::identity::{ANSWER_BYTES, Hello, Refusal, Welcome, named};
use crate::local::{Callers, LocalWorld};
use crate::proof::{self, CHALLENGE_BYTES, Claim, Purpose, SEAL_BYTES};
use crate::raw::Memory;
use crate::secret::Secret;
use crate::shm::caller::SegmentCaller;
use crate::shm::directory::socket_path;
use crate::shm::segment::Segment;
use crate::shm::socket::{connect as connect_socket, peer, receive, send};
use crate::shm::watch::{Watch, Watched};
use layout::NodeId;
use rustix::io::Errno;
use rustix::process::geteuid;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Configuration of a compute process.
#[derive(Clone, Debug)]
pub struct ConnectConfig {
    /// The folder with the servers' sockets.
    pub directory: PathBuf,
    /// The cluster's secret.
    pub secret: Secret,
    /// The first message to each memory server: entry n is for node n.
    pub hellos: Vec<Hello>,
    /// The first message to each called compute server.
    pub peers: Vec<Hello>,
    /// Whether these must be running. If not, calls to one that does not run fail as unreachable.
    pub needs_peers: bool,
    /// Seed of all randomness in this process's world.
    pub seed: u64,
    /// Time-out of the handshake with a server.
    pub connect_timeout: Duration,
    /// Time-out of a call, after which the server may still execute it. The end of a server is
    /// noticed at once; this is for a server that hangs.
    pub call_timeout: Duration,
}

impl ConnectConfig {
    /// A configuration with default time-outs.
    pub fn new(directory: impl Into<PathBuf>, secret: Secret, hellos: Vec<Hello>) -> Self {
        let (connect_timeout, call_timeout) = (Duration::from_secs(5), Duration::from_secs(30));
        let (directory, peers) = (directory.into(), Vec::new());
        let needs_peers = true;
        Self {
            directory,
            secret,
            hellos,
            peers,
            needs_peers,
            seed: 1,
            connect_timeout,
            call_timeout,
        }
    }
}

/// Why a compute process could not connect to a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No server listens there, or it does not answer.
    #[error("cannot connect to {} at {path}: {error}; start it, or set the folder of its socket", named(*.node))]
    Absent { node: NodeId, path: PathBuf, error: io::Error },
    /// The server refuses this caller.
    #[error("{} refused: {refusal}", named(*.node))]
    Refused { node: NodeId, refusal: Refusal },
    /// A process of another user listens there.
    #[error(
        "the server at {path} belongs to user {uid}; run compute and memory servers as one user"
    )]
    Stranger { path: PathBuf, uid: u32 },
    /// The region or the segment cannot be mapped.
    #[error("cannot map the memory of {}: {error}", named(*.node))]
    Region { node: NodeId, error: io::Error },
    /// The thread that notices lost servers did not start.
    #[error("cannot watch memory servers: {0}")]
    Watch(io::Error),
}

/// Maps the regions of all memory servers. This process executes the verbs of the world, the memory
/// servers and the named compute servers execute its calls. A lost server stays lost in this world;
/// connect again after it has restarted.
///
/// # Panics
/// If the memory servers are not numbered from 0 in their order, or a peer is not a compute server.
pub fn connect(config: &ConnectConfig) -> Result<Arc<LocalWorld>, ConnectError> {
    let watch = Watch::new().map_err(|error| ConnectError::Watch(error.into()))?;
    let (mut regions, mut callers, mut watched) = (Vec::new(), Callers::new(), Vec::new());
    for (number, hello) in config.hellos.iter().enumerate() {
        assert_eq!(usize::from(hello.node.0), number, "servers are listed by number");
    }
    for hello in &config.peers {
        assert!(hello.node.compute_server().is_some(), "peers are compute servers");
    }
    for hello in config.hellos.iter().chain(&config.peers) {
        let is_needed = config.needs_peers || hello.node.compute_server().is_none();
        let ServerResources { region, segment, bell, watched: server } =
            match connect_to(config, hello) {
                Err(_) if !is_needed => continue,
                asked => asked?,
            };
        let (node, timeout) = (hello.node, config.call_timeout);
        let caller = SegmentCaller::new(node, segment, bell, timeout, watch.clone());
        regions.extend(region);
        callers.insert(node, Arc::new(caller));
        watched.push(server);
    }
    let world = LocalWorld::of(regions, callers, config.seed);
    watch.start(Arc::downgrade(&world), watched).map_err(ConnectError::Watch)?;
    Ok(world)
}

/// Resources that a server passes to an accepted caller.
struct ServerResources {
    /// `None` from a compute server.
    region: Option<Memory>,
    segment: Segment,
    bell: OwnedFd,
    watched: Watched,
}

fn connect_to(config: &ConnectConfig, hello: &Hello) -> Result<ServerResources, ConnectError> {
    let node = hello.node;
    let path = socket_path(&config.directory, node);
    let (socket, pidfd) = open_socket(config, node, &path)?;
    let absent = |error: io::Error| ConnectError::Absent { node, path: path.clone(), error };
    let (answer, descriptors) = match prove(config, hello, socket.as_fd()) {
        Ok(answered) => answered,
        Err(Failure::Socket(error)) => {
            return Err(absent(answer_error(error, config.connect_timeout)));
        }
        Err(Failure::Refused(refusal)) => return Err(ConnectError::Refused { node, refusal }),
    };
    let welcome =
        Welcome::decode(&answer).map_err(|refusal| ConnectError::Refused { node, refusal })?;
    let unusable = |error| ConnectError::Region { node, error };
    let has_region = node.compute_server().is_none();
    let expected = if has_region { 3 } else { 2 };
    if descriptors.len() != expected {
        let sentence = format!("it sent {} descriptors instead of {expected}", descriptors.len());
        return Err(unusable(io::Error::new(io::ErrorKind::InvalidData, sentence)));
    }
    let mut descriptors = descriptors.into_iter();
    let mut next = || descriptors.next().expect("they were counted");
    let region = has_region.then(&mut next);
    let region = region.map(|region| Memory::map_file(region, welcome.region_bytes));
    Ok(ServerResources {
        region: region.transpose().map_err(unusable)?,
        segment: Segment::map(next()).map_err(unusable)?,
        bell: next(),
        watched: Watched { node, pidfd, socket },
    })
}

/// Why there is no answer to a hello.
enum Failure {
    Socket(Errno),
    Refused(Refusal),
}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Self {
        Self::Socket(error)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Proves the secret and sends the hello; returns the server's answer with its descriptors.
fn prove(
    config: &ConnectConfig,
    hello: &Hello,
    socket: BorrowedFd<'_>,
) -> Result<([u8; ANSWER_BYTES], Vec<OwnedFd>), Failure> {
    send(socket, &proof::opening(&config.secret), &[])?;
    let mut challenge = [0; CHALLENGE_BYTES];
    let (length, _) = receive(socket, &mut challenge)?;
    ensure_heard(length)?;
    Claim::is_challenge(challenge.first_chunk().expect("a challenge begins so"))?;
    let hello = hello.encode();
    let (claim, proof) = Claim::to(&challenge, &config.secret, Purpose::Verbs, &hello);
    send(socket, &[&proof[..], &hello].concat(), &[])?;
    let mut sealed = [0; ANSWER_BYTES + SEAL_BYTES];
    let (length, descriptors) = receive(socket, &mut sealed)?;
    ensure_heard(length)?;
    let head = sealed.first_chunk().expect("an answer has more bytes than a head");
    Claim::refusal(head).map_or(Ok(()), Err)?;
    let (answer, seal) = sealed.split_first_chunk().expect("an answer is first");
    claim.check(&config.secret, answer, seal.try_into().expect("the seal is last"))?;
    Ok((*answer, descriptors))
}

/// A message without bytes is the end of the connection.
fn ensure_heard(length: usize) -> Result<(), Errno> {
    if length == 0 { Err(Errno::CONNRESET) } else { Ok(()) }
}

/// Connects to the server at `path` if it is a process of the same user; returns its descriptor
/// too.
fn open_socket(
    config: &ConnectConfig,
    node: NodeId,
    path: &Path,
) -> Result<(OwnedFd, OwnedFd), ConnectError> {
    let absent = |error: Errno| {
        let error = answer_error(error, config.connect_timeout);
        ConnectError::Absent { node, path: path.to_owned(), error }
    };
    let socket = connect_socket(path, config.connect_timeout).map_err(absent)?;
    let server = peer(socket.as_fd()).map_err(absent)?;
    if server.uid != geteuid().as_raw() {
        return Err(ConnectError::Stranger { path: path.to_owned(), uid: server.uid });
    }
    Ok((socket, server.pidfd))
}

/// Names the time-out in the error.
fn answer_error(error: Errno, timeout: Duration) -> io::Error {
    match error {
        Errno::AGAIN => {
            let sentence = format!("no answer within {} ms", timeout.as_millis());
            io::Error::new(io::ErrorKind::TimedOut, sentence)
        }
        other => other.into(),
    }
}
