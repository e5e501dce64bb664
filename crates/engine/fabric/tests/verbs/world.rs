//! A memory server and a caller on separate threads, through the device.

use super::place;
use fabric::verbs::{
    FenceError, Place, VerbsCallers, VerbsConfig, VerbsPort, VerbsServer, VerbsShare,
    VerbsTransport,
};
use fabric::{
    Admission, Batch, CallError, Caller, Engine, Env, Fabric, FabricError, Patience, Port,
    RemoteEnv, Reply, Secret, ServerAddress, Service, ServiceId,
};
use layout::{GlobalPtr, NodeId, RegionId};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

const REGION_BYTES: u64 = 1 << 20;
const COUNT: ServiceId = ServiceId(3);
const HOLD: ServiceId = ServiceId(4);
pub const NODE: NodeId = NodeId(0);

pub type World = RemoteEnv<VerbsTransport>;

pub fn word(index: u64) -> GlobalPtr {
    GlobalPtr::new(RegionId(0), 4096 + 8 * index)
}

/// Adds to a word of its region, and answers with the old value followed by the request.
struct Count;

impl Service<World> for Count {
    fn handle<'a>(&'a self, env: &'a World, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let mut batch = Batch::new();
            let found = batch.fetch_and_add(word(0), 1);
            let batch = env.execute(batch).await.map_err(|error| {
                let lost = env.with_transport(|transport| transport.lost(NODE));
                CallError::Refused(format!("{error}: {lost:?}"))
            })?;
            let mut answer = batch.found(found).to_le_bytes().to_vec();
            answer.extend(request);
            Ok(answer)
        })
    }
}

/// Waits for permission, and then adds 1000 to a word.
#[derive(Default)]
struct Hold {
    has_begun: AtomicBool,
    may_end: AtomicBool,
}

impl Service<World> for Hold {
    fn handle<'a>(&'a self, env: &'a World, _: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            self.has_begun.store(true, Ordering::Relaxed);
            while !self.may_end.load(Ordering::Relaxed) {
                env.sleep_ns(1_000_000).await;
            }
            let mut batch = Batch::new();
            batch.fetch_and_add(word(0), 1000);
            let added = env.execute(batch).await;
            added.map(|_| Vec::new()).map_err(|error| CallError::Refused(error.to_string()))
        })
    }
}

/// The secret of the tests' cluster.
pub fn secret() -> Secret {
    Secret::new([7; 32])
}

fn admission() -> Arc<Admission> {
    Arc::new(Admission {
        node: NODE,
        cluster: 1,
        secret: secret(),
        server: 2,
        key: 3,
        region_bytes: REGION_BYTES,
        program: "test".to_owned(),
        epoch: 1.into(),
        members: Default::default(),
    })
}

