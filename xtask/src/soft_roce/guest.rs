//! Guests: boots them, reads their consoles, and stops them at the deadline.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::soft_roce::Machine;

/// Memory of one guest, including Soft-RoCE and the layer over the host's files.
const MEMORY: &str = "2G";
/// Extra time for the programs that enforce the guests' deadline.
const GRACE: Duration = Duration::from_secs(15);

/// Without fast string instructions the kernel copies whole words, as hardware does: emulated,
/// those instructions copy bytes, and the words of a verb would be torn. The other features cost
/// time in many places when emulated: longer page walks, more checks of each access, wider
/// registers.
const PROCESSOR: &str = "max,-erms,-fsrm,-la57,-smap,-smep,-pku,-avx2";
/// The processors' own timers are calibrated at boot, against a clock that keeps running while a
/// loaded host suspends the guest; wrongly calibrated, they fire far too late ever after. The
/// board's timer needs no calibration, and a periodic tick cannot be lost for good. The second
/// processor starts when all devices have their addresses: QEMU 7.2 crashes when one processor
/// moves a device while another one writes to any.
const KERNEL_OPTIONS: &str = "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check nolapic_timer nohz=off highres=off maxcpus=1";

/// A guest prints this when its script has ended, followed by the script's exit code.
const ENDED: &str = "namdb-guest: ended with ";
/// Prefix of a guest's remarks, which are printed with their times.
pub const REMARK: &str = "namdb-guest: ";

/// A line of a guest's console.
type Line = (usize, String);

/// Runs each script in its own guest; two guests share a network.
pub fn run(machine: &Machine, scripts: &[String], deadline: Duration) -> Result<()> {
    // Remove the messages between guests of an earlier run.
    let _absent_is_fine = std::fs::remove_file(machine.exchange.join("served"));
    let (sender, receiver) = channel();
    let mut guests = Vec::new();
    for (index, script) in scripts.iter().enumerate() {
        let number = index + 1;
        std::fs::write(machine.exchange.join(format!("guest{number}")), script)
            .context("write a guest's script")?;
        let mut command = command(machine, number, scripts.len(), deadline);
        let mut guest = command.spawn().context("start qemu-system-x86_64")?;
        listen(&mut guest, index, sender.clone());
        guests.push(guest);
    }
    drop(sender);
    let codes = follow(&receiver, scripts.len(), deadline + GRACE);
    for guest in &mut guests {
        // They have ended, unless even the program that enforces the deadline failed.
        let _gone_is_fine = guest.kill();
        guest.wait().context("wait for a guest")?;
    }
    for (index, code) in codes.into_iter().enumerate() {
        let number = index + 1;
        match code {
            Some(0) => {}
            Some(code) => bail!("the script of guest {number} ended with {code}"),
            None => bail!(
                "guest {number} did not end within {} s; its output is above",
                deadline.as_secs()
            ),
        }
    }
    Ok(())
}

/// The virtual machine, below a program that kills it at the deadline even if this process has
/// ended.
fn command(machine: &Machine, number: usize, count: usize, deadline: Duration) -> Command {
    let exchange = machine.exchange.display();
    let device = if count == 1 { "dummy0" } else { "eth0" };
    let options = format!("{KERNEL_OPTIONS} guest={number} device={device} exchange={exchange}");
    let mut command = Command::new("timeout");
    command.arg("--kill-after=5").arg(deadline.as_secs().to_string());
    command.args(["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi"]);
    command.args(["-cpu", PROCESSOR, "-smp", "2", "-m", MEMORY, "-nodefaults", "-no-reboot"]);
    command.args(["-display", "none", "-monitor", "none", "-serial", "stdio"]);
    command.arg("-kernel").arg(&machine.kernel).arg("-initrd").arg(&machine.initramfs);
    command.args(["-append", &options]);
    let host = "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap";
    command.args(["-fsdev", host, "-device", "virtio-9p-pci,fsdev=host,mount_tag=host"]);
    command.args(["-fsdev", &format!("local,id=exchange,path={exchange},security_model=none")]);
    command.args(["-device", "virtio-9p-pci,fsdev=exchange,mount_tag=exchange"]);
    if count == 2 {
        // Paths of sockets must be short, so they are relative to the common working folder.
        let (own, other) = (number, 3 - number);
        let wire = format!(
            "dgram,id=wire,local.type=unix,local.path=wire{own},remote.type=unix,remote.path=wire{other}"
        );
        let _absent_is_fine = std::fs::remove_file(machine.exchange.join(format!("wire{own}")));
        let card = format!("virtio-net-pci,netdev=wire,mac=52:54:00:00:00:{own:02x}");
        command.args(["-netdev", &wire, "-device", &card]);
    }
    command.current_dir(&machine.exchange).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Sends a guest's console output, line by line, until the guest ends.
fn listen(guest: &mut Child, index: usize, sender: Sender<Line>) {
    let console = guest.stdout.take().expect("the guest was started with a pipe");
    #[expect(
        clippy::disallowed_methods,
        reason = "tooling has no Env, and two guests talk at once"
    )]
    std::thread::spawn(move || {
        for line in BufReader::new(console).split(b'\n').map_while(|line| line.ok()) {
            let line = String::from_utf8_lossy(&line);
            if sender.send((index, line.trim_end_matches('\r').to_string())).is_err() {
                return;
            }
        }
    });
}

/// Prints the output of guests until all have ended, remarks with the seconds since boot. Returns
/// the exit codes of their scripts.
fn follow(receiver: &Receiver<Line>, count: usize, deadline: Duration) -> Vec<Option<i32>> {
    let start = now();
    let end = start + deadline;
    let mut codes = vec![None; count];
    // An error means that all consoles are closed, or that the time is over.
    while let Ok((index, line)) = receiver.recv_timeout(end.saturating_duration_since(now())) {
        let number = index + 1;
        if let Some(code) = line.strip_prefix(ENDED) {
            codes[index] = code.parse().ok();
        }
        match line.strip_prefix(REMARK) {
            Some(remark) => {
                let seconds = start.elapsed().as_secs_f64();
                eprintln!("soft-roce: guest {number}, {seconds:.1} s: {remark}");
            }
            None if count == 1 => println!("{line}"),
            None => println!("[{number}] {line}"),
        }
    }
    codes
}

#[expect(clippy::disallowed_methods, reason = "tooling measures real time; there is no Env here")]
pub fn now() -> Instant {
    Instant::now()
}
