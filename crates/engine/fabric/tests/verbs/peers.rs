//! Compute servers with services: nodes without a region, whose handlers wait for their own verbs.

use super::holder::Holder;
use super::world::{NODE, Scene, World, add, engine, secret, with_server, word};
use fabric::verbs::{VerbsCallers, VerbsConfig, VerbsPort, VerbsTransport};
use fabric::{
    Admission, Batch, CallError, Engine, Env, Fabric, Reply, ServerAddress, Service, ServiceId,
    Services,
};
use layout::NodeId;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};

const ADD: ServiceId = ServiceId(1);
const SLEEP: ServiceId = ServiceId(2);
const SPEAK: ServiceId = ServiceId(3);
const WAKE: ServiceId = ServiceId(4);
/// The compute server of these tests.
const PEER: NodeId = NodeId::of_compute_server(4);
/// Its identity, which is also its key.
const IDENTITY: u64 = 900;
const CALLER: u64 = 7;
/// Interval at which the compute server checks whether to end; otherwise only calls wake it.
const LOOK_NS: u64 = 1_000_000_000;
/// A sleep that outlasts every test.
const FOREVER: u64 = u64::MAX;
/// Limit on concurrent calls of a connection, plus the messages that may have arrived by then.
const BEGUN_MAX: u64 = 64 + 16;
const BODY_BYTES_MAX: u64 = 64 << 20;

fn number(request: &[u8]) -> Result<u64, CallError> {
    let bytes = request.first_chunk().ok_or(CallError::Malformed("test"))?;
    Ok(u64::from_le_bytes(*bytes))
}

/// Present and largest number of concurrent sleeps.
#[derive(Default)]
struct Busy {
    now: AtomicU64,
    most: AtomicU64,
}

/// Writes the request's number beside a word of the memory server, adds to that word, and answers
/// with its old value.
struct Add;

impl Service<World> for Add {
    fn handle<'a>(&'a self, env: &'a World, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let added = number(request)?;
            let mut batch = Batch::new();
            let before = batch.fetch_and_add(word(0), added);
            batch.write_word(word(1), added);
            batch.fence();
            let written = batch.read(word(1), 1);
            let batch = env.execute(batch).await;
            let batch = batch.map_err(|error| CallError::Refused(error.to_string()))?;
            assert_eq!(batch.words(written), [added]);
            Ok(batch.found(before).to_le_bytes().to_vec())
        })
    }
}

/// Answers after the requested milliseconds.
struct Sleep(Arc<Busy>);

impl Service<World> for Sleep {
    fn handle<'a>(&'a self, env: &'a World, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let now = self.0.now.fetch_add(1, Relaxed) + 1;
            self.0.most.fetch_max(now, Relaxed);
            env.sleep_ns(number(request)?.saturating_mul(1_000_000)).await;
            self.0.now.fetch_sub(1, Relaxed);
            Ok(Vec::new())
        })
    }
}

/// Keeps its thread awake for the requested milliseconds.
struct Wake;

impl Service<World> for Wake {
    fn handle<'a>(&'a self, env: &'a World, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let end_ns = env.now_ns() + number(request)? * 1_000_000;
            while env.now_ns() < end_ns {
                env.yield_now().await;
            }
            Ok(Vec::new())
        })
    }
}

/// Answers with the requested number of bytes.
struct Speak;

impl Service<World> for Speak {
    fn handle<'a>(&'a self, _env: &'a World, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move { Ok(vec![7; number(request)? as usize]) })
    }
}

/// A test's handle of the compute server.
struct Peer {
    address: SocketAddr,
    admission: Arc<Admission>,
    callers: Arc<VerbsCallers>,
    busy: Arc<Busy>,
    stop: Arc<AtomicBool>,
}

impl Peer {
    fn server_address(&self) -> ServerAddress {
        let (node, address) = (PEER, self.address);
        ServerAddress { node, address, identity: IDENTITY, key: IDENTITY, region_bytes: 0 }
    }

    fn config(&self, scene: &Scene, caller: u64) -> VerbsConfig {
        VerbsConfig { peers: vec![self.server_address()], ..scene.config(caller, 0) }
    }

