//! A memory server and a caller, each on a thread of its own, through the device.

use super::place;
use fabric::verbs::{Place, VerbsConfig, VerbsPort, VerbsServer, VerbsTransport};
use fabric::{
    Admission, Batch, CallError, Engine, Env, Fabric, FabricError, Patience, Port, RemoteEnv,
    Reply, ServerAddress, Service, ServiceId,
};
use layout::{GlobalPtr, NodeId, RegionId};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

const REGION_BYTES: u64 = 1 << 20;
const COUNT: ServiceId = ServiceId(3);
const NODE: NodeId = NodeId(0);

type World = RemoteEnv<VerbsTransport>;

fn word(index: u64) -> GlobalPtr {
    GlobalPtr::new(RegionId(0), 4096 + 8 * index)
}

/// Adds to a word of its region, and answers with the request behind what it found.
struct Count;

impl Service<World> for Count {
    fn handle<'a>(&'a self, env: &'a World, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let mut batch = Batch::new();
            let found = batch.fetch_and_add(word(0), 1);
            let batch = env.execute(batch).await.map_err(|error| {
                let lost = env.with_transport(|transport| transport.lost(NODE).map(str::to_owned));
                CallError::Refused(format!("{error}: {lost:?}"))
            })?;
            let mut answer = batch.found(found).to_le_bytes().to_vec();
            answer.extend(request);
            Ok(answer)
        })
    }
}

fn admission() -> Arc<Admission> {
    Arc::new(Admission {
        node: NODE,
        cluster: 1,
        server: 2,
        key: 3,
        region_bytes: REGION_BYTES,
        program: "test".to_owned(),
        epoch: 1.into(),
    })
}

fn serve(
    place: &Place,
    admission: Arc<Admission>,
    stop: &AtomicBool,
    told: impl FnOnce(SocketAddr),
) {
    let region = VerbsServer::region(place, RegionId(0), REGION_BYTES).expect("a mebibyte");
    let service: Arc<dyn Service<World>> = Arc::new(Count);
    let server = VerbsServer {
        place: place.clone(),
        region,
        admission,
        server_count: 1,
        services: BTreeMap::from([(COUNT, service)]),
    };
    let port = VerbsPort::bind(server, (Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
    told(port.address().expect("it listens"));
    let patience = Patience { sleep_ns_max: 20_000_000, ..Patience::default() };
    let mut ports: [Box<dyn Port>; 1] = [Box::new(port)];
    fabric::port::serve(&mut ports, stop, patience, &fabric::ServeCounters::default());
}

fn connect(
    place: &Place,
    address: SocketAddr,
    endpoint: u64,
) -> Result<Engine<VerbsTransport>, String> {
    let server = ServerAddress { node: NODE, address, identity: 2, key: 3, region_bytes: 0 };
    let config = VerbsConfig {
        place: place.clone(),
        servers: vec![server],
        cluster: 1,
        epoch: Arc::new(1.into()),
        caller: 4,
        endpoint,
        program: "test".to_owned(),
        answer_time_max_ns: VerbsConfig::ANSWER_TIME_MAX_NS,
    };
    let transport = VerbsTransport::connect(&config).map_err(|error| error.to_string())?;
    Ok(Engine::new(transport, Patience::default()).expect("an engine"))
}

/// Runs `play` beside a memory server.
fn with_server(play: impl FnOnce(&Place, SocketAddr, &Admission, &AtomicBool)) {
    let Some(place) = place() else { return };
    let (stop, admission) = (AtomicBool::new(false), admission());
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let told = |address| sender.send(address).expect("somebody waits");
            serve(&place, admission.clone(), &stop, told);
        });
        let address = receiver.recv().expect("the server starts");
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            play(&place, address, &admission, &stop);
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = played {
            std::panic::resume_unwind(panic);
        }
    });
}

async fn add(env: &World) -> Result<u64, FabricError> {
    let mut batch = Batch::new();
    let found = batch.fetch_and_add(word(0), 1);
    Ok(env.execute(batch).await?.found(found))
}

