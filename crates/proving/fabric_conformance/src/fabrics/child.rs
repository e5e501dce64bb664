//! A child process of a test, which ends with its owner.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child as Process, ChildStdin, ChildStdout, Command, Stdio};

/// A child process that runs this program.
pub struct Child {
    process: Process,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Child {
    /// Starts it with these arguments.
    pub fn start(arguments: &[String]) -> Result<Self, String> {
        let failed = |error| format!("cannot start this program as a child process: {error}");
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        let command = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(failed)?;
        let input = process.stdin.take().expect("it was piped");
        let output = BufReader::new(process.stdout.take().expect("it was piped"));
        Ok(Self { process, input, output })
    }

    /// Reads its output until a line begins with `word`, and returns the rest of that line. A line
    /// that begins with `error` becomes an error.
    pub fn wait_for(&mut self, word: &str) -> Result<String, String> {
        let mut line = String::new();
        loop {
            line.clear();
            let bytes = self.output.read_line(&mut line).map_err(|error| error.to_string())?;
            if bytes == 0 {
                return Err(format!("a process ended before it printed `{word}`"));
            }
            if let Some(rest) = line.strip_prefix(word) {
                return Ok(rest.trim().to_owned());
            }
            if let Some(rest) = line.strip_prefix("error") {
                return Err(rest.trim().to_owned());
            }
        }
    }

    /// Writes a line to its standard input.
    pub fn say(&mut self, line: &str) -> Result<(), String> {
        writeln!(self.input, "{line}")
            .map_err(|error| format!("cannot write to a process: {error}"))
    }

    /// Stops it until it goes on.
    pub fn stop(&mut self) -> Result<(), String> {
        self.signal(Signal::STOP)
    }

    pub fn go_on(&mut self) -> Result<(), String> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), String> {
        let sent = kill_process(Pid::from_child(&self.process), signal);
        sent.map_err(|error| format!("cannot signal a process: {error}"))
    }

    /// Kills it without a warning.
    pub fn kill(&mut self) -> Result<(), String> {
        self.process.kill().map_err(|error| format!("cannot kill a process: {error}"))?;
        self.process
            .wait()
            .map_err(|error| format!("cannot wait for the end of a process: {error}"))?;
        Ok(())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
