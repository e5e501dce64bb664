//! The parent: starts children, kills them, and checks what is left.

use crate::check::check;
use crate::child;
use crate::expected::Expected;
use crate::pipe::{self, Message, TASKS, Task};
use crate::random::Random;
use crate::report::Report;
use anyhow::{Context, Result, bail, ensure};
use namdb::Durability;
use namdb::host::Moment;
use std::collections::{BTreeMap, VecDeque};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Interval of the periodic level.
const INTERVAL_MS: u64 = 10;
/// After this time without commits everything that was reported must be there: the interval of
/// relaxed transactions is 200 ms.
const QUIET_MS: u64 = 500;
/// Longest load before a kill that is not aimed at something else.
const LOAD_US: u64 = 150_000;
/// Duration of what was not measured yet.
const UNKNOWN_US: u64 = 20_000;
/// How long a child may take to reach what the kill is aimed at.
const REACH_MAX: Duration = Duration::from_secs(60);
/// Number of reports that a failure lists.
const RECENT_MAX: usize = 24;
const SIGKILL: i32 = 9;

/// The parameters of a test.
#[derive(Clone, Debug)]
pub struct Options {
    pub program: PathBuf,
    pub directory: PathBuf,
    pub rounds: u64,
    pub seed: u64,
    /// A planted bug: the child reports commits before they are on the disk.
    pub acknowledges_early: bool,
}

/// The moment at which a kill is aimed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Aim {
    Opening,
    Loading,
    Load,
    Task(Task),
    /// Commits have ended a while ago.
    Quiet,
}

impl Aim {
    fn of(random: &mut Random) -> Self {
        match random.below(24) {
            0..4 => Self::Opening,
            4..8 => Self::Loading,
            8..13 => Self::Load,
            13 => Self::Quiet,
            number => Self::Task(TASKS[number as usize % TASKS.len()]),
        }
    }

    /// Whether the kill follows this message.
    fn begins_with(self, message: Message) -> bool {
        match (self, message) {
            (Self::Opening, Message::Opening) | (Self::Load, Message::Running) => true,
            // A directory without rows loads nothing.
            (Self::Loading, Message::Loading | Message::Opened) => true,
            (Self::Quiet, Message::Quiet) => true,
            (Self::Task(aimed), Message::Begin { task, .. }) => task == aimed,
            _ => false,
        }
    }
}

/// The state of a child, by its messages.
#[derive(Clone, Copy, Debug)]
struct Stage {
    name: &'static str,
    task: Option<Task>,
}

impl Stage {
    fn note(&mut self, message: Message) {
        match message {
            Message::Opening => self.name = "opening",
            Message::Loading => self.name = "loading rows",
            Message::Opened => self.name = "creating tables and first rows",
            Message::Running => self.name = "commits",
            Message::Quiet => self.name = "no commits",
            Message::Begin { task, .. } => self.task = Some(task),
            Message::End { .. } => self.task = None,
            _ => {}
        }
    }

    fn describe(self) -> String {
        match self.task {
            None => self.name.to_owned(),
            Some(Task::Checkpoint) => format!("{} and a checkpoint", self.name),
            Some(task) => format!("{} and {task:?}", self.name),
        }
    }
}

/// A test under way.
pub struct Rounds {
    options: Options,
    random: Random,
    expected: Expected,
    report: Report,
    /// Duration of what kills are aimed at, in microseconds, as last seen.
    durations_us: BTreeMap<Aim, u64>,
    start: Moment,
    /// The last reports other than those of workers, with their rounds.
    recent: VecDeque<(u64, Message)>,
}

impl Rounds {
    pub fn new(options: Options) -> Self {
        let seed = options.seed;
        Self {
            random: Random::of(&[seed, 3]),
            expected: Expected::new(seed),
            report: Report { seed, ..Report::default() },
            durations_us: BTreeMap::new(),
            start: Moment::now(),
            recent: VecDeque::new(),
            options,
        }
    }

