//! The busy times of a stage that serves one request after another.
//!
//! Decision: docs/decisions/0107-stages-of-a-simulated-card-keep-calendars.md

/// The busy times of a stage from now on. A request takes the first free time from its arrival on,
/// in pieces if necessary, so that no time is lost: a message that is entered now and arrives late
/// does not delay messages that are entered later and arrive earlier. If several arrive while the
/// stage is busy, it serves them in the order in which they were entered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calendar {
    /// Start and end of each busy time, in picoseconds; disjoint and in order.
    busy: Vec<(u64, u64)>,
    /// The number of busy times that are past.
    past: usize,
    /// The index that the last search found; a burst of posts searches for neighbouring times.
    last: usize,
    /// Requests served since the past was last cleaned up.
    taken: u32,
    /// The sum of all times taken.
    total_ps: u64,
}

/// The past is cleaned up after this many requests: the oldest time is not in the processor's
/// cache, and fetching it takes as long as all the rest.
const LOOK_EVERY: u32 = 16;
/// The number of past times that triggers reuse of their room.
const PAST_MAX: usize = 256;
/// The number of busy times to step through linearly before a binary search.
const NEIGHBOURS: usize = 16;

impl Calendar {
    /// Takes the stage for `cost_ps` from `from_ps` on, as soon as it is free, and returns the end.
    /// Forgets the time before `now_ps`: no request arrives there any more.
    #[inline]
    pub(crate) fn take(&mut self, now_ps: u64, from_ps: u64, cost_ps: u64) -> u64 {
        debug_assert!(now_ps <= from_ps);
        if cost_ps == 0 {
            return from_ps;
        }
        self.total_ps += cost_ps;
        self.taken += 1;
        if self.taken == LOOK_EVERY {
            self.forget_before(now_ps);
        }
        // Most requests come after all others, or shortly before the last of them.
        match self.busy.last_mut() {
            Some((begin_ps, end_ps)) if *begin_ps <= from_ps && from_ps <= *end_ps => {
                *end_ps += cost_ps;
                return *end_ps;
            }
            Some((begin_ps, _)) if from_ps < *begin_ps => return self.take_gaps(from_ps, cost_ps),
            _ => {}
        }
        self.busy.push((from_ps, from_ps + cost_ps));
        from_ps + cost_ps
    }

    pub(crate) fn total_ps(&self) -> u64 {
        self.total_ps
    }

    /// Forgets times that end before `now_ps`, because no request arrives there any more.
    fn forget_before(&mut self, now_ps: u64) {
        self.taken = 0;
        while self.busy.get(self.past).is_some_and(|&(_, end_ps)| end_ps < now_ps) {
            self.past += 1;
        }
        if self.past >= PAST_MAX {
            self.busy.drain(..self.past);
            self.last = self.last.saturating_sub(self.past);
            self.past = 0;
        }
    }

    /// As [`Calendar::take`], in the gaps between other requests: afterwards all time from the
    /// first piece to the last is busy.
    fn take_gaps(&mut self, from_ps: u64, cost_ps: u64) -> u64 {
        let first = self.first_from(from_ps);
        self.last = first;
        let (mut begin_ps, mut at_ps, mut left_ps) = (from_ps, from_ps, cost_ps);
        let mut next = first;
        if let Some(&(busy_ps, end_ps)) = self.busy.get(next)
            && busy_ps <= from_ps
        {
            (begin_ps, at_ps) = (busy_ps, end_ps);
            next += 1;
        }
        while let Some(&(busy_ps, end_ps)) = self.busy.get(next) {
            let gap_ps = busy_ps - at_ps;
            if left_ps < gap_ps {
                break;
            }
            left_ps -= gap_ps;
            next += 1;
            if left_ps == 0 {
                self.merge(first, next, (begin_ps, end_ps));
                return busy_ps;
            }
            at_ps = end_ps;
        }
        self.merge(first, next, (begin_ps, at_ps + left_ps));
        at_ps + left_ps
    }

    /// The index of the first busy time that ends at `from_ps` or later.
    #[inline]
    fn first_from(&self, from_ps: u64) -> usize {
        let mut first = self.last.min(self.busy.len());
        for _ in 0..NEIGHBOURS {
            if first > 0 && self.busy[first - 1].1 >= from_ps {
                first -= 1;
            } else if first < self.busy.len() && self.busy[first].1 < from_ps {
                first += 1;
            } else {
                return first;
            }
        }
        self.busy.partition_point(|&(_, end_ps)| end_ps < from_ps)
    }

    /// Replaces the busy times from `first` up to `next` by one.
    #[inline]
    fn merge(&mut self, first: usize, next: usize, busy: (u64, u64)) {
        match next - first {
            0 => self.busy.insert(first, busy),
            1 => self.busy[first] = busy,
            _ => {
                self.busy[first] = busy;
                self.busy.drain(first + 1..next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn simultaneous_requests_are_served_one_after_another() {
        let mut calendar = Calendar::default();
        assert_eq!([100, 100, 100].map(|from_ps| calendar.take(0, from_ps, 9)), [109, 118, 127]);
        assert_eq!(calendar.take(0, 120, 9), 136, "one that comes meanwhile waits");
        assert_eq!(calendar.take(0, 500, 9), 509, "one that comes later does not");
    }

    #[test]
    fn an_early_entry_that_arrives_late_delays_no_other() {
        let mut calendar = Calendar::default();
        assert_eq!(calendar.take(0, 1000, 100), 1100);
        assert_eq!(calendar.take(0, 10, 20), 30, "long before");
        assert_eq!(calendar.take(0, 950, 80), 1130, "50 before, 30 behind");
        assert_eq!(calendar.take(0, 900, 50), 950, "just in between");
        assert_eq!(calendar.take(0, 900, 1), 1131);
        assert_eq!(calendar.busy, [(10, 30), (900, 1131)]);
        assert_eq!(calendar.take(40, 40, 860), 900);
        assert_eq!(calendar.busy, [(10, 30), (40, 1131)], "what touches is one");
    }

    #[test]
    fn past_times_are_forgotten() {
        let mut calendar = Calendar::default();
        for time_ps in 0..100_000 {
            assert_eq!(
                calendar.take(1000 * time_ps, 1000 * time_ps + 500, 1),
                1000 * time_ps + 501
            );
        }
        assert!(calendar.busy.len() <= PAST_MAX + 2 * LOOK_EVERY as usize);
    }

    #[test]
    fn no_time_is_lost_and_none_is_given_twice() {
        let mut random = Random::new(3, 3);
        let mut calendar = Calendar::default();
        let (mut given_ps, mut last_ps) = (0, 0);
        for _ in 0..2000 {
            let (from_ps, cost_ps) = (random.up_to(20_000), 1 + random.up_to(20));
            let end_ps = calendar.take(0, from_ps, cost_ps);
            assert!(end_ps >= from_ps + cost_ps);
            given_ps += cost_ps;
            last_ps = last_ps.max(end_ps);
        }
        let busy_ps: u64 = calendar.busy.iter().map(|(begin_ps, end_ps)| end_ps - begin_ps).sum();
        assert_eq!((busy_ps, calendar.total_ps()), (given_ps, given_ps));
        assert!(calendar.busy.iter().zip(calendar.busy.iter().skip(1)).all(|(a, b)| a.1 < b.0));
        assert!(last_ps >= 20_000);
    }
}
