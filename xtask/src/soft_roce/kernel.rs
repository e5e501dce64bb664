//! The distribution's kernel and the modules of a guest: fetched, unpacked, and made into what boots.
//!
//! Ten megabytes of a package of seventy stay in the target folder; they are made once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::soft_roce::archive::Archive;
use crate::soft_roce::image;

/// The modules, each after those it needs. `crc32_generic` is needed by `rdma_rxe` without being named as
/// such: a device is refused without it. Faster ones than that use instructions that are slow where they are emulated.
const MODULES: [&str; 21] = [
    "virtio_ring",
    "virtio",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "virtio_pci",
    "failover",
    "net_failover",
    "virtio_net",
    "9pnet",
    "9pnet_virtio",
    "netfs",
    "fscache",
    "9p",
    "overlay",
    "dummy",
    "crc32_generic",
    "udp_tunnel",
    "ip6_udp_tunnel",
    "ib_core",
    "ib_uverbs",
    "rdma_rxe",
];

/// What a program names that is not complete in itself.
const LOADER: &[u8] = b"/lib64/ld-linux";

/// What a guest does first.
const INIT: &str = include_str!("init.sh");

/// What a guest is booted from.
pub struct Boot {
    /// The kernel's image.
    pub kernel: PathBuf,
    /// Modules, shell and first script.
    pub initramfs: PathBuf,
}

/// Fetches the kernel unless it is here, and packs what it boots into.
pub fn prepare(work: &Path) -> Result<Boot> {
    let (packed, modules) = (work.join("vmlinuz"), work.join("modules"));
    if !packed.is_file() {
        fetch(work, &modules, &packed)?;
    }
    let boot = Boot {
        kernel: image::unpack(&packed, &work.join("vmlinux"))?,
        initramfs: work.join("initramfs.cpio"),
    };
    // The script may have changed since; packing is a matter of milliseconds.
    fs::write(&boot.initramfs, pack(&modules)?).context("write what guests boot into")?;
    Ok(boot)
}

/// Takes image and modules out of the package. The image comes last: it says that all is here.
fn fetch(work: &Path, modules: &Path, kernel: &Path) -> Result<()> {
    // Where this is not allowed, the list may do as it is.
    let _old_is_fine = process::capture(Command::new("apt-get").arg("update"));
    let package = package_name()?;
    eprintln!("soft-roce: fetches {package}, to be unpacked and not installed");
    let scratch = work.join("scratch");
    let _absent_is_fine = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).context("make a folder to unpack into")?;
    let mut download = Command::new("apt-get");
    process::capture(download.args(["download", &package]).current_dir(&scratch))
        .context("fetch the kernel's package")?;
    let archive = only_file(&scratch)?;
    let mut unpack = Command::new("dpkg-deb");
    process::capture(unpack.arg("-x").arg(&archive).arg(scratch.join("tree")))?;
    fs::create_dir_all(modules).context("make the folder of modules")?;
    let version = package.trim_start_matches("linux-image-");
    let tree = scratch.join("tree");
    let mut find = Command::new("find");
    let found = process::capture(find.arg(tree.join("lib/modules")).args(["-name", "*.ko"]))?;
    for name in MODULES {
        let file = format!("/{name}.ko");
        let source = found.lines().find(|line| line.ends_with(&file));
        let source = source.with_context(|| format!("{package} has no module {name}"))?;
        fs::copy(source, modules.join(format!("{name}.ko"))).context("keep a module")?;
    }
    fs::rename(tree.join(format!("boot/vmlinuz-{version}")), kernel).context("keep the kernel")?;
    fs::remove_dir_all(&scratch).context("remove what is not needed of the kernel's package")
}

/// The package that the distribution's newest kernel is in.
fn package_name() -> Result<String> {
    let mut depends = Command::new("apt-cache");
    let text = process::capture(depends.args(["depends", "linux-image-amd64"]))
        .context("ask for the distribution's kernel")?;
    let mut named = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    let kernel = named.rfind(|name| name.starts_with("linux-image-"));
    Ok(kernel.context("the list of packages has no kernel: `apt-get update` fetches it")?.into())
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let mut files = fs::read_dir(folder).context("look at what was fetched")?;
    let first = files.next().context("nothing was fetched")?.context("look at what was fetched")?;
    ensure!(files.next().is_none(), "more than one file was fetched");
    Ok(first.path())
}

fn pack(modules: &Path) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in ["bin", "modules", "proc", "dev", "lower", "scratch", "whole"] {
        archive.folder(folder);
    }
    archive.file("init", INIT.as_bytes());
    let shell = fs::read("/bin/busybox").context("read /bin/busybox")?;
    let is_static = !shell.windows(LOADER.len()).any(|bytes| bytes == LOADER);
    ensure!(is_static, "/bin/busybox needs libraries that guests lack: install busybox-static");
    archive.file("bin/busybox", &shell);
    archive.file("modules/order", MODULES.join("\n").as_bytes());
    for name in MODULES {
        let file = modules.join(format!("{name}.ko"));
        let module = fs::read(&file).with_context(|| format!("read {}", file.display()))?;
        archive.file(&format!("modules/{name}.ko"), &module);
    }
    Ok(archive.finish())
}
