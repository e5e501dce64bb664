//! A design at other units of scale than it was made for.
//!
//! Decision: docs/decisions/0207-a-design-is-for-one-scale-and-follows-the-load-to-others.md

use crate::design::{Design, DesignError, Placement};
use datagen::{Population, Scale};
use sql::{Catalog, Load, Program};

/// What rows are counted with that are drawn: whoever scales a design comes to the same one.
const SEED: u64 = 1;

/// The design at so many units of scale: rows grow in proportion from the units that it is for, ranges of key columns by as much as
/// those of the load do. One that is for these units stays as it is.
///
/// # Errors
/// The workload cannot be drawn at the units that the design is for, or at those that are asked for.
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

/// The design at the second scale, which was made at the first.
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

/// About how many rows a table has, and one at least.
fn rows(population: &Population, table: &str) -> u64 {
    population.table(table).map_or(1, |number| population.row_count(number).max(1))
}

/// The range of each column of the primary key, if all are known.
fn key_ranges(catalog: &Catalog, population: &Population, table: &str) -> Option<Vec<(i64, u64)>> {
    let (of, number) = (catalog.table(table)?, population.table(table)?);
    if of.has_hidden_key() {
        return None;
    }
    of.primary_key.iter().map(|&column| population.column_range(number, column)).collect()
}
