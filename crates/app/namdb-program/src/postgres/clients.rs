//! Concurrent clients that call PostgreSQL's procedures, each over its own connection, with the
//! same calls as namdb's threads.
//!
//! Decision: docs/decisions/0225-postgresql-is-measured-by-a-small-client-of-our-own.md

use super::session::{Address, Session};
use super::wire::Failure;
use crate::bench::measure::KindWindow;
use anyhow::{Context, Result, ensure};
use datagen::{Call, Calls, Mix};
use folder_benchmark::{Rules, Stored};
use hdrhistogram::Histogram;
use namdb::host::{Moment, process_cpu_s, sleep_ms};
use sql::Procedure;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

/// The waiting thread sleeps this long at a time.
const SLEEP_MS: u64 = 20;
/// Maximal number of retries of a call, as in namdb. They follow at once: the losing transaction
/// has already waited for the winner.
const RETRIES_MAX: u32 = 200;
/// Errors after which a call is retried: `serialization_failure` and `deadlock_detected`.
const RETRIED: [&str; 2] = ["40001", "40P01"];

/// Parameters of the clients' run.
#[derive(Clone, Debug)]
pub struct ClientPlan {
    pub clients: u32,
    /// Duration of the warm-up in seconds.
    pub warm_up_s: f64,
    /// Measured duration in seconds.
    pub window_s: f64,
    /// PostgreSQL's name of the isolation level.
    pub isolation: &'static str,
}

/// Results of one procedure.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Number of committed calls.
    pub committed: u64,
    /// Calls that the procedure's own rules rolled back.
    pub rolled_back: u64,
    pub retries: u64,
    /// Calls that failed with another error or were given up.
    pub failed: u64,
    /// Nanoseconds from drawing the call to its end, including all attempts, for calls that
    /// committed or were rolled back by the procedure's rules.
    pub latency_ns: Histogram<u32>,
}

/// Result of the clients' run.
#[derive(Clone, Debug)]
pub struct ClientRun {
    /// Measured seconds.
    pub seconds: f64,
    /// Processor time of the clients in the measured time, in seconds.
    pub client_cpu_seconds: f64,
    /// Results per procedure.
    pub kinds: Vec<Kind>,
    /// Failed attempts per SQLSTATE, with the first message.
    pub errors: BTreeMap<String, (u64, String)>,
    /// Whether the user ended the run early.
    pub is_interrupted: bool,
}

/// Phases: warm-up, measuring, end.
const MEASURING: u8 = 1;
const OVER: u8 = 2;

/// Runs the clients.
///
/// # Errors
/// If a client cannot connect or loses its connection.
pub fn run(
    address: &Address,
    stored: &Stored,
    plan: &ClientPlan,
    stop: &AtomicBool,
    show: &mut dyn FnMut(f64),
) -> Result<ClientRun> {
    let procedures: Vec<&Procedure> =
        stored.ready().procedures.iter().map(|procedure| &procedure.routine).collect();
    let settings = format!("SET default_transaction_isolation = '{}'", plan.isolation);
    let sessions = (0..plan.clients).map(|_| Session::open(address, &settings, &procedures));
    let sessions = sessions.collect::<Result<Vec<_>>>()?;
    let phase = AtomicU8::new(0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = sessions
            .into_iter()
            .zip(0..)
            .map(|(session, number)| {
                let calls = Calls::new(
                    stored.population().clone(),
                    number,
                    u64::from(plan.clients),
                    Mix::Deck,
                );
                let (done, rules) = (Done::new(procedures.len()), stored.rules().clone());
                let client = Client { session, calls, done, rules };
                let phase = &phase;
                scope.spawn(move || client.work(phase))
            })
            .collect();
        let is_over = || stop.load(Relaxed) || threads.iter().any(|thread| thread.is_finished());
        wait(plan.warm_up_s, &is_over, &mut |_| {});
        // Nothing was measured yet, so nothing can be reported.
        let is_too_early = stop.load(Relaxed);
        let (start, cpu_start) = (Moment::now(), process_cpu_s());
        phase.store(MEASURING, Relaxed);
        wait(plan.window_s, &is_over, show);
        phase.store(OVER, Relaxed);
        let (seconds, client_cpu_seconds) = (start.elapsed_s(), process_cpu_s() - cpu_start);
        let mut sum = Done::new(procedures.len());
        for thread in threads {
            let done = thread.join().expect("a panic of a client is a panic of the program");
            sum.add(done.context("a client has lost its connection to PostgreSQL")?);
        }
        ensure!(!is_too_early, "ended by the user before PostgreSQL was measured");
        let ended: u64 = sum.kinds.iter().map(|kind| kind.committed + kind.rolled_back).sum();
        ensure!(ended > 0 || stop.load(Relaxed), "{}", nothing_done(&sum.errors));
        let is_interrupted = seconds < 0.99 * plan.window_s;
        let Done { kinds, errors } = sum;
        Ok(ClientRun { seconds, client_cpu_seconds, kinds, errors, is_interrupted })
    })
}

