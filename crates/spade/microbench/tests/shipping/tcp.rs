//! Shipping by messages over TCP.

use super::{MEMORY, Network, OWNER, Offered, REGION_BYTES, admission};
use fabric::local::{Replicas, ServerConfig, Sharing};
use fabric::{
    Caller, DynEnv, Engine, LocalWorld, Port, ServerAddress, TcpConfig, TcpPort, TcpTransport,
};
use std::net::{SocketAddr, TcpListener};
use txn::Oracle;
use txn::server::services;

struct ByMessages;

impl Network for ByMessages {
    type Transport = TcpTransport;
    const NAME: &'static str = "tcp";
    const ORACLE: Oracle = Oracle::DoubleCollect;
    const CALLS: i64 = 200;

    fn open_memory_server() -> (Box<dyn Port>, SocketAddr) {
        let (sharing, bytes) = (Sharing::Private, REGION_BYTES);
        let config = ServerConfig {
            node: MEMORY,
            server_count: 1,
            bytes,
            replicas: Replicas::NONE,
            sharing,
            seed: 1,
        };
        let (world, _) = LocalWorld::memory_server(&config).expect("little memory");
        for (id, service) in services(layout::RegionId(MEMORY.0), REGION_BYTES) {
            world.register(MEMORY, id, service);
        }
        let port = TcpPort::bind("127.0.0.1:0", world, admission(MEMORY, REGION_BYTES));
        let port = port.expect("a free port");
        let address = port.address().expect("it listens");
        (Box::new(port), address)
    }

    fn connect(caller: Caller, peers: Vec<ServerAddress>) -> TcpTransport {
        let config = TcpConfig { peers, ..TcpConfig::new(caller) };
        TcpTransport::connect(config).expect("the servers listen")
    }

    fn take_calls(engine: &Engine<TcpTransport>, listener: TcpListener, services: Offered) {
        let (admission, env) = (admission(OWNER, 0), DynEnv::new(engine.endpoint()));
        let port = TcpPort::of_calls(listener, admission, None, env, services);
        engine.attach(port.expect("a descriptor"));
    }
}

#[test]
fn every_shipped_operation_takes_effect_once() {
    super::every_shipped_operation_takes_effect_once::<ByMessages>();
}
