//! The fabric `shm`: parties are processes that map the servers' regions.

use crate::fabrics::garbage;
use crate::fabrics::processes::{Processes, SERVERS};
use crate::fabrics::rendezvous::{Rendezvous, SECRET};
use crate::test::{Disturbance, Play, Report};
use fabric::shm::{ConnectConfig, ShmPort, connect};
use fabric::{Admission, LocalEnv, LocalWorld, Port, Sharing, run_now};
use layout::NodeId;
use sim::Carrier;
use std::path::Path;
use std::sync::Arc;

/// Processes that share memory.
pub struct Shm;

impl Processes for Shm {
    type Env = LocalEnv;
    const NAME: &'static str = "shm";
    const CARRIER: Carrier = Carrier::Caller;
    const SHARING: Sharing = Sharing::File;
    const ROUNDS: u64 = 20_000;

    fn refuses(disturbance: Disturbance) -> Option<&'static str> {
        match disturbance {
            Disturbance::RaiseEpoch => {
                Some("no server checks verbs: fencing a process means killing it")
            }
            Disturbance::LoseBatches => {
                Some("callers execute verbs themselves: none is lost while its caller lives")
            }
            Disturbance::RepeatCall => {
                Some("a request is handed over in memory, and cannot arrive twice")
            }
            _ => None,
        }
    }

    fn listen(
        world: &Arc<LocalWorld>,
        admission: Arc<Admission>,
        folder: &Path,
        _address: Option<&str>,
    ) -> Result<(Box<dyn Port>, String), String> {
        let port = ShmPort::new(folder, admission, world).map_err(|error| error.to_string())?;
        Ok((Box::new(port), folder.display().to_string()))
    }

    fn take_part(
        place: &Rendezvous,
        started: impl FnOnce(),
        play: impl FnOnce(LocalEnv) -> Play,
    ) -> Report {
        let hellos = (0..SERVERS).map(|node| place.hello(NodeId(node), 0)).collect();
        let config = ConnectConfig::new(place.folder.path(), SECRET, hellos);
        let world = connect(&config).map_err(|error| error.to_string())?;
        started();
        run_now(play(world.endpoint()))
    }

    fn send_garbage(place: &Rendezvous) -> Result<(), String> {
        garbage::over_shared_memory(place)
    }

    fn repeat_call(_place: &Rendezvous) -> Result<(), String> {
        Err("a request is handed over in memory, and cannot arrive twice".to_owned())
    }
}
