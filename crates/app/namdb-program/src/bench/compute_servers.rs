//! The benchmark's side of a run on several compute servers of a cluster.

use super::driver::{Phase, Run, Standing, Watcher};
use super::order::{Answer, Done, Greeting, Line, Order, Ready, Request};
use super::part::Part;
use crate::output;
use crate::servers::PROGRAM;
use anyhow::{Context, Result, anyhow, bail};
use fabric::Secret;
use fabric::tcp::TlsKeys;
use folder_benchmark::ShippedFolder;
use membership::{ClusterId, Member};
use namdb::host::{Moment, sleep_ms};
use serde::Serialize;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Maximal wait for a compute server's answer to a greeting.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// A compute server that sends no progress for this long counts as lost.
const SILENCE_S: f64 = 15.0;
/// Interval at which the compute servers' messages are read.
const POLL_MS: u64 = 20;

/// The run that compute servers are ordered to execute.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OrderedWords {
    /// Command line after `namdb bench`, without paths.
    pub arguments: Vec<String>,
    /// The workload, if it is a folder.
    pub folder: Option<ShippedFolder>,
}

/// The compute servers that execute the benchmark's orders.
pub struct ComputeServers {
    members: Vec<Member>,
    cluster: ClusterId,
    secret: Secret,
    /// Keys for encrypted connections; `None` if the cluster does not encrypt.
    keys: Option<TlsKeys>,
    /// Threads and lanes of each compute server.
    ready: Vec<Ready>,
}

/// Compute servers that are executing an order.
struct RunningServers(Vec<RunningServer>);

/// A compute server that is executing an order.
struct RunningServer {
    number: u16,
    duty: PartPlan,
    line: Line,
    standing: Option<Standing>,
    heard: Moment,
    outcome: Option<Outcome>,
}

/// How a compute server's part of a run ended.
enum Outcome {
    Done(Box<Done>),
    Lost(String),
}

/// Why a compute server stopped.
enum Trouble {
    /// It died, does not answer, or failed at work that others can still do.
    Lost(anyhow::Error),
    /// It cannot execute the order, and neither can the others.
    Refused(anyhow::Error),
}

/// Reaction of the run to the loss of a compute server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AfterLoss {
    /// The other compute servers continue.
    GoOn,
    /// The run ends, since only a complete result counts.
    End,
}

/// One compute server's part of the run.
#[derive(Clone, Copy)]
struct PartPlan {
    threads: u32,
    /// Lanes per thread.
    lanes: u32,
    part: Part,
}

/// Results of all compute servers.
pub struct ServerResults {
    /// Results of the compute servers that finished, by number.
    pub done: Vec<Share>,
    /// The compute servers that were lost.
    pub lost: Vec<Loss>,
}

/// A compute server that was lost during a run; its measurements are lost, too.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Loss {
    /// The compute server's number.
    pub number: u16,
    /// How the loss was noticed.
    pub why: String,
}

/// One compute server's result.
pub struct Share {
    /// The compute server's number.
    pub number: u16,
    pub threads: u32,
    /// Lanes per thread.
    pub lanes: u32,
    /// Its measurements.
    pub run: Run,
    /// Data that its transactions report to the workload's checks.
    pub testimony: String,
}

impl ComputeServers {
    /// Asks all `members` for their threads and lanes. It closes the connections again, since the
    /// order may come much later.
    pub fn gather(
        members: &[&Member],
        (cluster, secret): (ClusterId, Secret),
        keys: Option<TlsKeys>,
    ) -> Result<Self> {
        let members: Vec<Member> = members.iter().copied().cloned().collect();
        let mut compute_servers = Self { members, cluster, secret, keys, ready: Vec::new() };
        let greet = |member| compute_servers.greet(member).map(|(_, ready)| ready);
        compute_servers.ready = compute_servers.members.iter().map(greet).collect::<Result<_>>()?;
        Ok(compute_servers)
    }

    /// The compute servers, as the registry lists them.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Connects to a compute server and requests its threads and lanes.
    fn greet(&self, member: &Member) -> Result<(Line, Ready)> {
        greet(member, self.cluster, (&self.secret, self.keys.as_ref()))
            .with_context(|| format!("compute server {} cannot be given work", member.number))
    }

    /// Total number of threads, with `threads` per compute server or, if `None`, each server's
    /// configured number.
    pub fn threads(&self, threads: Option<u32>) -> u32 {
        self.ready.iter().map(|ready| threads.unwrap_or(ready.threads)).sum()
    }

    /// Threads of each compute server and lanes of each thread: as given, or else as configured.
    fn shape(&self, threads: Option<u32>, lanes: Option<u32>) -> (Vec<u32>, Vec<u32>) {
        let shape = |ready: &Ready| {
            let lanes = lanes.unwrap_or(ready.lanes).min(ready.lanes_max);
            (threads.unwrap_or(ready.threads), lanes)
        };
        self.ready.iter().map(shape).unzip()
    }

