//! The words of the pages: the first page, the method, and one text for each experiment.

/// The first page, with places for its tables.
pub(super) const FRONT: &str = include_str!("../../text/front.md");
/// Rules, method, calibration and limits.
pub(super) const METHOD: &str = include_str!("../../text/method.md");

/// The texts by the names of the experiments.
const TEXTS: &[(&str, &str)] = &[
    ("bandwidth", include_str!("../../text/bandwidth.md")),
    ("ethernet-bound", include_str!("../../text/ethernet-bound.md")),
    ("queue-pairs", include_str!("../../text/queue-pairs.md")),
    ("oracle", include_str!("../../text/oracle.md")),
    ("tpcw", include_str!("../../text/tpcw.md")),
    ("scalability", include_str!("../../text/scalability.md")),
    ("latency", include_str!("../../text/latency.md")),
    ("locality", include_str!("../../text/locality.md")),
    ("scalability-as-published", include_str!("../../text/scalability-as-published.md")),
    ("latency-as-published", include_str!("../../text/latency-as-published.md")),
    ("latency-steps", include_str!("../../text/latency-steps.md")),
    ("locality-as-published", include_str!("../../text/locality-as-published.md")),
    ("contention-as-published", include_str!("../../text/contention-as-published.md")),
    (
        "contention-aborts-as-published",
        include_str!("../../text/contention-aborts-as-published.md"),
    ),
    ("contention", include_str!("../../text/contention.md")),
    ("scale", include_str!("../../text/scale.md")),
    ("staleness", include_str!("../../text/staleness.md")),
    ("communicators", include_str!("../../text/communicators.md")),
    ("trad-si", include_str!("../../text/trad-si.md")),
    ("trad-si-latency", include_str!("../../text/trad-si-latency.md")),
    ("h-store", include_str!("../../text/h-store.md")),
    ("traffic", include_str!("../../text/traffic.md")),
    ("replication-cost", include_str!("../../text/replication-cost.md")),
    ("population", include_str!("../../text/population.md")),
    ("spade-transfers", include_str!("../../text/spade-transfers.md")),
    ("spade-inlined", include_str!("../../text/spade-inlined.md")),
    ("spade-mix", include_str!("../../text/spade-mix.md")),
    ("spade-update-small", include_str!("../../text/spade-update-small.md")),
    ("spade-update-large", include_str!("../../text/spade-update-large.md")),
    ("spade-tatp", include_str!("../../text/spade-tatp.md")),
    ("spade-tatp-latency", include_str!("../../text/spade-tatp-latency.md")),
    ("spade-tatp-access", include_str!("../../text/spade-tatp-access.md")),
    ("spade-tatp-procedures", include_str!("../../text/spade-tatp-procedures.md")),
    ("spade-tpcc", include_str!("../../text/spade-tpcc.md")),
    ("spade-regret", include_str!("../../text/spade-regret.md")),
];

/// The text of this experiment.
pub(super) fn of(name: &str) -> Option<&'static str> {
    TEXTS.iter().find(|(of, _)| *of == name).map(|(_, text)| *text)
}
