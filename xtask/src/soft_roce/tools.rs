//! The programs that guests need: finds them, and installs them if that is possible without a
//! password.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;

/// Required files of the host, and their packages. The guest sees the host's files, so the
/// providers of RDMA devices and the tool that creates one belong here.
const FILES: [(&str, &str); 7] = [
    ("/usr/bin/qemu-system-x86_64", "qemu-system-x86"),
    ("/bin/busybox", "busybox-static"),
    ("/usr/bin/rdma", "iproute2"),
    ("/usr/lib/x86_64-linux-gnu/libibverbs.so.1", "libibverbs1"),
    ("/etc/libibverbs.d/rxe.driver", "ibverbs-providers"),
    ("/usr/bin/etcd", "etcd-server"),
    ("/usr/bin/xz", "xz-utils"),
];

/// Installs missing packages on a Debian host if permitted; otherwise prints what to install.
pub fn ensure_present() -> Result<()> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let command = format!("apt-get install --no-install-recommends {}", missing.join(" "));
    ensure!(
        is_superuser()? && Path::new("/usr/bin/apt-get").is_file(),
        "{} missing: as root, `{command}`",
        missing.join(", ")
    );
    eprintln!("soft-roce: {command}");
    let mut update = Command::new("apt-get");
    process::capture(update.arg("update")).context("refresh the list of packages")?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive");
    process::capture(install.args(["install", "-y", "--no-install-recommends"]).args(&missing))?;
    let still_missing = self::missing();
    ensure!(still_missing.is_empty(), "{} brought no files", still_missing.join(", "));
    Ok(())
}

fn missing() -> Vec<&'static str> {
    let is_absent = |(file, _): &&(&str, &str)| !Path::new(file).exists();
    FILES.iter().filter(is_absent).map(|&(_, package)| package).collect()
}

fn is_superuser() -> Result<bool> {
    Ok(process::capture(Command::new("id").arg("-u"))?.trim() == "0")
}
