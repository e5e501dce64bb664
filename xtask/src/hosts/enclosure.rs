//! The enclosure of the hosts: namespaces of users, networks, mounts and processes.
//!
//! This program starts itself again as the first process of a process namespace. When that process
//! ends, the kernel kills all others in it; and it is killed when the one that started it ends, by
//! Ctrl-C or otherwise.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::network;
use crate::clock;
use crate::process;

/// Required programs, and their packages.
const PROGRAMS: [(&str, &str); 5] = [
    ("ip", "iproute2"),
    ("etcd", "etcd-server"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("setpriv", "util-linux"),
];
/// Time-out of all cases together, far longer than they take.
const TIME_MAX: Duration = Duration::from_secs(300);

/// The way to create namespaces on this host.
pub struct Enclosure {
    /// Options of `unshare`.
    options: Vec<&'static str>,
}

/// Determines that way, or returns the reason why there is none.
pub fn find() -> Result<Enclosure> {
    let missing: Vec<_> = PROGRAMS
        .iter()
        .filter(|(program, _)| !is_installed(program))
        .map(|(_, package)| *package)
        .collect();
    ensure!(missing.is_empty(), "as root, `apt-get install {}`", missing.join(" "));
    let namespaces = vec!["--net", "--mount", "--pid", "--fork", "--kill-child"];
    let as_user = [vec!["--user", "--map-root-user"], namespaces.clone()].concat();
    let mut reason = None;
    for options in [as_user, namespaces] {
        let enclosure = Enclosure { options };
        match process::capture(enclosure.command().args(["sh", "-c", network::TRIAL])) {
            Ok(_) => return Ok(enclosure),
            Err(error) => reason = Some(error),
        }
    }
    Err(reason
        .context("no attempt was made")?
        .context("this user may not make network namespaces here"))
}

fn is_installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&folders).collect();
    folders.extend(network::MORE_FOLDERS.map(Into::into));
    folders.iter().any(|folder| folder.join(program).is_file())
}

impl Enclosure {
    /// A command that runs its arguments inside, and is killed with this process.
    fn command(&self) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "unshare"]).args(&self.options).arg("--");
        network::with_more_folders(&mut command);
        command
    }

    /// Runs the cases inside.
    pub fn run(&self, work: &Path, cases: &[String]) -> Result<()> {
        let this = std::env::current_exe().context("find this program's file")?;
        let mut command = self.command();
        command.arg(this).arg("hosts").arg("--inside").arg(work).args(cases);
        let mut inside = command.spawn().context("start setpriv")?;
        let status = clock::wait(TIME_MAX, || inside.try_wait().transpose());
        let Some(status) = status else {
            // This kills `unshare`, and everything inside with it.
            inside.kill().context("stop the enclosure")?;
            inside.wait().context("wait for the enclosure")?;
            bail!("the cases did not end within {} s", TIME_MAX.as_secs());
        };
        ensure!(status.context("wait for the enclosure")?.success(), "see above");
        Ok(())
    }
}