fn serve(
    place: &Place,
    admission: Arc<Admission>,
    hold: Arc<Hold>,
    stop: &AtomicBool,
    told: impl FnOnce(SocketAddr, Arc<VerbsCallers>),
) {
    let region = VerbsServer::region(place, RegionId(0), REGION_BYTES).expect("a mebibyte");
    let service: Arc<dyn Service<World>> = Arc::new(Count);
    let server = VerbsServer {
        place: place.clone(),
        region,
        admission,
        server_count: 1,
        services: BTreeMap::from([(COUNT, service), (HOLD, hold)]),
    };
    let port = VerbsPort::bind(server, (Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
    told(port.address().expect("it listens"), port.callers().clone());
    let patience = Patience { sleep_ns_max: 20_000_000, ..Patience::default() };
    let mut ports: [Box<dyn Port>; 1] = [Box::new(port)];
    fabric::port::serve(&mut ports, stop, patience, &fabric::ServeCounters::default());
}

/// A test's handle of the memory server.
pub struct Scene {
    pub place: Place,
    address: SocketAddr,
    admission: Arc<Admission>,
    pub callers: Arc<VerbsCallers>,
    hold: Arc<Hold>,
    stop: Arc<AtomicBool>,
}

impl Scene {
    pub fn server(&self) -> ServerAddress {
        let address = self.address;
        ServerAddress { node: NODE, address, identity: 2, key: 3, region_bytes: 0 }
    }

    pub fn config(&self, caller: u64, endpoint: u64) -> VerbsConfig {
        let caller = Caller {
            servers: vec![self.server()],
            cluster: 1,
            secret: secret(),
            epoch: Arc::new(1.into()),
            identity: caller,
            endpoint,
            program: "test".to_owned(),
        };
        VerbsConfig::new(self.place.clone(), caller)
    }

    pub fn connect_as(&self, caller: u64, endpoint: u64) -> Result<Engine<VerbsTransport>, String> {
        let transport = VerbsTransport::connect(&self.config(caller, endpoint));
        Ok(engine(transport.map_err(|error| error.to_string())?))
    }

    fn connect(&self, endpoint: u64) -> Result<Engine<VerbsTransport>, String> {
        self.connect_as(4, endpoint)
    }
}

pub fn engine(transport: VerbsTransport) -> Engine<VerbsTransport> {
    Engine::new(transport, Patience::default()).expect("an engine")
}

/// Runs `play` beside a memory server.
pub fn with_server(play: impl FnOnce(&Scene)) {
    let Some(place) = place() else { return };
    let (stop, admission) = (Arc::new(AtomicBool::new(false)), admission());
    let hold = Arc::new(Hold::default());
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let told = |address, callers| sender.send((address, callers)).expect("somebody waits");
            serve(&place, admission.clone(), hold.clone(), &stop, told);
        });
        let (address, callers) = receiver.recv().expect("the server starts");
        let (place, admission, stop) = (place.clone(), admission.clone(), stop.clone());
        let hold = hold.clone();
        let scene = Scene { place, address, admission, callers, hold, stop };
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(&scene)));
        scene.stop.store(true, Ordering::Relaxed);
        if let Err(panic) = played {
            std::panic::resume_unwind(panic);
        }
    });
}

pub async fn add(env: &World) -> Result<u64, FabricError> {
    let mut batch = Batch::new();
    let found = batch.fetch_and_add(word(0), 1);
    Ok(env.execute(batch).await?.found(found))
}