    /// Total number of lanes.
    pub fn lanes(&self, threads: Option<u32>, lanes: Option<u32>) -> u32 {
        let (threads_of, lanes_of) = self.shape(threads, lanes);
        threads_of.iter().zip(&lanes_of).map(|(threads, lanes)| threads * lanes).sum()
    }

    /// Whether all compute servers take times from the clock with this name.
    pub fn has_clock(&self, name: &str) -> bool {
        !name.is_empty() && self.ready.iter().all(|ready| ready.clock == name)
    }

    /// Runs `ordered` on all compute servers and returns their results by number.
    pub fn run(
        &self,
        ordered: &OrderedWords,
        threads: Option<u32>,
        lanes: Option<u32>,
        stop: &AtomicBool,
        watcher: &mut dyn Watcher,
    ) -> Result<Vec<Share>> {
        let duties = self.duties(threads, lanes);
        Ok(self.carry_out(ordered, duties, AfterLoss::End, (stop, watcher))?.done)
    }

    /// Like [`ComputeServers::run`], but the others continue if a compute server is lost.
    pub fn run_despite_losses(
        &self,
        ordered: &OrderedWords,
        threads: Option<u32>,
        lanes: Option<u32>,
        stop: &AtomicBool,
        watcher: &mut dyn Watcher,
    ) -> Result<ServerResults> {
        let duties = self.duties(threads, lanes);
        self.carry_out(ordered, duties, AfterLoss::GoOn, (stop, watcher))
    }

    /// Runs `ordered` on one lane of the first compute server while the others are idle. Its
    /// worker number differs from the `workers` of an earlier run, whose counters belong to them.
    pub fn run_alone(
        &self,
        ordered: &OrderedWords,
        workers: u32,
        stop: &AtomicBool,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<Share>> {
        let part = Part { workers_before: workers, ..Part::WHOLE };
        let duties = vec![PartPlan { threads: 1, lanes: 1, part }];
        Ok(self.carry_out(ordered, duties, AfterLoss::End, (stop, watcher))?.done.pop())
    }

    fn duties(&self, threads: Option<u32>, lanes: Option<u32>) -> Vec<PartPlan> {
        let (threads_of, lanes_of) = self.shape(threads, lanes);
        let workers: Vec<u32> = threads_of.iter().zip(&lanes_of).map(|(a, b)| a * b).collect();
        let shapes = threads_of.into_iter().zip(lanes_of);
        let duties = shapes.zip(Part::shares(&workers));
        duties.map(|((threads, lanes), part)| PartPlan { threads, lanes, part }).collect()
    }

    fn carry_out(
        &self,
        ordered: &OrderedWords,
        duties: Vec<PartPlan>,
        after_loss: AfterLoss,
        (stop, watcher): (&AtomicBool, &mut dyn Watcher),
    ) -> Result<ServerResults> {
        let threads_in_all = duties.iter().map(|duty| duty.threads).sum();
        let (mut hands, mut lost) = (Vec::new(), Vec::new());
        for (member, duty) in self.members.iter().zip(duties) {
            let PartPlan { threads, lanes, part } = duty;
            let OrderedWords { arguments, folder } = ordered.clone();
            let order = Order { arguments, folder, threads, threads_in_all, lanes, part };
            match self.order(member, duty, order) {
                Ok(hand) => hands.push(hand),
                Err(error) if after_loss == AfterLoss::End => return Err(error),
                Err(error) => lost.push(Loss::tell(member.number, &error)),
            }
        }
        let mut hands = RunningServers(hands);
        hands.wait(stop, watcher, after_loss)?;
        let mut done = Vec::new();
        for RunningServer { number, duty, outcome, .. } in hands.0 {
            match outcome.expect("it was waited for") {
                Outcome::Lost(why) => lost.push(Loss { number, why }),
                Outcome::Done(all) => {
                    let (run, testimony) = (all.run.into_run(), all.testimony);
                    let PartPlan { threads, lanes, .. } = duty;
                    done.push(Share { number, threads, lanes, run, testimony });
                }
            }
        }
        match lost.first() {
            Some(first) if done.is_empty() => bail!("no compute server is left: {}", first.why),
            _ => Ok(ServerResults { done, lost }),
        }
    }

    /// Sends a compute server its part of the run.
    fn order(&self, member: &Member, duty: PartPlan, order: Order) -> Result<RunningServer> {
        let (mut line, _) = self.greet(member)?;
        line.say(&Request::Order(Box::new(order)))?;
        let (standing, outcome) = (None, None);
        let heard = Moment::now();
        Ok(RunningServer { number: member.number, duty, line, standing, heard, outcome })
    }
}

impl Loss {
    /// Records a loss and reports it at once.
    fn tell(number: u16, error: &anyhow::Error) -> Self {
        let why = format!("{error:#}");
        output::say(&format!("  {why}; the run goes on without it"));
        Self { number, why }
    }
}

impl RunningServers {
    fn wait(
        &mut self,
        stop: &AtomicBool,
        watcher: &mut dyn Watcher,
        after_loss: AfterLoss,
    ) -> Result<()> {
        let mut is_told_to_end = false;
        while self.0.iter().any(|hand| hand.outcome.is_none()) {
            if stop.load(Relaxed) && !is_told_to_end {
                is_told_to_end = true;
                self.end();
            }
            let heard = self.0.iter_mut().try_for_each(|hand| hand.listen(after_loss));
            if let Err(error) = heard {
                // Stops the other servers, since the run will not be reported.
                self.end();
                return Err(error);
            }
            if let Some(standing) = self.standing() {
                watcher.show(&standing);
            }
            sleep_ms(POLL_MS);
        }
        Ok(())
    }