    /// Connects to both servers.
    fn connect(&self, scene: &Scene, caller: u64) -> Result<Engine<VerbsTransport>, String> {
        let transport = VerbsTransport::connect(&self.config(scene, caller));
        Ok(engine(transport.map_err(|error| error.to_string())?))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
    }
}

fn serve(scene: &Scene, told: Sender<Peer>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("it listens");
    let admission = Arc::new(Admission {
        node: PEER,
        cluster: 1,
        secret: secret(),
        server: IDENTITY,
        key: IDENTITY,
        region_bytes: 0,
        program: "test".to_owned(),
        epoch: 1.into(),
        members: Default::default(),
    });
    let (busy, stop) = (Arc::<Busy>::default(), Arc::<AtomicBool>::default());
    let engine = scene.connect_as(IDENTITY, 0).expect("a memory server");
    let services: [(ServiceId, Arc<dyn Service<World>>); 4] = [
        (ADD, Arc::new(Add)),
        (SLEEP, Arc::new(Sleep(busy.clone()))),
        (SPEAK, Arc::new(Speak)),
        (WAKE, Arc::new(Wake)),
    ];
    let (main, own, place) = (engine.endpoint(), admission.clone(), scene.place.clone());
    let services = Services::from(services);
    let port = VerbsPort::of_calls(place, listener, own, main.clone(), services).expect("a port");
    let callers = port.callers().clone();
    engine.attach(port);
    told.send(Peer { address, admission, callers, busy, stop: stop.clone() }).expect("it waits");
    engine.block_on(async {
        while !stop.load(Relaxed) {
            main.sleep_ns(LOOK_NS).await;
        }
    });
}

/// Runs `play` beside a memory server and a compute server that uses it.
fn with_peer(play: impl FnOnce(&Scene, Peer)) {
    with_server(|scene| {
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            scope.spawn(move || serve(scene, sender));
            play(scene, receiver.recv().expect("the compute server starts"));
        });
    });
}

fn call(
    engine: &Engine<VerbsTransport>,
    service: ServiceId,
    number: u64,
) -> Result<Vec<u8>, CallError> {
    engine.block_on(engine.endpoint().call(PEER, service, number.to_le_bytes().to_vec()))
}

/// Makes `count` equal calls at once, and returns all answers.
fn call_often(
    engine: &Engine<VerbsTransport>,
    count: u64,
    (service, number): (ServiceId, u64),
) -> Vec<Vec<u8>> {
    let (main, seen) = (engine.endpoint(), Rc::new(RefCell::new(Vec::new())));
    engine.block_on(async {
        for _ in 0..count {
            let (env, seen) = (engine.endpoint(), seen.clone());
            main.spawn(async move {
                let answer = env.call(PEER, service, number.to_le_bytes().to_vec()).await;
                seen.borrow_mut().push(answer.expect("it is answered"));
            });
        }
        while (seen.borrow().len() as u64) < count {
            main.yield_now().await;
        }
    });
    seen.take()
}

#[test]
fn handlers_use_verbs_and_every_call_is_answered_once() {
    const CALLS: u64 = 300;
    with_peer(|scene, peer| {
        let engine = peer.connect(scene, CALLER).expect("both servers");
        let answers = call_often(&engine, CALLS, (ADD, 1));
        let mut seen: Vec<u64> = answers.iter().map(|bytes| number(bytes).expect("8")).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..CALLS).collect::<Vec<_>>());
        let next = engine.block_on(add(&engine.endpoint()));
        assert_eq!(next, Ok(CALLS), "it is the memory server's word");
    });
}

#[test]
fn a_caller_has_no_more_than_so_many_calls_carried_out_at_a_time() {
    with_peer(|scene, peer| {
        let engine = peer.connect(scene, CALLER).expect("both servers");
        let answers = call_often(&engine, 4 * BEGUN_MAX, (SLEEP, 300));
        assert!(answers.iter().all(Vec::is_empty));
        let most = peer.busy.most.load(Relaxed);
        assert!((2..=BEGUN_MAX).contains(&most), "{most} calls were carried out at a time");
    });
}

