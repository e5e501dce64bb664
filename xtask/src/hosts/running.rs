//! Programs on hosts, each with a file for its output.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::clock;
use crate::process;

/// A started program, killed on drop.
pub struct Running {
    child: Child,
    /// Its name in messages.
    name: String,
    log: PathBuf,
}

/// How a program ended.
pub struct Ended {
    /// Its exit code; `None` if it was killed.
    pub code: Option<i32>,
    /// Its whole output.
    pub said: String,
    /// When its end was noticed.
    pub at: Instant,
}

/// A signal to a process.
#[derive(Clone, Copy)]
pub enum Signal {
    /// Suspends it.
    Stop,
    /// Resumes it.
    Continue,
}

impl Running {
    /// Starts a command. `name` is also the name of its file in `work`.
    pub fn start(command: &mut Command, name: &str, work: &Path) -> Result<Self> {
        let log = work.join(format!("{name}.log"));
        let output = File::create(&log).with_context(|| format!("write {}", log.display()))?;
        let errors = output.try_clone().context("share a file")?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = command.spawn().with_context(|| format!("start {name}"))?;
        Ok(Self { child, name: name.to_owned(), log })
    }

    /// Its output so far, as one line.
    pub fn said(&self) -> String {
        let said = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Waits until its output contains `words`.
    pub fn wait_for(&mut self, words: &str, bound: Duration) -> Result<()> {
        let found = clock::wait(bound, || {
            let is_over = !self.is_alive();
            (is_over || self.said().contains(words)).then_some(())
        });
        let (name, said) = (&self.name, self.said());
        match found {
            Some(()) if said.contains(words) => Ok(()),
            Some(()) => bail!("{name} ended before it said `{words}`: {said}"),
            None => bail!("{name} did not say `{words}` within {bound:.1?}: {said}"),
        }
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills it.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill().with_context(|| format!("kill {}", self.name))?;
        self.child.wait().map(drop).with_context(|| format!("wait for {}", self.name))
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let name = match signal {
            Signal::Stop => "STOP",
            Signal::Continue => "CONT",
        };
        let script = format!("kill -{name} {}", self.child.id());
        process::run(Command::new("sh").args(["-c", &script]))
    }

    /// Waits for its end. A program that exceeds `bound` counts as hanging.
    pub fn finish(mut self, bound: Duration) -> Result<Ended> {
        let status = clock::wait(bound, || self.child.try_wait().transpose());
        let Some(status) = status else {
            bail!("{} still runs after {bound:.1?}: {}", self.name, self.said());
        };
        let code = status.with_context(|| format!("wait for {}", self.name))?.code();
        Ok(Ended { code, said: self.said(), at: clock::now() })
    }

    /// As [`Running::finish`], and requires success.
    pub fn succeed(self, bound: Duration) -> Result<Ended> {
        let name = self.name.clone();
        let ended = self.finish(bound)?;
        if ended.code != Some(0) {
            bail!("{name} ended with {:?}: {}", ended.code, ended.said);
        }
        Ok(ended)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A program that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
