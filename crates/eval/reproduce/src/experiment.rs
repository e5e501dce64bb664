//! The definition of an experiment, and all experiments.

use crate::figures::{
    bandwidth, contention, ethernet, hstore, locality, oracle, population, published, queue_pairs,
    replication, scalability, scale, spade, tpcw, traditional, traffic,
};
use crate::outcome::Outcome;
use crate::symmetric;
use std::path::PathBuf;

/// The protocol of NAM-DB that an experiment runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// This engine's.
    Ours,
    /// The protocol that the paper prints, [`baselines::nam_db`].
    AsPublished,
}

/// One figure, or one number, of a paper.
pub struct Experiment {
    /// Its name on the command line and in file names.
    pub name: &'static str,
    /// The figure or section of the original.
    pub figure: &'static str,
    /// A sentence that describes it.
    pub shows: &'static str,
    /// The protocol that it runs; `None` if it runs no protocol of NAM-DB, or both.
    pub protocol: Option<Protocol>,
    /// Its default hardware profile.
    pub profile: &'static str,
    pub run: fn(&mut Run<'_>) -> Outcome,
}

/// All experiments, in the order in which `all` runs them.
pub const EXPERIMENTS: [Experiment; 35] = [
    Experiment {
        name: "bandwidth",
        figure: "blog figure 1, and its text",
        shows: "bandwidth and latency of the network beside those of memory",
        protocol: None,
        profile: "connect-ib-2xfdr",
        run: bandwidth::run,
    },
    Experiment {
        name: "ethernet-bound",
        figure: "NAM-DB section 1.1",
        shows: "what the bandwidth of Ethernet leaves of distributed transactions",
        protocol: None,
        profile: "ethernet-10g",
        run: ethernet::run,
    },
    Experiment {
        name: "queue-pairs",
        figure: "NAM-DB figure 9",
        shows: "reads a second of one server by queue pairs and size",
        protocol: None,
        profile: "connect-ib-2xfdr",
        run: queue_pairs::run,
    },
    Experiment {
        name: "oracle",
        figure: "NAM-DB figure 7",
        shows: "timestamp transactions a second by clients, for each step of the oracle",
        protocol: None,
        profile: "connect-ib-2xfdr",
        run: oracle::run,
    },
    Experiment {
        name: "tpcw",
        figure: "blog figure 4, and its text",
        shows: "buying, by one-sided verbs and by messages over several networks",
        protocol: None,
        profile: "connect-ib-2xfdr",
        run: tpcw::run,
    },
    Experiment {
        name: "scalability",
        figure: "NAM-DB figure 4: NAM-DB",
        shows: "new orders a second by the number of machines, with and without locality",
        protocol: Some(Protocol::Ours),
        profile: "connect-ib-2xfdr",
        run: scalability::run,
    },
    Experiment {
        name: "latency",
        figure: "NAM-DB figure 5a: NAM-DB",
        shows: "latency of new orders by the number of machines",
        protocol: Some(Protocol::Ours),
        profile: "connect-ib-2xfdr",
        run: scalability::latency,
    },
    Experiment {
        name: "locality",
        figure: "NAM-DB figure 6",
        shows: "new orders a second by the degree of distribution, with and without locality",
        protocol: Some(Protocol::Ours),
        profile: "connect-ib-2xfdr",
        run: locality::run,
    },
    Experiment {
        name: "scalability-as-published",
        figure: "NAM-DB figure 4: NAM-DB, as printed",
        shows: "new orders a second by the number of machines",
        protocol: Some(Protocol::AsPublished),
        profile: "connect-ib-2xfdr",
        run: published::scalability::run,
    },
    Experiment {
        name: "latency-as-published",
        figure: "NAM-DB figure 5a: NAM-DB, as printed",
        shows: "latency of new orders by the number of machines",
        protocol: Some(Protocol::AsPublished),
        profile: "connect-ib-2xfdr",
        run: published::scalability::latency,
    },
    Experiment {
        name: "latency-steps",
        figure: "NAM-DB figure 5b, as printed",
        shows: "what the steps of a new order take",
        protocol: Some(Protocol::AsPublished),
        profile: "connect-ib-2xfdr",
        run: published::scalability::steps,
    },
    Experiment {
        name: "locality-as-published",
        figure: "NAM-DB figure 6, as printed",
        shows: "new orders a second by the degree of distribution",
        protocol: Some(Protocol::AsPublished),
        profile: "connect-ib-2xfdr",
        run: published::locality::run,
    },
    Experiment {
        name: "contention-as-published",
        figure: "NAM-DB figure 8, as printed: throughput",
        shows: "new orders a second by the number of machines and the skew of items",
        protocol: Some(Protocol::AsPublished),
        profile: "connect-ib-2xfdr",
        run: published::contention::throughput,
    },
    Experiment {
        name: "contention-aborts-as-published",
        figure: "NAM-DB figure 8, as printed: abort rate",
        shows: "aborted attempts by the number of machines and the skew of items",
        protocol: Some(Protocol::AsPublished),
        profile: "connect-ib-2xfdr",
        run: published::contention::aborts,
    },
    Experiment {
        name: "staleness",
        figure: "NAM-DB section 4.2, as printed",
        shows: "what each step of the oracle has aborted",
        protocol: Some(Protocol::AsPublished),
        profile: "connect-ib-2xfdr",
        run: published::staleness::run,
    },
    Experiment {
        name: "communicators",
        figure: "NAM-DB section 7.5, as printed",
        shows: "new orders a second if few threads post for all",
        protocol: Some(Protocol::AsPublished),
        profile: "connect-ib-2xfdr",
        run: published::communicators::run,
    },
    Experiment {
        name: "trad-si",
        figure: "NAM-DB figure 4: Trad-SI",
        shows: "new orders of TPC-C by two-sided messages, by the number of machines",
        protocol: None,
        profile: "connect-ib-2xfdr",
        run: traditional::run,
    },
    Experiment {
        name: "trad-si-latency",
        figure: "NAM-DB figure 5a: Trad-SI",
        shows: "how long new orders take by two-sided messages, by the number of machines",
        protocol: None,
        profile: "connect-ib-2xfdr",
        run: traditional::run_latency,
    },
    Experiment {
        name: "h-store",
        figure: "NAM-DB section 7.3",
        shows: "new-orders on single-threaded partitions, by the degree of distribution",
        protocol: None,
        profile: "ipoib-fdr",
        run: hstore::run,
    },
    Experiment {
        name: "traffic",
        figure: "beside NAM-DB figure 5",
        shows: "round trips, verbs, bytes and latency of each type of transaction, on every profile",
        protocol: None,
        profile: "connect-ib-2xfdr",
        run: traffic::run,
    },
    Experiment {
        name: "replication-cost",
        figure: "beside the slides on Active-Memory replication",
        shows: "TPC-C by the number of replicas: new orders a second, and costs of a transaction",
        protocol: None,
        profile: "connectx3-fdr",
        run: replication::run,
    },
    Experiment {
        name: "contention",
        figure: "NAM-DB figure 8, ours",
        shows: "new orders a second by the number of machines and the skew of items, and what is aborted",
        protocol: Some(Protocol::Ours),
        profile: "connect-ib-2xfdr",
        run: contention::run,
    },
    Experiment {
        name: "scale",
        figure: "beyond NAM-DB figure 4",
        shows: "new orders a second of up to a thousand machines, and what is full first",
        protocol: Some(Protocol::Ours),
        profile: "connect-ib-2xfdr",
        run: scale::run,
    },
    Experiment {
        name: "population",
        figure: "beside NAM-DB figure 4",
        shows: "what TPC-C does if more is loaded for each warehouse",
        protocol: None,
        profile: "connect-ib-2xfdr",
        run: population::run,
    },
    Experiment {
        name: "spade-transfers",
        figure: "SPADE figure 3",
        shows: "reads a second of each of 50 machines by transfer size",
        protocol: None,
        profile: symmetric::PROFILE,
        run: spade::transfers::run,
    },
    Experiment {
        name: "spade-inlined",
        figure: "SPADE figure 4",
        shows: "lookups of inlined rows by neighbourhood and machines",
        protocol: None,
        profile: symmetric::PROFILE,
        run: spade::inlined::run,
    },
    Experiment {
        name: "spade-mix",
        figure: "SPADE figure 5",
        shows: "lookups through primary and secondary index, rows inlined and outside",
        protocol: None,
        profile: symmetric::PROFILE,
        run: spade::mix::run,
    },
    Experiment {
        name: "spade-update-small",
        figure: "SPADE figure 6a",
        shows: "updates of rows of 16 bytes, by verbs and shipped",
        protocol: None,
        profile: symmetric::PROFILE,
        run: spade::update::small,
    },
    Experiment {
        name: "spade-update-large",
        figure: "SPADE figure 6b",
        shows: "updates of rows of 256 bytes, by verbs and shipped",
        protocol: None,
        profile: symmetric::PROFILE,
        run: spade::update::large,
    },
    Experiment {
        name: "spade-tatp",
        figure: "SPADE figures 1 and 7: throughput",
        shows: "TATP by machines, from the baseline to the tuned design",
        protocol: None,
        profile: symmetric::PROFILE,
        run: spade::tatp::throughput,
    },
    Experiment {
        name: "spade-tatp-latency",
        figure: "SPADE figure 7: latency",
        shows: "latency of TATP by machines, from the baseline to the tuned design",
        protocol: None,
        profile: symmetric::PROFILE,
        run: spade::tatp::latency,
    },
    Experiment {
        name: "spade-tatp-access",
        figure: "SPADE figures 8 and 9",
        shows: "latency of TATP's GET_ACCESS_DATA by machines, partitioned, and with tuned remote accesses",
        protocol: None,
        profile: symmetric::PROFILE,
        run: spade::tatp::access,
    },
    Experiment {
        name: "spade-tatp-procedures",
        figure: "SPADE figure 10",
        shows: "latency of each procedure of TATP, from the baseline to the tuned design",
        protocol: None,
        profile: symmetric::PROFILE,
        run: spade::tatp::procedures,
    },
    Experiment {
        name: "spade-tpcc",
        figure: "SPADE figure 11",
        shows: "TPC-C by machines, remote transactions by verbs and shipped",
        protocol: None,
        profile: symmetric::PROFILE,
        run: spade::tpcc::run,
    },
    Experiment {
        name: "spade-regret",
        figure: "SPADE, no figure: regret and forecasts",
        shows: "what designs were forecast, and what was measured of them",
        protocol: None,
        profile: "connectx3-fdr",
        run: spade::regret::run,
    },
];

/// The suffix of the names of experiments that repeat a figure with the protocol as printed.
const AS_PUBLISHED: &str = "-as-published";

impl Experiment {
    /// The experiment that shows the same with the protocol as printed, possibly this one; `None`
    /// if there is none.
    pub fn as_published(&'static self) -> Option<&'static Self> {
        match self.protocol {
            Some(Protocol::AsPublished) => Some(self),
            Some(Protocol::Ours) => find(&format!("{}{AS_PUBLISHED}", self.name)),
            None => None,
        }
    }
}

pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

/// The parameters of a run.
pub struct Run<'a> {
    /// Seed of all randomness.
    pub seed: u64,
    /// Whether fewer points and shorter windows suffice.
    pub is_quick: bool,
    /// Number of threads that may work concurrently; the result does not depend on it.
    pub threads: usize,
    /// Where long experiments store their measurements, so that they can resume; `None`: nowhere.
    pub keep: Option<Keep>,
    /// Called before each point: how many are done, of how many, and which one is next.
    pub progress: &'a mut dyn FnMut(u64, u64, &str),
}

/// A file that stores the measurements of an unfinished experiment.
#[derive(Clone, Debug)]
pub struct Keep {
    pub file: PathBuf,
    /// The version of the program that measures: measurements of another version are not reused.
    pub program: String,
}

impl Run<'_> {
    /// Returns the first value in a quick run, otherwise the second.
    pub(crate) fn quick_or<T>(&self, quick: T, full: T) -> T {
        if self.is_quick { quick } else { full }
    }
}

