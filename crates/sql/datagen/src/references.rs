//! Checks foreign keys: every referenced row exists.

use crate::loading::{LoadError, find, plain};
use crate::number::Form;
use crate::population::Population;
use crate::rules::Reference;
use fabric::Env;
use layout::Schema;
use sql_value::{Value, numeric};
use std::sync::Arc;
use txn::{
    Abort, Database, IndexId, Isolation, Lane, RetryUntilDeadline, TableId, Transaction, TxnError,
};

/// How the rows of a referenced table are found.
struct Target<'a> {
    reference: &'a Reference,
    id: TableId,
    schema: Arc<Schema>,
    /// The referencing columns in the order of the key, with the form of the referenced columns'
    /// numbers.
    key: Vec<usize>,
    forms: Vec<Option<Form>>,
    index: Option<IndexId>,
}

/// Looks up the rows that part `part` of `parts` of a table references, after all tables are
/// loaded; each snapshot checks `batch` rows. Tables without foreign keys take no time.
///
/// # Errors
/// A table or index is missing, or a referenced row does not exist.
///
/// # Panics
/// The population has no table of this number, or there is no such part.
pub async fn check_references<E: Env>(
    population: &Population,
    database: &Database<E>,
    lane: &mut Lane<E>,
    table: usize,
    (part, parts): (u64, u64),
    batch: usize,
) -> Result<(), LoadError> {
    let references = &population.tables[table].rules.references;
    if references.is_empty() {
        return Ok(());
    }
    let targets = references.iter().map(|reference| target(population, database, reference));
    let targets = targets.collect::<Result<Vec<_>, _>>()?;
    let mut rows = population.rows(table, part, parts).peekable();
    while rows.peek().is_some() {
        let drawn: Vec<Vec<Value>> = rows.by_ref().take(batch.max(1)).collect();
        let Some((row, reference)) = dangling(population, lane, &targets, table, &drawn).await?
        else {
            continue;
        };
        return Err(LoadError::Row {
            table: population.tables[table].name.clone(),
            row: population.named(table, row),
            problem: population.dangles(table, reference, row),
        });
    }
    Ok(())
}

fn target<'a, E: Env>(
    population: &Population,
    database: &Database<E>,
    reference: &'a Reference,
) -> Result<Target<'a>, LoadError> {
    let (id, schema) = find(population, database, reference.table)?;
    let name = &population.tables[reference.table].name;
    let (key, index) = match &reference.index {
        None => (schema.key().to_vec(), None),
        Some(index) => {
            let found = database.index(name, index);
            let found = found.ok_or_else(|| LoadError::NoTable(format!("{name} with {index}")))?;
            (population.unique_columns(reference.table, index), Some(found))
        }
    };
    let types = population.column_types(reference.table);
    let forms = key.iter().map(|&at| Form::of(&types[at], 0)).collect();
    Ok(Target { reference, id, schema, key, forms, index })
}

/// The first row whose reference dangles, with that reference.
async fn dangling<'r, 'a, E: Env>(
    population: &Population,
    lane: &mut Lane<E>,
    targets: &[Target<'a>],
    table: usize,
    rows: &'r [Vec<Value>],
) -> Result<Option<(&'r [Value], &'a Reference)>, LoadError> {
    let mut attempts = RetryUntilDeadline::begin(lane.env());
    loop {
        let reason = match look(lane, targets, rows).await {
            Ok(found) => return Ok(found),
            Err(LoadError::Statement(TxnError::Abort(reason))) => reason,
            Err(error) => return Err(error),
        };
        if !attempts.again(lane.env(), reason).await {
            let (doing, table) = ("look up the references of", &population.tables[table].name);
            return Err(LoadError::aborted(doing, table, &attempts, reason));
        }
    }
}

async fn look<'r, 'a, E: Env>(
    lane: &mut Lane<E>,
    targets: &[Target<'a>],
    rows: &'r [Vec<Value>],
) -> Result<Option<(&'r [Value], &'a Reference)>, LoadError> {
    let failed = |abort: Abort| LoadError::Statement(abort.into());
    let mut transaction = lane.begin(Isolation::Snapshot).await.map_err(failed)?;
    let mut dangling = None;
    'rows: for row in rows {
        for target in targets {
            if !target.is_there(&mut transaction, row).await? {
                dangling = Some((row.as_slice(), target.reference));
                break 'rows;
            }
        }
    }
    transaction.abort().await;
    Ok(dangling)
}

impl Target<'_> {
    /// Whether the referenced row exists. A row with a null references none.
    async fn is_there<E: Env>(
        &self,
        transaction: &mut Transaction<'_, E>,
        row: &[Value],
    ) -> Result<bool, LoadError> {
        let Reference { columns, references, .. } = self.reference;
        if columns.iter().any(|&at| row[at].is_null()) {
            return Ok(true);
        }
        let mut values = Vec::with_capacity(self.key.len());
        for (wanted, form) in self.key.iter().zip(&self.forms) {
            let place = references.iter().position(|column| column == wanted);
            let value = place.map_or(Value::Null, |place| row[columns[place]].clone());
            let stored = form.map_or_else(|| value.clone(), |form| form.convert(value.clone()));
            // A decimal with more decimal places than the other column equals none of its values.
            let decimals = stored.as_numeric().zip(value.as_numeric());
            if decimals.is_some_and(|(stored, value)| numeric::order(stored, value).is_ne()) {
                return Ok(false);
            }
            values.push(plain(&stored));
        }
        // A value that does not fit the other column equals none of its values.
        let Ok(key) = self.schema.encode_columns(&self.key, &values) else { return Ok(false) };
        let failed = LoadError::Statement;
        let Some(index) = self.index else {
            return Ok(transaction.read(self.id, &key).await.map_err(failed)?.is_some());
        };
        let mut found = Vec::new();
        transaction.lookup(index, &key, &mut found).await.map_err(failed)?;
        Ok(!found.is_empty())
    }
}
