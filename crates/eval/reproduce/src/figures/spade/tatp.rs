//! [SPADE 5.3, figures 1 and 7 to 10]: TATP, from the baseline to the tuned design.

use super::designs::{self, VERSIONS};
use super::{MACHINES, prediction, sizes};
use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Compared, Outcome, Series, Table};
use crate::symmetric::{self, Plan, Seen, Tatp};
use std::sync::Arc;
use workload::tatp::Kind;

/// Subscribers of each machine, instead of the paper's 50 million in total, because of the
/// simulator's memory. Subscribers are drawn uniformly, so transactions rarely conflict
/// nevertheless.
const SUBSCRIBERS_EACH: u32 = 4_000;
/// Clients of each compute server: three per hardware thread. The paper does not say how many
/// concurrent transactions a thread has.
const CLIENTS: u32 = 48;
/// Million transactions per second that the text prints for each version on 50 machines.
const PUBLISHED: [f64; 4] = [39.9, 45.8, 66.4, 86.7];
/// The printed ratio of each version to the previous one, and of the last one to the first.
const PUBLISHED_GAINS: [f64; 4] = [1.147, 1.449, 1.307, 2.17];
/// The printed range of each step's throughput relative to the previous step, over the sizes of the
/// cluster.
const PUBLISHED_BETWEEN: [[f64; 2]; 3] = [[1.10, 1.15], [1.45, 1.50], [1.09, 1.30]];
/// The same for latencies, which are lower: the version, the percentile and the range. If the text
/// names no percentile, the median is used.
const PUBLISHED_LOWER: [(usize, usize, [f64; 2]); 4] =
    [(1, 50, [0.78, 0.81]), (2, 50, [0.75, 0.77]), (2, 99, [0.72, 0.78]), (3, 50, [0.78, 0.95])];
/// Factors on the time of a row, for the table of sensitivities.
const SLOWER: [u64; 3] = [4, 16, 64];

const RATE_WHY: &str = "ours is another engine: the paper's does a million transactions a second on the 16 cores of a \
                        machine, which does not follow from what cards and cores of the profile take; the table has slower cores";
const GAIN_WHY: &str = "what limits is another stage than the paper's, as the table shows";
const LATENCY_WHY: &str = "fewer transactions are under way, and each takes less: by what the text prints, a machine has more \
                           than 200";

/// A run of version `version` with this factor on the time of a row.
fn seen(run: &Run<'_>, machines: u16, version: usize, slower: u64) -> Seen {
    let subscribers = u64::from(SUBSCRIBERS_EACH) * u64::from(machines);
    let design = Arc::new(designs::tatp(version, subscribers));
    let load = Tatp::new((run.seed, machines, SUBSCRIBERS_EACH), design);
    let mut plan = plan(run, machines);
    plan.network.core.execute_row_ps *= slower;
    if slower > 1 {
        // About the same number of transactions as otherwise.
        plan.window_ns *= 4;
        plan.warm_ns *= 4;
    }
    let seen = symmetric::run(&plan, &load);
    assert_eq!(seen.given_up(), 0, "memory servers are full");
    seen
}

/// All versions on this many machines.
fn all(run: &mut Run<'_>, steps: &mut Steps, machines: u16, slower: u64) -> Vec<Seen> {
    let mut all = Vec::new();
    for (version, name) in VERSIONS.iter().enumerate() {
        steps.next(run, &format!("{name}, {machines} machines"));
        all.push(seen(run, machines, version, slower));
    }
    all
}

/// All versions on all numbers of machines.
fn points(run: &mut Run<'_>, steps: &mut Steps) -> Vec<(u16, Vec<Seen>)> {
    sizes(run).iter().map(|&machines| (machines, all(run, steps, machines, 1))).collect()
}

fn plan(run: &Run<'_>, machines: u16) -> Plan {
    Plan {
        clients: CLIENTS,
        practice: 0,
        // The first updates of a lane find room for old versions only after its horizon has
        // advanced.
        warm_ns: run.quick_or(100_000, 400_000),
        window_ns: run.quick_or(50_000, 200_000),
        ..Plan::new(run.seed, machines)
    }
}

