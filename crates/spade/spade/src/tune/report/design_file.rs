//! Converts plans to designs.

use crate::design::{Design, IndexDesign, Placement, ProcedureDesign, TableDesign};
use crate::tune::facts::Facts;
use crate::tune::model::{Model, Plan};
use crate::tune::search::candidates::KeyPlacement;
use crate::tune::search::choose::LOCATED_MIN;
use crate::tune::workload::grouping::Source;
use layout::IndexKind;
use procedure::operations::Origin;

/// Values of fields that the storage does not use.
const UNUSED_NODE: u32 = 512;
const UNUSED_SLOTS: u32 = 8;
const UNUSED_LOAD: u32 = 65;

pub fn design(facts: &Facts<'_>, model: &Model<'_>, plan: &Plan) -> Design {
    let procedures = (0..model.profiles.len()).map(|number| ProcedureDesign {
        procedure: model.profiles[number].name.clone(),
        access: plan.access[number],
        by: by(model, number),
    });
    let tables = (0..plan.tables.len()).map(|at| table(facts, model, plan, at));
    let design = Design::new(facts.load().name.clone(), tables.collect(), procedures.collect());
    design.for_units(facts.units, facts.load().units)
}

/// The argument that locates most rows of a procedure, if any.
pub fn by(model: &Model<'_>, number: usize) -> Option<String> {
    model.calls[number].told.filter(|told| *told >= LOCATED_MIN)?;
    argument(model, number)
}

/// The argument that locates any rows of a procedure, if any.
pub fn argument(model: &Model<'_>, number: usize) -> Option<String> {
    let call = &model.calls[number];
    call.told.filter(|told| *told > 0.0)?;
    match &call.home.source {
        Some(Source::Argument(Origin::Argument(variable))) => {
            Some(model.profiles[number].variables.get(*variable)?.clone())
        }
        _ => None,
    }
}

fn table(facts: &Facts<'_>, model: &Model<'_>, plan: &Plan, at: usize) -> TableDesign {
    let of = &facts.catalog().tables[at];
    let (shape, plan) = (&model.shapes[at], &plan.tables[at]);
    let index = |(at, index): (usize, &sql::catalog::Index)| IndexDesign {
        index: index.name.clone(),
        kind: plan.indexes[at].kind,
        node_bytes: match plan.indexes[at].kind {
            IndexKind::Tree => plan.indexes[at].node_bytes,
            IndexKind::Hash => UNUSED_NODE,
        },
        entries: shape.rows,
    };
    let or = |number: u32, unused: u32| if number == 0 { unused } else { number };
    TableDesign {
        table: of.name.clone(),
        storage: plan.choice.storage,
        neighbourhood: or(plan.choice.slots, UNUSED_SLOTS),
        placement: match &plan.choice.placing {
            KeyPlacement::Hashed(load) => Placement::Hashed { load_percent: *load },
            KeyPlacement::Dense(columns) => Placement::Dense { columns: columns.clone() },
            KeyPlacement::Ordered => Placement::Hashed { load_percent: UNUSED_LOAD },
        },
        node_bytes: or(plan.choice.node_bytes, UNUSED_NODE),
        versions_beside: plan.versions_beside,
        keeps_versions: shape.is_updated && plan.keeps_versions,
        rows: shape.rows,
        partition: model.grouping.tables[at].partition.clone(),
        indexes: of.indexes.iter().enumerate().map(index).collect(),
    }
}
