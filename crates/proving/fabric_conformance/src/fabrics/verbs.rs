//! The fabric `verbs`: parties are processes whose verbs this host's card executes.

use crate::fabrics::processes::{Processes, SERVERS};
use crate::fabrics::rendezvous::Rendezvous;
use crate::party::REGION_BYTES;
use crate::service::{ECHO, Echo};
use crate::test::{Disturbance, Play, Report};
use fabric::verbs::{Choice, VerbsConfig, VerbsPort, VerbsServer, VerbsTransport};
use fabric::{Admission, Engine, LocalWorld, Patience, Port, RemoteEnv, Service, Sharing, verbs};
use layout::{NodeId, RegionId};
use sim::Carrier;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Processes with queue pairs.
pub struct Verbs;

type Env = RemoteEnv<VerbsTransport>;

impl Processes for Verbs {
    type Env = Env;
    const NAME: &'static str = "verbs";
    const CARRIER: Carrier = Carrier::Card;
    const SHARING: Sharing = Sharing::Private;
    /// Few, because emulated devices take a thousand times as long as real ones.
    const ROUNDS: u64 = 60;
    const UNDISTURBED: Duration = Duration::from_secs(1);

    fn refuses(disturbance: Disturbance) -> Option<&'static str> {
        match disturbance {
            Disturbance::LoseBatches => Some(
                "cards execute verbs while a server stands still, and a lost connection is given up",
            ),
            Disturbance::RepeatCall => {
                Some("connections lose no message, and no caller repeats one")
            }
            _ => None,
        }
    }

    fn flaw() -> Option<String> {
        verbs::flaw(verbs::Place::open(&Choice::default()).ok()?.device.name())
    }

    fn listen(
        _world: &Arc<LocalWorld>,
        admission: Arc<Admission>,
        _folder: &Path,
        address: Option<&str>,
    ) -> Result<(Box<dyn Port>, String), String> {
        let text = |error: verbs::VerbsError| error.to_string();
        let place = verbs::Place::open(&Choice::default()).map_err(text)?;
        let node = admission.node;
        let region = VerbsServer::region(&place, RegionId(node.0), REGION_BYTES).map_err(text)?;
        let echo: Arc<dyn Service<Env>> = Echo::of(node);
        let services = BTreeMap::from([(ECHO, echo)]);
        let server = VerbsServer { place, region, admission, server_count: SERVERS, services };
        let address =
            address.unwrap_or("127.0.0.1:0").parse().map_err(|error| format!("{error}"))?;
        let port = VerbsPort::bind(server, address).map_err(text)?;
        let address = port.address().map_err(|error| error.to_string())?;
        Ok((Box::new(port), address.to_string()))
    }

    fn take_part(
        place: &Rendezvous,
        started: impl FnOnce(),
        play: impl FnOnce(Env) -> Play,
    ) -> Report {
        let device = verbs::Place::open(&Choice::default()).map_err(|error| error.to_string())?;
        let config = VerbsConfig::new(device, place.caller()?);
        let transport = VerbsTransport::connect(&config).map_err(|error| error.to_string())?;
        let engine = Engine::new(transport, Patience::default());
        let engine = engine.map_err(|error| format!("cannot start an engine: {error}"))?;
        started();
        engine.block_on(play(engine.endpoint()))
    }

    /// Strangers send garbage to the port for the handshake; no card accepts verbs from them.
    fn send_garbage(place: &Rendezvous) -> Result<(), String> {
        let hello = place.hello(NodeId(0), 1).encode();
        let pieces: [&[u8]; 4] =
            [b"GET / HTTP/1.1\r\n\r\n", &[0; 4096], &hello[..64], &[0xff; 192]];
        for piece in pieces {
            let stream = TcpStream::connect(&place.addresses[0]);
            let mut stream = stream.map_err(|error| format!("a stranger: {error}"))?;
            // The server hangs up after too much garbage, and the rest cannot be sent.
            let _ = stream.write_all(piece);
        }
        let mut known =
            TcpStream::connect(&place.addresses[0]).map_err(|error| error.to_string())?;
        let _ = known.write_all(&hello).and_then(|()| known.write_all(&[0xab; 64]));
        Ok(())
    }

    fn repeat_call(_place: &Rendezvous) -> Result<(), String> {
        Err("this fabric cannot repeat a call".to_owned())
    }
}