fn parameters(run: &Run<'_>) -> Vec<(&'static str, String)> {
    let mut parameters = plan(run, 2).parameters();
    parameters.push(("subscribers of each machine", SUBSCRIBERS_EACH.to_string()));
    parameters
}

fn curve(
    points: &[(u16, Vec<Seen>)],
    name: String,
    version: usize,
    value: impl Fn(&Seen) -> f64,
) -> Series {
    let value = |(machines, seen): &(u16, Vec<Seen>)| (f64::from(*machines), value(&seen[version]));
    Series { name, points: points.iter().map(value).collect(), is_published: false }
}

fn published(name: String, value: f64) -> Series {
    let machines = f64::from(MACHINES[MACHINES.len() - 1]);
    Series { name, points: vec![(machines, value)], is_published: true }
}

pub fn throughput(run: &mut Run<'_>) -> Outcome {
    let slower: &[u64] = run.quick_or(&SLOWER[..1], &SLOWER);
    let mut steps = Steps::of(VERSIONS.len() * (sizes(run).len() + slower.len()));
    let points = points(run, &mut steps);
    let mut series = Vec::new();
    for (version, name) in VERSIONS.into_iter().enumerate() {
        let millions = |seen: &Seen| seen.committed_per_s() / 1e6;
        series.push(curve(&points, name.to_owned(), version, millions));
        series.push(published(format!("{name}, as published"), PUBLISHED[version]));
    }
    let (machines, last) = points.last().expect("there are sizes");
    let mut rates = vec![rates("as the profile says", last)];
    for &slower in slower {
        let name = format!("rows take cores {slower} times as long");
        rates.push(self::rates(&name, &all(run, &mut steps, *machines, slower)));
    }
    Outcome {
        parameters: parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "million committed transactions per second", is_logarithmic: false },
        series,
        compared: if run.is_quick { Vec::new() } else { compared(last, &points) },
        tables: vec![
            stages(&points),
            Table {
                shows: format!(
                    "Influences on the numbers, {machines} machines: million transactions per second; none is fitted to them"
                ),
                columns: RATE_COLUMNS.map(str::to_owned).to_vec(),
                rows: rates,
            },
        ],
        notes: Vec::new(),
    }
}

const RATE_COLUMNS: [&str; 6] =
    ["", VERSIONS[0], VERSIONS[1], VERSIONS[2], VERSIONS[3], "tuned over baseline"];

/// The rates of all versions.
fn rates(name: &str, seen: &[Seen]) -> Vec<String> {
    let millions = |seen: &Seen| format!("{:.1}", seen.committed_per_s() / 1e6);
    let gain = seen[3].committed_per_s() / seen[0].committed_per_s();
    let cells = seen.iter().map(millions).chain([format!("{gain:.2}")]);
    std::iter::once(name.to_owned()).chain(cells).collect()
}

fn compared(seen: &[Seen], points: &[(u16, Vec<Seen>)]) -> Vec<Compared> {
    let rate = |version: usize| seen[version].committed_per_s();
    let absolute = (0..VERSIONS.len()).map(|version| {
        let what = format!("{}, 50 machines", VERSIONS[version]);
        prediction(what, "M/s", PUBLISHED[version], rate(version) / 1e6, RATE_WHY)
    });
    let pairs = [(1, 0), (2, 1), (3, 2), (3, 0)];
    let gains = pairs.into_iter().zip(PUBLISHED_GAINS).map(|((of, over), published)| {
        let what = format!("{} over {}", VERSIONS[of], VERSIONS[over]);
        prediction(what, "x", published, rate(of) / rate(over), GAIN_WHY)
    });
    let between = PUBLISHED_BETWEEN.into_iter().zip(1..).flat_map(|(ends, version)| {
        EACH_END.into_iter().zip(ends).map(move |(of, published)| {
            let (ours, which) = step(points, version, of, |seen| seen.committed_per_s());
            let what = format!("{} over {}, {which}", VERSIONS[version], VERSIONS[version - 1]);
            prediction(what, "x", published, ours, GAIN_WHY)
        })
    });
    absolute.chain(gains).chain(between).collect()
}

