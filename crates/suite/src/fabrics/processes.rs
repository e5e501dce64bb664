//! Fabrics whose memory servers and parties are processes: this program, started again.
//!
//! ```text
//! director (this process)        memory servers 0 and 1         parties
//!   starts both servers   ---->    listen
//!                         <----    "ready ADDRESS"
//!   starts the parties    ---------------------------------->     open an endpoint
//!                         <----------------------------------     "started"
//!   lets them go          ---------------------------------->     play
//!   disturbs              ---->  or  ------------------------>
//!                         <----------------------------------     "report WORDS" or "error SENTENCE"
//! ```
//!
//! All end when the director does: they read their standard input until it is closed.

use crate::fabrics::child::Child;
use crate::fabrics::place::{Place, RESTARTED};
use crate::party::REGION_BYTES;
use crate::service::{ECHO, Echo};
use crate::stage::{Runs, Stage};
use crate::test::{Disturbance, Play, Report, Test, Wrong};
use fabric::{
    Admission, Env, LocalWorld, Patience, Port, ServeCounters, ServerConfig, Sharing, port,
};
use layout::NodeId;
use sim::Carrier;
use std::io::BufRead;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Memory servers of each play.
pub const SERVERS: u16 = 2;
/// Longest that a party waits for the others.
pub const PATIENCE_NS: u64 = 60_000_000_000;
/// How long writers go on for those who have seen too little.
pub const OVERTIME_NS: u64 = 2_000_000_000;

/// A fabric between processes.
pub trait Processes {
    /// The parties' endpoints.
    type Env: Env;
    /// Its name.
    const NAME: &'static str;
    /// Who carries out its verbs.
    const CARRIER: Carrier;
    /// How a server shares its region with other processes.
    const SHARING: Sharing;
    /// Rounds of each play: so many that parties meet which do not start at one moment.
    const ROUNDS: u64;
    /// From the start of the parties to a disturbance.
    const UNDISTURBED: Duration = Duration::from_millis(30);

    /// Why a play cannot be disturbed in this way, if it cannot.
    fn refuses(disturbance: Disturbance) -> Option<&'static str>;

    /// What is known to be wrong with what carries out its verbs.
    fn flaw() -> Option<String> {
        None
    }

    /// In a memory server's process: where it is reached, as a port and as text; at `address` if one is given.
    fn listen(
        world: &Arc<LocalWorld>,
        admission: Arc<Admission>,
        folder: &Path,
        address: Option<&str>,
    ) -> Result<(Box<dyn Port>, String), String>;

    /// In a party's process: opens an endpoint, says so, and plays.
    fn take_part(
        place: &Place,
        started: impl FnOnce(),
        play: impl FnOnce(Self::Env) -> Play,
    ) -> Report;

    /// Sends what no caller of this fabric ever sends to server 0.
    fn send_garbage(place: &Place) -> Result<(), String>;

    /// Sends the same call to server 0 more than once.
    fn repeat_call(place: &Place) -> Result<(), String>;
}

/// A fabric between processes as a stage.
pub struct Director<P>(PhantomData<P>);

impl<P: Processes> Director<P> {
    /// That of `P`.
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
        let mut place = Place::new().map_err(|error| format!("a folder to meet in: {error}"))?;
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
    words.collect::<Result<_, _>>().map_err(|error| format!("a report that is none: {error}"))
}

fn disturb<P: Processes>(
    disturbance: Disturbance,
    place: &Place,
    servers: &mut [Child],
    parties: &mut [Child],
) -> Result<(), String> {
    match disturbance {
        Disturbance::KillServer => servers[1].kill(),
        Disturbance::KillParty => parties[1].kill(),
        Disturbance::SendGarbage => P::send_garbage(place),
        Disturbance::RepeatCall => P::repeat_call(place),
        Disturbance::RaiseEpoch => servers.iter_mut().try_for_each(|server| server.say("epoch 2")),
        Disturbance::RestartServer => restart::<P>(place, &mut servers[usize::from(RESTARTED.0)]),
        Disturbance::Knock(wrong) => knock::<P>(&place.with(wrong), wrong, place),
    }
}

/// Kills server 1 and starts it again; who knows the first is refused, who knows the second is not.
fn restart<P: Processes>(place: &Place, server: &mut Child) -> Result<(), String> {
    server.kill()?;
    let mut successor = Place { life: place.life + 1, ..place.clone() };
    *server = Child::start(&successor.server(P::NAME, RESTARTED.0))?;
    let address = server.wait_for("ready")?;
    successor.addresses[usize::from(RESTARTED.0)] = address;
    knock::<P>(place, Wrong::Key, &successor)
}

/// A stranger with whom something is wrong tries to get in, and then somebody who belongs here.
fn knock<P: Processes>(stranger: &Place, wrong: Wrong, friend: &Place) -> Result<(), String> {
    let open = |place: &Place| {
        P::take_part(place, || (), |_| Box::pin(async { Ok(Vec::new()) })).map(drop)
    };
    match open(stranger) {
        Ok(()) => return Err(format!("{wrong:?}: a stranger was let in")),
        Err(sentence) if !sentence.contains(wrong.sentence()) => {
            return Err(format!("{wrong:?}: a stranger was told: {sentence}"));
        }
        Err(_) => {}
    }
    open(friend).map_err(|sentence| format!("who belongs here was refused: {sentence}"))
}

/// A memory server's process, until its director ends; it talks to that by `say`. It has been started `life` times
/// before, and listens at `address` if one is given.
pub fn serve<P: Processes>(
    (node, life): (NodeId, u64),
    folder: &Path,
    address: Option<&str>,
    say: impl Fn(&str),
) -> Result<(), String> {
    let admission = Arc::new(Place::admission(node, life));
    let config = ServerConfig {
        node,
        server_count: SERVERS,
        bytes: REGION_BYTES,
        sharing: P::SHARING,
        seed: u64::from(node.0),
    };
    let (world, _) = LocalWorld::memory_server(&config).map_err(|error| error.to_string())?;
    world.register(node, ECHO, Echo::of(node));
    let (port, address) = P::listen(&world, admission.clone(), folder, address)?;
    say(&format!("ready {address}"));
    std::thread::scope(|scope| {
        scope.spawn(|| obey(&admission));
        let mut ports = [port];
        let (stop, counters) = (AtomicBool::new(false), ServeCounters::default());
        port::serve(&mut ports, &stop, Patience::default(), &counters);
    });
    Ok(())
}

/// Does what the director says, and ends this process with it.
fn obey(admission: &Admission) {
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
