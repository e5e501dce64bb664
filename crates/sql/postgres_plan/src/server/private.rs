//! A private PostgreSQL server: in a temporary folder, reached through a socket there, removed with
//! its owner.
//!
//! Decision: docs/decisions/0162-plans-are-collected-by-psql.md

use super::CollectError;
use super::interrupt::{forget_program, is_interrupted, note_program};
use super::process::{self, Limit};
use super::programs::{Programs, server_user};
use super::scratch::Scratch;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Maximum time for initdb.
const INIT_WITHIN: Duration = Duration::from_secs(120);
/// Maximum time until the server accepts connections.
const START_WITHIN: Duration = Duration::from_secs(60);
/// How often this is checked.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Maximum time for a shutdown.
const STOP_WITHIN: Duration = Duration::from_secs(20);

/// Settings of a server whose data need not survive.
const SETTINGS: [&str; 6] = [
    "fsync=off",
    "autovacuum=off",
    "listen_addresses=",
    "port=5432",
    "max_connections=10",
    "shared_buffers=16MB",
];

/// The last line of the server's PID file once it accepts connections.
const READY: &str = "ready";

pub(super) struct PrivateServer {
    process: Child,
    // The last field, so that it is removed after the process.
    scratch: Scratch,
}

impl PrivateServer {
    /// Starts a server and waits until it accepts connections. `settings` come after ours, so they
    /// override them.
    pub fn start(settings: &[String]) -> Result<Self, CollectError> {
        let programs = Programs::find()?;
        let user = server_user()?;
        let scratch = Scratch::new().map_err(|error| scratch_failed(&error))?;
        if let Some((user, group)) = user {
            scratch.give_to(user, group).map_err(|error| scratch_failed(&error))?;
        }
        let data = scratch.path().join("data");
        initialize(&programs, user, &scratch, &data)?;

        let log = scratch.path().join("log");
        let log_file = File::create(&log).map_err(|error| scratch_failed(&error))?;
        let mut command = dies_with_us(&programs.postgres, user, scratch.path());
        command.arg("-D").arg(&data).arg("-k").arg(scratch.path());
        let settings = SETTINGS.into_iter().chain(settings.iter().map(String::as_str));
        settings.for_each(|setting| _ = command.arg("-c").arg(setting));
        let errors = log_file.try_clone().map_err(|error| scratch_failed(&error))?;
        // A terminal sends Ctrl-C to the whole process group: the server would stop while it is
        // still in use.
        command.stdin(Stdio::null()).stdout(log_file).stderr(errors).process_group(0);
        let process = command.spawn().map_err(|error| CollectError::Run {
            what: "postgres".to_owned(),
            error: error.to_string(),
        })?;
        note_program(Pid::from_child(&process), Signal::QUIT);
        let mut server = Self { process, scratch };
        server.wait_until_ready(&data, &log)?;
        Ok(server)
    }

    /// The folder of its socket.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    fn wait_until_ready(&mut self, data: &Path, log: &Path) -> Result<(), CollectError> {
        let looks = START_WITHIN.as_millis() / LOOK_EVERY.as_millis();
        for _ in 0..looks {
            let state = std::fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
            if state.lines().last().is_some_and(|line| line.trim() == READY) {
                return Ok(());
            }
            if is_interrupted() {
                return Err(CollectError::Interrupted);
            }
            let ended = process::wait(&mut self.process, LOOK_EVERY);
            if !matches!(ended, Ok(None)) {
                let said = std::fs::read_to_string(log).unwrap_or_default();
                let what = "postgres".to_owned();
                return Err(CollectError::Failed { what, said: said.trim().to_owned() });
            }
        }
        let seconds = START_WITHIN.as_secs();
        Err(CollectError::Late {
            what: "postgres, which did not accept connections,".to_owned(),
            seconds,
        })
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // An immediate shutdown, because the data is not needed. The process is killed if anything
        // fails.
        let _ = kill_process(Pid::from_child(&self.process), Signal::QUIT);
        if !matches!(process::wait(&mut self.process, STOP_WITHIN), Ok(Some(_))) {
            process::end(&mut self.process);
        }
        forget_program(Pid::from_child(&self.process));
    }
}

/// Runs initdb; texts are compared bytewise on every machine.
fn initialize(
    programs: &Programs,
    user: Option<(u32, u32)>,
    scratch: &Scratch,
    data: &Path,
) -> Result<(), CollectError> {
    let mut command = as_user(Command::new(&programs.initdb), user, scratch.path());
    command.arg("-D").arg(data);
    command.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
    let limit = Limit { within: INIT_WITHIN, is_unwanted: is_interrupted };
    let finished = process::run(&mut command, "initdb", scratch.path(), &limit)?;
    if finished.status.success() {
        return Ok(());
    }
    if is_interrupted() {
        return Err(CollectError::Interrupted);
    }
    let said = finished.complaint.trim().to_owned();
    Err(CollectError::Failed { what: "initdb".to_owned(), said })
}

/// A command that starts the server so that it stops when the starting thread ends, if `setpriv` is
/// installed.
fn dies_with_us(postgres: &Path, user: Option<(u32, u32)>, folder: &Path) -> Command {
    let setpriv = PathBuf::from("/usr/bin/setpriv");
    let wrapped = ["--pdeathsig", "QUIT"];
    let mut trial = Command::new(&setpriv);
    trial.args(wrapped).arg("true");
    let works = process::run(&mut trial, "setpriv", folder, &Limit::within(START_WITHIN))
        .is_ok_and(|finished| finished.status.success());
    let command = if works {
        let mut command = Command::new(&setpriv);
        command.args(wrapped).arg(postgres);
        command
    } else {
        Command::new(postgres)
    };
    as_user(command, user, folder)
}

fn as_user(mut command: Command, user: Option<(u32, u32)>, folder: &Path) -> Command {
    // The server's user may not enter root's current folder.
    command.current_dir(folder);
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command
}

fn scratch_failed(error: &std::io::Error) -> CollectError {
    CollectError::Scratch { error: error.to_string() }
}