#[test]
fn calls_of_any_length_are_answered_and_their_verbs_go_through_the_card() {
    with_server(|scene| {
        let engine = scene.connect(1).expect("a server");
        let env = engine.endpoint();
        engine.block_on(async {
            for (count, bytes) in [0, 5, 4064, 5000, 200_000].into_iter().enumerate() {
                let request = vec![7; bytes];
                let answer = env.call(NODE, COUNT, request.clone()).await;
                let lost = env.with_transport(|transport| transport.lost(NODE));
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
    with_server(|scene| {
        let engine = scene.connect(1).expect("a server");
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
    with_server(|scene| {
        let engine = scene.connect(1).expect("a server");
        let env = engine.endpoint();
        assert_eq!(engine.block_on(add(&env)), Ok(0));
        scene.admission.epoch.store(2, Ordering::Release);
        let start_ns = env.now_ns();
        while engine.block_on(add(&env)).is_ok() {
            assert!(env.now_ns() - start_ns < 5_000_000_000, "it may still write");
        }
        let refusal = scene.connect(1).err().expect("its epoch is over");
        assert!(refusal.contains("is of epoch 1, memory server 0 of epoch 2"), "{refusal}");
    });
}

#[test]
fn a_fence_closes_the_queue_pairs_of_those_who_left_and_of_nobody_else() {
    const GONE: u64 = 5;
    const LIVING: u64 = 6;
    with_server(|scene| {
        let [gone, living] = [GONE, LIVING].map(|caller| scene.connect_as(caller, 0));
        let (gone, living) = (gone.expect("a server"), living.expect("a server"));
        assert_eq!(gone.block_on(add(&gone.endpoint())), Ok(0));
        assert_eq!(scene.callers.connection_count(), 2);
        let fenced = scene.callers.fence(2, BTreeSet::from([LIVING]), Duration::from_secs(20));
        assert_eq!(fenced, Ok(()));
        assert_eq!(scene.callers.connection_count(), 1);
        assert_eq!(gone.block_on(add(&gone.endpoint())), Err(FabricError::Unreachable(NODE)));
        let refusal = scene.connect_as(GONE, 1).err().expect("it left");
        assert!(refusal.contains("no longer a member in epoch 2"), "{refusal}");
        let late = scene.connect_as(LIVING, 1).expect("it has not heard of the epoch yet");
        scene.admission.epoch.store(2, Ordering::Release);
        // Longer than the server's interval between two checks.
        living.block_on(living.endpoint().sleep_ns(300_000_000));
        assert_eq!(living.block_on(add(&living.endpoint())), Ok(1));
        assert_eq!(late.block_on(add(&late.endpoint())), Ok(2));
    });
}

/// Calls `Hold`, and returns when its handler has started.
fn call_and_leave(scene: &Scene, engine: &Engine<VerbsTransport>) {
    let (env, calling) = (engine.endpoint(), engine.endpoint());
    engine.block_on(async {
        env.spawn(async move { drop(calling.call(NODE, HOLD, Vec::new()).await) });
        while !scene.hold.has_begun.load(Ordering::Relaxed) {
            env.yield_now().await;
        }
    });
}

#[test]
fn a_fence_waits_for_what_those_who_left_have_called() {
    const LIVING: u64 = 6;
    with_server(|scene| {
        let gone = scene.connect_as(5, 0).expect("a server");
        let living = scene.connect_as(LIVING, 0).expect("a server");
        call_and_leave(scene, &gone);
        let fence = |time_ms| {
            let time = Duration::from_millis(time_ms);
            scene.callers.fence(2, BTreeSet::from([LIVING]), time)
        };
        assert_eq!(fence(500), Err(FenceError { waited_ms: 500 }), "the call may still write");
        assert_eq!(living.block_on(add(&living.endpoint())), Ok(0), "others are served meanwhile");
        scene.hold.may_end.store(true, Ordering::Relaxed);
        assert_eq!(fence(20_000), Ok(()));
        assert_eq!(living.block_on(add(&living.endpoint())), Ok(1001), "it has written before");
    });
}

#[test]
fn a_connection_that_is_given_up_is_closed_though_others_shared_it() {
    with_server(|scene| {
        let mut config = scene.config(4, 0);
        config.answer_time_max_ns = 500_000_000;
        let share = VerbsShare::new(config, 1);
        let [idle, busy] = [(); 2].map(|()| engine(share.connect().expect("a server")));
        // A sleeping thread polls the connection itself.
        idle.block_on(idle.endpoint().sleep_ns(100_000_000));
        assert_eq!(scene.callers.connection_count(), 1);
        let env = busy.endpoint();
        let called = busy.block_on(env.call(NODE, HOLD, Vec::new()));
        assert_eq!(called, Err(CallError::Unreachable(NODE)), "it takes too long");
        let start_ns = env.now_ns();
        while scene.callers.connection_count() > 0 {
            assert!(env.now_ns() - start_ns < 5_000_000_000, "the server still serves it");
            busy.block_on(env.sleep_ns(1_000_000));
        }
        scene.hold.may_end.store(true, Ordering::Relaxed);
    });
}

#[test]
fn threads_beyond_the_limit_share_queue_pairs() {
    const THREADS: u64 = 5;
    const ROUNDS: u64 = 12;
    with_server(|scene| {
        let share = VerbsShare::new(scene.config(4, 0), 2);
        let (first, second) = (share.connect().expect("a server"), share.connect());
        let third = share.connect().expect("that of one of the others");
        assert_eq!(scene.callers.connection_count(), 2);
        drop((first, second, third));
        let work = |thread: u64| {
            let engine = engine(share.connect().expect("a server"));
            let env = engine.endpoint();
            engine.block_on(async {
                for round in 0..ROUNDS {
                    add(&env).await.expect("a server");
                    let own = word(1 + thread * 64);
                    let mut batch = Batch::new();
                    let values = batch.put(&[thread << 32 | round; 64]);
                    batch.write(own, values);
                    let back = batch.read(own, 64);
                    let batch = env.execute(batch).await.expect("a server");
                    assert_eq!(batch.words(back), [thread << 32 | round; 64]);
                    let request = vec![thread as u8; 100];
                    let answer = env.call(NODE, COUNT, request.clone()).await.expect("a server");
                    assert_eq!(answer[8..], request);
                    // It sleeps while others take its completions from the queue.
                    env.sleep_ns(1_000_000 * thread).await;
                }
            });
        };
        std::thread::scope(|scope| {
            (0..THREADS).for_each(|thread| drop(scope.spawn(move || work(thread))));
        });
        let engine = scene.connect(9).expect("a server");
        assert_eq!(engine.block_on(add(&engine.endpoint())), Ok(2 * THREADS * ROUNDS));
    });
}

/// A process may run transactions and serve calls, with separate connections for each.
#[test]
fn shares_of_a_process_replace_nothing_of_each_other() {
    with_server(|scene| {
        let shares = [0, 2].map(|first| VerbsShare::new(scene.config(4, first), 2));
        let connect = |share: &VerbsShare| engine(share.connect().expect("a server"));
        let engines = [0, 1, 0, 1].map(|share: usize| connect(&shares[share]));
        for (number, engine) in engines.iter().enumerate() {
            assert_eq!(engine.block_on(add(&engine.endpoint())), Ok(number as u64));
        }
        assert_eq!(scene.callers.connection_count(), 4);
    });
}

#[test]
fn connections_that_lost_a_server_are_not_given_to_others() {
    with_server(|scene| {
        let share = VerbsShare::new(scene.config(4, 0), 1);
        let old = engine(share.connect().expect("a server"));
        assert_eq!(old.block_on(add(&old.endpoint())), Ok(0));
        let fenced = scene.callers.fence(2, BTreeSet::new(), Duration::from_secs(20));
        assert_eq!(fenced, Ok(()));
        assert_eq!(old.block_on(add(&old.endpoint())), Err(FabricError::Unreachable(NODE)));
        let refusal = share.connect().err().expect("they are made anew, and refused");
        assert!(refusal.to_string().contains("no longer a member"), "{refusal}");
    });
}

#[test]
fn who_connects_again_puts_out_its_predecessor() {
    with_server(|scene| {
        let first = scene.connect(1).expect("a server");
        let other = scene.connect(2).expect("a server");
        let second = scene.connect(1).expect("a server");
        let [old, other_env, new] = [&first, &other, &second].map(|engine| engine.endpoint());
        assert_eq!(first.block_on(add(&old)), Err(FabricError::Unreachable(NODE)));
        assert_eq!(other.block_on(add(&other_env)), Ok(0));
        assert_eq!(second.block_on(add(&new)), Ok(1));
    });
}

#[test]
fn a_server_that_ends_is_noticed_at_once() {
    with_server(|scene| {
        let engine = scene.connect(1).expect("a server");
        let env = engine.endpoint();
        assert_eq!(engine.block_on(add(&env)), Ok(0));
        scene.stop.store(true, Ordering::Relaxed);
        let start_ns = env.now_ns();
        while engine.block_on(add(&env)).is_ok() {}
        assert!(env.now_ns() - start_ns < 5_000_000_000);
        let called = engine.block_on(env.call(NODE, COUNT, Vec::new()));
        assert_eq!(called, Err(CallError::Unreachable(NODE)));
    });
}
