//! The machine on which this process runs: its clock, threads, processor time and memory.
//!
//! The engine gets time and threads from its environment, so that the simulator can replace them.
//! This file is the only one of the crate that calls the operating system for them.
#![allow(clippy::disallowed_methods, reason = "this is where the real world enters")]

use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// A reading of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Instant);

impl Moment {
    /// Reads the clock.
    #[inline]
    pub fn now() -> Self {
        Self(Instant::now())
    }

    /// Converts to the standard library's type.
    #[inline]
    pub fn instant(self) -> Instant {
        self.0
    }

    /// Seconds since this moment.
    pub fn elapsed_s(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    /// Milliseconds since then.
    pub fn elapsed_ms(self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }

    /// Nanoseconds from `earlier` to this moment.
    #[inline]
    pub fn since_ns(self, earlier: Self) -> u64 {
        self.0.duration_since(earlier.0).as_nanos() as u64
    }
}

/// Starts a named thread; debuggers and profilers show the name.
pub fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body)
}

/// Runs `work` once with each argument, each on a thread of its own, and `report` about once a
/// second meanwhile and at the end.
pub(crate) fn in_parallel<A: Send, T: Send>(
    arguments: Vec<A>,
    work: impl Fn(A) -> T + Sync,
    report: &dyn Fn(),
) -> Vec<T> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            arguments.into_iter().map(|argument| scope.spawn(move || work(argument))).collect();
        let are_finished = || threads.iter().all(|thread| thread.is_finished());
        // Short work ends without a wait that is longer than the work itself.
        let (start, mut reported_s) = (Moment::now(), 0.0);
        while !are_finished() {
            let elapsed_s = start.elapsed_s();
            if elapsed_s - reported_s >= 1.0 {
                report();
                reported_s = elapsed_s;
            }
            sleep_ms(if elapsed_s < 0.05 { 1 } else { 10 });
        }
        report();
        threads.into_iter().map(|thread| thread.join().expect("workers return errors")).collect()
    })
}

/// Random bytes of the operating system.
///
/// # Panics
/// If `/dev/urandom` cannot be read, which no supported system lacks.
pub(crate) fn random_bytes() -> [u8; 16] {
    use std::io::Read;
    let mut bytes = [0; 16];
    let source = std::fs::File::open("/dev/urandom");
    source
        .and_then(|mut source| source.read_exact(&mut bytes))
        .expect("the system has random bytes");
    bytes
}

/// Names the clock of [`Moment`]s and of the times that databases record: this host's monotonic
/// clock since boot. Times of different clocks cannot be ordered.
pub fn clock_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    name.trim().to_owned()
}

/// Suspends this thread.
pub fn sleep_ms(duration_ms: u64) {
    sleep_ns(1_000_000 * duration_ms);
}

/// Suspends this thread.
pub(crate) fn sleep_ns(duration_ns: u64) {
    std::thread::sleep(Duration::from_nanos(duration_ns));
}

/// Ends this process, with a sentence on standard error.
#[cfg(feature = "cluster")]
pub(crate) fn exit_with(sentence: &str, code: i32) -> ! {
    use std::io::Write;
    // Without standard error the exit code has to do.
    let _ = writeln!(std::io::stderr(), "namdb: {sentence}");
    std::process::exit(code)
}

/// Seconds since 1970 in UTC by the host's clock.
pub fn unix_time_s() -> f64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    // No host's clock is before 1970.
    time.unwrap_or_default().as_secs_f64()
}

/// Microseconds since 2000-01-01 UTC by the host's clock, the unit of SQL timestamps.
pub fn sql_time_us() -> i64 {
    /// Seconds from 1970 to 2000.
    const BEGIN_UNIX_S: f64 = 946_684_800.0;
    ((unix_time_s() - BEGIN_UNIX_S) * 1e6) as i64
}

/// Processor time of all threads of this process, in seconds.
pub fn process_cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The part of the process's processor time that the kernel used, in seconds; 0 if unknown.
pub fn process_kernel_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The program's name is in parentheses and may contain spaces.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().nth(STAT_KERNEL_TICKS);
    let ticks: u64 = ticks.and_then(|ticks| ticks.parse().ok()).unwrap_or(0);
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Index of the kernel ticks among the fields after the program's name.
const STAT_KERNEL_TICKS: usize = 12;

/// Number of processors that this process may use.
pub fn processor_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Memory available without swapping, in bytes: the minimum of the machine's free memory, the rest
/// of this process's control groups, and the rest of its address-space limit. 1 GiB if none is
/// known.
pub fn available_memory_bytes() -> u64 {
    let machine = memory_line("/proc/meminfo", "MemAvailable:").unwrap_or(1 << 30);
    let limits = [control_group_bytes(), address_space_bytes()];
    limits.into_iter().flatten().fold(machine, u64::min)
}

/// The rest of this process's address-space limit; `None` without a limit.
fn address_space_bytes() -> Option<u64> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::As).current?;
    let used = memory_line("/proc/self/status", "VmSize:").unwrap_or(0);
    Some(limit.saturating_sub(used + ADDRESS_SPACE_SPARE_BYTES))
}

/// Address space left for the stacks and heaps of threads, which reserve generously.
const ADDRESS_SPACE_SPARE_BYTES: u64 = 512 << 20;

/// Memory that the control group of this process and its parents leave.
fn control_group_bytes() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        match (fields.next()?, fields.next()?) {
            ("", path) => Some(("/sys/fs/cgroup", path.to_owned(), "memory.max", "memory.current")),
            ("memory", path) => Some((
                "/sys/fs/cgroup/memory",
                path.to_owned(),
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
            )),
            _ => None,
        }
    };
    let groups = groups.lines().filter_map(group);
    let left = groups.flat_map(|(root, path, limit, usage)| {
        let path = std::path::PathBuf::from(path);
        let above: Vec<_> = path.ancestors().map(|part| part.to_path_buf()).collect();
        above.into_iter().filter_map(move |part| {
            let folder = format!("{root}/{}", part.display().to_string().trim_start_matches('/'));
            let limit = number_in(&format!("{folder}/{limit}"))?;
            Some(limit.saturating_sub(number_in(&format!("{folder}/{usage}")).unwrap_or(0)))
        })
    });
    left.min()
}

/// Reads a file that contains one number.
fn number_in(path: &str) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Resident memory of this process, in bytes; 0 if unknown.
pub fn resident_bytes() -> u64 {
    memory_line("/proc/self/status", "VmRSS:").unwrap_or(0)
}

fn memory_line(path: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Processor model, number of processors and operating system, in one line.
pub fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim());
    let system = rustix::system::uname();
    format!(
        "{}, {} processors, {} {}",
        model.unwrap_or(std::env::consts::ARCH),
        processor_count(),
        system.sysname().to_string_lossy(),
        system.release().to_string_lossy()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_grows_with_work() {
        let before = process_cpu_s();
        let mut sum: u64 = 0;
        while process_cpu_s() - before < 0.005 {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0 && process_cpu_s() > before);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernels_time_grows_with_what_it_does() {
        let (before, cpu_before) = (process_kernel_s(), process_cpu_s());
        while process_kernel_s() - before < 0.03 {
            // Reading the file with the kernel time is itself kernel work.
            assert!(process_cpu_s() - cpu_before < 60.0, "the kernel never takes any time");
        }
        assert!(process_kernel_s() - before <= process_cpu_s() - cpu_before + 0.03);
    }

    #[test]
    fn the_machine_is_described() {
        assert!(machine().contains("processors"));
        assert!(resident_bytes() > 1 << 16);
    }
}
