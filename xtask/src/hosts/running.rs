//! Programs that run on hosts, each with a file for what it says.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::clock;
use crate::process;

/// A program that was started. It ends with this.
pub struct Running {
    child: Child,
    /// As messages name it.
    name: String,
    log: PathBuf,
}

/// How a program ended.
pub struct Ended {
    /// Its exit code; none if it was killed.
    pub code: Option<i32>,
    /// All that it has said.
    pub said: String,
    /// When that was noticed.
    pub at: Instant,
}

/// What a process is told.
#[derive(Clone, Copy)]
pub enum Signal {
    /// To stand still.
    Stop,
    /// To go on.
    Continue,
}

impl Running {
    /// Starts a command. `name` is that of its file in `work`, too.
    pub fn start(command: &mut Command, name: &str, work: &Path) -> Result<Self> {
        let log = work.join(format!("{name}.log"));
        let output = File::create(&log).with_context(|| format!("write {}", log.display()))?;
        let errors = output.try_clone().context("share a file")?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = command.spawn().with_context(|| format!("start {name}"))?;
        Ok(Self { child, name: name.to_owned(), log })
    }

    /// What it has said so far, as one line.
    pub fn said(&self) -> String {
        let said = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Waits until it has said `words`.
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

    /// The number of its process.
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

    /// Tells it something.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let name = match signal {
            Signal::Stop => "STOP",
            Signal::Continue => "CONT",
        };
        let script = format!("kill -{name} {}", self.child.id());
        process::run(Command::new("sh").args(["-c", &script]))
    }

    /// Waits until it ends on its own. One that does not within `bound` hangs.
    pub fn finish(mut self, bound: Duration) -> Result<Ended> {
        let status = clock::wait(bound, || self.child.try_wait().transpose());
        let Some(status) = status else {
            bail!("{} still runs after {bound:.1?}: {}", self.name, self.said());
        };
        let code = status.with_context(|| format!("wait for {}", self.name))?.code();
        Ok(Ended { code, said: self.said(), at: clock::now() })
    }

    /// As [`Running::finish`], and ends well.
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
        // One that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