/// The ratio of a version to the previous one, for these sizes of the cluster, and the description
/// of these sizes.
fn step(
    points: &[(u16, Vec<Seen>)],
    version: usize,
    of: Of,
    value: impl Fn(&Seen) -> f64,
) -> (f64, &'static str) {
    let ratios = points.iter().map(|(_, seen)| value(&seen[version]) / value(&seen[version - 1]));
    match of {
        Of::Mean => (ratios.sum::<f64>() / points.len() as f64, "mean of all sizes"),
        Of::Least => (ratios.fold(f64::INFINITY, f64::min), "least of all sizes"),
        Of::Greatest => (ratios.fold(0.0, f64::max), "greatest of all sizes"),
    }
}

/// The rate and the busiest stage of each point.
fn stages(points: &[(u16, Vec<Seen>)]) -> Table {
    let mut rows = Vec::new();
    for (machines, seen) in points {
        for (version, seen) in seen.iter().enumerate() {
            let [round_trips, verbs, bytes] = seen.all().traffic();
            rows.push(vec![
                machines.to_string(),
                VERSIONS[version].to_owned(),
                format!("{:.1}", seen.committed_per_s() / 1e6),
                format!("{:.1}", seen.ended_per_s() / 1e6),
                format!("{round_trips:.2}"),
                format!("{verbs:.2}"),
                format!("{bytes:.0}"),
                format!("{:.1} %", seen.abort_percent()),
                seen.busiest.to_string(),
            ]);
        }
    }
    Table {
        shows: "Each point: millions a second that committed, and that ended, with those that fail by the rules of TATP; what \
                one takes of its client; what is busiest, where machine 0 has the oracle"
            .to_owned(),
        columns: STAGE_COLUMNS.map(str::to_owned).to_vec(),
        rows,
    }
}

const STAGE_COLUMNS: [&str; 9] = [
    "machines",
    "version",
    "committed",
    "ended",
    "round trips",
    "verbs",
    "bytes",
    "made again",
    "busiest",
];

/// Figure 7: latency.
pub fn latency(run: &mut Run<'_>) -> Outcome {
    let mut steps = Steps::of(VERSIONS.len() * sizes(run).len());
    let points = points(run, &mut steps);
    let mut series = Vec::new();
    for (percent, title, printed) in [(50, "median", 193.0), (99, "99th percentile", 660.0)] {
        for (version, name) in VERSIONS.into_iter().enumerate() {
            let us = move |seen: &Seen| seen.us(percent);
            series.push(curve(&points, format!("{name}, {title}"), version, us));
            if version == 0 {
                series.push(published(format!("{name}, {title}, as published"), printed));
            }
        }
    }
    let (_, last) = points.last().expect("there are sizes");
    let us = |version: usize, percent| last[version].us(percent);
    let mut compared = Vec::new();
    // For two steps the text prints the saving in microseconds.
    for (percent, title, printed) in
        [(50, "median", [193.0, 37.0, 26.0]), (99, "99th percentile", [660.0, 174.0, 135.0])]
    {
        let mut compare = |what: String, published, ours| {
            compared.push(prediction(what, "us", published, ours, LATENCY_WHY));
        };
        compare(format!("{}, {title}", VERSIONS[0]), printed[0], us(0, percent));
        for step in [2, 3] {
            let what = format!("{title}: what {} saves", VERSIONS[step]);
            compare(what, printed[step - 1], us(step - 1, percent) - us(step, percent));
        }
    }
    for (version, percent, ends) in PUBLISHED_LOWER {
        for (of, published) in EACH_END.into_iter().zip(ends) {
            let (ours, which) = step(&points, version, of, |seen| seen.us(percent));
            let title = if percent == 50 { "median" } else { "99th percentile" };
            let what =
                format!("{title}: {} over {}, {which}", VERSIONS[version], VERSIONS[version - 1]);
            compared.push(prediction(what, "x", published, ours, LATENCY_WHY));
        }
    }
    latencies(run, series, compared)
}

