//! Compute servers with services: nodes without a region, whose handlers wait for their own verbs.

use crate::support::{
    BATCH, CLUSTER, EPOCH, PROGRAM, REFUSED, Server, answer, at, bytes, config, engine, kind,
    secret,
};
use fabric::proof::{Purpose, prove};
use fabric::service::Reply;
use fabric::tcp::{CALL_BYTES_MAX, TcpConfig};
use fabric::{
    Admission, Batch, CallError, Engine, Env, Fabric, Hello, RemoteEnv, ServerAddress, Service,
    ServiceId, TcpPort, TcpTransport, Welcome,
};
use layout::NodeId;
use std::cell::RefCell;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

const ADD: ServiceId = ServiceId(1);
const SLEEP: ServiceId = ServiceId(2);
const SPEAK: ServiceId = ServiceId(3);
/// The compute server of these tests.
const PEER: NodeId = NodeId::of_compute_server(4);
/// Its identity, which is also its key.
const IDENTITY: u64 = 900;
/// Interval at which the compute server checks whether to end; otherwise only calls wake it.
const LOOK_NS: u64 = 100_000_000;
/// A sleep that outlasts every test.
const FOREVER: u64 = u64::MAX;

type Endpoint = RemoteEnv<TcpTransport>;

fn number(request: &[u8]) -> Result<u64, CallError> {
    request
        .first_chunk()
        .map(|bytes| u64::from_le_bytes(*bytes))
        .ok_or(CallError::Malformed("test"))
}

/// Adds to a word of memory server 0, and answers with the old value.
struct Add;

impl Service<Endpoint> for Add {
    fn handle<'a>(&'a self, env: &'a Endpoint, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let mut batch = Batch::new();
            let before = batch.fetch_and_add(at(0, 0), number(request)?);
            let batch = env.execute(batch).await;
            let batch = batch.map_err(|error| CallError::Refused(error.to_string()))?;
            Ok(batch.found(before).to_le_bytes().to_vec())
        })
    }
}

/// Answers after the requested milliseconds.
struct Sleep;

impl Service<Endpoint> for Sleep {
    fn handle<'a>(&'a self, env: &'a Endpoint, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            env.sleep_ns(number(request)?.saturating_mul(1_000_000)).await;
            Ok(Vec::new())
        })
    }
}

/// Answers with the requested number of bytes.
struct Speak;

impl Service<Endpoint> for Speak {
    fn handle<'a>(&'a self, _env: &'a Endpoint, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move { Ok(vec![7; number(request)? as usize]) })
    }
}

/// A compute server on its own thread; stopped on drop.
struct Peer {
    address: SocketAddr,
    admission: Arc<Admission>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Peer {
    fn start(memory: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let admission = Arc::new(Admission {
            node: PEER,
            cluster: CLUSTER,
            secret: fabric::Secret::new([7; 32]),
            server: IDENTITY,
            key: IDENTITY,
            region_bytes: 0,
            program: PROGRAM.to_owned(),
            epoch: EPOCH.into(),
            members: Default::default(),
        });
        let stop = Arc::new(AtomicBool::new(false));
        let (own, end, config) = (admission.clone(), stop.clone(), config(&[memory]));
        let serve = move || {
            let engine = engine(config);
            let services: [(ServiceId, Arc<dyn Service<Endpoint>>); 3] =
                [(ADD, Arc::new(Add)), (SLEEP, Arc::new(Sleep)), (SPEAK, Arc::new(Speak))];
            let main = engine.endpoint();
            let port = TcpPort::of_calls(listener, own, None, main.clone(), services.into());
            engine.attach(port.expect("a descriptor"));
            engine.block_on(async {
                while !end.load(Relaxed) {
                    main.sleep_ns(LOOK_NS).await;
                }
            });
        };
        let thread = std::thread::Builder::new().spawn(serve).expect("a thread");
        Self { address, admission, stop, thread: Some(thread) }
    }

    fn server_address(&self) -> ServerAddress {
        let (node, address) = (PEER, self.address);
        ServerAddress { node, address, identity: IDENTITY, key: IDENTITY, region_bytes: 0 }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_none_or(|ended| ended.is_ok()));
    }
}

