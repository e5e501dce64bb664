//! Runs the program.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_namdb"));
    // Settings of the developer's shell do not count.
    ["PGUSER", "PGPORT", "PGHOST", "PGDATABASE"]
        .iter()
        .for_each(|name| _ = command.env_remove(name));
    command
}

pub fn run(arguments: &[&str]) -> Output {
    program().args(arguments).stdin(Stdio::null()).output().expect("the program was built")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file name that only this test run uses.
pub fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("namdb-start-{}-{name}", std::process::id()))
}

/// A running server.
pub struct Started {
    child: Child,
    pub address: String,
    /// Lines of standard error that were read.
    pub said: String,
    errors: BufReader<std::process::ChildStderr>,
}

impl Started {
    /// Starts a server on a free port, and waits until it is ready.
    pub fn new(arguments: &[&str]) -> Self {
        Self::at("127.0.0.1:0", arguments)
    }

    /// As [`Self::new`], at another address.
    pub fn at(listen: &str, arguments: &[&str]) -> Self {
        let mut child = program()
            .args(["start", "--listen", listen, "--memory", "128M", "--json", "-"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program was built");
        let mut errors = BufReader::new(child.stderr.take().expect("it is piped"));
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let address = output.lines().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("\"address\": \"")?;
            Some(rest.trim_end_matches(['"', ',']).to_owned())
        });
        let Some(address) = address else {
            let mut said = String::new();
            let _ = errors.read_to_string(&mut said);
            panic!("the server has not started: {said}");
        };
        let mut said = String::new();
        while !said.contains("Ctrl-C") {
            let count = errors.read_line(&mut said).expect("it is a pipe");
            assert!(count > 0, "the greeting ends with Ctrl-C: {said}");
        }
        Self { child, address, said, errors }
    }

    /// Runs `namdb sql` on it.
    pub fn sql(&self, arguments: &[&str]) -> Output {
        run(&[&["sql", &self.address], arguments].concat())
    }

    /// Runs `namdb sql` on it with this standard input.
    pub fn sql_with_input(&self, input: &str) -> Output {
        let mut child = program()
            .args(["sql", &self.address])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program was built");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(input.as_bytes()).expect("it reads");
        drop(stdin);
        child.wait_with_output().expect("it was started here")
    }

    /// Runs `namdb sql` on it, which stays connected after it has printed `mark`: a statement runs
    /// then that takes minutes.
    pub fn open_sql(&self, input: &str, mark: &str) -> Connected {
        let mut child = program()
            .args(["sql", &self.address])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program was built");
        // It runs statements when it has read all of them.
        let mut input_pipe = child.stdin.take().expect("it is piped");
        input_pipe.write_all(format!("{input}{LONG};\n").as_bytes()).expect("it reads");
        drop(input_pipe);
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let found = output.lines().map_while(Result::ok).any(|line| line.trim() == mark);
        assert!(found, "the client has ended before it printed {mark}");
        Connected { child }
    }

    /// Ends it; returns the exit code and the rest of standard error.
    pub fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
        let mut rest = String::new();
        self.errors.read_to_string(&mut rest).expect("it is a pipe");
        let status = self.child.wait().expect("it was started here");
        (status.code(), rest)
    }
}

const LONG: &str = "select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b where a + b < 0";

/// A connected client. It ends when its server has ended.
pub struct Connected {
    child: Child,
}

impl Connected {
    pub fn end(mut self) {
        self.child.wait().expect("it was started here");
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // After `end` it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