#[test]
fn calls_wake_a_server_that_sleeps() {
    const CALLS: u64 = 20;
    with_peer(|scene, peer| {
        let engine = peer.connect(scene, CALLER).expect("both servers");
        let main = engine.endpoint();
        let start_ns = main.now_ns();
        for _ in 0..CALLS {
            // Longer than it stays awake.
            engine.block_on(main.sleep_ns(20_000_000));
            call(&engine, ADD, 1).expect("it is answered");
        }
        let lasted_ns = main.now_ns() - start_ns;
        assert!(lasted_ns < CALLS * LOOK_NS / 2, "{CALLS} calls took {} ms", lasted_ns / 1_000_000);
    });
}

#[test]
fn requests_and_answers_may_be_longer_than_a_message_and_what_goes_wrong_is_told() {
    with_peer(|scene, peer| {
        let engine = peer.connect(scene, CALLER).expect("both servers");
        for bytes in [0, 4064, 4065, 300_000_u64] {
            assert_eq!(call(&engine, SPEAK, bytes), Ok(vec![7; bytes as usize]));
            let mut request = 5_u64.to_le_bytes().to_vec();
            request.resize(8 + bytes as usize, 1);
            let answer = engine.block_on(engine.endpoint().call(PEER, SPEAK, request));
            assert_eq!(answer, Ok(vec![7; 5]));
        }
        let long = CallError::Refused("an answer of 67108865 bytes is longer than 67108864".into());
        assert_eq!(call(&engine, SPEAK, BODY_BYTES_MAX + 1), Err(long));
        let nothing = CallError::NoSuchService(PEER, ServiceId(9));
        assert_eq!(call(&engine, ServiceId(9), 0), Err(nothing));
        let other = NodeId::of_compute_server(5);
        let nobody = engine.block_on(engine.endpoint().call(other, SPEAK, Vec::new()));
        assert_eq!(nobody, Err(CallError::Unreachable(other)));
        assert_eq!(call(&engine, SPEAK, 2), Ok(vec![7, 7]));
    });
}

#[test]
fn who_is_no_member_any_more_is_not_served() {
    const GONE: u64 = 8;
    with_peer(|scene, peer| {
        let member = peer.connect(scene, CALLER).expect("both servers");
        let gone = peer.connect(scene, GONE).expect("both servers");
        assert_eq!(call(&gone, ADD, 1), Ok(0_u64.to_le_bytes().to_vec()));
        assert_eq!(peer.callers.connection_count(), 2);
        let (main, calling) = (member.endpoint(), member.endpoint());
        member.block_on(async {
            // A sleeping server would check the members before it executes a call.
            let request = 200_u64.to_le_bytes().to_vec();
            main.spawn(async move { drop(calling.call(PEER, WAKE, request).await) });
            main.sleep_ns(20_000_000).await;
        });
        peer.admission.advance(2, BTreeSet::from([CALLER]));
        assert_eq!(call(&gone, ADD, 1), Err(CallError::Unreachable(PEER)));
        // It does not know the epoch yet.
        assert_eq!(call(&member, ADD, 1), Ok(1_u64.to_le_bytes().to_vec()));
        assert_eq!(peer.callers.connection_count(), 1);
        let refusal = peer.connect(scene, GONE).err().expect("it left");
        assert!(refusal.starts_with("compute server 4 at 127.0.0.1:"), "{refusal}");
        assert!(refusal.contains("of epoch 2, in which it is not a member"), "{refusal}");
        assert!(peer.connect(scene, CALLER).is_ok());
    });
}

#[test]
fn a_call_that_is_not_answered_in_time_ends_and_memory_servers_stay() {
    with_peer(|scene, peer| {
        let config = VerbsConfig { answer_time_max_ns: 500_000_000, ..peer.config(scene, CALLER) };
        let engine = engine(VerbsTransport::connect(&config).expect("both servers"));
        assert_eq!(call(&engine, SLEEP, 1), Ok(Vec::new()));
        let start_ns = engine.endpoint().now_ns();
        assert_eq!(call(&engine, SLEEP, FOREVER), Err(CallError::Unreachable(PEER)));
        let lasted_ms = (engine.endpoint().now_ns() - start_ns) / 1_000_000;
        assert!((490..10_000).contains(&lasted_ms), "{lasted_ms} ms");
        let lost = engine.endpoint().with_transport(|transport| transport.lost(PEER));
        assert!(lost.is_some_and(|lost| lost.contains("has not answered for 500 ms")));
        assert_eq!(engine.block_on(add(&engine.endpoint())), Ok(0));
        let again = peer.connect(scene, CALLER).expect("it is there");
        assert_eq!(call(&again, ADD, 1), Ok(1_u64.to_le_bytes().to_vec()));
    });
}

