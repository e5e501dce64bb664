//! Fabrics whose memory servers and parties are processes of this program.
//!
//! ```text
//! director (this process)        memory servers 0 and 1         parties
//!   starts both servers   ---->    listen
//!                         <----    "ready ADDRESS"
//!   starts the parties    ---------------------------------->     open an endpoint
//!                         <----------------------------------     "started"
//!   lets them go          ---------------------------------->     play
//!   disturbs              ---->  or  ------------------------>
//!                         <----------------------------------     "report WORDS" or "error ..."
//! ```
//!
//! All of them end with the director: they read their standard input until it is closed.

use crate::fabrics::child::Child;
use crate::fabrics::rendezvous::{RESTARTED, Rendezvous};
use crate::party::REGION_BYTES;
use crate::service::{ECHO, Echo};
use crate::stage::{Runs, Stage};
use crate::test::{Disturbance, Play, Report, Test, Wrong};
use fabric::{
    Admission, Env, LocalWorld, Patience, Port, Replicas, ServeCounters, ServerConfig, Sharing,
    port,
};
use layout::NodeId;
use sim::Carrier;
use std::io::BufRead;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Memory servers of each test.
pub const SERVERS: u16 = 2;
/// The longest time that a party waits for the others.
pub const PATIENCE_NS: u64 = 60_000_000_000;
/// Time for which callers of messages wait for an answer, and for which a server stands still.
pub const ANSWER_TIME_MAX: Duration = Duration::from_secs(2);
const STANDSTILL: Duration = Duration::from_millis(2500);
/// How long writers continue for readers that have seen too little.
pub const OVERTIME_NS: u64 = 2_000_000_000;

/// A fabric between processes.
pub trait Processes {
    type Env: Env;
    const NAME: &'static str;
    /// The processor that executes its verbs.
    const CARRIER: Carrier;
    /// How a server shares its region with other processes.
    const SHARING: Sharing;
    /// Rounds of each run: enough for parties that do not start at the same moment to overlap.
    const ROUNDS: u64;
    /// Time from the start of the parties to a disturbance.
    const UNDISTURBED: Duration = Duration::from_millis(30);

    /// The reason why this fabric cannot apply the disturbance, if it cannot.
    fn refuses(disturbance: Disturbance) -> Option<&'static str>;

    /// A known defect of the device that executes its verbs.
    fn flaw() -> Option<String> {
        None
    }

    /// In a memory server's process: listens at `address`, or at a new address; returns the port
    /// and its address as text.
    fn listen(
        world: &Arc<LocalWorld>,
        admission: Arc<Admission>,
        folder: &Path,
        address: Option<&str>,
    ) -> Result<(Box<dyn Port>, String), String>;

    /// In a party's process: opens an endpoint, reports that, and runs the test.
    fn take_part(
        place: &Rendezvous,
        started: impl FnOnce(),
        play: impl FnOnce(Self::Env) -> Play,
    ) -> Report;

    /// Sends input to server 0 that no correct caller sends.
    fn send_garbage(place: &Rendezvous) -> Result<(), String>;

    /// Sends the same call to server 0 more than once.
    fn repeat_call(place: &Rendezvous) -> Result<(), String>;
}

/// A fabric between processes as a stage.
pub struct Director<P>(PhantomData<P>);

impl<P: Processes> Director<P> {
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<P: Processes> Default for Director<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Processes> Stage for Director<P> {
    type Env = P::Env;

    fn name(&self) -> &'static str {
        P::NAME
    }

    fn carrier(&self) -> Carrier {
        P::CARRIER
    }

    fn runs(&self) -> Runs {
        Runs { least: 1, most: 100, span: Duration::from_millis(150) }
    }

    fn flaw(&self) -> Option<String> {
        P::flaw()
    }

    fn refuses(&self, disturbance: Disturbance) -> Option<&'static str> {
        P::refuses(disturbance)
    }

    fn play(&self, test: &Test<P::Env>, run: u64) -> Result<Vec<Vec<u64>>, String> {
        let mut place = Rendezvous::new()
            .map_err(|error| format!("cannot create a folder for the test: {error}"))?;
        let mut servers = Vec::new();
        for node in 0..SERVERS {
            servers.push(Child::start(&place.server(P::NAME, node))?);
        }
        for server in &mut servers {
            place.addresses.push(server.wait_for("ready")?);
        }
        let mut parties = Vec::new();
        for number in 0..test.parties {
            parties.push(Child::start(&place.party(P::NAME, test.name, number))?);
        }
        for party in &mut parties {
            party.wait_for("started")?;
        }
        for party in &mut parties {
            party.say("go")?;
        }
        if let Some(disturbance) = test.disturbance {
            pause(P::UNDISTURBED + Duration::from_millis(run % 50));
            disturb::<P>(disturbance, &place, &mut servers, &mut parties)?;
        }
        let is_dead = |number| test.disturbance == Some(Disturbance::KillParty) && number == 1;
        let reports = parties.iter_mut().enumerate().map(|(number, party)| {
            if is_dead(number) { Ok(Vec::new()) } else { report(&party.wait_for("report")?) }
        });
        reports.collect()
    }
}

