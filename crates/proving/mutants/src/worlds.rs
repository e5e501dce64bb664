//! `cargo xtask mutants --worlds`: worlds that the seed draws whole, with all guards in place.

use anyhow::{Result, bail};
use mutants::run;
use mutants::swarm::{self, SWARM};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);

/// The sums over the worlds of a range.
#[derive(Default)]
struct Sums {
    committed: AtomicU64,
    aborted: AtomicU64,
    /// Worlds in which nothing committed.
    idle: AtomicU64,
    wrong: Mutex<Vec<String>>,
    /// The longest time of a world, and its seed.
    slowest: Mutex<(Duration, u64)>,
}

/// Runs the worlds of these seeds; an error if one is wrong.
pub fn run(seeds: Range<u64>, threads: usize) -> Result<()> {
    let (next, sums, start) = (AtomicU64::new(seeds.start), Sums::default(), super::now());
    let shown = Mutex::new(start);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    sums.add(seed);
                    let mut shown = shown.lock().expect("no holder panics");
                    if shown.elapsed() >= PROGRESS {
                        *shown = super::now();
                        let done = seed + 1 - seeds.start;
                        let all = seeds.end - seeds.start;
                        let left = start.elapsed().as_secs_f64() * (all - done) as f64;
                        let left = left / done as f64;
                        eprintln!("{done} of {all} worlds; about {left:.0} s left");
                    }
                }
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let Sums { committed, aborted, idle, wrong, slowest } = sums;
    let (slowest, slow_seed) = slowest.into_inner().expect("no holder panics");
    let (count, wrong) = (seeds.end - seeds.start, wrong.into_inner().expect("no holder panics"));
    println!(
        "{count} worlds from seed {} in {seconds:.0} s: {} committed, {} aborted, {} worlds without a commit, {} wrong; the slowest, of seed {slow_seed}, took {:.1} s",
        seeds.start,
        committed.into_inner(),
        aborted.into_inner(),
        idle.into_inner(),
        wrong.len(),
        slowest.as_secs_f64(),
    );
    match wrong.first() {
        None => Ok(()),
        Some(first) => bail!("{first}"),
    }
}

impl Sums {
    fn add(&self, seed: u64) {
        let start = super::now();
        let run::Ran { caught, committed, aborted, .. } = run::run(&SWARM, seed, &[]);
        let mut slowest = self.slowest.lock().expect("no holder panics");
        *slowest = (*slowest).max((start.elapsed(), seed));
        drop(slowest);
        self.committed.fetch_add(committed as u64, Relaxed);
        self.aborted.fetch_add(aborted as u64, Relaxed);
        self.idle.fetch_add(u64::from(committed == 0), Relaxed);
        if let Some(caught) = caught {
            let kind = swarm::kind(seed);
            let wrong = format!("the world of seed {seed} is wrong: {caught:?}\n  {kind:?}");
            eprintln!("{wrong}");
            self.wrong.lock().expect("no holder panics").push(wrong);
        }
    }
}
