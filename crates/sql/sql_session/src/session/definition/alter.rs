//! `ALTER TABLE` and `ALTER INDEX`.

use super::super::details::has_digest;
use super::super::rewrite::quoted;
use super::super::{Block, SqlSession};
use super::create::{exists, relation_exists};
use super::types::refuse_type_name;
use super::view::{follow_tables, refuse_changed_columns};
use super::{Edited, no_table};
use crate::catalog::version::Parsed;
use crate::catalog::{Definition, DefinitionKind, Version};
use crate::command::TableChange;
use crate::error::{Severity, SqlError};
use crate::host::Host;
use crate::lexer::tokens;
use layout::IndexKind;
use sql::Table;
use sql::catalog::{Index, TableColumn};
use sql::namespace::own_name;

impl<H: Host> SqlSession<H> {
    /// Gives tables new storage whose rows are stored in another way than before. The engine fills
    /// an index with the rows of ended transactions, and keeps a dropped one until the transaction
    /// ends; where that is not enough, a table gets new storage for its new index, too.
    pub(super) fn changed_storage(
        &self,
        block: &Block<H::Env>,
        version: &Version,
        parsed: &Parsed,
        definitions: &mut [Definition],
        given: Option<i64>,
    ) -> Vec<i64> {
        let (keeps, change) = (block.keeps_transaction(), block.change.as_ref());
        let mut rewritten = Vec::new();
        for (new, &at) in parsed.catalog.tables.iter().zip(&parsed.table_definitions) {
            let definition = &mut definitions[at];
            let Some(old) = version.position_of(definition.id) else { continue };
            let old = &version.catalog.tables[old];
            let needs_storage = |index: &Index| {
                let name = &index.name;
                let is_new = old.indexes.iter().all(|other| other.name != *name);
                let is_known =
                    || change.is_some_and(|one| one.has_index(&definition.physical, name));
                is_new && (keeps || is_known() || may_be_too_large(old, new, index))
            };
            // Types that are stored alike have other values: not every text is a document.
            let is_retyped = |column: &TableColumn| {
                let before = old.visible().iter().find(|other| other.number == column.number);
                before.is_some_and(|before| before.sql_type != column.sql_type)
            };
            let is_changed = new.schema != old.schema || new.visible().iter().any(is_retyped);
            let is_given = given == Some(definition.id);
            if is_given || is_changed || new.indexes.iter().any(needs_storage) {
                definition.physical = self.physical_name(&definition.name);
                rewritten.push(definition.id);
            }
        }
        rewritten
    }

    pub(super) fn alter_table(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        (name, change): (&str, &TableChange),
        if_exists: bool,
        text: &str,
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        let tag = "ALTER TABLE";
        if if_exists && version.table(name).is_none() {
            let message = format!("relation \"{name}\" does not exist, skipping");
            self.notice(Severity::Notice, "00000", message);
            return Ok(Edited::new(definitions, tag));
        }
        let owner = self.owner(version, name)?.clone();
        self.lock_table(block, &owner)?;
        self.drop_views_of_columns(version, name, change, &mut definitions)?;
        definitions.push(alteration(version, owner.id, text));
        if let Some(renamed) = &change.renamed {
            let own = definitions.iter_mut().find(|one| one.id == owner.id);
            own.expect("it was found").name.clone_from(renamed);
        }
        if let Some(renamed) = change.renamed.as_ref().filter(|to| relation_exists(version, to)) {
            return Err(exists(renamed));
        }
        if let Some(renamed) = &change.renamed {
            refuse_type_name(version, renamed)?;
        }
        let parsed = follow_tables(version, &mut definitions, text)?;
        refuse_changed_columns(version, &parsed, owner.id)?;
        let values = change.values.clone();
        let given = (!values.is_empty()).then_some(owner.id);
        let rewritten = self.changed_storage(block, version, &parsed, &mut definitions, given);
        Ok(Edited { rewritten, values, ..Edited::new(definitions, tag) })
    }

    /// `ALTER INDEX ... RENAME TO`. The engine builds the index again, under its new name.
    pub(super) fn rename_index(
        &mut self,
        block: &mut Block<H::Env>,
        version: &Version,
        (name, to): (&str, &str),
        if_exists: bool,
        text: &str,
    ) -> Result<Edited, SqlError> {
        let mut definitions = version.definitions.clone();
        let tag = "ALTER INDEX";
        let Some(table) = version.table_of_index(name) else {
            if if_exists {
                let message = format!("relation \"{name}\" does not exist, skipping");
                self.notice(Severity::Notice, "00000", message);
                return Ok(Edited::new(definitions, tag));
            }
            return Err(no_table("relation", name));
        };
        let owner = version.definition_of(table).clone();
        self.lock_table(block, &owner)?;
        let is_it = |one: &&mut Definition| one.kind == DefinitionKind::Index && one.name == *name;
        let comment = |one: &&mut Definition| {
            one.kind == DefinitionKind::Comment
                && one.table == owner.id
                && one.name == format!("index {}", own_name(name))
        };
        if let Some(comment) = definitions.iter_mut().find(comment) {
            comment.name = format!("index {}", own_name(to));
        }
        match definitions.iter_mut().rfind(is_it) {
            Some(index) => {
                index.body = renamed(&index.body, to)?;
                to.clone_into(&mut index.name);
                if relation_exists(version, to) {
                    return Err(exists(to));
                }
            }
            None => definitions.push(alteration(version, owner.id, text)),
        }
        let parsed = Parsed::read(&definitions, text)?;
        let rewritten = self.changed_storage(block, version, &parsed, &mut definitions, None);
        Ok(Edited { rewritten, ..Edited::new(definitions, tag) })
    }
}

/// Whether values of rows may be too long for a new index: it has digests, which the engine takes
/// as they are, and no key of the table has had all of its columns.
fn may_be_too_large(old: &Table, new: &Table, index: &Index) -> bool {
    let number = |table: &Table, column: usize| table.columns[column].number;
    let columns: Vec<u32> = index.columns.iter().map(|&at| number(new, at)).collect();
    let has_all = |key: &[usize]| {
        columns.iter().all(|&column| key.iter().any(|&at| number(old, at) == column))
    };
    let mut trees = old.indexes.iter().filter(|other| other.kind == IndexKind::Tree);
    index.kind == IndexKind::Tree
        && has_digest(new, index)
        && !has_all(&old.primary_key)
        && !trees.any(|other| has_all(&other.columns))
}

/// The definition of a change of a table.
pub(super) fn alteration(version: &Version, table: i64, text: &str) -> Definition {
    Definition {
        id: version.next_id(),
        kind: DefinitionKind::Constraint,
        table,
        name: String::new(),
        physical: String::new(),
        body: text.to_owned(),
    }
}

/// The text of a `CREATE INDEX`, which has a name, with another one.
fn renamed(text: &str, to: &str) -> Result<String, SqlError> {
    let tokens = tokens(text)?;
    let on = tokens.iter().position(|token| token.is_word("ON")).unwrap_or(tokens.len());
    let name = on.checked_sub(1).map(|at| tokens[at]);
    let name = name.ok_or_else(|| SqlError::internal("an index has no name"))?;
    Ok(format!("{}{}{}", &text[..name.at], quoted(own_name(to)), &text[name.end()..]))
}
