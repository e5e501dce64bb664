//! What has to be told with every forecast: what was assumed, and what to look at.

use crate::design::Partition;
use crate::measurement::{Place, storage_name};
use crate::tune::facts::Facts;
use crate::tune::model::Model;
use crate::tune::workload::accesses::{Asked, Kind};
use crate::tune::workload::draws::{Drawn, concentration};
use crate::tune::workload::grouping::Source;
use procedure::operations::{Action, Path, named};

/// The share of calls with one value from which on it is worth a warning.
const HOT: f64 = 0.05;

/// What measurements of fewer machines do not know.
const MORE: &str = ", though a card has more queue pairs among more machines, and is slower where it cannot keep the state of all at hand; \
                    `namdb spade measure --machines` measures clusters of other sizes";

/// What had to be assumed of the calls, in sentences.
pub fn assumptions(model: &Model<'_>) -> Vec<String> {
    let each = model.asked.iter().flat_map(|asked: &Asked| {
        asked.assumptions.iter().map(|what| format!("{}, {what}", asked.name))
    });
    let mut all: Vec<String> = each.collect();
    let asks = model.asked.iter().filter(|asked| asked.share > 0.0);
    if asks.flat_map(|asked| &asked.asks).any(|ask| ask.kind < Kind::Update) {
        all.push(
            "statements find as many rows as PostgreSQL expects: calls that find none are counted with all that they would read, and, unless \
             workload.toml says how many succeed, with all that they would change"
                .to_owned(),
        );
    }
    if model.has_homes() {
        all.push(format!(
            "{:.0} of 100 calls come to another machine than that of their rows",
            100.0 * model.remote_calls
        ));
    }
    all
}

/// What to look at before a forecast is believed, in sentences.
pub fn warnings(facts: &Facts<'_>, model: &Model<'_>) -> Vec<String> {
    let chosen = &facts.chosen;
    let mut all = chosen.dropped.clone();
    if model.surface.is_quick() {
        all.push("the measurements are quick ones, which are no points to tune by".to_owned());
    }
    let unindexed: Vec<&str> = model.surface.unindexed().into_iter().map(storage_name).collect();
    if !unindexed.is_empty() && model.shapes.iter().any(|shape| !shape.index_words.is_empty()) {
        all.push(format!(
            "indexes were not measured over rows in {}: what goes through them is taken to cost what it does over inlined rows",
            unindexed.join(" and ")
        ));
    }
    let uncopied = model.surface.uncopied(model.replicas);
    if model.replicas > 1 && !uncopied.is_empty() {
        all.push(format!(
            "{} were not measured with {} copies everywhere: there they are taken to cost what they do with one",
            uncopied.join(", "),
            model.replicas
        ));
    }
    if model.surface.aging().is_none() && model.shapes.iter().any(|shape| shape.is_updated) {
        all.push(
            "what old versions take was not measured: one is beside each row, its memory stays there, and making room for it is taken to \
             cost nothing"
                .to_owned(),
        );
    }
    if !model.surface.has(Place::Local) {
        all.push(
            "no local rows were measured there: those of the own machine are taken to cost what others do, so that partitions \
             make no difference"
                .to_owned(),
        );
    }
    let measured = u32::from(chosen.world.machines);
    if measured != chosen.machines {
        let more = if measured < chosen.machines { MORE } else { "" };
        all.push(format!(
            "{measured} machines were measured, and {} are asked for: what one operation takes is taken to be the same{more}",
            chosen.machines
        ));
    }
    all.extend(gathered(facts, model));
    let hot: Vec<String> = hot(model, &facts.drawn());
    if !hot.is_empty() && model.machines > 1 {
        all.push(format!(
            "many calls are about rows of the same machine: {}: calls meet there, and forecasts go by how often they do among four hundred that were drawn",
            hot.join(", ")
        ));
    }
    all
}

/// Indexes that are on one machine: who goes through them in order names nothing that divides them.
fn gathered(facts: &Facts<'_>, model: &Model<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let called = model.asked.iter().filter(|asked| asked.share > 0.0 && model.machines > 1);
    for (asked, operation) in called.flat_map(|of| of.operations.iter().map(move |it| (of, it))) {
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
            "{index}, since {} goes through it in order and names no value of {}: forecasts take its entries \
             to be on all, and know of no queue there",
            asked.name, table.columns[first].name
        );
        let is_new = !all.iter().any(|known: &String| known.starts_with(&index));
        if named(columns, keys) == 0 && !is_beside && !is_copied && is_new {
            all.push(told);
        }
    }
    all
}

/// Procedures many of whose calls have the same home.
fn hot(model: &Model<'_>, drawn: &[Drawn<'_>]) -> Vec<String> {
    let each = model.asked.iter().zip(model.calls.iter()).zip(drawn);
    let hot = each.filter_map(|((asked, call), drawn)| {
        let Some(Source::Given(origin)) = &call.home.source else { return None };
        let (different, most) = concentration(&drawn.values(origin)?)?;
        let is_hot = most >= HOT && asked.share > 0.0;
        is_hot.then(|| {
            format!(
                "{:.0} % of {}'s calls name the same of {different} values",
                100.0 * most,
                asked.name
            )
        })
    });
    hot.collect()
}
