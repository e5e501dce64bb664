//! The machine this process runs on: its clock, threads, processor time and memory.
//!
//! Everything below the library gets time and threads from its environment, so that a simulator can own
//! them. Here, at the edge, they come from the operating system; no other file of this crate asks it.
#![allow(clippy::disallowed_methods, reason = "this is where the real world enters")]

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A moment of the wall clock's monotonic sibling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Instant);

impl Moment {
    /// Now.
    #[inline]
    pub fn now() -> Self {
        Self(Instant::now())
    }

    /// Seconds since then.
    pub fn elapsed_s(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    /// Nanoseconds from `earlier` to this moment.
    #[inline]
    pub fn since_ns(self, earlier: Self) -> u64 {
        self.0.duration_since(earlier.0).as_nanos() as u64
    }
}

/// Starts a thread with a name that shows in debuggers and profilers.
pub fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body)
}

/// Lets this thread rest.
pub fn sleep_ms(duration_ms: u64) {
    std::thread::sleep(Duration::from_millis(duration_ms));
}

/// Processor time that all threads of this process have used, in seconds.
pub fn process_cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Processors that this process may use.
pub fn processor_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Memory that can be had without swapping, in bytes; where it is not known, 1 GiB.
pub fn available_memory_bytes() -> u64 {
    memory_line("/proc/meminfo", "MemAvailable:").unwrap_or(1 << 30)
}

/// Memory this process occupies, in bytes, or 0 where that is not known.
pub fn resident_bytes() -> u64 {
    memory_line("/proc/self/status", "VmRSS:").unwrap_or(0)
}

fn memory_line(path: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Processor, number of processors and operating system, in a line.
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

    #[test]
    fn the_machine_is_described() {
        assert!(machine().contains("processors"));
        assert!(resident_bytes() > 1 << 16);
    }
}
