//! Remaining time of a run of several experiments.

use namdb::host::Moment;
use reproduce::Experiment;

/// Durations of the experiments in seconds on two cores, quick and full. Only their ratios matter:
/// the speed of this host is known once the first one has finished.
const SECONDS: [(&str, f64, f64); 24] = [
    ("bandwidth", 0.1, 0.1),
    ("ethernet-bound", 0.1, 0.8),
    ("queue-pairs", 0.1, 0.3),
    ("oracle", 0.1, 0.3),
    ("tpcw", 1.0, 18.0),
    ("scalability", 8.5, 170.0),
    ("latency", 3.4, 91.0),
    ("locality", 18.0, 84.0),
    ("scalability-as-published", 8.0, 150.0),
    ("latency-as-published", 4.0, 80.0),
    ("latency-steps", 4.0, 80.0),
    ("locality-as-published", 8.0, 60.0),
    ("contention-as-published", 8.0, 240.0),
    ("contention-aborts-as-published", 8.0, 240.0),
    ("staleness", 5.0, 60.0),
    ("contention", 10.0, 400.0),
    ("scale", 8.0, 420.0),
    ("communicators", 8.0, 200.0),
    ("trad-si", 2.6, 70.0),
    ("trad-si-latency", 2.5, 78.0),
    ("h-store", 1.3, 24.0),
    ("traffic", 2.0, 29.0),
    ("population", 3.6, 20.0),
    ("spade-regret", 12.0, 1500.0),
];
/// Durations of an experiment that is not listed.
const OTHER_SECONDS: (f64, f64) = (5.0, 100.0);

/// The unfinished experiments.
pub struct RemainingTime {
    start: Moment,
    /// Expected seconds per experiment, in order.
    expected_s: Vec<f64>,
    over: usize,
}

impl RemainingTime {
    /// Starts with all of these experiments.
    pub fn of(experiments: &[&Experiment], is_quick: bool) -> Self {
        let expected_s = experiments.iter().map(|experiment| expected_s(experiment.name, is_quick));
        Self { start: Moment::now(), expected_s: expected_s.collect(), over: 0 }
    }

    /// Records that an experiment has finished.
    pub fn one_less(&mut self) {
        self.over += 1;
    }

    /// Text after the progress of the current experiment, which is at `share`; empty if it is the
    /// only one.
    pub fn sentence(&self, share: f64) -> String {
        let count = self.expected_s.len();
        if count < 2 {
            return String::new();
        }
        let minutes = left_s(&self.expected_s, self.over, share, self.start.elapsed_s()) / 60.0;
        format!(
            " (experiment {} of {count}, {:.0} min left for all)",
            self.over + 1,
            minutes.ceil()
        )
    }
}

fn expected_s(name: &str, is_quick: bool) -> f64 {
    let known = SECONDS.iter().find(|known| known.0 == name);
    let (quick, full) = known.map_or(OTHER_SECONDS, |known| (known.1, known.2));
    if is_quick { quick } else { full }
}

/// Remaining seconds, from the expected ones and the pace so far.
fn left_s(expected_s: &[f64], over: usize, share: f64, elapsed_s: f64) -> f64 {
    let all: f64 = expected_s.iter().sum();
    let done = expected_s[..over].iter().sum::<f64>() + share * expected_s[over];
    // Before anything has finished, the host's speed is unknown.
    let pace = if done > 0.0 { elapsed_s / done } else { 1.0 };
    (all - done) * pace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_the_pace_of_this_host() {
        let expected_s = [10.0, 30.0, 60.0];
        assert_eq!(left_s(&expected_s, 0, 0.0, 0.0), 100.0);
        // Half of the second experiment has finished after 50 s instead of 25 s, so the host is
        // half as fast.
        assert_eq!(left_s(&expected_s, 1, 0.5, 50.0), 150.0);
    }

    #[test]
    fn one_experiment_alone_says_nothing_of_others() {
        let oracle = reproduce::find("oracle").expect("it is one of them");
        assert_eq!(RemainingTime::of(&[oracle], true).sentence(0.5), "");
        let two = RemainingTime::of(&[oracle, oracle], true);
        assert!(two.sentence(0.0).starts_with(" (experiment 1 of 2, "), "{}", two.sentence(0.0));
    }
}
