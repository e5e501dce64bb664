//! Handlers of a memory server with replicas that outlive the fence of their caller.

use crate::support::{EPOCH, admission, at, config, engine, engine_of, world};
use fabric::port::{Counted, ServeCounters};
use fabric::service::Reply;
use fabric::tcp::CallsUnderWay;
use fabric::{
    Admission, Batch, CallError, Env, Fabric, RemoteEnv, ServerAddress, Service, ServiceId,
    TcpConfig, TcpPort, TcpTransport,
};
use layout::NodeId;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

const WRITE: ServiceId = ServiceId(1);
const LOOK_NS: u64 = 1_000_000;
/// The identity of the caller that dies.
const DEAD: u64 = 44;
/// Longer than any pause of a busy host.
const LONG: Duration = Duration::from_secs(20);

type Endpoint = RemoteEnv<TcpTransport>;

/// Writes a word when it may, as a handler does that waits for the server of a replica.
struct Write {
    has_begun: Arc<AtomicBool>,
    may_write: Arc<AtomicBool>,
}

impl Service<Endpoint> for Write {
    fn handle<'a>(&'a self, env: &'a Endpoint, _request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            self.has_begun.store(true, SeqCst);
            while !self.may_write.load(SeqCst) {
                env.sleep_ns(LOOK_NS).await;
            }
            let mut batch = Batch::new();
            batch.write_word(at(0, 0), 7);
            let written = env.execute(batch).await;
            written.map(|_| Vec::new()).map_err(|error| CallError::Refused(error.to_string()))
        })
    }
}

fn wait_for(mut is_so: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Serves in an engine until `stop` is set; passes on which calls are under way.
fn serve(
    listener: TcpListener,
    admission: Arc<Admission>,
    (service, counters, stop): (Arc<Write>, Arc<ServeCounters>, Arc<AtomicBool>),
    told: &std::sync::mpsc::Sender<CallsUnderWay>,
) {
    let (node, world) = (NodeId(0), world(NodeId(0), 1));
    let own = TcpConfig { attempts_max: 1, ..config(&[]) };
    let addresses = fabric::AddressMap::one_region_per_server(1);
    let own = TcpConfig { addresses: Some(fabric::SharedAddressMap::new(addresses)), ..own };
    let engine = engine_of(TcpTransport::of_memory_server(own, None, node, world.clone()));
    let services: [(ServiceId, Arc<dyn Service<Endpoint>>); 1] = [(WRITE, service)];
    let handlers = (engine.service_endpoint(), services.into());
    let port =
        TcpPort::of_replicas(listener, world, admission, None, handlers).expect("it listens");
    told.send(port.under_way().clone()).expect("the test waits");
    engine.attach(Counted::new(port, counters));
    let env = engine.endpoint();
    engine.block_on(async {
        while !stop.load(SeqCst) {
            env.sleep_ns(LOOK_NS).await;
        }
    });
}

#[test]
fn a_round_of_the_port_is_no_fence_for_handlers_and_their_end_is() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it listens");
    let admission = admission(NodeId(0));
    let [has_begun, may_write, stop] = [(); 3].map(|()| Arc::<AtomicBool>::default());
    let service = Write { has_begun: has_begun.clone(), may_write: may_write.clone() };
    let counters = Arc::<ServeCounters>::default();
    let (tell, told) = std::sync::mpsc::channel();
    let server = ServerAddress {
        node: NodeId(0),
        address,
        identity: admission.server,
        key: admission.key,
        region_bytes: 0,
    };
    std::thread::scope(|scope| {
        let parts = (Arc::new(service), counters.clone(), stop.clone());
        let (own, tell) = (admission.clone(), &tell);
        scope.spawn(move || serve(listener, own, parts, tell));
        let calls = told.recv_timeout(LONG).expect("it serves");
        let caller = |identity| {
            let mut config = config(&[]);
            (config.caller.servers, config.caller.identity) = (vec![server.clone()], identity);
            config
        };
        let dead = caller(DEAD);
        scope.spawn(move || {
            let engine = engine(dead);
            let _ = engine.block_on(engine.endpoint().call(NodeId(0), WRITE, Vec::new()));
        });
        wait_for(|| has_begun.load(SeqCst));
        // The fence, as before: no later request is accepted, and a round has ended.
        admission.advance(EPOCH + 1, [3].into());
        assert!(counters.await_round(LONG));
        let mut begun = calls.of(|identity| identity == DEAD);
        assert!(!calls.have_ended(&mut begun), "the handler may still write");
        may_write.store(true, SeqCst);
        wait_for(|| calls.have_ended(&mut begun));
        let survivor = caller(3);
        survivor.caller.epoch.store(EPOCH + 1, SeqCst);
        let engine = engine(survivor);
        let mut batch = Batch::new();
        let read = batch.read(at(0, 0), 1);
        let batch = engine.block_on(engine.endpoint().execute(batch)).expect("it is a member");
        assert_eq!(batch.words(read), [7], "all that it wrote can be read now");
        stop.store(true, SeqCst);
    });
}
