//! The world that runs next: each gets a part of the time, and its seeds in order.

use anyhow::{Context, Result};

/// The least share of a world, for mutants that few runs reach.
const SHARE_MIN: f64 = 0.01;

/// A world in a schedule.
#[derive(Clone, PartialEq, Debug)]
struct Turn {
    world: String,
    share: f64,
    seconds: f64,
    seed: u64,
}

/// Worlds with their shares of the time.
pub struct Schedule(Vec<Turn>);

impl Schedule {
    /// Reads `NAME SHARE` from each line.
    ///
    /// # Errors
    /// If a line has another form, or there is none.
    pub fn read(text: &str) -> Result<Self> {
        let read = |line: &str| {
            let (world, share) = line.rsplit_once(' ')?;
            let share: f64 = share.parse().ok()?;
            Some(Turn {
                world: world.to_owned(),
                share: share.max(SHARE_MIN),
                seconds: 0.0,
                seed: 0,
            })
        };
        let read = |line| {
            read(line).with_context(|| format!("a schedule has lines `WORLD SHARE`, not {line:?}"))
        };
        let turns = text.lines().map(read).collect::<Result<Vec<Turn>>>()?;
        anyhow::ensure!(!turns.is_empty(), "the schedule names no world");
        Ok(Self(turns))
    }

    /// Runs the next seed of the world that has had the least of its share. `run` gets the name and
    /// the seed, and returns how long it took.
    pub fn step(&mut self, run: impl FnOnce(&str, u64) -> f64) {
        let used = |turn: &Turn| turn.seconds / turn.share;
        let next = self.0.iter_mut().min_by(|one, other| used(one).total_cmp(&used(other)));
        let turn = next.expect("a schedule names a world");
        let seed = turn.seed;
        turn.seed += 1;
        turn.seconds += run(&turn.world, seed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_get_time_by_their_shares_and_seeds_in_order() {
        let mut schedule = Schedule::read("fast 0.5\nslow 0.5\nrare 0.25").expect("it is right");
        let mut runs = Vec::new();
        for _ in 0..16 {
            schedule.step(|world, seed| {
                runs.push((world.to_owned(), seed));
                if world == "slow" { 4.0 } else { 1.0 }
            });
        }
        let count = |name: &str| runs.iter().filter(|(world, _)| world == name).count();
        assert_eq!((count("fast"), count("slow"), count("rare")), (9, 3, 4));
        assert!(runs.contains(&("fast".to_owned(), 8)));
    }

    #[test]
    fn other_lines_are_refused() {
        assert!(Schedule::read("").is_err());
        assert!(Schedule::read("world").is_err());
        assert!(Schedule::read("world much").is_err());
    }
}
