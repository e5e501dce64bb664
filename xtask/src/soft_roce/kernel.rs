//! The distribution's kernel and modules for guests: downloads and unpacks them, and builds the
//! boot archive.
//!
//! About ten megabytes of a package of seventy or more stay in the target folder; this is done
//! once. If Soft-RoCE of the distribution's own kernel loses writes (`fabric::verbs::flaw`), the
//! kernel of its backports is used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::soft_roce::archive::Archive;
use crate::soft_roce::image;

/// First version and revision of Linux whose Soft-RoCE does not write after a failed swap.
const MENDED: (u32, u32) = (6, 3);

/// The modules, each after those it needs; modules that a kernel has built in are skipped.
/// `rdma_rxe` needs `crc32_generic` without declaring it: a device is refused without it. Faster
/// variants use instructions that are slow when emulated.
const MODULES: [&str; 21] = [
    "virtio_ring",
    "virtio",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "virtio_pci",
    "failover",
    "net_failover",
    "virtio_net",
    "netfs",
    "fscache",
    "9pnet",
    "9pnet_virtio",
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

/// Newer kernels include it in module `netfs`.
const NO_MODULE_SINCE: &str = "fscache";

/// A program that contains this name needs a loader.
const LOADER: &[u8] = b"/lib64/ld-linux";

/// The guest's first script.
const INIT: &str = include_str!("init.sh");

/// The files that a guest boots from.
pub struct Boot {
    /// The kernel's image.
    pub kernel: PathBuf,
    /// Modules, shell and first script.
    pub initramfs: PathBuf,
}

/// Downloads the kernel unless it exists, and builds the boot archive.
pub fn prepare(work: &Path) -> Result<Boot> {
    let (packed, modules) = (work.join("vmlinuz"), work.join("modules"));
    if !packed.is_file() {
        fetch(work, &modules, &packed)?;
    }
    let boot = Boot {
        kernel: image::unpack(&packed, &work.join("vmlinux"))?,
        initramfs: work.join("initramfs.cpio"),
    };
    // The script may have changed since; packing takes milliseconds.
    fs::write(&boot.initramfs, pack(&modules)?).context("write the guests' initramfs")?;
    Ok(boot)
}

/// Extracts image and modules from the package. The image comes last: its presence means that all
/// is complete.
fn fetch(work: &Path, modules: &Path, kernel: &Path) -> Result<()> {
    // Without permission the old package list may suffice.
    let _old_is_fine = process::capture(Command::new("apt-get").arg("update"));
    let (package, options) = newest(work)?;
    eprintln!("soft-roce: downloads {package}, which is unpacked but not installed");
    let scratch = work.join("scratch");
    let _absent_is_fine = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).context("make a folder to unpack into")?;
    let mut download = Command::new("apt-get");
    process::capture(download.args(&options).args(["download", &package]).current_dir(&scratch))
        .context("fetch the kernel's package")?;
    let archive = only_file(&scratch)?;
    let mut unpack = Command::new("dpkg-deb");
    process::capture(unpack.arg("-x").arg(&archive).arg(scratch.join("tree")))?;
    fs::create_dir_all(modules).context("make the folder of modules")?;
    let version = package.trim_start_matches("linux-image-");
    let tree = scratch.join("tree");
    let mut find = Command::new("find");
    let found = process::capture(find.arg(tree.join("lib/modules")).args(["-name", "*.ko*"]))?;
    let built_in = tree.join("lib/modules").join(version).join("modules.builtin");
    let built_in = fs::read_to_string(built_in).context("read the list of built-in modules")?;
    for name in MODULES {
        let (plain, packed) = (format!("/{name}.ko"), format!("/{name}.ko.xz"));
        let kept = modules.join(format!("{name}.ko"));
        let of = |end: &str| found.lines().find(|line| line.ends_with(end));
        match (of(&plain), of(&packed)) {
            (Some(source), _) => drop(fs::copy(source, kept).context("keep a module")?),
            (None, Some(source)) => image::unxz(Path::new(source), &kept)?,
            (None, None) => {
                let is_in_kernel = built_in.lines().any(|line| line.ends_with(&plain));
                ensure!(is_in_kernel || name == NO_MODULE_SINCE, "{package} has no module {name}");
            }
        }
    }
    fs::rename(tree.join(format!("boot/vmlinuz-{version}")), kernel).context("keep the kernel")?;
    fs::remove_dir_all(&scratch).context("remove the rest of the kernel's package")
}

