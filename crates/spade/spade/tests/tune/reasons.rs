//! The choice and the reasons against other candidates: reasons agree with the figures of the
//! report.

use crate::support::{Subject, measurements};
use spade::tune::{Alternative, Objective, Options, Tuning, Verdict};

/// Designs within this relative distance are equally fast.
const RESOLUTION: f64 = 0.005;
/// Figures have six digits.
const DIGITS: f64 = 1e-5;

const SHIPPED: [&str; 4] =
    ["connectx3-fdr", "connectx3-fdr-4", "connectx5-100g-4", "ethernet-10g-4"];

/// Throughput, latency and memory of a candidate.
fn figures(of: &Alternative) -> Option<(f64, f64, u64)> {
    let forecast = of.forecast.as_ref()?;
    Some((forecast.transactions_per_s, forecast.latency_us, of.bytes_each))
}

fn beats(one: (f64, f64, u64), other: (f64, f64, u64)) -> bool {
    one.0 >= other.0 && one.1 <= other.1 && one.2 <= other.2 && one != other
}

/// The number before a unit, and the text after it.
fn number<'r>(reason: &'r str, unit: &str) -> Option<(f64, &'r str)> {
    let (number, rest) = reason.split_once(unit)?;
    Some((number.trim().parse().ok()?, rest))
}

/// Whether a difference in percent is the one between two figures.
fn is_share(told: f64, share: f64) -> bool {
    share > 0.0 && (told - 100.0 * share).abs() <= 0.051_f64.max(100.0 * DIGITS)
}

/// Whether the rest of a reason is true.
fn is_against(rest: &str, own: (f64, f64, u64), of: (f64, f64, u64), all: &[Alternative]) -> bool {
    let rest = rest.trim_start_matches(", ");
    if rest.starts_with("but takes ") {
        return of.2 > own.2;
    }
    if let Some(name) = rest.strip_prefix("but in no figure better than ") {
        let better = all.iter().find(|one| one.what == name).and_then(figures);
        return better.is_some_and(|better| beats(better, of));
    }
    // A stage, or all stages together.
    let Some((before, was)) = rest.split_once(" ns, not ") else { return false };
    let is: Option<f64> = before.rsplit(' ').next().and_then(|number| number.parse().ok());
    is.zip(was.parse().ok()).is_some_and(|(is, was): (f64, f64)| is > was)
}

/// Whether a reason agrees with the figures.
fn agrees(
    objective: Objective,
    own: (f64, f64, u64),
    of: (f64, f64, u64),
    reason: &str,
    all: &[Alternative],
) -> bool {
    let (fewer, later) = (1.0 - of.0 / own.0, of.1 / own.1 - 1.0);
    let worse = if objective == Objective::Throughput { fewer } else { later };
    if let Some(rest) = reason.strip_prefix("as fast").or(reason.strip_prefix("same latency")) {
        return worse.abs() <= RESOLUTION + 2.0 * DIGITS && is_against(rest, own, of, all);
    }
    if reason.ends_with(" are allowed") {
        return of.2 > own.2;
    }
    if reason == "the same forecast" {
        return own == of;
    }
    let Some((told, rest)) = number(reason, " % ") else { return false };
    match rest {
        rest if rest.starts_with("fewer: ") => {
            is_share(told, fewer) && is_against(&rest["fewer: ".len()..], own, of, all)
        }
        "fewer" => is_share(told, fewer),
        "more latency" => is_share(told, later),
        rest if rest.starts_with("more, ") => {
            is_share(told, of.0 / own.0 - 1.0) && is_against(&rest["more".len()..], own, of, all)
        }
        rest if rest.starts_with("less latency, ") => {
            is_share(told, -later) && is_against(&rest["less latency".len()..], own, of, all)
        }
        _ => false,
    }
}

