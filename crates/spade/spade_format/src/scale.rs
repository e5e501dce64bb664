//! Converts a design to another scale.
//!
//! Decision: docs/decisions/0207-a-design-is-for-one-scale-and-follows-the-load-to-others.md

use crate::design::{Design, DesignError, Placement};
use datagen::{Population, Scale};
use sql::{Catalog, Load, Program};

/// Seed of the population whose rows are counted. It is fixed, so that every rescaling gives the
/// same design.
const SEED: u64 = 1;

/// The design at `wanted` units of scale. Row counts grow in proportion to the population's; ranges
/// of key columns grow by as much as those of the load. A design for `wanted` units is returned
/// unchanged.
///
/// # Errors
/// The workload cannot be drawn at the units of the design, or at `wanted`.
pub fn rescale(
    design: Design,
    program: &Program,
    load: &Load,
    wanted: u64,
) -> Result<Design, DesignError> {
    let made_for = design.units(load.units);
    if made_for == wanted {
        return Ok(design);
    }
    let drawn = |units: u64| {
        let scale = Scale { units, seed: SEED, now_us: 0 };
        let population = Population::new(program, load, scale);
        population.map_err(|problem| DesignError::Scale { units, problem })
    };
    let populations = [drawn(made_for)?, drawn(wanted)?];
    Ok(grown(design, &program.catalog, &populations).for_units(wanted, load.units))
}

/// Converts a design from the first scale to the second.
fn grown(mut design: Design, catalog: &Catalog, scales: &[Population; 2]) -> Design {
    for table in &mut design.tables {
        let [old_rows, new_rows] = scales.each_ref().map(|scale| rows(scale, &table.table));
        let scaled = |count: u64| {
            let scaled = u128::from(count) * u128::from(new_rows) / u128::from(old_rows);
            u64::try_from(scaled).unwrap_or(u64::MAX).max(1)
        };
        table.rows = scaled(table.rows);
        table.indexes.iter_mut().for_each(|index| index.entries = scaled(index.entries));
        let Placement::Dense { columns } = &mut table.placement else { continue };
        let ranges = scales.each_ref().map(|scale| key_ranges(catalog, scale, &table.table));
        let [Some(old), Some(new)] = ranges else { continue };
        for (column, (old, new)) in columns.iter_mut().zip(old.into_iter().zip(new)) {
            column.0 = column.0.saturating_add(new.0.saturating_sub(old.0));
            column.1 = (column.1.saturating_add(new.1)).saturating_sub(old.1).max(1);
        }
    }
    design
}

/// About how many rows a table has, at least 1.
fn rows(population: &Population, table: &str) -> u64 {
    population.table(table).map_or(1, |number| population.row_count(number).max(1))
}

/// The range of each column of the primary key; `None` if one is unknown.
fn key_ranges(catalog: &Catalog, population: &Population, table: &str) -> Option<Vec<(i64, u64)>> {
    let (of, number) = (catalog.table(table)?, population.table(table)?);
    if of.has_hidden_key() {
        return None;
    }
    of.primary_key.iter().map(|&column| population.column_range(number, column)).collect()
}