    fn end(&mut self) {
        for hand in &mut self.0 {
            // The server that cannot be reached is reported elsewhere.
            let _ = hand.line.say(&Request::End);
        }
    }

    /// Progress of the run: that of the slowest server, with the sum of all transactions.
    fn standing(&self) -> Option<Standing> {
        let living = self.0.iter().filter(|hand| !matches!(hand.outcome, Some(Outcome::Lost(_))));
        let all: Vec<Standing> = living.map(|hand| hand.standing).collect::<Option<_>>()?;
        let measuring = all.iter().all(|standing| standing.phase == Phase::Measuring);
        let shown: Vec<&Standing> =
            all.iter().filter(|standing| measuring || standing.phase != Phase::Measuring).collect();
        Some(Standing {
            phase: shown.first()?.phase,
            seconds: shown.iter().map(|standing| standing.seconds).fold(f64::INFINITY, f64::min),
            transactions: shown.iter().map(|standing| standing.transactions).sum(),
        })
    }
}

/// Connects to a compute server and requests its threads and lanes.
fn greet(
    member: &Member,
    cluster: ClusterId,
    (secret, keys): (&Secret, Option<&TlsKeys>),
) -> Result<(Line, Ready)> {
    let address = member.addresses.work.as_deref().context("it has no work address")?;
    let found = address.to_socket_addrs().ok().and_then(|mut found| found.next());
    let found =
        found.with_context(|| format!("the registry lists the invalid address {address}"))?;
    let stream = TcpStream::connect_timeout(&found, ANSWER_TIME)
        .with_context(|| format!("it does not answer at {address}"))?;
    let mut line = Line::connect(stream, keys, secret, member.number)?;
    line.say(&Request::Greeting(Greeting {
        program: PROGRAM.to_owned(),
        cluster: cluster.0,
        server: member.identity,
    }))?;
    match line.hear(ANSWER_TIME)? {
        Some(Answer::Ready(ready)) => Ok((line, ready)),
        Some(Answer::Refused(why)) => bail!("{why}"),
        Some(_) => bail!("it sends an unexpected answer"),
        None => bail!("it does not answer within {} s", ANSWER_TIME.as_secs()),
    }
}

impl RunningServer {
    /// Reads the server's messages. A loss is recorded if the others continue, and is an error
    /// otherwise.
    fn listen(&mut self, after_loss: AfterLoss) -> Result<()> {
        match self.hear() {
            Ok(()) => Ok(()),
            Err(Trouble::Lost(error)) if after_loss == AfterLoss::GoOn => {
                self.outcome = Some(Outcome::Lost(Loss::tell(self.number, &error).why));
                Ok(())
            }
            Err(Trouble::Lost(error) | Trouble::Refused(error)) => Err(error),
        }
    }

    fn hear(&mut self) -> Result<(), Trouble> {
        let number = self.number;
        while self.outcome.is_none() {
            let heard = self.line.hear(Duration::ZERO);
            let heard = heard.with_context(|| format!("compute server {number} is lost"));
            match heard.map_err(Trouble::Lost)? {
                Some(Answer::Standing(standing)) => self.standing = Some(standing),
                Some(Answer::Done(done)) => self.outcome = Some(Outcome::Done(done)),
                Some(Answer::Failed(why) | Answer::Refused(why)) => {
                    let error = anyhow!("compute server {number}: {why}");
                    // If it fails before its first progress report, the order itself is at fault.
                    return Err(match self.standing {
                        Some(_) => Trouble::Lost(error),
                        None => Trouble::Refused(error),
                    });
                }
                Some(Answer::Ready(_)) => {
                    let error = anyhow!("compute server {number} sends an unexpected answer");
                    return Err(Trouble::Refused(error));
                }
                None => break,
            }
        }
        if self.line.has_heard() {
            self.heard = Moment::now();
        }
        if self.outcome.is_none() && self.heard.elapsed_s() > SILENCE_S {
            let error = anyhow!("compute server {number} has sent nothing for {SILENCE_S} s");
            return Err(Trouble::Lost(error));
        }
        Ok(())
    }
}