/// Checks that no candidate beats the choice, and that all reasons agree with their figures.
fn check(tuning: &Tuning, what: &str) {
    for table in &tuning.tables {
        let indexes = table.indexes.iter().map(|index| (&*index.index, &index.candidates));
        for (name, all) in indexes.chain([("rows", &table.candidates)]) {
            let own = figures(&all[0]).expect("what is chosen is forecast");
            for of in &all[1..] {
                let told = format!("{what}, {} {name}: {of:?} beside {:?}", table.table, all[0]);
                let Some(other) = figures(of) else {
                    assert!(of.verdict == Verdict::Rejected && !of.reason.is_empty(), "{told}");
                    continue;
                };
                assert!(!beats(other, own), "{told}");
                assert!(agrees(tuning.objective, own, other, &of.reason, all), "{told}");
            }
        }
    }
    for of in &tuning.procedures {
        let figures = |at: usize| {
            let forecast = of.candidates[at].forecast.as_ref()?;
            Some((forecast.transactions_per_s, forecast.latency_us, of.candidates[at].bytes_each))
        };
        let Some((first, second)) = figures(0).zip(figures(1)) else { continue };
        let is_first = of.candidates[0].verdict == Verdict::Chosen;
        let (own, other) = if is_first { (first, second) } else { (second, first) };
        let reason = &of.candidates[usize::from(is_first)].reason;
        if of.share > 0.0 {
            assert!(!beats(other, own), "{what}: {of:?}");
            assert!(agrees(tuning.objective, own, other, reason, &[]), "{what}: {of:?}");
        }
    }
}

/// The JSON report has an interval for each choice and each runner-up, and for both kinds of
/// access.
#[test]
fn choices_and_runners_up_have_intervals() {
    let measured = measurements("connectx3-fdr-4");
    let options = Options { machines: Some(4), ..Options::default() };
    for name in ["tatp", "tpcc"] {
        let tuning = Subject::shipped(name).tuned(&measured, &options);
        let all = tuning.tables.iter().flat_map(|table| {
            let indexes = table.indexes.iter().map(|index| &index.candidates);
            indexes.chain([&table.candidates])
        });
        for all in all.chain([&tuning.partitions]) {
            for of in &all[..2] {
                let forecast = of.forecast.as_ref().expect("it can be chosen");
                let [least, most] = forecast.interval.expect("it has one").transactions_per_s;
                let rate = forecast.transactions_per_s;
                assert!(least < rate && rate < most, "{name}: {of:?}");
            }
            let own = all[0].forecast.as_ref().and_then(|of| of.interval);
            let ends = own.map(|of| of.transactions_per_s);
            let [least, _, most] = tuning.forecast.transactions_per_s;
            assert_eq!((ends, all[0].verdict), (Some([least, most]), Verdict::Chosen), "{name}");
            assert_eq!(all[1].verdict, Verdict::RunnerUp, "{name}");
            assert!(all[2..].iter().all(|of| of.verdict == Verdict::Rejected), "{name}");
        }
        for of in tuning.procedures.iter().flat_map(|of| &of.candidates) {
            let interval = of.forecast.as_ref().and_then(|of| of.interval);
            assert_eq!(interval.is_some(), of.verdict != Verdict::Rejected, "{name}: {of:?}");
        }
        // Spread rows are slower than partitioned ones.
        let spread = tuning.partitions.iter().find(|of| of.what.starts_with("spread"));
        let spread = spread.and_then(|of| of.forecast.as_ref()).expect("it is forecast");
        assert!(spread.transactions_per_s < tuning.forecast.transactions_per_s[1], "{name}");
    }
}

#[test]
fn nothing_beats_what_is_chosen_and_reasons_say_what_figures_do() {
    for file in SHIPPED {
        let measured = measurements(file);
        for name in ["tatp", "smallbank", "tpcc", "ycsb"] {
            let machines = file.ends_with("-4").then_some(4);
            let options = Options { machines, ..Options::default() };
            check(&Subject::shipped(name).tuned(&measured, &options), &format!("{name}, {file}"));
        }
    }
}

#[test]
fn the_same_holds_for_latency_and_where_memory_is_short() {
    let measured = measurements("connectx3-fdr");
    for name in ["tatp", "smallbank"] {
        let subject = Subject::shipped(name);
        let soon = Options { objective: Objective::Latency, ..Options::default() };
        check(&subject.tuned(&measured, &soon), &format!("{name} for latency"));
    }
    // After saving more memory than necessary, the tuner uses the rest.
    let subject = Subject::shipped("tatp");
    let free = subject.tuned(&measured, &Options::default()).memory.bytes_each;
    let budget = Some(free / 100 * 97);
    let tight = subject.tuned(&measured, &Options { memory_budget: budget, ..Options::default() });
    check(&tight, "tatp with less memory");
    let all = tight.tables.iter().flat_map(|table| &table.candidates[1..]);
    let refused: Vec<&Alternative> = all.filter(|of| of.reason.ends_with(" are allowed")).collect();
    assert!(!refused.is_empty());
    assert!(refused.iter().all(|of| Some(of.bytes_each) > budget), "{refused:?}");
}
