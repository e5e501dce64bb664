//! Assumptions and warnings that accompany every forecast.

use crate::design::Partition;
use crate::measurement::{Place, storage_name};
use crate::tune::facts::Facts;
use crate::tune::model::Model;
use crate::tune::workload::draws::{Drawn, concentration};
use crate::tune::workload::grouping::Source;
use crate::tune::workload::profile::{Kind, Profile};
use procedure::operations::{Action, Path, named};

/// If at least this share of calls has the same value, it is worth a warning.
const HOT: f64 = 0.05;

/// Caveat for clusters larger than the measured one.
const MORE: &str = "; with more machines, a card has more queue pairs, and is slower if its cache cannot hold their state; \
                    `namdb spade measure --machines` measures clusters of other sizes";

/// Assumptions about calls, as sentences.
pub fn assumptions(model: &Model<'_>) -> Vec<String> {
    let each = model.profiles.iter().flat_map(|profile: &Profile| {
        profile.assumptions.iter().map(|what| format!("{}, {what}", profile.name))
    });
    let mut all: Vec<String> = each.collect();
    let requests = model.profiles.iter().filter(|profile| profile.share > 0.0);
    if requests.flat_map(|profile| &profile.requests).any(|request| request.kind < Kind::Update) {
        all.push(
            "statements find as many rows as PostgreSQL estimates; calls that find none are assumed to read these rows, and to \
             change them unless workload.toml sets `succeeds`"
                .to_owned(),
        );
    }
    if model.has_homes() {
        all.push(format!(
            "{:.0} of 100 calls arrive at another machine than the one with their rows",
            100.0 * model.remote_calls
        ));
    }
    all
}

/// Warnings about the forecast, as sentences.
pub fn warnings(facts: &Facts<'_>, model: &Model<'_>) -> Vec<String> {
    let chosen = &facts.chosen;
    let mut all = chosen.dropped.clone();
    if model.surface.is_quick() {
        all.push(
            "the measurements were made with --quick, which is too inaccurate for tuning"
                .to_owned(),
        );
    }
    let unindexed: Vec<&str> = model.surface.unindexed().into_iter().map(storage_name).collect();
    if !unindexed.is_empty() && model.shapes.iter().any(|shape| !shape.index_words.is_empty()) {
        all.push(format!(
            "indexes were not measured over rows in {}; they are assumed to cost the same as over inlined rows",
            unindexed.join(" and ")
        ));
    }
    let uncopied = model.surface.uncopied(model.replicas);
    if model.replicas > 1 && !uncopied.is_empty() {
        all.push(format!(
            "{} were not measured with {} copies in all places; there they are assumed to cost the same as with one",
            uncopied.join(", "),
            model.replicas
        ));
    }
    if model.surface.version_costs().is_none() && model.shapes.iter().any(|shape| shape.is_updated)
    {
        all.push(
            "the cost of old versions was not measured; each row keeps the memory of one, and making room for it is assumed to \
             be free"
                .to_owned(),
        );
    }
    if !model.surface.has(Place::Local) {
        all.push(
            "no local rows were measured; they are assumed to cost the same as remote ones, so that partitions make no \
             difference"
                .to_owned(),
        );
    }
    let measured = u32::from(chosen.world.machines);
    if measured != chosen.machines {
        let more = if measured < chosen.machines { MORE } else { "" };
        all.push(format!(
            "{measured} machines were measured; forecasts for {} assume that an operation costs the same{more}",
            chosen.machines
        ));
    }
    all.extend(gathered(facts, model));
    let hot: Vec<String> = hot(model, &facts.drawn());
    if !hot.is_empty() && model.machines > 1 {
        all.push(format!(
            "many calls access rows of the same machine ({}); they conflict there, and forecasts estimate how often from 400 drawn calls",
            hot.join(", ")
        ));
    }
    all
}

/// Warnings about indexes that are on one machine, because a statement scans them in order without
/// a value that divides them.
fn gathered(facts: &Facts<'_>, model: &Model<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let called = model.profiles.iter().filter(|profile| profile.share > 0.0 && model.machines > 1);
    for (profile, operation) in called.flat_map(|of| of.operations.iter().map(move |it| (of, it))) {
        let Action::Read { path: Path::Range(Some(index)), keys, .. } = &operation.action else {
            continue;
        };
        let table = &facts.catalog().tables[operation.table];
        let sql::catalog::Index { name, columns, .. } = &table.indexes[*index];
        let first = columns[0];
        let is_beside = table.primary_key.first() == Some(&first);
        let is_copied = model.grouping.tables[operation.table].partition == Partition::Replicated;
        let index = format!("index {name} of {} is on one machine", table.name);
        let told = format!(
            "{index}, because {} scans it in order without a value of {}; forecasts assume that its entries are \
             spread, and ignore the queue there",
            profile.name, table.columns[first].name
        );
        let is_new = !all.iter().any(|known: &String| known.starts_with(&index));
        if named(columns, keys) == 0 && !is_beside && !is_copied && is_new {
            all.push(told);
        }
    }
    all
}

/// Procedures with many calls that have the same home.
fn hot(model: &Model<'_>, drawn: &[Drawn<'_>]) -> Vec<String> {
    let each = model.profiles.iter().zip(model.calls.iter()).zip(drawn);
    let hot = each.filter_map(|((profile, call), drawn)| {
        let Some(Source::Argument(origin)) = &call.home.source else { return None };
        let (different, most) = concentration(&drawn.values(origin)?)?;
        let is_hot = most >= HOT && profile.share > 0.0;
        is_hot.then(|| {
            format!(
                "{:.0} % of {}'s calls have the same of {different} values",
                100.0 * most,
                profile.name
            )
        })
    });
    hot.collect()
}
