//! The fabric `tcp`: parties are processes whose verbs are messages to the servers' polling
//! threads.

use crate::fabrics::messages;
use crate::fabrics::processes::{ANSWER_TIME_MAX, Processes};
use crate::fabrics::rendezvous::Rendezvous;
use crate::test::{Disturbance, Play, Report};
use fabric::{
    Admission, Engine, LocalWorld, Patience, Port, RemoteEnv, Sharing, TcpConfig, TcpPort,
    TcpTransport,
};
use sim::Carrier;
use std::path::Path;
use std::sync::Arc;

/// Processes that send each other messages.
pub struct Tcp;

impl Processes for Tcp {
    type Env = RemoteEnv<TcpTransport>;
    const NAME: &'static str = "tcp";
    const CARRIER: Carrier = Carrier::Server;
    const SHARING: Sharing = Sharing::Private;
    const ROUNDS: u64 = 1_000;

    fn refuses(_disturbance: Disturbance) -> Option<&'static str> {
        None
    }

    fn listen(
        world: &Arc<LocalWorld>,
        admission: Arc<Admission>,
        _folder: &Path,
        address: Option<&str>,
    ) -> Result<(Box<dyn Port>, String), String> {
        let port = TcpPort::bind(address.unwrap_or("127.0.0.1:0"), world.clone(), admission);
        let port = port.map_err(|error| error.to_string())?;
        let address = port.address().map_err(|error| error.to_string())?;
        Ok((Box::new(port), address.to_string()))
    }

    fn take_part(
        place: &Rendezvous,
        started: impl FnOnce(),
        play: impl FnOnce(Self::Env) -> Play,
    ) -> Report {
        let mut config = TcpConfig::new(place.caller()?);
        config.answer_time_max_ns = ANSWER_TIME_MAX.as_nanos() as u64;
        let transport = TcpTransport::connect(config).map_err(|error| error.to_string())?;
        let engine = Engine::new(transport, Patience::default());
        let engine = engine.map_err(|error| format!("cannot start an engine: {error}"))?;
        started();
        engine.block_on(play(engine.endpoint()))
    }

    fn send_garbage(place: &Rendezvous) -> Result<(), String> {
        messages::send_garbage(place)
    }

    fn repeat_call(place: &Rendezvous) -> Result<(), String> {
        messages::repeat_call(place)
    }
}