fn report(words: &str) -> Report {
    let words = words.split_ascii_whitespace().map(str::parse);
    words.collect::<Result<_, _>>().map_err(|error| format!("cannot parse a report: {error}"))
}

fn disturb<P: Processes>(
    disturbance: Disturbance,
    place: &Rendezvous,
    servers: &mut [Child],
    parties: &mut [Child],
) -> Result<(), String> {
    match disturbance {
        Disturbance::KillServer => servers[1].kill(),
        Disturbance::KillParty => parties[1].kill(),
        Disturbance::LoseBatches => {
            servers[1].stop()?;
            pause(STANDSTILL);
            servers[1].go_on()
        }
        Disturbance::SendGarbage => P::send_garbage(place),
        Disturbance::RepeatCall => P::repeat_call(place),
        Disturbance::RaiseEpoch => servers.iter_mut().try_for_each(|server| server.say("epoch 2")),
        Disturbance::RestartServer => restart::<P>(place, &mut servers[usize::from(RESTARTED.0)]),
        Disturbance::Knock(wrong) => try_to_open::<P>(&place.with(wrong), wrong, place),
    }
}

/// Kills server 1 and restarts it; a caller that knows the first is refused, one that knows the
/// second is not.
fn restart<P: Processes>(place: &Rendezvous, server: &mut Child) -> Result<(), String> {
    server.kill()?;
    let mut successor = Rendezvous { life: place.life + 1, ..place.clone() };
    *server = Child::start(&successor.server(P::NAME, RESTARTED.0))?;
    let address = server.wait_for("ready")?;
    successor.addresses[usize::from(RESTARTED.0)] = address;
    try_to_open::<P>(place, Wrong::Key, &successor)
}

/// A stranger with one wrong property tries to open an endpoint, and then a legitimate caller.
fn try_to_open<P: Processes>(
    stranger: &Rendezvous,
    wrong: Wrong,
    friend: &Rendezvous,
) -> Result<(), String> {
    let open = |place: &Rendezvous| {
        P::take_part(place, || (), |_| Box::pin(async { Ok(Vec::new()) })).map(drop)
    };
    match open(stranger) {
        Ok(()) => return Err(format!("{wrong:?}: the server admitted a stranger")),
        Err(sentence) if !sentence.contains(wrong.sentence()) => {
            return Err(format!("{wrong:?}: the refusal has another reason: {sentence}"));
        }
        Err(_) => {}
    }
    open(friend).map_err(|sentence| format!("the server refused a legitimate caller: {sentence}"))
}

/// Runs a memory server's process until its director ends, and reports to the director by `say`.
/// The server was restarted `life` times before, and listens at `address` if one is given.
pub fn serve<P: Processes>(
    (node, life): (NodeId, u64),
    folder: &Path,
    address: Option<&str>,
    say: impl Fn(&str),
) -> Result<(), String> {
    let admission = Arc::new(Rendezvous::admission(node, life));
    let config = ServerConfig {
        node,
        server_count: SERVERS,
        bytes: REGION_BYTES,
        replicas: Replicas::NONE,
        sharing: P::SHARING,
        seed: u64::from(node.0),
    };
    let (world, _) = LocalWorld::memory_server(&config).map_err(|error| error.to_string())?;
    world.register(node, ECHO, Echo::of(node));
    let (port, address) = P::listen(&world, admission.clone(), folder, address)?;
    say(&format!("ready {address}"));
    std::thread::scope(|scope| {
        scope.spawn(|| execute_commands(&admission));
        let mut ports = [port];
        let (stop, counters) = (AtomicBool::new(false), ServeCounters::default());
        port::serve(&mut ports, &stop, Patience::default(), &counters);
    });
    Ok(())
}

/// Executes the director's commands, and ends this process when the director ends.
fn execute_commands(admission: &Admission) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if let Some(epoch) = line.strip_prefix("epoch ").and_then(|epoch| epoch.parse().ok()) {
            admission.epoch.store(epoch, Ordering::Release);
        }
    }
    std::process::exit(0);
}

fn pause(duration: Duration) {
    #[allow(clippy::disallowed_methods, reason = "real processes take real time")]
    std::thread::sleep(duration);
}
