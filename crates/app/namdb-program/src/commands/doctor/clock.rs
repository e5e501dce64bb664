//! Checks the clock: the cost of reading it, and its synchronization.
//!
//! Leases use monotonic clocks, so a clock that jumps ends no lease. Only logs and figures of
//! several hosts become hard to compare.

use super::code::CLOCK;
use super::files::Files;
use super::finding::Finding;

const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// systemd creates this file once a time server has set the clock.
const SYNCHRONIZED: &str = "/run/systemd/timesync/synchronized";
/// Clock sources that are read without a system call.
const FAST: [&str; 5] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "xen"];
const KEEPERS: [&str; 6] =
    ["chronyd", "ntpd", "ptp4l", "timemaster", "openntpd", "systemd-timesyn"];

/// `spans_hosts`: whether the cluster has hosts with other clocks.
pub fn check(files: &dyn Files, spans_hosts: bool) -> Finding {
    let source = files.text(SOURCE).unwrap_or_default();
    if !source.is_empty() && !FAST.contains(&&*source) {
        return CLOCK.warning(
            format!("the clock is read from {source}, which is slow; every transaction reads it"),
            format!("echo tsc > {SOURCE} (or boot with tsc=reliable, if the machine's is)"),
        );
    }
    let keeper = keeper(files);
    if files.text(SYNCHRONIZED).is_some() {
        return CLOCK.ok("systemd has synchronized it with a time server");
    }
    match keeper {
        Some(keeper) if keeper != "systemd-timesyn" => {
            CLOCK.ok(format!("synchronized by {keeper}"))
        }
        _ if !spans_hosts => CLOCK.ok("one host has one clock"),
        Some(_) => CLOCK.warning("systemd has found no time server", "timedatectl timesync-status"),
        None => CLOCK.warning(
            "it is not synchronized with other hosts, so their logs cannot be compared",
            "timedatectl set-ntp true, or apt-get install chrony",
        ),
    }
}

/// The program that synchronizes the clock, if one runs.
fn keeper(files: &dyn Files) -> Option<String> {
    let processes = files.names("/proc").into_iter();
    let numbered = processes.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let mut names = numbered.filter_map(|process| files.text(&format!("/proc/{process}/comm")));
    names.find(|name| KEEPERS.contains(&&**name))
}

#[cfg(test)]
mod tests {
    use super::super::files::FakeFiles;
    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn a_clock_that_nobody_keeps_matters_between_hosts() {
        const BARE: FakeFiles = FakeFiles(&[(SOURCE, "tsc"), ("/proc/1/comm", "init")]);
        assert_eq!(check(&BARE, false).grade, Grade::Ok);
        assert_eq!(check(&BARE, true).grade, Grade::Warning);
        const KEPT: FakeFiles = FakeFiles(&[(SOURCE, "kvm-clock"), ("/proc/17/comm", "chronyd")]);
        assert_eq!(check(&KEPT, true).grade, Grade::Ok);
        const WAITING: FakeFiles = FakeFiles(&[("/proc/17/comm", "systemd-timesyn")]);
        assert_eq!(check(&WAITING, true).grade, Grade::Warning);
        const SET: FakeFiles =
            FakeFiles(&[("/proc/17/comm", "systemd-timesyn"), (SYNCHRONIZED, "")]);
        assert_eq!(check(&SET, true).grade, Grade::Ok);
    }

    #[test]
    fn a_slow_clock_is_told_on_any_host() {
        const SLOW: FakeFiles = FakeFiles(&[(SOURCE, "acpi_pm\n")]);
        let finding = check(&SLOW, false);
        assert!(finding.grade == Grade::Warning && finding.found.contains("acpi_pm"));
    }
}