/// Latencies by machines; quick runs are not compared with the text.
fn latencies(run: &mut Run<'_>, series: Vec<Series>, compared: Vec<Compared>) -> Outcome {
    Outcome {
        parameters: parameters(run),
        x: Axis { title: "machines", is_logarithmic: false },
        y: Axis { title: "microseconds", is_logarithmic: true },
        series,
        compared: if run.is_quick { Vec::new() } else { compared },
        tables: Vec::new(),
        notes: Vec::new(),
    }
}

/// The position of GET_ACCESS_DATA in the mix.
const ACCESS: usize = 2;
/// The printed latency relative to the previous step: the version, the percentile, and whether it
/// is the least, the greatest or the average over the sizes, since the text names no size.
const PUBLISHED_ACCESS: [(usize, usize, Of, f64, &str); 6] = [
    (2, 50, Of::Mean, 0.75, AT_HOME_WHY),
    (2, 99, Of::Least, 1.40, SLOWEST_WHY),
    (2, 99, Of::Greatest, 1.53, SLOWEST_WHY),
    (3, 50, Of::Least, 0.77, TUNED_WHY),
    (3, 50, Of::Greatest, 0.95, TUNED_WHY),
    (3, 99, Of::Least, 0.55, TUNED_WHY),
];

const AT_HOME_WHY: &str = "of ten calls nine have their row at home, which takes no network at all, where a call of the paper's \
                           waits for whatever else its machine has under way";
const SLOWEST_WHY: &str = "the slowest are those that go out, by a message here as there; without partitions all do, and wait for \
                        cards that are full, which here outweighs the message";
const TUNED_WHY: &str = "a message and its answer take a microsecond or two of cores, about as much as a read and its wait, so \
                         that the one call in ten that is a read again is hardly sooner";

/// Which size of the cluster a ratio refers to.
#[derive(Clone, Copy)]
enum Of {
    Mean,
    Least,
    Greatest,
}

const EACH_END: [Of; 2] = [Of::Least, Of::Greatest];

/// Figures 8 and 9: GET_ACCESS_DATA, after partitioning and with tuned remote accesses.
pub fn access(run: &mut Run<'_>) -> Outcome {
    let mut steps = Steps::of(VERSIONS.len() * sizes(run).len());
    let points = points(run, &mut steps);
    let mut series = Vec::new();
    for (percent, title) in [(50, "median"), (99, "99th percentile")] {
        for (version, name) in VERSIONS.iter().enumerate().skip(1) {
            let us = move |seen: &Seen| seen.kind_us(ACCESS, percent);
            series.push(curve(&points, format!("{name}, {title}"), version, us));
        }
    }
    let tables = vec![access_gains(&points)];
    Outcome { tables, ..latencies(run, series, compared_access(&points)) }
}

/// The printed numbers of GET_ACCESS_DATA compared with ours.
fn compared_access(points: &[(u16, Vec<Seen>)]) -> Vec<Compared> {
    let compare =
        |(version, percent, of, published, why): (usize, usize, Of, f64, &'static str)| {
            let us = |seen: &Seen| seen.kind_us(ACCESS, percent);
            let (ours, which) = step(points, version, of, us);
            let title = if percent == 50 { "median" } else { "99th percentile" };
            let what =
                format!("{title}: {} over {}, {which}", VERSIONS[version], VERSIONS[version - 1]);
            prediction(what, "x", published, ours, why)
        };
    PUBLISHED_ACCESS.map(compare).to_vec()
}

/// The effect of each step on GET_ACCESS_DATA, by machines.
fn access_gains(points: &[(u16, Vec<Seen>)]) -> Table {
    let row = |(machines, seen): &(u16, Vec<Seen>)| {
        let over = |of: usize, percent| {
            let us = |version: usize| seen[version].kind_us(ACCESS, percent);
            format!("{:+.0} %", 100.0 * (us(of) / us(of - 1) - 1.0))
        };
        vec![machines.to_string(), over(2, 50), over(2, 99), over(3, 50), over(3, 99)]
    };
    let columns = [
        "machines".to_owned(),
        format!("{} over {}, median", VERSIONS[2], VERSIONS[1]),
        "99th percentile".to_owned(),
        format!("{} over {}, median", VERSIONS[3], VERSIONS[2]),
        "99th percentile".to_owned(),
    ];
    Table {
        shows: "Latency of GET_ACCESS_DATA: partitions over none, and tuned remote accesses over verbs alone".to_owned(),
        columns: columns.to_vec(),
        rows: points.iter().map(row).collect(),
    }
}

