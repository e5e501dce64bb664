//! Transactions of several clients whose statements follow each other in a given order: each
//! statement waits, succeeds or fails as in PostgreSQL.

use crate::programs::{Reference, World};
use postgres::{Client, Config, NoTls, SimpleQueryMessage};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// After this time without an answer a statement counts as waiting.
const PATIENCE: Duration = Duration::from_millis(700);

/// The tables, and the schedules of statements: `1: ...` is a statement of client 1.
const SCHEDULES: &str = include_str!("interleaved.sql");

/// A client in a thread of its own.
struct Session {
    statements: Sender<String>,
    answers: Receiver<String>,
    is_waiting: bool,
    thread: JoinHandle<()>,
}

impl Session {
    #[allow(clippy::disallowed_methods, reason = "tests run in real time")]
    fn new(mut client: Client) -> Self {
        let (statements, asked) = channel::<String>();
        let (answer, answers) = channel();
        let thread = std::thread::spawn(move || {
            for statement in asked {
                let _ = answer.send(run(&mut client, &statement));
            }
        });
        Self { statements, answers, is_waiting: false, thread }
    }

    /// The answer to the running statement, if it comes within a time.
    fn answer(&mut self, patience: Duration) -> Option<String> {
        let answer = self.answers.recv_timeout(patience).ok();
        self.is_waiting = answer.is_none();
        answer
    }

    fn end(self) {
        let Self { statements, answers, thread, .. } = self;
        drop((statements, answers));
        thread.join().expect("no client panics");
    }
}

/// Rows and count of a statement, or its SQLSTATE.
fn run(client: &mut Client, statement: &str) -> String {
    let messages = match client.simple_query(statement) {
        Ok(messages) => messages,
        Err(error) => {
            return error.code().map_or_else(|| error.to_string(), |code| code.code().into());
        }
    };
    let mut shown = Vec::new();
    for message in messages {
        match message {
            SimpleQueryMessage::Row(row) => {
                let columns = (0..row.len()).map(|at| row.get(at).unwrap_or("NULL"));
                shown.push(columns.collect::<Vec<_>>().join("|"));
            }
            SimpleQueryMessage::CommandComplete(count) => shown.push(format!("({count})")),
            _ => {}
        }
    }
    shown.join(" ")
}

struct Schedule {
    name: &'static str,
    steps: Vec<(usize, &'static str)>,
}

/// The statements that make the tables, and the schedules.
fn schedules() -> (Vec<&'static str>, Vec<Schedule>) {
    let (mut tables, mut schedules) = (Vec::new(), Vec::<Schedule>::new());
    for line in SCHEDULES.lines().filter(|line| !line.is_empty() && !line.starts_with("--")) {
        if let Some(name) = line.strip_prefix("# ") {
            schedules.push(Schedule { name, steps: Vec::new() });
        } else if let Some(schedule) = schedules.last_mut() {
            let (session, statement) = line.split_once(": ").expect("a session and a statement");
            schedule.steps.push((session.parse().expect("a number"), statement));
        } else {
            tables.push(line);
        }
    }
    (tables, schedules)
}

/// The answers to the statements of a schedule, in the order in which they come.
fn played(connect: &dyn Fn() -> Client, tables: &[&str], schedule: &Schedule) -> Vec<String> {
    let mut first = connect();
    for statement in tables {
        first.simple_query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    let count = schedule.steps.iter().map(|step| step.0).max().unwrap_or(0);
    let mut sessions: Vec<Session> = (0..count).map(|_| Session::new(connect())).collect();
    let mut log = Vec::new();
    for &(number, statement) in &schedule.steps {
        let session = &mut sessions[number - 1];
        assert!(!session.is_waiting, "{}: client {number} still waits", schedule.name);
        session.statements.send(statement.to_owned()).expect("it runs");
        match session.answer(PATIENCE) {
            Some(answer) => log.push(format!("{number}: {statement} -> {answer}")),
            None => log.push(format!("{number}: {statement} waits")),
        }
        for (other, session) in sessions.iter_mut().enumerate() {
            if session.is_waiting
                && other + 1 != number
                && let Some(answer) = session.answer(PATIENCE)
            {
                log.push(format!("{}: goes on -> {answer}", other + 1));
            }
        }
    }
    sessions.into_iter().for_each(Session::end);
    log
}

fn connect(config: &Config) -> Client {
    let mut client = config.connect(NoTls).expect("there is room for a client");
    // PostgreSQL looks for deadlocks after this time, well before the patience ends.
    client.simple_query("SET deadlock_timeout = '100ms'").expect("it is a setting");
    client
}

#[test]
fn statements_wait_and_fail_as_in_postgresql() {
    let world = World::new();
    let Some(reference) = Reference::start("interleaved") else { return };
    let (ours, theirs) = (ours(&world), theirs(reference.folder()));
    let (tables, schedules) = schedules();
    let mut differences = String::new();
    for schedule in &schedules {
        let (expected, found) = std::thread::scope(|scope| {
            let expected = scope.spawn(|| played(&|| connect(&theirs), &tables, schedule));
            let found = played(&|| connect(&ours), &tables, schedule);
            (expected.join().expect("PostgreSQL answers"), found)
        });
        if expected != found {
            let (expected, found) = (expected.join("\n  "), found.join("\n  "));
            let name = schedule.name;
            differences += &format!("{name}\n PostgreSQL:\n  {expected}\n namdb:\n  {found}\n");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

fn ours(world: &World) -> Config {
    let mut config = Config::new();
    config.host("127.0.0.1").port(world.port()).user("me").dbname("postgres");
    config
}

fn theirs(folder: &Path) -> Config {
    let mut config = Config::new();
    config.host_path(folder).user("me").dbname("postgres");
    config
}
