//! A design at other units of scale than it was made for.

use super::Subject;
use spade::design::{Design, Placement};

/// The design at the scale of `to`, which was made at that of `from`: rows grow in proportion, ranges of key columns by as
/// much as those of the load do.
pub(crate) fn rescale(mut design: Design, from: &Subject<'_>, to: &Subject<'_>) -> Design {
    for table in &mut design.tables {
        let Some(at) = to.workload.catalog.position(&table.table) else { continue };
        let (old_rows, new_rows) = (from.rows(at).max(1), to.rows(at).max(1));
        let scaled = |count: u64| {
            let scaled = u128::from(count) * u128::from(new_rows) / u128::from(old_rows);
            u64::try_from(scaled).unwrap_or(u64::MAX).max(1)
        };
        table.rows = scaled(table.rows);
        table.indexes.iter_mut().for_each(|index| index.entries = scaled(index.entries));
        let Placement::Dense { columns } = &mut table.placement else { continue };
        let (Some(old), Some(new)) = (from.key_ranges(at), to.key_ranges(at)) else { continue };
        for (column, (old, new)) in columns.iter_mut().zip(old.into_iter().zip(new)) {
            column.0 = column.0.saturating_add(new.0.saturating_sub(old.0));
            column.1 = (column.1.saturating_add(new.1)).saturating_sub(old.1).max(1);
        }
    }
    design
}