/// A caller of both servers, with a time-out of `answer_ms`.
fn caller(memory: &Server, peer: &Peer, answer_ms: u64) -> Engine<TcpTransport> {
    let peers = vec![peer.server_address()];
    let answer_time_max_ns = answer_ms * 1_000_000;
    engine(TcpConfig { peers, answer_time_max_ns, ..config(&[memory]) })
}

fn call(
    engine: &Engine<TcpTransport>,
    service: ServiceId,
    number: u64,
) -> Result<Vec<u8>, CallError> {
    engine.block_on(engine.endpoint().call(PEER, service, number.to_le_bytes().to_vec()))
}

/// More concurrent calls than a connection executes, each of them waiting for a verb.
#[test]
fn handlers_use_verbs_and_every_call_is_answered_once() {
    const CALLS: u64 = 300;
    let memory = Server::start(0, 1);
    let peer = Peer::start(&memory);
    let engine = caller(&memory, &peer, 20_000);
    let (main, seen) = (engine.endpoint(), Rc::new(RefCell::new(Vec::new())));
    engine.block_on(async {
        for _ in 0..CALLS {
            let (env, seen) = (engine.endpoint(), seen.clone());
            main.spawn(async move {
                let answer = env.call(PEER, ADD, 1_u64.to_le_bytes().to_vec()).await;
                let answer = answer.expect("it is answered");
                seen.borrow_mut().push(number(&answer).expect("a number"));
            });
        }
        while (seen.borrow().len() as u64) < CALLS {
            main.yield_now().await;
        }
    });
    let mut seen = seen.take();
    seen.sort_unstable();
    assert_eq!(seen, (0..CALLS).collect::<Vec<_>>());
}

#[test]
fn calls_wake_a_server_that_sleeps() {
    const CALLS: u64 = 30;
    let memory = Server::start(0, 1);
    let peer = Peer::start(&memory);
    let engine = caller(&memory, &peer, 20_000);
    let main = engine.endpoint();
    let start_ns = main.now_ns();
    for _ in 0..CALLS {
        // Longer than it stays awake.
        engine.block_on(main.sleep_ns(1_000_000));
        call(&engine, ADD, 1).expect("it is answered");
    }
    let lasted_ns = main.now_ns() - start_ns;
    assert!(lasted_ns < CALLS * LOOK_NS / 2, "{CALLS} calls took {} ms", lasted_ns / 1_000_000);
}

#[test]
fn a_short_call_does_not_wait_for_a_long_one() {
    let memory = Server::start(0, 1);
    let peer = Peer::start(&memory);
    let engine = caller(&memory, &peer, 20_000);
    let (main, order) = (engine.endpoint(), Rc::new(RefCell::new(Vec::new())));
    engine.block_on(async {
        for sleep_ms in [300_u64, 150, 0] {
            let (env, order) = (engine.endpoint(), order.clone());
            main.spawn(async move {
                let answer = env.call(PEER, SLEEP, sleep_ms.to_le_bytes().to_vec()).await;
                assert_eq!(answer, Ok(Vec::new()));
                order.borrow_mut().push(sleep_ms);
            });
        }
        while order.borrow().len() < 3 {
            main.sleep_ns(1_000_000).await;
        }
    });
    assert_eq!(order.take(), [0, 150, 300]);
}

#[test]
fn what_goes_wrong_with_a_call_is_told_and_the_next_is_answered() {
    let memory = Server::start(0, 1);
    let peer = Peer::start(&memory);
    let engine = caller(&memory, &peer, 20_000);
    let longest = CALL_BYTES_MAX as u64;
    assert_eq!(call(&engine, SPEAK, longest), Ok(vec![7; CALL_BYTES_MAX]));
    let Err(CallError::Refused(answer)) = call(&engine, SPEAK, longest + 1) else {
        panic!("no message holds it")
    };
    assert!(answer.contains("the answer has") && answer.contains("at most"), "{answer}");
    let request = vec![0; CALL_BYTES_MAX + 1];
    let request = engine.block_on(engine.endpoint().call(PEER, SPEAK, request));
    let Err(CallError::Refused(request)) = request else { panic!("no message holds it") };
    assert!(request.contains("the request has") && request.contains("at most"), "{request}");
    let nothing = CallError::NoSuchService(PEER, ServiceId(9));
    assert_eq!(nothing.to_string(), "compute server 4 offers no service 9");
    assert_eq!(call(&engine, ServiceId(9), 0), Err(nothing));
    let short = engine.block_on(engine.endpoint().call(PEER, SPEAK, vec![1]));
    assert!(matches!(short, Err(CallError::Malformed(_))), "{short:?}");
    let other = NodeId::of_compute_server(5);
    let nobody = engine.block_on(engine.endpoint().call(other, SPEAK, Vec::new()));
    assert_eq!(nobody, Err(CallError::Unreachable(other)));
    assert_eq!(call(&engine, SPEAK, 2), Ok(vec![7, 7]));
}

