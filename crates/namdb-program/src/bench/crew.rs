//! The compute servers of a cluster that run a benchmark together, as the benchmark sees them.

use super::driver::{Phase, Run, Standing, Watcher};
use super::order::{Answer, Done, Greeting, Line, Order, Ready, Request};
use super::part::Part;
use crate::servers::PROGRAM;
use anyhow::{Context, Result, anyhow, bail};
use fabric::tcp::TlsKeys;
use membership::{ClusterId, Member};
use namdb::host::{Moment, sleep_ms};
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
    line: Line,
    standing: Option<Standing>,
    heard: Moment,
    done: Option<Done>,
}

/// What one of them is to do.
struct Duty {
    threads: u32,
    /// Of each thread.
    lanes: u32,
    part: Part,
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
        let all = crew.members.len();
        crew.ready = crew.greet(all)?.into_iter().map(|(_, ready)| ready).collect();
        Ok(crew)
    }

    /// Who they are.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Connects to the first so many, and asks what they have.
    fn greet(&self, count: usize) -> Result<Vec<(Hand, Ready)>> {
        let greet = |member: &Member| {
            Hand::greet(member, self.cluster, self.keys.as_ref())
                .with_context(|| format!("compute server {} cannot be given work", member.number))
        };
        self.members.iter().take(count).map(greet).collect()
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

    /// Has them run `arguments`, and tells what came of it, by compute server.
    pub fn run(
        &self,
        arguments: &[String],
        threads: Option<u32>,
        lanes: Option<u32>,
        stop: &AtomicBool,
        watcher: &mut dyn Watcher,
    ) -> Result<Vec<Share>> {
        let (threads_of, lanes_of) = self.shape(threads, lanes);
        let workers: Vec<u32> = threads_of.iter().zip(&lanes_of).map(|(a, b)| a * b).collect();
        let shapes = threads_of.into_iter().zip(lanes_of);
        let duties = shapes.zip(Part::shares(&workers));
        let duties = duties.map(|((threads, lanes), part)| Duty { threads, lanes, part }).collect();
        self.carry_out(arguments, duties, stop, watcher)
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
        let duty = Duty { threads: 1, lanes: 1, part };
        Ok(self.carry_out(arguments, vec![duty], stop, watcher)?.pop())
    }

    fn carry_out(
        &self,
        arguments: &[String],
        duties: Vec<Duty>,
        stop: &AtomicBool,
        watcher: &mut dyn Watcher,
    ) -> Result<Vec<Share>> {
        let threads_in_all = duties.iter().map(|duty| duty.threads).sum();
        let greeted = self.greet(duties.len())?;
        let mut hands = Hands(greeted.into_iter().map(|(hand, _)| hand).collect());
        for (hand, &Duty { threads, lanes, part }) in hands.0.iter_mut().zip(&duties) {
            let arguments = arguments.to_vec();
            let order = Order { arguments, threads, threads_in_all, lanes, part };
            hand.line.say(&Request::Order(Box::new(order)))?;
            hand.heard = Moment::now();
        }
        hands.wait(stop, watcher)?;
        let share = |(hand, duty): (Hand, Duty)| {
            let done = hand.done.expect("it was waited for");
            let (run, testimony) = (done.run.into_run(), done.testimony);
            let Duty { threads, lanes, .. } = duty;
            Share { number: hand.number, threads, lanes, run, testimony }
        };
        Ok(hands.0.into_iter().zip(duties).map(share).collect())
    }
}

impl Hands {
    fn wait(&mut self, stop: &AtomicBool, watcher: &mut dyn Watcher) -> Result<()> {
        let mut is_told_to_end = false;
        while self.0.iter().any(|hand| hand.done.is_none()) {
            if stop.load(Relaxed) && !is_told_to_end {
                is_told_to_end = true;
                self.end();
            }
            let heard: Result<()> = self.0.iter_mut().try_for_each(Hand::listen);
            if heard.is_err() {
                // The others need not go on for a run that will not be reported.
                self.end();
                return heard;
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
        let all: Vec<Standing> = self.0.iter().map(|hand| hand.standing).collect::<Option<_>>()?;
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

impl Hand {
    fn greet(member: &Member, cluster: ClusterId, keys: Option<&TlsKeys>) -> Result<(Self, Ready)> {
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
        let heard = Moment::now();
        match line.hear(ANSWER_TIME)? {
            Some(Answer::Ready(ready)) => {
                let (standing, done) = (None, None);
                Ok((Self { number: member.number, line, standing, heard, done }, ready))
            }
            Some(Answer::Refused(why)) => bail!("{why}"),
            Some(_) => bail!("it says what was not asked"),
            None => bail!("it does not answer within {} s", ANSWER_TIME.as_secs()),
        }
    }

    fn listen(&mut self) -> Result<()> {
        let number = self.number;
        while self.done.is_none() {
            let heard = self.line.hear(Duration::ZERO);
            match heard.with_context(|| format!("compute server {number} is lost"))? {
                Some(Answer::Standing(standing)) => self.standing = Some(standing),
                Some(Answer::Done(done)) => self.done = Some(*done),
                Some(Answer::Failed(why)) => return Err(anyhow!("compute server {number}: {why}")),
                Some(Answer::Refused(why)) => bail!("compute server {number}: {why}"),
                Some(Answer::Ready(_)) => bail!("it says what was not asked"),
                None => break,
            }
        }
        if self.line.has_heard() {
            self.heard = Moment::now();
        }
        if self.done.is_none() && self.heard.elapsed_s() > SILENCE_S {
            bail!("compute server {number} has said nothing for {SILENCE_S} s");
        }
        Ok(())
    }
}