    /// Runs all rounds. `progress` gets their number after each.
    pub fn run(mut self, mut progress: impl FnMut(u64)) -> Result<Report> {
        for round in 1..=self.options.rounds {
            let outcome = self.round(round);
            outcome.with_context(|| {
                let (seed, directory) = (self.options.seed, self.options.directory.display());
                let recent =
                    self.recent.iter().map(|(round, report)| format!("{round}: {report:?}"));
                let recent = recent.collect::<Vec<_>>().join("\n  ");
                format!(
                    "the last reports, by round:\n  {recent}\n\
                     round {round} with seed {seed} fails; its directory is `{directory}`"
                )
            })?;
            progress(round);
        }
        self.report.seconds = self.start.elapsed_s();
        Ok(self.report)
    }

    fn round(&mut self, round: u64) -> Result<()> {
        let aim = Aim::of(&mut self.random);
        let durability = match self.random.one_in(3) {
            true => Durability::Periodic(Duration::from_millis(INTERVAL_MS)),
            false => Durability::Synchronous,
        };
        self.expected.begin_round(round);
        let mut child = self.start_child(round, aim, durability)?;
        let pipe = child.stdout.take().context("the child has a pipe")?;
        let watched = self.watch(&mut child, pipe, aim);
        // Also a child that has contradicted must not go on.
        let killed = child.kill().and_then(|()| child.wait());
        let stage = watched?;
        let status = killed.context("cannot end the child")?;
        ensure!(status.signal() == Some(SIGKILL), "the child ended by itself with {status}");
        *self.report.kills.entry(stage.describe()).or_default() += 1;
        self.report.rounds += 1;
        match durability {
            Durability::Synchronous => self.report.synchronous_rounds += 1,
            _ => self.report.periodic_rounds += 1,
        }
        // A crash may follow a crash. The check is then the next one's.
        if round < self.options.rounds && self.random.one_in(3) {
            self.report.kills_without_check += 1;
            return Ok(());
        }
        self.check()
    }