/// Answers to other calls do not extend the time-out of an unanswered one.
#[test]
fn a_call_that_is_not_answered_in_time_ends_with_its_connection() {
    let memory = Server::start(0, 1);
    let peer = Peer::start(&memory);
    let engine = caller(&memory, &peer, 200);
    let (main, ended) = (engine.endpoint(), Rc::new(RefCell::new(None)));
    let start_ns = main.now_ns();
    engine.block_on(async {
        let (env, to) = (engine.endpoint(), ended.clone());
        main.spawn(async move {
            let answer = env.call(PEER, SLEEP, FOREVER.to_le_bytes().to_vec()).await;
            *to.borrow_mut() = Some(answer);
        });
        main.yield_now().await;
        while ended.borrow().is_none() {
            // Some of these fail with it.
            let _ = main.call(PEER, SLEEP, 1_u64.to_le_bytes().to_vec()).await;
        }
    });
    assert_eq!(ended.take(), Some(Err(CallError::Unreachable(PEER))));
    let lasted_ms = (main.now_ns() - start_ns) / 1_000_000;
    assert!((190..5000).contains(&lasted_ms), "{lasted_ms} ms");
    let again = engine.block_on(async {
        loop {
            let answer = main.call(PEER, ADD, 1_u64.to_le_bytes().to_vec()).await;
            if answer.is_ok() {
                return answer;
            }
            main.sleep_ns(1_000_000).await;
        }
    });
    assert_eq!(again.map(|answer| answer.len()), Ok(8), "it is connected to anew");
}

/// Its time-out starts when it is sent, not with the answer to the previous call.
#[test]
fn a_call_does_not_get_more_time_from_answers_to_earlier_ones() {
    let memory = Server::start(0, 1);
    let peer = Peer::start(&memory);
    let engine = caller(&memory, &peer, 1000);
    let (main, ended) = (engine.endpoint(), Rc::new(RefCell::new(Vec::new())));
    let start_ns = main.now_ns();
    engine.block_on(async {
        for sleep_ms in [800, FOREVER] {
            let (env, ended) = (engine.endpoint(), ended.clone());
            main.spawn(async move {
                let answer = env.call(PEER, SLEEP, sleep_ms.to_le_bytes().to_vec()).await;
                ended.borrow_mut().push((answer, env.now_ns()));
            });
        }
        while ended.borrow().len() < 2 {
            main.sleep_ns(1_000_000).await;
        }
    });
    let [(first, _), (second, end_ns)] = &ended.borrow()[..] else { panic!("there were two") };
    assert_eq!(*first, Ok(Vec::new()));
    assert_eq!(*second, Err(CallError::Unreachable(PEER)));
    let lasted_ms = (end_ns - start_ns) / 1_000_000;
    assert!((990..1600).contains(&lasted_ms), "{lasted_ms} ms");
}

#[test]
fn a_compute_server_that_is_gone_ends_what_is_under_way_and_memory_servers_stay() {
    let memory = Server::start(0, 1);
    let peer = Peer::start(&memory);
    let engine = caller(&memory, &peer, 20_000);
    assert_eq!(call(&engine, SPEAK, 1), Ok(vec![7]));
    let stop = peer.stop.clone();
    let main = engine.endpoint();
    let ended = Rc::new(RefCell::new(None));
    engine.block_on(async {
        let (env, to) = (engine.endpoint(), ended.clone());
        main.spawn(async move {
            let answer = env.call(PEER, SLEEP, FOREVER.to_le_bytes().to_vec()).await;
            *to.borrow_mut() = Some(answer);
        });
        main.sleep_ns(5_000_000).await;
        stop.store(true, Relaxed);
        while ended.borrow().is_none() {
            main.sleep_ns(1_000_000).await;
        }
    });
    let gone = CallError::Unreachable(PEER);
    assert_eq!(gone.to_string(), "compute server 4 cannot be reached");
    assert_eq!(ended.take(), Some(Err(gone.clone())));
    drop(peer);
    assert_eq!(call(&engine, SPEAK, 1), Err(gone));
    assert!(main.with_transport(|transport| transport.lost(PEER).is_some()));
    let mut batch = Batch::new();
    batch.read(at(0, 0), 1);
    assert!(engine.block_on(main.execute(batch)).is_ok());
}

