//! The compute servers of a cluster that run a benchmark together, as the benchmark sees them.

use super::driver::{Phase, Run, Standing, Watcher};
use super::order::{Answer, Done, Greeting, Line, Order, Ready, Request};
use super::part::Part;
use crate::output;
use crate::servers::PROGRAM;
use anyhow::{Context, Result, anyhow, bail};
use fabric::tcp::TlsKeys;
use membership::{ClusterId, Member};
use namdb::host::{Moment, sleep_ms};
use serde::Serialize;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How long a compute server may take to answer a greeting.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// A compute server that runs says where it stands more often than this.
const SILENCE_S: f64 = 15.0;
/// Between two looks at what the compute servers say.
const LOOK_MS: u64 = 20;

/// Compute servers that take work.
pub struct Crew {
    members: Vec<Member>,
    cluster: ClusterId,
    /// Where connections are encrypted.
    keys: Option<TlsKeys>,
    /// What each of them has.
    ready: Vec<Ready>,
}

/// Compute servers at work.
struct Hands(Vec<Hand>);

/// One of them.
struct Hand {
    number: u16,
    duty: Duty,
    line: Line,
    standing: Option<Standing>,
    heard: Moment,
    outcome: Option<Outcome>,
}

/// How a compute server's part of a run has ended.
enum Outcome {
    Done(Box<Done>),
    Lost(String),
}

/// Why a compute server does not go on.
enum Trouble {
    /// It has died, does not answer, or has failed at work that others may still do.
    Lost(anyhow::Error),
    /// It cannot do what it was ordered, and neither will others.
    Refused(anyhow::Error),
}

/// What a run does without a compute server that it loses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AfterLoss {
    /// The others go on.
    GoOn,
    /// Nothing counts but the whole.
    End,
}

/// What one of them is to do.
#[derive(Clone, Copy)]
struct Duty {
    threads: u32,
    /// Of each thread.
    lanes: u32,
    part: Part,
}

/// What all of them did.
pub struct Shares {
    /// Those that came to the end, by compute server.
    pub done: Vec<Share>,
    /// Those that did not.
    pub lost: Vec<Loss>,
}

/// A compute server that was lost during a run, with what it has measured.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Loss {
    /// The compute server's number.
    pub number: u16,
    /// What was noticed.
    pub why: String,
}

/// What one of them did.
pub struct Share {
    /// The compute server's number.
    pub number: u16,
    /// Its threads.
    pub threads: u32,
    /// Lanes of each.
    pub lanes: u32,
    /// What it measured.
    pub run: Run,
    /// What its transactions leave to the checks.
    pub testimony: String,
}

impl Crew {
    /// Asks all of `members` what they have. They do not wait for an order, which may be long in coming.
    pub fn gather(members: &[&Member], cluster: ClusterId, keys: Option<TlsKeys>) -> Result<Self> {
        let members: Vec<Member> = members.iter().copied().cloned().collect();
        let mut crew = Self { members, cluster, keys, ready: Vec::new() };
        let greet = |member| crew.greet(member).map(|(_, ready)| ready);
        crew.ready = crew.members.iter().map(greet).collect::<Result<_>>()?;
        Ok(crew)
    }

    /// Who they are.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Connects to one of them, and asks what it has.
    fn greet(&self, member: &Member) -> Result<(Line, Ready)> {
        greet(member, self.cluster, self.keys.as_ref())
            .with_context(|| format!("compute server {} cannot be given work", member.number))
    }

    /// Threads of all compute servers, where each has `threads` or, if there is none, what its configuration says.
    pub fn threads(&self, threads: Option<u32>) -> u32 {
        self.ready.iter().map(|ready| threads.unwrap_or(ready.threads)).sum()
    }

    /// Threads of each compute server, and lanes of each thread, as asked for or else as they have them.
    fn shape(&self, threads: Option<u32>, lanes: Option<u32>) -> (Vec<u32>, Vec<u32>) {
        let shape = |ready: &Ready| {
            let lanes = lanes.unwrap_or(ready.lanes).min(ready.lanes_max);
            (threads.unwrap_or(ready.threads), lanes)
        };
        self.ready.iter().map(shape).unzip()
    }

    /// Lanes of all compute servers together.
    pub fn lanes(&self, threads: Option<u32>, lanes: Option<u32>) -> u32 {
        let (threads_of, lanes_of) = self.shape(threads, lanes);
        threads_of.iter().zip(&lanes_of).map(|(threads, lanes)| threads * lanes).sum()
    }

    /// Whether all of them note times by this clock.
    pub fn has_clock(&self, name: &str) -> bool {
        !name.is_empty() && self.ready.iter().all(|ready| ready.clock == name)
    }

    /// Has all of them run `arguments`, and says what came of it, by compute server.
    pub fn run(
        &self,
        arguments: &[String],
        threads: Option<u32>,
        lanes: Option<u32>,
        stop: &AtomicBool,
        watcher: &mut dyn Watcher,
    ) -> Result<Vec<Share>> {
        let duties = self.duties(threads, lanes);
        Ok(self.carry_out(arguments, duties, AfterLoss::End, (stop, watcher))?.done)
    }

    /// As [`Crew::run`], where the others go on without a compute server that is lost meanwhile.
    pub fn run_despite_losses(
        &self,
        arguments: &[String],
        threads: Option<u32>,
        lanes: Option<u32>,
        stop: &AtomicBool,
        watcher: &mut dyn Watcher,
    ) -> Result<Shares> {
        let duties = self.duties(threads, lanes);
        self.carry_out(arguments, duties, AfterLoss::GoOn, (stop, watcher))
    }