#[test]
fn calls_of_any_length_are_answered_and_their_verbs_go_through_the_card() {
    with_server(|place, address, _, _| {
        let engine = connect(place, address, 1).expect("a server");
        let env = engine.endpoint();
        engine.block_on(async {
            for (count, bytes) in [0, 5, 4064, 5000, 200_000].into_iter().enumerate() {
                let request = vec![7; bytes];
                let answer = env.call(NODE, COUNT, request.clone()).await;
                let lost = env.with_transport(|transport| transport.lost(NODE).map(str::to_owned));
                let answer = answer.unwrap_or_else(|error| panic!("{error}: {lost:?}"));
                let (number, rest) = answer.split_at(8);
                assert_eq!(number, (2 * count as u64).to_le_bytes());
                assert_eq!(rest, request);
                assert_eq!(add(&env).await, Ok(2 * count as u64 + 1));
            }
        });
    });
}

#[test]
fn many_batches_at_a_time_come_back_right() {
    with_server(|place, address, _, _| {
        let engine = connect(place, address, 1).expect("a server");
        let env = engine.endpoint();
        let done = std::rc::Rc::new(std::cell::Cell::new(0));
        engine.block_on(async {
            for lane in 0..40_u64 {
                let (env, done) = (env.clone(), done.clone());
                env.clone().spawn(async move {
                    let first = 1 + lane * 64;
                    for round in 0..5_u64 {
                        let mut batch = Batch::new();
                        let values = batch.put(&[lane << 32 | round; 60]);
                        batch.write(word(first), values);
                        let back = batch.read(word(first), 60);
                        let batch = env.execute(batch).await.expect("a server");
                        assert_eq!(batch.words(back), [lane << 32 | round; 60]);
                    }
                    done.set(done.get() + 1);
                });
            }
            while done.get() < 40 {
                env.yield_now().await;
            }
            // More than the first staging memory holds.
            let mut batch = Batch::new();
            let all = batch.read(word(0), 100_000);
            let batch = env.execute(batch).await.expect("a server");
            assert_eq!(batch.words(all)[1 + 39 * 64], 39 << 32 | 4);
        });
    });
}

#[test]
fn callers_of_an_old_epoch_are_put_out_and_refused() {
    with_server(|place, address, admission, _| {
        let engine = connect(place, address, 1).expect("a server");
        let env = engine.endpoint();
        assert_eq!(engine.block_on(add(&env)), Ok(0));
        admission.epoch.store(2, Ordering::Release);
        let start_ns = env.now_ns();
        while engine.block_on(add(&env)).is_ok() {
            assert!(env.now_ns() - start_ns < 5_000_000_000, "it may still write");
        }
        let refusal = connect(place, address, 1).err().expect("its epoch is over");
        assert!(refusal.contains("is of epoch 1, memory server 0 of epoch 2"), "{refusal}");
    });
}

#[test]
fn who_connects_again_puts_out_its_predecessor() {
    with_server(|place, address, _, _| {
        let first = connect(place, address, 1).expect("a server");
        let other = connect(place, address, 2).expect("a server");
        let second = connect(place, address, 1).expect("a server");
        let [old, other_env, new] = [&first, &other, &second].map(|engine| engine.endpoint());
        assert_eq!(first.block_on(add(&old)), Err(FabricError::Unreachable(NODE)));
        assert_eq!(other.block_on(add(&other_env)), Ok(0));
        assert_eq!(second.block_on(add(&new)), Ok(1));
    });
}

#[test]
fn a_server_that_ends_is_noticed_at_once() {
    with_server(|place, address, _, stop| {
        let engine = connect(place, address, 1).expect("a server");
        let env = engine.endpoint();
        assert_eq!(engine.block_on(add(&env)), Ok(0));
        stop.store(true, Ordering::Relaxed);
        let start_ns = env.now_ns();
        while engine.block_on(add(&env)).is_ok() {}
        assert!(env.now_ns() - start_ns < 5_000_000_000);
        let called = engine.block_on(env.call(NODE, COUNT, Vec::new()));
        assert_eq!(called, Err(CallError::Unreachable(NODE)));
    });
}
