//! Checks the success rates of transactions against the specification's rules.
//!
//! Types and times are drawn independently of the existing rows, and some subscribers are drawn far
//! more often than others: in a run of any length the rates depend on the rows of those. The
//! tolerated deviation therefore has two parts, one for the number of draws and one for the number
//! of subscribers that matter.
//!
//! Decision: docs/decisions/0183-tatps-success-rate-of-get-new-destination-is-derived.md

use super::unless;
use crate::driver::{CheckResult, RunTotals};
use crate::tatp::config::TatpConfig;
use crate::tatp::input::Kind;
use crate::tatp::nurand::Subscribers;

const NAME: &str = "success rates are as the specification's rules imply";
/// The number of tolerated standard deviations.
const DEVIATIONS: f64 = 3.0;

/// The lowest and the highest expected success rate of a transaction.
///
/// The specification names 23.9 % for GET_NEW_DESTINATION, but its own draws give less: with one to
/// four facilities of four (85 % of them active) and none to three forwardings of each, 14.8 % find
/// one right after the load. During a run other forwardings replace them, each present in one of
/// two cases, with ends drawn from the whole day; with these alone the rate would be 20.4 %.
const fn expected(kind: Kind) -> (f64, f64) {
    match kind {
        Kind::GetSubscriberData | Kind::UpdateLocation => (1.0, 1.0),
        Kind::GetNewDestination => (0.1479, 0.2042),
        Kind::GetAccessData | Kind::UpdateSubscriberData => (0.625, 0.625),
        Kind::InsertCallForwarding | Kind::DeleteCallForwarding => (0.3125, 0.3125),
    }
}

pub fn check(config: &TatpConfig, totals: &RunTotals) -> CheckResult {
    let agreement = Subscribers::new(config.subscribers).agreement();
    let mut told = Vec::new();
    let mut wrong = None;
    for (kind, _) in Kind::MIX {
        let counted = totals.kind(kind as usize);
        let ended = counted.committed + counted.rolled_back;
        if ended == 0 {
            continue;
        }
        let rate = counted.committed as f64 / ended as f64;
        let percent = format!("{} {:.2} %", kind.name(), 100.0 * rate);
        let (low, high) = expected(kind);
        let tolerated = |rate: f64| deviation(rate, ended, agreement) * DEVIATIONS;
        let (least, most) = (low - tolerated(low), high + tolerated(high));
        if rate < least || rate > most {
            let [low, high, least, most] = [low, high, least, most].map(|share| 100.0 * share);
            wrong.get_or_insert(format!(
                "{percent} of {ended}, expected {low:.2} to {high:.2}, {least:.2} to {most:.2} are tolerated for this number"
            ));
        }
        told.push(percent);
    }
    if told.is_empty() {
        told.push("no transactions".to_owned());
    }
    unless(NAME, wrong, told.join(", ")).of_rates()
}

/// Standard deviation of the share of successes among `draws` draws. The bound assumes that two
/// draws of the same subscriber are fully correlated.
fn deviation(rate: f64, draws: u64, agreement: f64) -> f64 {
    libm::sqrt(rate * (1.0 - rate) * (1.0 / draws as f64 + agreement))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{AbortCounts, Finished, TransactionResult, Whereabouts};

    const STARTS: [u32; 3] = [0, 8, 16];
    const HOURS: u32 = 24;

    /// The probability that one of the forwardings in `present` begins by `starts` and ends after
    /// `ends`, where `ends_after(start, ends)` is the probability for one.
    fn finds(present: usize, ends_after: &dyn Fn(u32, u32) -> f64) -> f64 {
        let mut sum = 0.0;
        for starts in STARTS {
            for ends in 1..=HOURS {
                let misses = (0..3).filter(|&n| present & 1 << n != 0 && STARTS[n] <= starts);
                sum += 1.0 - misses.map(|n| 1.0 - ends_after(STARTS[n], ends)).product::<f64>();
            }
        }
        sum / (3 * HOURS) as f64
    }

    #[test]
    fn the_rates_follow_from_what_is_drawn() {
        let facility = 0.625 * 0.85;
        let loaded = |start: u32, ends: u32| {
            (1..=8).filter(|hours| ends < start + hours).count() as f64 / 8.0
        };
        // The number of forwardings, of three, is drawn from none to three; all sets of the same
        // size are equally likely.
        let weight =
            |present: usize| [0.25, 0.25 / 3.0, 0.25 / 3.0, 0.25][present.count_ones() as usize];
        let sum: f64 = (0..8).map(|present| weight(present) * finds(present, &loaded)).sum();
        let inserted = |_: u32, ends: u32| f64::from(HOURS - ends) / f64::from(HOURS);
        let later: f64 = (0..8).map(|present| finds(present, &inserted) / 8.0).sum();
        let (low, high) = expected(Kind::GetNewDestination);
        assert!((facility * sum - low).abs() < 5e-5, "{}", facility * sum);
        assert!((facility * later - high).abs() < 5e-5, "{}", facility * later);
    }

    fn totals(kind: Kind, committed: u64, rolled_back: u64) -> RunTotals {
        let mut totals = RunTotals::new(Kind::MIX.len());
        let mut add = |result| {
            let aborts = AbortCounts::default();
            let (kind, whereabouts) = (kind as usize, Whereabouts::default());
            totals.add(&Finished {
                kind,
                result,
                retries: 0,
                skipped: 0,
                aborts,
                whereabouts,
                is_shipped: false,
            });
        };
        (0..committed).for_each(|_| add(TransactionResult::Committed));
        (0..rolled_back).for_each(|_| add(TransactionResult::RolledBack));
        totals
    }

    #[test]
    fn rates_that_chance_does_not_explain_are_noticed() {
        let config = TatpConfig::new(1_000_000);
        let holds =
            |kind, committed, rolled_back| check(&config, &totals(kind, committed, rolled_back)).ok;
        assert!(holds(Kind::GetAccessData, 6250, 3750));
        assert!(holds(Kind::GetAccessData, 6100, 3900));
        assert!(!holds(Kind::GetAccessData, 6000, 4000));
        assert!(!holds(Kind::GetAccessData, 6500, 3500));
        assert!(holds(Kind::GetNewDestination, 1700, 8300));
        assert!(!holds(Kind::GetNewDestination, 2390, 7610));
        assert!(!holds(Kind::UpdateLocation, 9999, 1));
        assert!(!holds(Kind::InsertCallForwarding, 10_000, 0));
        assert!(holds(Kind::DeleteCallForwarding, 0, 0));
    }

    #[test]
    fn a_wrong_rate_is_reported_with_its_bounds() {
        let config = TatpConfig::new(1_000_000);
        let detail = |committed| {
            let totals = totals(Kind::GetAccessData, committed, 10_000 - committed);
            check(&config, &totals).detail
        };
        let wrong = "get_access_data 60.00 % of 10000, expected 62.50 to 62.50, 60.";
        assert!(detail(6000).starts_with(wrong), "{}", detail(6000));
        assert!(detail(6000).ends_with(" are tolerated for this number"), "{}", detail(6000));
        assert_eq!(detail(6250), "get_access_data 62.50 %");
    }
}