    /// Has one lane of the first of them run `arguments` while no other does anything. Its worker is another one than the
    /// `workers` of a run before: what these have counted on is theirs.
    pub fn run_alone(
        &self,
        arguments: &[String],
        workers: u32,
        stop: &AtomicBool,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<Share>> {
        let part = Part { workers_before: workers, ..Part::WHOLE };
        let duties = vec![Duty { threads: 1, lanes: 1, part }];
        Ok(self.carry_out(arguments, duties, AfterLoss::End, (stop, watcher))?.done.pop())
    }

    fn duties(&self, threads: Option<u32>, lanes: Option<u32>) -> Vec<Duty> {
        let (threads_of, lanes_of) = self.shape(threads, lanes);
        let workers: Vec<u32> = threads_of.iter().zip(&lanes_of).map(|(a, b)| a * b).collect();
        let shapes = threads_of.into_iter().zip(lanes_of);
        let duties = shapes.zip(Part::shares(&workers));
        duties.map(|((threads, lanes), part)| Duty { threads, lanes, part }).collect()
    }

    fn carry_out(
        &self,
        arguments: &[String],
        duties: Vec<Duty>,
        after_loss: AfterLoss,
        (stop, watcher): (&AtomicBool, &mut dyn Watcher),
    ) -> Result<Shares> {
        let threads_in_all = duties.iter().map(|duty| duty.threads).sum();
        let (mut hands, mut lost) = (Vec::new(), Vec::new());
        for (member, duty) in self.members.iter().zip(duties) {
            let Duty { threads, lanes, part } = duty;
            let order =
                Order { arguments: arguments.to_vec(), threads, threads_in_all, lanes, part };
            match self.order(member, duty, order) {
                Ok(hand) => hands.push(hand),
                Err(error) if after_loss == AfterLoss::End => return Err(error),
                Err(error) => lost.push(Loss::tell(member.number, &error)),
            }
        }
        let mut hands = Hands(hands);
        hands.wait(stop, watcher, after_loss)?;
        let mut done = Vec::new();
        for Hand { number, duty, outcome, .. } in hands.0 {
            match outcome.expect("it was waited for") {
                Outcome::Lost(why) => lost.push(Loss { number, why }),
                Outcome::Done(all) => {
                    let (run, testimony) = (all.run.into_run(), all.testimony);
                    let Duty { threads, lanes, .. } = duty;
                    done.push(Share { number, threads, lanes, run, testimony });
                }
            }
        }
        match lost.first() {
            Some(first) if done.is_empty() => bail!("no compute server is left: {}", first.why),
            _ => Ok(Shares { done, lost }),
        }
    }

    /// Gives one of them its part of the run.
    fn order(&self, member: &Member, duty: Duty, order: Order) -> Result<Hand> {
        let (mut line, _) = self.greet(member)?;
        line.say(&Request::Order(Box::new(order)))?;
        let (standing, outcome) = (None, None);
        let heard = Moment::now();
        Ok(Hand { number: member.number, duty, line, standing, heard, outcome })
    }
}

impl Loss {
    /// Notes a loss, and says so at once.
    fn tell(number: u16, error: &anyhow::Error) -> Self {
        let why = format!("{error:#}");
        output::say(&format!("  {why}; the run goes on without it"));
        Self { number, why }
    }
}

impl Hands {
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
                // The others need not go on for a run that will not be reported.
                self.end();
                return Err(error);
            }
            if let Some(standing) = self.standing() {
                watcher.show(&standing);
            }
            sleep_ms(LOOK_MS);
        }
        Ok(())
    }

    fn end(&mut self) {
        for hand in &mut self.0 {
            // One that cannot be told is told of elsewhere.
            let _ = hand.line.say(&Request::End);
        }
    }

    /// Where they stand together: as far as the last, with the transactions of all.
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

/// Connects to a compute server, and asks what it has.
fn greet(member: &Member, cluster: ClusterId, keys: Option<&TlsKeys>) -> Result<(Line, Ready)> {
    let address = member.addresses.work.as_deref().context("it takes no work")?;
    let found = address.to_socket_addrs().ok().and_then(|mut found| found.next());
    let found =
        found.with_context(|| format!("it is said to be at {address}, which is no address"))?;
    let stream = TcpStream::connect_timeout(&found, ANSWER_TIME)
        .with_context(|| format!("it does not answer at {address}"))?;
    let mut line = Line::connect(stream, keys, member.number)?;
    line.say(&Request::Greeting(Greeting {
        program: PROGRAM.to_owned(),
        cluster: cluster.0,
        server: member.identity,
    }))?;
    match line.hear(ANSWER_TIME)? {
        Some(Answer::Ready(ready)) => Ok((line, ready)),
        Some(Answer::Refused(why)) => bail!("{why}"),
        Some(_) => bail!("it says what was not asked"),
        None => bail!("it does not answer within {} s", ANSWER_TIME.as_secs()),
    }
}

impl Hand {
    /// Hears what it says. A loss is noted where the others go on, else it is the error.
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
                    // Before it has begun, what it lacks is a matter of the order.
                    return Err(match self.standing {
                        Some(_) => Trouble::Lost(error),
                        None => Trouble::Refused(error),
                    });
                }
                Some(Answer::Ready(_)) => {
                    let error = anyhow!("compute server {number} says what was not asked");
                    return Err(Trouble::Refused(error));
                }
                None => break,
            }
        }
        if self.line.has_heard() {
            self.heard = Moment::now();
        }
        if self.outcome.is_none() && self.heard.elapsed_s() > SILENCE_S {
            let error = anyhow!("compute server {number} has said nothing for {SILENCE_S} s");
            return Err(Trouble::Lost(error));
        }
        Ok(())
    }
}