/// The points of an experiment, with progress reports.
pub(crate) struct Steps {
    done: u64,
    total: u64,
}

impl Steps {
    /// Steps of an experiment with `total` points.
    pub(crate) fn of(total: usize) -> Self {
        Self { done: 0, total: total as u64 }
    }

    /// Reports that `what` is the next point.
    pub(crate) fn next(&mut self, run: &mut Run<'_>, what: &str) {
        assert!(self.done < self.total, "{what} was not counted");
        (run.progress)(self.done, self.total, what);
        self.done += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{MadeOf, Record};
    use crate::{picture, text};

    #[test]
    fn names_are_found_and_differ() {
        for experiment in &EXPERIMENTS {
            let found = find(experiment.name).expect("it is one of them");
            assert_eq!(found.figure, experiment.figure);
            assert!(hardware::profile(experiment.profile).is_ok());
        }
        assert!(find("figure 12").is_none());
    }

    #[test]
    fn figures_by_the_protocol_as_printed_are_found() {
        let printed = |name| {
            let experiment = find(name).expect("it is one of them");
            experiment.as_published().map(|printed| printed.name)
        };
        assert_eq!(printed("contention"), Some("contention-as-published"));
        assert_eq!(printed("locality-as-published"), Some("locality-as-published"));
        assert_eq!(printed("staleness"), Some("staleness"));
        assert_eq!([printed("oracle"), printed("scale")], [None, None]);
        // A name with this suffix must be true.
        for experiment in EXPERIMENTS.iter().filter(|one| one.name.ends_with(AS_PUBLISHED)) {
            assert_eq!(experiment.protocol, Some(Protocol::AsPublished), "{}", experiment.name);
        }
    }

    #[test]
    fn equal_seeds_give_equal_bytes_and_every_point_is_told_of() {
        let bytes = |experiment: &Experiment| {
            let mut told = Vec::new();
            let mut progress = |done, total, _: &str| told.push((done, total));
            let mut run =
                Run { seed: 1, is_quick: true, threads: 1, keep: None, progress: &mut progress };
            let outcome = (experiment.run)(&mut run);
            let total = told.first().expect("there are points").1;
            assert!(told.iter().map(|told| told.0).eq(0..total), "{}: {told:?}", experiment.name);
            let made_of =
                MadeOf { commit: String::new(), seed: 1, is_quick: true, wall_time_s: 0.0 };
            let record = Record::new(experiment, made_of, outcome);
            (text::csv(&record), picture::svg(&record).expect("it can be drawn"))
        };
        for name in ["bandwidth", "ethernet-bound"] {
            let experiment = find(name).expect("it is one of them");
            assert!(bytes(experiment) == bytes(experiment), "{name}");
        }
    }
}
