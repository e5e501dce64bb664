//! When something that serves one after another is busy.

use std::collections::VecDeque;

/// The busy times of a stage from now on. Whoever comes takes the first free time from its own moment on, in
/// pieces if need be, so that no time is lost: a message that is entered now and arrives late does not hold up
/// those that are entered after it and arrive before. Among those that arrive while the stage is busy, who was
/// entered first is served first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calendar {
    /// From and to, in picoseconds; apart from each other, in order.
    busy: VecDeque<(u64, u64)>,
    /// Which of them was looked for last: who posts much at once comes to neighbouring times.
    last: usize,
}

/// How many busy times are passed one after another, before the rest is halved.
const NEIGHBOURS: usize = 16;

impl Calendar {
    /// Takes the stage for `cost_ps` from `from_ps` on, as soon as it is free; returns when that is over. Time
    /// before `now_ps` is forgotten: nobody comes from there any more.
    #[inline]
    pub(crate) fn take(&mut self, now_ps: u64, from_ps: u64, cost_ps: u64) -> u64 {
        debug_assert!(now_ps <= from_ps);
        if cost_ps == 0 {
            return from_ps;
        }
        while self.busy.front().is_some_and(|&(_, end_ps)| end_ps < now_ps) {
            self.busy.pop_front();
            self.last = self.last.saturating_sub(1);
        }
        // Most come behind all others.
        match self.busy.back_mut() {
            Some((begin_ps, end_ps)) if *begin_ps <= from_ps => {
                let from_ps = if *end_ps >= from_ps { *end_ps } else { from_ps };
                if *end_ps == from_ps {
                    *end_ps += cost_ps;
                    return *end_ps;
                }
                self.busy.push_back((from_ps, from_ps + cost_ps));
                from_ps + cost_ps
            }
            None => {
                self.busy.push_back((from_ps, from_ps + cost_ps));
                from_ps + cost_ps
            }
            Some(_) => self.take_gaps(from_ps, cost_ps),
        }
    }

    /// As [`Calendar::take`], between others: all time from the first piece to the last is busy then.
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

    /// The number of the first busy time that ends at `from_ps` or later.
    #[inline]
    fn first_from(&self, from_ps: u64) -> usize {
        let ends_before = |place: usize| self.busy[place].1 < from_ps;
        let mut first = self.last.min(self.busy.len());
        for _ in 0..NEIGHBOURS {
            if first > 0 && !ends_before(first - 1) {
                first -= 1;
            } else if first < self.busy.len() && ends_before(first) {
                first += 1;
            } else {
                return first;
            }
        }
        self.busy.partition_point(|&(_, end_ps)| end_ps < from_ps)
    }

    /// Puts one busy time in place of those from `first` to before `next`.
    fn merge(&mut self, first: usize, next: usize, busy: (u64, u64)) {
        if first == next {
            self.busy.insert(first, busy);
            return;
        }
        self.busy[first] = busy;
        self.busy.drain(first + 1..next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn who_comes_together_is_served_one_after_another() {
        let mut calendar = Calendar::default();
        assert_eq!([100, 100, 100].map(|from_ps| calendar.take(0, from_ps, 9)), [109, 118, 127]);
        assert_eq!(calendar.take(0, 120, 9), 136, "one that comes meanwhile waits");
        assert_eq!(calendar.take(0, 500, 9), 509, "one that comes later does not");
    }

    #[test]
    fn who_is_entered_early_and_comes_late_holds_up_nobody() {
        let mut calendar = Calendar::default();
        assert_eq!(calendar.take(0, 1000, 100), 1100);
        assert_eq!(calendar.take(0, 10, 20), 30, "long before");
        assert_eq!(calendar.take(0, 950, 80), 1130, "50 before, 30 behind");
        assert_eq!(calendar.take(0, 900, 50), 950, "just in between");
        assert_eq!(calendar.take(0, 900, 1), 1131);
        assert_eq!(calendar.busy, [(10, 30), (900, 1131)]);
        assert_eq!(calendar.take(40, 40, 860), 900);
        assert_eq!(calendar.busy, [(40, 1131)], "what is past is forgotten, what touches is one");
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
        assert_eq!(busy_ps, given_ps);
        assert!(calendar.busy.iter().zip(calendar.busy.iter().skip(1)).all(|(a, b)| a.1 < b.0));
        assert!(last_ps >= 20_000);
    }
}