    fn start_child(&mut self, round: u64, aim: Aim, durability: Durability) -> Result<Child> {
        let mut command = Command::new(&self.options.program);
        command.arg("child").arg(&self.options.directory);
        let level = match durability {
            Durability::Periodic(interval) => interval.as_millis().to_string(),
            _ => "synchronous".to_owned(),
        };
        let first = match aim {
            Aim::Task(task) => task,
            _ => TASKS[self.random.below(TASKS.len() as u64) as usize],
        };
        command.args(["--seed", &self.options.seed.to_string(), "--round", &round.to_string()]);
        command.args(["--durability", &level, "--first", &(first as u64).to_string()]);
        if aim == Aim::Quiet {
            let quiet_ms = 5 + self.random.below(20);
            command.args(["--quiet-after-ms", &quiet_ms.to_string()]);
        }
        if self.options.acknowledges_early {
            command.arg("--acknowledge-early");
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.spawn().with_context(|| format!("cannot start {}", self.options.program.display()))
    }

    /// Follows a child, kills it, and reads what it has still reported.
    fn watch(&mut self, child: &mut Child, mut pipe: ChildStdout, aim: Aim) -> Result<Stage> {
        let (sender, messages) = channel();
        std::thread::scope(|scope| {
            let reader = scope.spawn(move || {
                // The receiver ends only after a contradiction, which is reported anyway.
                pipe::receive(&mut pipe, |message| {
                    let _ = sender.send((Moment::now(), message));
                })
            });
            let watched = self.follow(child, &messages, aim);
            if watched.is_err() {
                child.kill().context("cannot end the child")?;
            }
            reader.join().expect("the reader does not panic")?;
            watched
        })
    }

    fn follow(
        &mut self,
        child: &mut Child,
        messages: &Receiver<(Moment, Message)>,
        aim: Aim,
    ) -> Result<Stage> {
        let mut stage = Stage { name: "the start of the process", task: None };
        let mut groups = 0;
        let start = Moment::now();
        let mut kill_at: Option<Duration> = None;
        let mut began: Option<(Aim, Moment)> = None;
        let mut is_killed = false;
        loop {
            let left = match kill_at {
                _ if is_killed => REACH_MAX,
                Some(at) => at.saturating_sub(start.instant().elapsed()),
                None => REACH_MAX.saturating_sub(start.instant().elapsed()),
            };
            if left.is_zero() && !is_killed {
                ensure!(kill_at.is_some(), "the child did not reach {aim:?} in {REACH_MAX:?}");
                child.kill().context("cannot kill the child")?;
                is_killed = true;
                continue;
            }
            let (at, message) = match messages.recv_timeout(left) {
                Ok(received) => received,
                Err(RecvTimeoutError::Timeout) if !is_killed => continue,
                Err(RecvTimeoutError::Timeout) => bail!("a killed child keeps its pipe open"),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            stage.note(message);
            self.expected.note(message)?;
            self.count(message, &mut groups);
            self.measure(message, at, &mut began);
            if kill_at.is_none() && aim.begins_with(message) {
                kill_at = Some(start.instant().elapsed() + self.delay(aim));
            }
        }
        if matches!(stage.name, "no commits") && is_killed {
            self.report.quiet += 1;
            self.expected.interval_is_over();
        }
        self.report.groups += groups;
        Ok(stage)
    }

    fn count(&mut self, message: Message, groups: &mut u64) {
        match message {
            Message::Committed { .. } => {
                self.report.reported += 1;
                return;
            }
            Message::Seen { .. } => {
                self.report.seen += 1;
                return;
            }
            Message::Groups { count } => {
                *groups = count;
                return;
            }
            Message::End { task: Task::Checkpoint, .. } => self.report.checkpoints += 1,
            Message::End { .. } => self.report.catalog_changes += 1,
            Message::Resumed { .. } => return,
            _ => {}
        }
        self.recent.push_back((self.expected.round, message));
        if self.recent.len() > RECENT_MAX {
            self.recent.pop_front();
        }
    }

    /// Records how long things take at which kills are aimed.
    fn measure(&mut self, message: Message, at: Moment, began: &mut Option<(Aim, Moment)>) {
        let aim = match message {
            Message::Opening => Some(Aim::Opening),
            Message::Loading => Some(Aim::Loading),
            Message::Begin { task, .. } => Some(Aim::Task(task)),
            Message::Opened | Message::End { .. } => None,
            _ => return,
        };
        if let Some((aim, begin)) = began.take() {
            self.durations_us.insert(aim, at.since_ns(begin) / 1_000);
        }
        *began = aim.map(|aim| (aim, at));
    }

    /// How long after the message the kill comes: somewhere while it lasts, or shortly after it.
    fn delay(&mut self, aim: Aim) -> Duration {
        let longest_us = match aim {
            Aim::Quiet => return Duration::from_millis(QUIET_MS),
            Aim::Load => LOAD_US,
            other => self.durations_us.get(&other).copied().unwrap_or(UNKNOWN_US) * 6 / 5 + 1,
        };
        Duration::from_micros(self.random.below(longest_us))
    }

    /// Opens the directory in this process, and closes it cleanly.
    fn check(&mut self) -> Result<()> {
        let config = child::config(self.options.directory.clone(), Durability::Synchronous);
        let db = namdb::open(config).context("the directory cannot be opened after a kill")?;
        let found = check(&db, &mut self.expected)?;
        db.close().context("the database cannot be closed")?;
        self.report.checks += 1;
        self.report.unreported += found.unreported;
        self.report.forgotten += found.forgotten;
        self.report.kills_after_a_group += u64::from(found.unreported > 0);
        Ok(())
    }
}