#[test]
fn who_is_not_meant_or_sends_verbs_is_refused_with_the_reason() {
    let memory = Server::start(0, 1);
    let peer = Peer::start(&memory);
    let refused = |change: &dyn Fn(&mut ServerAddress)| {
        let mut address = peer.server_address();
        change(&mut address);
        let config = TcpConfig { peers: vec![address], attempts_max: 1, ..config(&[&memory]) };
        TcpTransport::connect(config).expect_err("it does not fit").to_string()
    };
    let restarted = refused(&|address| address.identity += 1);
    assert!(restarted.starts_with("compute server 4 at 127.0.0.1:"), "{restarted}");
    assert!(restarted.contains("compute server 4 was started again"), "{restarted}");
    let other = refused(&|address| address.node = NodeId::of_compute_server(5));
    assert!(other.contains("wants compute server 5, this is compute server 4"), "{other}");

    // A caller that does not need the peer connects, and its calls fail.
    let mut address = peer.server_address();
    address.identity += 1;
    let mut config = TcpConfig { attempts_max: 1, ..config(&[&memory]) };
    (config.peers, config.needs_peers) = (vec![address], false);
    let lenient = engine(config);
    assert_eq!(call(&lenient, ADD, 1), Err(CallError::Unreachable(PEER)));

    let mut stream = TcpStream::connect(peer.address).expect("it listens");
    let hello = Hello {
        node: PEER,
        cluster: CLUSTER,
        epoch: EPOCH,
        server: IDENTITY,
        key: IDENTITY,
        caller: 4,
        endpoint: 1,
        process: 0,
        program: PROGRAM.to_owned(),
    };
    let mut welcome = [0; fabric::identity::ANSWER_BYTES];
    let hello = hello.encode();
    prove(&mut stream, &secret(), Purpose::Verbs, &hello, &mut welcome).expect("it answers");
    let welcome = Welcome::decode(&welcome).expect("the caller is welcome");
    assert_eq!((welcome.node, welcome.region_bytes), (PEER, 0));
    let frame = [0x6e61 | BATCH << 16 | 6 << 32, EPOCH, IDENTITY, 1, 0, 0];
    stream.write_all(&bytes(&frame)).expect("it reads");
    let refusal = answer(&mut stream).expect("it says why");
    assert_eq!(kind(&refusal), REFUSED);
    assert!(String::from_utf8_lossy(&bytes(&refusal)).contains("it accepts calls but no verbs"));
    assert_eq!(answer(&mut stream), None, "the connection is closed");
}

/// It would have no place among the regions, and none among the called servers.
#[test]
#[should_panic(expected = "peers are compute servers")]
fn a_memory_server_is_no_peer() {
    let memory = Server::start(0, 1);
    let own = config(&[&memory]);
    let peers = own.caller.servers.clone();
    let _ = TcpTransport::connect(TcpConfig { peers, ..own });
}

/// Calls of a process that is no longer a member.
#[test]
fn messages_of_an_old_epoch_are_refused() {
    let memory = Server::start(0, 1);
    let peer = Peer::start(&memory);
    let engine = caller(&memory, &peer, 20_000);
    assert_eq!(call(&engine, SPEAK, 1), Ok(vec![7]));
    peer.admission.advance(EPOCH + 1, Default::default());
    assert_eq!(call(&engine, SPEAK, 1), Err(CallError::Unreachable(PEER)));
    let reason = engine.endpoint().with_transport(|t| t.lost(PEER).map(str::to_owned));
    assert!(reason.is_some_and(|reason| reason.contains("in which the caller is not a member")));
}
