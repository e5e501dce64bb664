//! Hosts that are connected by a switch, with cables that can be pulled.

use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// A shell command that tests whether a network can be created here: a host, a switch, and a cable.
pub const TRIAL: &str = "mount -t tmpfs tmpfs /run && ip netns add trial && ip link add switch type bridge \
                         && ip link add port type veth peer name cable netns trial \
                         && nsenter --net=/run/netns/trial true";
/// Folders of administrators' programs, which may be missing in other users' paths.
pub const MORE_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Hosts of memory servers.
pub const MEMORY_HOSTS: [Host; 3] = [Host("m0", 10), Host("m1", 11), Host("m2", 12)];
/// Hosts of clients and compute servers.
pub const COMPUTE_HOSTS: [Host; 2] = [Host("c0", 20), Host("c1", 21)];
/// Host of the registry, from which databases are checked.
pub const THIRD_PLACE: Host = Host("third", 2);
const SWITCH: &str = "switch";

/// A host: its name, and the last number of its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Host(&'static str, u8);

impl Host {
    pub fn name(self) -> &'static str {
        self.0
    }

    pub fn address(self) -> String {
        format!("10.77.0.{}", self.1)
    }

    /// A command that runs on the host, in a process of its own.
    pub fn command(self, program: &std::path::Path) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.0)).arg("--").arg(program);
        command
    }
}

/// All hosts, and the switch between them.
pub struct Network(());

impl Network {
    /// Connects all hosts, in the namespaces of this process.
    pub fn new() -> Result<Self> {
        // Names of network namespaces are files below /run, which belongs to another user outside.
        process::capture(Command::new("mount").args(["-t", "tmpfs", "tmpfs", "/run"]))?;
        ip(&format!("netns add {SWITCH}"))?;
        ip(&format!("-n {SWITCH} link add name {SWITCH} up type bridge"))?;
        let hosts = MEMORY_HOSTS.into_iter().chain(COMPUTE_HOSTS).chain([THIRD_PLACE]);
        for host in hosts {
            let (name, address) = (host.name(), host.address());
            ip(&format!("netns add {name}"))?;
            ip(&format!("link add {name} netns {SWITCH} type veth peer name cable netns {name}"))?;
            ip(&format!("-n {SWITCH} link set {name} master {SWITCH} up"))?;
            ip(&format!("-n {name} link set lo up"))?;
            ip(&format!("-n {name} address add {address}/24 dev cable"))?;
            ip(&format!("-n {name} link set cable up"))?;
        }
        Ok(Self(()))
    }

    /// Pulls a host's cable out of the switch: the host keeps its address, and nothing arrives.
    pub fn cut(&self, host: Host) -> Result<()> {
        ip(&format!("-n {SWITCH} link set {} down", host.name()))
    }

    /// Plugs the cable in again.
    pub fn mend(&self, host: Host) -> Result<()> {
        ip(&format!("-n {SWITCH} link set {} up", host.name()))
    }

    /// Plugs all cables in.
    pub fn mend_all(&self) -> Result<()> {
        MEMORY_HOSTS
            .into_iter()
            .chain(COMPUTE_HOSTS)
            .chain([THIRD_PLACE])
            .try_for_each(|host| self.mend(host))
    }
}

fn ip(words: &str) -> Result<()> {
    process::capture(Command::new("ip").args(words.split(' '))).context("make the network")?;
    Ok(())
}

/// Adds the folders of administrators' programs to the command's path.
pub fn with_more_folders(command: &mut Command) {
    let mut folders = std::env::var("PATH").unwrap_or_default();
    for folder in MORE_FOLDERS {
        folders = format!("{folders}:{folder}");
    }
    command.env("PATH", folders);
}
