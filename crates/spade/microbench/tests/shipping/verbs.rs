//! Shipping by RDMA, on a device of this host: a guest with Soft-RoCE has one (`cargo xtask
//! soft-roce`). Without a device the test says why it is skipped.

use super::{MEMORY, Network, OWNER, Offered, REGION_BYTES, admission};
use fabric::verbs::{Choice, Place, VerbsConfig, VerbsPort, VerbsServer, VerbsTransport};
use fabric::{Caller, DynEnv, Engine, Port, ServerAddress};
use layout::RegionId;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use txn::Oracle;
use txn::server::services;

struct ByRdma;

fn place() -> Place {
    Place::open(&Choice::default()).expect("it was there before")
}

impl Network for ByRdma {
    type Transport = VerbsTransport;
    const NAME: &'static str = "verbs";
    const ORACLE: Oracle = Oracle::Frozen;
    /// Few: emulated devices are a thousand times slower than real ones, and a call waits two
    /// seconds for a lane.
    const CALLS: i64 = 16;

    fn open_memory_server() -> (Box<dyn Port>, SocketAddr) {
        let (place, id) = (place(), RegionId(MEMORY.0));
        let region = VerbsServer::region(&place, id, REGION_BYTES).expect("little memory");
        let admission = admission(MEMORY, REGION_BYTES);
        let services = services(id, REGION_BYTES).into();
        let server = VerbsServer { place, region, admission, server_count: 1, services };
        let port = VerbsPort::bind(server, (Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
        let address = port.address().expect("it listens");
        (Box::new(port), address)
    }

    fn connect(caller: Caller, peers: Vec<ServerAddress>) -> VerbsTransport {
        let config = VerbsConfig { peers, ..VerbsConfig::new(place(), caller) };
        VerbsTransport::connect(&config).expect("the servers listen")
    }

    fn take_calls(engine: &Engine<VerbsTransport>, listener: TcpListener, services: Offered) {
        let (admission, env) = (admission(OWNER, 0), DynEnv::new(engine.endpoint()));
        let port = VerbsPort::of_calls(place(), listener, admission, env, services);
        engine.attach(port.expect("room on the device"));
    }
}

#[test]
fn every_shipped_operation_takes_effect_once() {
    match Place::open(&Choice::default()) {
        Ok(_) => super::every_shipped_operation_takes_effect_once::<ByRdma>(),
        Err(reason) if std::env::var_os("NAMDB_SOFT_ROCE").is_none() => {
            println!("skipped: {reason}");
        }
        Err(reason) => panic!("a guest has a device: {reason}"),
    }
}
