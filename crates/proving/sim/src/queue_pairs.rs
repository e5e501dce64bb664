//! A card's cache of the state of queue pairs.
//!
//! Decision: docs/decisions/0142-send-lists-shared-queue-pairs-and-communicators-are-part.md

use fabric::random::SplitMix64;

/// Ways of a set: the cache is 8-way associative, as in the fit of the profiles' numbers.
const WAYS: usize = 8;
const NONE: u64 = u64::MAX;

/// The queue pairs whose state is in a card's cache, in sets with the most recently used one first.
#[derive(Clone, Debug)]
pub(crate) struct QueuePairs {
    sets: Vec<[u64; WAYS]>,
}

/// The identifier of a group's queue pair to a server.
pub(crate) fn queue_pair(group: u32, server: u16) -> u64 {
    (u64::from(group) << 16) | u64::from(server)
}

impl QueuePairs {
    /// A cache of about `count` queue pairs, at least one set.
    pub(crate) fn new(count: u64) -> Self {
        let set_count = (count as usize / WAYS).max(1);
        Self { sets: vec![[NONE; WAYS]; set_count] }
    }

    /// Uses the state of a queue pair. Returns whether the card must fetch it.
    #[inline]
    pub(crate) fn misses(&mut self, queue_pair: u64) -> bool {
        // Queue pairs are spread over sets at random, not evenly.
        let spread = SplitMix64::new(queue_pair).draw() >> 32;
        let set_count = self.sets.len() as u64;
        let set = &mut self.sets[((spread * set_count) >> 32) as usize];
        if set[0] == queue_pair {
            return false;
        }
        let place = set.iter().position(|known| *known == queue_pair);
        set[..=place.unwrap_or(WAYS - 1)].rotate_right(1);
        set[0] = queue_pair;
        place.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The percentage of misses among uses of `count` queue pairs, once the cache is warm.
    fn misses_percent(cached: u64, count: u64) -> u64 {
        let (mut random, mut cache) = (Random::new(1, 1), QueuePairs::new(cached));
        let mut use_one = || {
            let group = random.up_to(count - 1) as u32;
            u64::from(cache.misses(queue_pair(group, 0)))
        };
        (0..10_000).for_each(|_| {
            use_one();
        });
        (0..100_000).map(|_| use_one()).sum::<u64>() / 1000
    }

    #[test]
    fn fitting_pairs_hit_and_a_share_of_more_pairs_misses() {
        assert_eq!(misses_percent(360, 140), 0);
        assert!((1..10).contains(&misses_percent(360, 280)), "{}", misses_percent(360, 280));
        assert!((87..94).contains(&misses_percent(360, 4000)), "{}", misses_percent(360, 4000));
    }
}