/// The package of the distribution's newest kernel, and the options of `apt-get` for it: that of
/// the backports, if its own loses writes and the backports are available.
fn newest(work: &Path) -> Result<(String, Vec<String>)> {
    let own = package_name(&[])?;
    if version(&own).is_some_and(|version| version >= MENDED) {
        return Ok((own, Vec::new()));
    }
    let newer = backports(work).and_then(|options| Ok((package_name(&options)?, options)));
    Ok(newer.unwrap_or_else(|error| {
        eprintln!("soft-roce: no backports ({error:#}): {own} occasionally loses a write");
        (own, Vec::new())
    }))
}

/// Downloads the package list of the distribution's backports into the work folder; returns the
/// options that restrict `apt-get` to it.
fn backports(work: &Path) -> Result<Vec<String>> {
    let mut targets = Command::new("apt-get");
    let format = ["indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)"];
    let text = process::capture(targets.args(format).arg("Created-By: Packages"))?;
    let mut fields = text.lines().map(|line| line.split(' ').collect::<Vec<&str>>());
    // The main source; those of updates have names with a dash.
    let main = fields.find(|of| matches!(of[..], [_, name, "main"] if !name.contains('-')));
    let main = main.context("apt-get has no source with the component main")?;
    let (list, lists) = (work.join("backports.list"), work.join("backports"));
    fs::create_dir_all(lists.join("partial")).context("make a folder for lists")?;
    fs::write(&list, format!("deb {} {}-backports main\n", main[0], main[1]))
        .context("write the source of backports")?;
    let options: Vec<String> = [
        format!("Dir::Etc::SourceList={}", list.display()),
        "Dir::Etc::SourceParts=/dev/null".to_owned(),
        format!("Dir::State::Lists={}", lists.display()),
    ]
    .into_iter()
    .flat_map(|option| ["-o".to_owned(), option])
    .collect();
    process::capture(Command::new("apt-get").args(&options).arg("update"))?;
    Ok(options)
}

/// Version and revision of the kernel in a package, such as `linux-image-6.1.0-56-amd64`.
fn version(package: &str) -> Option<(u32, u32)> {
    let mut numbers = package.split(['-', '.']).skip(2);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The newest kernel package that `apt-cache` finds with these options.
fn package_name(options: &[String]) -> Result<String> {
    let mut depends = Command::new("apt-cache");
    let text = process::capture(depends.args(options).args(["depends", "linux-image-amd64"]))
        .context("find the distribution's kernel")?;
    let mut named = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    let kernel = named.rfind(|name| name.starts_with("linux-image-"));
    Ok(kernel.context("the list of packages has no kernel: `apt-get update` fetches it")?.into())
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let mut files = fs::read_dir(folder).context("list the downloaded files")?;
    let first =
        files.next().context("nothing was downloaded")?.context("look at what was fetched")?;
    ensure!(files.next().is_none(), "more than one file was downloaded");
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
    let file_of = |name: &&str| modules.join(format!("{name}.ko"));
    let order: Vec<&str> = MODULES.into_iter().filter(|name| file_of(name).is_file()).collect();
    archive.file("modules/order", order.join("\n").as_bytes());
    for name in order {
        let file = file_of(&name);
        let module = fs::read(&file).with_context(|| format!("read {}", file.display()))?;
        archive.file(&format!("modules/{name}.ko"), &module);
    }
    Ok(archive.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_tell_the_version_of_their_kernel() {
        assert_eq!(version("linux-image-6.1.0-56-amd64"), Some((6, 1)));
        assert!(version("linux-image-6.12.95+deb12-amd64") > Some(MENDED));
        assert_eq!(version("linux-image-amd64"), None);
    }
}