fn nothing_done(errors: &BTreeMap<String, (u64, String)>) -> String {
    let told = errors.iter().map(|(code, (count, said))| format!("{count} x {code}: {said}"));
    format!("no call has succeeded in PostgreSQL: {}", told.collect::<Vec<_>>().join("; "))
}

fn wait(seconds: f64, is_over: &dyn Fn() -> bool, show: &mut dyn FnMut(f64)) {
    let start = Moment::now();
    while start.elapsed_s() < seconds && !is_over() {
        sleep_ms(SLEEP_MS);
        show(start.elapsed_s());
    }
}

/// Results of a client.
struct Done {
    kinds: Vec<Kind>,
    errors: BTreeMap<String, (u64, String)>,
}

impl Done {
    fn new(kinds: usize) -> Self {
        let kind = || Kind {
            committed: 0,
            rolled_back: 0,
            retries: 0,
            failed: 0,
            latency_ns: KindWindow::default().latency_ns,
        };
        Self { kinds: (0..kinds).map(|_| kind()).collect(), errors: BTreeMap::new() }
    }

    fn add(&mut self, other: Self) {
        for (own, other) in self.kinds.iter_mut().zip(other.kinds) {
            own.committed += other.committed;
            own.rolled_back += other.rolled_back;
            own.retries += other.retries;
            own.failed += other.failed;
            own.latency_ns.add(&other.latency_ns).expect("all have the same bounds");
        }
        for (code, (count, said)) in other.errors {
            self.errors.entry(code).or_insert((0, said)).0 += count;
        }
    }
}

struct Client {
    session: Session,
    calls: Calls<std::sync::Arc<datagen::Population>>,
    done: Done,
    rules: std::sync::Arc<Rules>,
}

impl Client {
    fn work(mut self, phase: &AtomicU8) -> Result<Done> {
        let (mut is_measuring, mut before) = (false, Moment::now());
        loop {
            let call = self.calls.next_call(0);
            self.call(&call, before)?;
            before = Moment::now();
            match phase.load(Relaxed) {
                OVER => return Ok(self.done),
                MEASURING if !is_measuring => {
                    is_measuring = true;
                    self.done = Done::new(self.done.kinds.len());
                }
                _ => {}
            }
        }
    }

    /// Executes a call and retries it on conflicts; it is measured if it starts after `start`.
    fn call(&mut self, call: &Call, start: Moment) -> Result<()> {
        let mut retries = 0;
        let kind = &mut self.done.kinds[call.procedure];
        loop {
            let failed = match self.session.call(call.procedure, &call.arguments)? {
                Ok(_) => {
                    kind.committed += 1;
                    break;
                }
                Err(failed) => failed,
            };
            let Failure { sqlstate, message } = failed;
            let is_rule = self.rules.are_kept(call.procedure, &sqlstate);
            let is_retried = RETRIED.contains(&&*sqlstate) && retries < RETRIES_MAX;
            self.done.errors.entry(sqlstate).or_insert((0, message)).0 += 1;
            match (is_retried, is_rule) {
                (true, _) => retries += 1,
                (false, true) => {
                    kind.rolled_back += 1;
                    break;
                }
                (false, false) => {
                    kind.failed += 1;
                    return Ok(());
                }
            }
        }
        kind.retries += u64::from(retries);
        kind.latency_ns.saturating_record(Moment::now().since_ns(start));
        Ok(())
    }
}
