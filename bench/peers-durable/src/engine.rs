//! A database under measurement: single-row updates, each durable before it is counted.

use anyhow::{Context, Result};
use namdb::host::Moment;
use std::sync::Barrier;
use std::time::Duration;

/// Rows of the table. Sessions seldom meet at one.
pub const ROWS: u64 = 100_000;
/// Bytes of a row's value. The first eight count its updates.
pub const VALUE_BYTES: usize = 100;
/// Rows of a transaction of the load.
pub const LOAD_ROWS: u64 = 1_000;

/// One turn.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    pub commits: u64,
    pub seconds: f64,
    /// `None` if the database does not count them.
    pub syncs: Option<u64>,
}

pub trait Engine {
    fn name(&self) -> &'static str;

    /// How the database runs this number of sessions.
    fn way(&self, sessions: usize) -> String;

    /// Updates rows in this number of sessions at a time.
    fn run(&mut self, sessions: usize, time: Duration) -> Result<Turn>;
}

/// The row of an update: sessions draw rows at random.
pub struct Rows(u64);

impl Rows {
    pub fn of(session: usize) -> Self {
        Self(0x9e37_79b9_7f4a_7c15 ^ (session as u64) << 32)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % ROWS
    }
}

/// The value with one more update.
pub fn updated(value: &[u8]) -> Vec<u8> {
    let mut value = value.to_vec();
    if let Some(count) = value.first_chunk_mut::<8>() {
        *count = (u64::from_le_bytes(*count) + 1).to_le_bytes();
    }
    value
}

/// Runs `update` in threads until the time is over; returns commits and seconds.
pub fn in_threads(
    threads: usize,
    time: Duration,
    update: impl Fn(u64) -> Result<()> + Sync,
) -> Result<(u64, f64)> {
    let barrier = Barrier::new(threads);
    let work = |thread: usize| -> Result<(u64, f64)> {
        let (mut rows, mut commits) = (Rows::of(thread), 0);
        barrier.wait();
        let start = Moment::now();
        while start.elapsed_s() < time.as_secs_f64() {
            update(rows.draw())?;
            commits += 1;
        }
        Ok((commits, start.elapsed_s()))
    };
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        let mut all = (0, 0.0);
        for thread in threads {
            let (commits, seconds) =
                thread.join().map_err(|_| anyhow::anyhow!("a session panicked"))??;
            all = (all.0 + commits, f64::max(all.1, seconds));
        }
        anyhow::Ok(all)
    })
    .context("a session")
}