#[test]
fn a_compute_server_that_is_gone_ends_what_is_under_way_and_memory_servers_stay() {
    with_peer(|scene, peer| {
        let engine = peer.connect(scene, CALLER).expect("both servers");
        assert_eq!(call(&engine, SPEAK, 1), Ok(vec![7]));
        let (main, ended) = (engine.endpoint(), Rc::new(RefCell::new(None)));
        engine.block_on(async {
            let (env, to) = (engine.endpoint(), ended.clone());
            main.spawn(async move {
                let answer = env.call(PEER, SLEEP, FOREVER.to_le_bytes().to_vec()).await;
                *to.borrow_mut() = Some(answer);
            });
            main.sleep_ns(5_000_000).await;
            drop(peer);
            while ended.borrow().is_none() {
                main.sleep_ns(1_000_000).await;
            }
        });
        assert_eq!(ended.take(), Some(Err(CallError::Unreachable(PEER))));
        assert_eq!(call(&engine, SPEAK, 1), Err(CallError::Unreachable(PEER)));
        assert_eq!(engine.block_on(add(&engine.endpoint())), Ok(0));
    });
}

/// The card answers for the compute server, which has no memory to access.
#[test]
fn verbs_of_a_caller_are_refused_and_others_are_served() {
    with_peer(|scene, peer| {
        let engine = peer.connect(scene, CALLER).expect("both servers");
        assert_eq!(call(&engine, SPEAK, 1), Ok(vec![7]));
        let mut holder = Holder::connect(&scene.place, &peer.server_address());
        assert_eq!((holder.address, holder.key), (0, 0), "no region is offered");
        assert!(!holder.write(70), "it is none that verbs are for");
        // Only this caller has lost its connection.
        let start_ns = engine.endpoint().now_ns();
        while peer.callers.connection_count() > 1 {
            assert_eq!(call(&engine, ADD, 1).map(|answer| answer.len()), Ok(8));
            assert!(engine.endpoint().now_ns() - start_ns < 5_000_000_000, "it is still connected");
        }
        assert_eq!(call(&engine, SPEAK, 2), Ok(vec![7, 7]));
    });
}

#[test]
fn callers_are_bounded_and_there_is_room_again_when_they_leave() {
    const CALLERS_MAX: u64 = 100;
    with_peer(|scene, peer| {
        // Without the memory server.
        let connect = |caller| {
            let mut config = peer.config(scene, caller);
            config.caller.servers.clear();
            VerbsTransport::connect(&config).map_err(|error| error.to_string())
        };
        let all: Vec<_> = (0..CALLERS_MAX).map(|caller| connect(caller).expect("room")).collect();
        let refusal = connect(CALLERS_MAX).err().expect("there is no room");
        let limit = "compute server 4 has 100 callers, which is its limit; use fewer threads";
        assert!(refusal.ends_with(limit), "{refusal}");
        drop(all);
        let mut again = connect(CALLERS_MAX);
        for _ in 0..100 {
            if again.is_ok() {
                break;
            }
            std::thread::yield_now();
            again = connect(CALLERS_MAX);
        }
        let engine = engine(again.expect("the others have left"));
        assert_eq!(call(&engine, SPEAK, 3), Ok(vec![7; 3]));
    });
}

/// It would have no place among the regions.
#[test]
fn a_memory_server_is_no_peer() {
    with_server(|scene| {
        let own = scene.config(CALLER, 0);
        let peers = own.caller.servers.clone();
        assert_eq!(peers[0].node, NODE);
        let connect = || VerbsTransport::connect(&VerbsConfig { peers, ..own });
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(connect));
        assert!(refused.is_err());
    });
}