/// Figure 10: each procedure.
pub fn procedures(run: &mut Run<'_>) -> Outcome {
    let machines = *sizes(run).last().expect("there are sizes");
    let mut steps = Steps::of(VERSIONS.len());
    let seen = all(run, &mut steps, machines, 1);
    let mut series = Vec::new();
    for (percent, title) in [(50, "median"), (99, "99th percentile")] {
        for (name, seen) in VERSIONS.into_iter().zip(&seen) {
            let points =
                (0..Kind::MIX.len()).map(|kind| (kind as f64 + 1.0, seen.kind_us(kind, percent)));
            let (name, points) = (format!("{name}, {title}"), points.collect());
            series.push(Series { name, points, is_published: false });
        }
    }
    Outcome {
        parameters: [parameters(run), vec![("machines", machines.to_string())]].concat(),
        x: Axis { title: "procedure, in the order of the specification", is_logarithmic: false },
        y: Axis { title: "microseconds", is_logarithmic: true },
        series,
        compared: if run.is_quick { Vec::new() } else { of_procedures(&seen) },
        tables: vec![by_procedure(&seen)],
        notes: Vec::new(),
    }
}

/// The printed numbers of the two reads of single rows.
fn of_procedures(seen: &[Seen]) -> Vec<Compared> {
    let mut compared = Vec::new();
    for (kind, name, medians, tails, more) in [
        (0, "GET_SUBSCRIBER_DATA", [116.0, 89.0], [410.0, 224.0], 1.409),
        (ACCESS, "GET_ACCESS_DATA", [94.0, 72.0], [384.0, 208.0], 1.401),
    ] {
        let us = |version: usize, percent| seen[version].kind_us(kind, percent);
        for (percent, title, printed) in [(50, "median", medians), (99, "99th percentile", tails)] {
            for (version, printed) in [2, 3].into_iter().zip(printed) {
                let what = format!("{name}, {}, {title}", VERSIONS[version]);
                compared.push(prediction(what, "us", printed, us(version, percent), LATENCY_WHY));
            }
        }
        let what = format!("{name}, 99th percentile: {} over {}", VERSIONS[2], VERSIONS[1]);
        compared.push(prediction(what, "x", more, us(2, 99) / us(1, 99), TAIL_WHY));
    }
    let medians =
        (0..Kind::MIX.len()).map(|kind| seen[3].kind_us(kind, 50) / seen[0].kind_us(kind, 50));
    let (what, least) = (
        "median: tuned over baseline, least of all procedures",
        medians.fold(f64::INFINITY, f64::min),
    );
    compared.push(prediction(what.to_owned(), "x", 0.30, least, AT_HOME_WHY));
    compared
}

const TAIL_WHY: &str = "cards are full without partitions, and everything waits for them";

/// Medians and 99th percentiles, with the round trips and verbs of each procedure if everything is
/// one-sided.
fn by_procedure(seen: &[Seen]) -> Table {
    let row = |(kind, (of, _)): (usize, &(Kind, u32))| {
        let us =
            |seen: &Seen| format!("{:.1} / {:.1}", seen.kind_us(kind, 50), seen.kind_us(kind, 99));
        let mut row = vec![format!("{}: {}", kind + 1, of.name())];
        row.extend(seen.iter().map(us));
        let traffic = seen[1].kind(kind).map(|kind| kind.traffic());
        row.push(
            traffic.map_or(String::new(), |[trips, verbs, _]| format!("{trips:.1} / {verbs:.1}")),
        );
        row
    };
    let columns = [
        "procedure",
        VERSIONS[0],
        VERSIONS[1],
        VERSIONS[2],
        VERSIONS[3],
        "+IST: round trips / verbs",
    ];
    Table {
        shows: "Microseconds of each procedure, median / 99th percentile".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: Kind::MIX.iter().enumerate().map(row).collect(),
    }
}
