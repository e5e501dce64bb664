//! Checks `rows` of a procedure, the rows that a call adds to tables, against its statements.

use super::raw::Named;
use super::read::LoadReader;
use crate::error::Result;
use crate::procedure::Procedure;
use toml::Spanned;

impl LoadReader<'_> {
    /// The row changes of a call, in schema order. A change that no statement of the procedure can
    /// make is refused here, because the check after a run would only report a wrong count.
    pub(super) fn row_changes(
        &self,
        procedure: &Procedure,
        raw: &Named<Spanned<i64>>,
    ) -> Result<Vec<(String, i64)>> {
        let mut changes = Vec::new();
        for (table, rows) in raw {
            let name = table.get_ref();
            let Some(position) = self.program.catalog.position(name) else {
                return Err(self.no_table(table.span(), name));
            };
            let catalog = &self.program.catalog;
            let can = (procedure.inserts_into(position), procedure.deletes_from(catalog, position));
            let missing = match (*rows.get_ref(), can) {
                (1.., (false, _)) => "no INSERT into",
                (..0, (_, false)) => "no DELETE from",
                (0, (false, false)) => "neither INSERT into nor DELETE from",
                (number, _) => {
                    changes.push((position, number));
                    continue;
                }
            };
            let sentence = format!("`{}` has {missing} `{name}`", procedure.name);
            return Err(self.error(rows.span(), sentence));
        }
        changes.sort_unstable();
        let named =
            |(table, rows): (usize, i64)| (self.program.catalog.tables[table].name.clone(), rows);
        Ok(changes.into_iter().map(named).collect())
    }
}
