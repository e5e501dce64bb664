//! A version of the SQL catalog.

use super::change::EngineIndex;
use super::schemas::{pin_sequences, read_schemas, stored_path};
use super::sequences::{Sequence, sequences};
use super::types::{read_types, settle};
use super::{Definition, DefinitionKind};
use crate::access::object::Objects;
use crate::access::roles::Roles;
use crate::error::SqlError;
use crate::parse_error::{parse_error, schema_error};
use fabric::Env;
use interpreter::{Callees, Effects, OpenError, Routine, Tables};
use layout::Schema;
use planner::{Costs, Knowledge, Statistics, TableOrder, TableStatistics, plan_program};
use sql::catalog::ForeignKey;
use sql::{Catalog, Procedure, Program, Routines, SearchPath, Source, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use txn::Database;

/// Statistics that `ANALYZE` has collected, by the number of the table.
pub(crate) type Analyzed = BTreeMap<i64, TableStatistics>;

/// A version of the catalog. Statements that were planned for another one must be planned again.
pub(crate) struct Version {
    /// Distinguishes all versions of this process.
    pub serial: u64,
    /// The number of committed changes before it.
    pub epoch: i64,
    /// In the order of their numbers.
    pub definitions: Vec<Definition>,
    pub catalog: Catalog,
    /// The definitions of the tables of `catalog`, by position in `definitions`.
    pub table_definitions: Vec<usize>,
    pub tables: Arc<Tables>,
    pub statistics: Statistics,
    pub costs: Costs,
    pub routines: Vec<VersionRoutine>,
    /// The same, as they call each other.
    pub called: Routines,
    /// By name.
    pub sequences: BTreeMap<String, Sequence>,
    pub roles: Roles,
    pub objects: Objects,
}

/// A function or procedure.
pub(crate) struct VersionRoutine {
    /// The number of its definition.
    pub id: i64,
    pub signature: Procedure,
    /// The error says why it cannot be called, such as a table that was dropped.
    pub compiled: Result<Routine, SqlError>,
    /// Whether the error is one of a routine that it calls, such as one that does not exist:
    /// PostgreSQL reports it when the routine runs.
    pub fails_late: bool,
}

/// The catalog that definitions make, without its tables in the engine.
pub(crate) struct Parsed {
    pub catalog: Catalog,
    pub table_definitions: Vec<usize>,
}

impl Parsed {
    /// Reads definitions. `new` is the number of the last ones, which a statement with the text
    /// `statement` adds: an error's position is in that text.
    pub fn read(definitions: &[Definition], statement: &str) -> Result<Self, SqlError> {
        let mut text = String::new();
        let mut last_line = 1;
        let is_of_schema = |one: &&Definition| {
            matches!(
                one.kind,
                DefinitionKind::Table | DefinitionKind::Index | DefinitionKind::Constraint
            )
        };
        for definition in definitions.iter().filter(is_of_schema) {
            last_line = text.matches('\n').count() as u32 + 1;
            text.push_str(&definition.body);
            text.push_str("\n;\n");
        }
        let schemas = read_schemas(definitions);
        let types = read_types(definitions, &schemas);
        let source = Source::new("statement", &text).with_types(&types.of_definitions());
        let mut catalog = sql::read_definitions(&source)
            .map_err(|errors| schema_error(errors.first(), statement, last_line))?;
        (catalog.schemas, catalog.types) = (schemas, types);
        let mut table_definitions = Vec::with_capacity(catalog.tables.len());
        for table in &mut catalog.tables {
            pin_sequences(table);
            settle(table, &catalog.types);
            let is_it =
                |one: &Definition| one.kind == DefinitionKind::Table && one.name == table.name;
            let at = definitions.iter().position(is_it);
            let at = at.ok_or_else(|| SqlError::internal("a table has no definition"))?;
            let columns = table.schema.columns().to_vec();
            let key = table.schema.key().to_vec();
            let schema = Schema::new(&definitions[at].physical, columns, &key);
            table.schema = schema.map_err(|error| SqlError::unsupported(error.to_string()))?;
            table_definitions.push(at);
        }
        for view in definitions.iter().filter(|one| one.kind == DefinitionKind::View) {
            let path = stored_path(definitions, view.id);
            let source = Source::new("statement", &view.body).with_path(path);
            let source = source.with_types(&catalog.types);
            let read = sql::read_view(&source, &catalog);
            catalog.views.push(read.map_err(|error| parse_error(&error, &view.body))?);
        }
        Ok(Self { catalog, table_definitions })
    }
}

/// A foreign key by the numbers of its columns and tables, which stay when others change places.
#[derive(PartialEq, Eq)]
struct NumberedKey {
    table: i64,
    columns: Vec<u32>,
    references: Vec<u32>,
}

impl NumberedKey {
    fn of(
        (catalog, definitions): (&Catalog, &[Definition]),
        table_definitions: &[usize],
        table: &Table,
        key: &ForeignKey,
    ) -> Self {
        let numbers = |table: &Table, columns: &[usize]| {
            columns.iter().map(|&column| table.columns[column].number).collect()
        };
        Self {
            table: definitions[table_definitions[key.table]].id,
            columns: numbers(table, &key.columns),
            references: numbers(&catalog.tables[key.table], &key.references),
        }
    }
}

/// The foreign keys of tables that a version of the catalog does not have, by whatever name, with
/// the positions of their tables. The catalog behind it has these `definitions`.
pub(crate) fn new_keys<'n>(
    before: &Version,
    catalog: &'n Catalog,
    definitions: &[Definition],
    table_definitions: &[usize],
) -> Vec<(usize, &'n ForeignKey)> {
    let mut found = Vec::new();
    for (at, table) in catalog.tables.iter().enumerate() {
        let old = before.position_of(definitions[table_definitions[at]].id);
        let old = old.map(|old| &before.catalog.tables[old]);
        let numbered = |key| {
            let of = (&before.catalog, &*before.definitions);
            old.map(|old| NumberedKey::of(of, &before.table_definitions, old, key))
        };
        let old_keys = old.into_iter().flat_map(|old| &old.foreign_keys);
        let old_keys: Vec<NumberedKey> = old_keys.filter_map(numbered).collect();
        let is_new = |key: &&ForeignKey| {
            let own = NumberedKey::of((catalog, definitions), table_definitions, table, key);
            !old_keys.contains(&own)
        };
        found.extend(table.foreign_keys.iter().filter(is_new).map(|key| (at, key)));
    }
    found
}

impl Version {
    /// Binds a parsed catalog to the engine's tables.
    pub fn bind<E: Env>(
        database: &Database<E>,
        epoch: i64,
        definitions: Vec<Definition>,
        parsed: Parsed,
        analyzed: &Analyzed,
    ) -> Result<Self, SqlError> {
        static SERIAL: AtomicU64 = AtomicU64::new(1);
        let Parsed { catalog, table_definitions } = parsed;
        let tables = Tables::bind(database, &catalog).map_err(open_error)?;
        let statistics = (0..catalog.tables.len()).map(|at| {
            let known = analyzed.get(&definitions[table_definitions[at]].id);
            let order = TableOrder::Stored(tables.named_by_ranges(at));
            TableStatistics { order, ..known.cloned().unwrap_or_default() }
        });
        let statistics = Statistics { tables: statistics.collect() };
        let costs = costs::<E>();
        let knowledge = Knowledge { catalog: &catalog, statistics: &statistics, costs };
        let routines = definitions.iter().filter(|one| one.kind == DefinitionKind::Routine);
        let source = |one: &Definition| {
            let path = stored_path(&definitions, one.id);
            Source::new("statement", &one.body).with_path(path).with_types(&catalog.types)
        };
        let called = Routines::read(routines.clone().map(source), &catalog);
        let routines =
            routines.filter_map(|one| routine(knowledge, &tables, &called, one.id, &source(one)));
        let mut routines: Vec<VersionRoutine> = routines.collect();
        add_effects(&mut routines);
        let sequences = sequences(&catalog, &definitions, &table_definitions);
        Ok(Self {
            serial: SERIAL.fetch_add(1, Relaxed),
            epoch,
            table_definitions,
            tables: Arc::new(tables),
            statistics,
            costs,
            routines,
            called,
            sequences,
            roles: Roles::read(&definitions),
            objects: Objects::read(&definitions),
            catalog,
            definitions,
        })
    }

    pub fn knowledge(&self) -> Knowledge<'_> {
        Knowledge { catalog: &self.catalog, statistics: &self.statistics, costs: self.costs }
    }

    /// The definition of a table, by its position in the catalog.
    pub fn definition_of(&self, table: usize) -> &Definition {
        &self.definitions[self.table_definitions[table]]
    }

    /// The position of the table with this number.
    pub fn position_of(&self, id: i64) -> Option<usize> {
        (0..self.catalog.tables.len()).find(|&at| self.definition_of(at).id == id)
    }

    /// The position of the table with this index or primary key.
    pub fn table_of_index(&self, name: &str) -> Option<usize> {
        self.catalog.tables.iter().position(|table| {
            let has = table.indexes.iter().any(|index| index.name == name);
            has || !table.primary_key.is_empty() && table.primary_key_name == name
        })
    }

    /// Position and definition of the table with this name.
    pub fn table(&self, name: &str) -> Option<(usize, &Definition)> {
        let at = self.catalog.position(name)?;
        Some((at, self.definition_of(at)))
    }

    /// The engine's names of its tables.
    pub fn storage(&self) -> impl Iterator<Item = &str> {
        let names = self.definitions.iter().map(|one| &*one.physical);
        names.filter(|name| !name.is_empty())
    }

    /// The indexes that its tables have in the engine, the primary keys left out.
    pub fn indexes(&self) -> impl Iterator<Item = EngineIndex> {
        self.catalog.tables.iter().flat_map(|table| {
            let of = table.schema.name();
            table.indexes.iter().map(move |index| (of.to_owned(), index.name.clone()))
        })
    }

    /// Compiles a routine that is no part of the catalog.
    ///
    /// # Errors
    /// Those of the text, without positions.
    pub fn compile_unnamed(
        &self,
        text: &str,
        path: &SearchPath,
    ) -> Result<VersionRoutine, SqlError> {
        let source = Source::new("statement", text).with_path(path.clone());
        let source = source.with_types(&self.catalog.types);
        let read = sql::read_routines(&source, &self.catalog, &self.called);
        let read = read.map_err(|errors| {
            let mut error = parse_error(errors.first(), text);
            error.position = None;
            error
        })?;
        let signature = read.into_iter().next();
        let signature = signature.ok_or_else(|| SqlError::internal("a text without a routine"))?;
        self.compile_own(signature).map(|(routine, _)| routine)
    }

    /// Plans a routine that is no part of the catalog; returns also its plans.
    pub fn compile_own(
        &self,
        signature: Procedure,
    ) -> Result<(VersionRoutine, procedure::node::Procedure), SqlError> {
        let planned = plan_routine(self.knowledge(), signature.clone())?;
        let mut compiled = compile_planned(&planned, &self.tables)?;
        compiled.add_effects(&self.effects_of(compiled.effects().clone().callees()));
        let compiled = Ok(compiled);
        Ok((VersionRoutine { id: 0, signature, compiled, fails_late: false }, planned))
    }

    /// The effects of routines, and of those that they call.
    pub fn effects_of<'n>(&self, names: impl Iterator<Item = &'n str>) -> Effects {
        let mut all = Effects::default();
        names.filter_map(|name| self.compiled(name)).for_each(|one| all.add(one.effects()));
        all
    }

    fn compiled(&self, name: &str) -> Option<&Routine> {
        let found = self.routines.iter().find(|routine| routine.signature.name == name);
        found.and_then(|routine| routine.compiled.as_ref().ok())
    }

    /// The signatures of its routines.
    pub fn signatures(&self) -> Vec<&Procedure> {
        self.routines.iter().map(|routine| &routine.signature).collect()
    }

    /// The number of the next definition.
    pub fn next_id(&self) -> i64 {
        super::numbers::next_id(&self.definitions)
    }
}

impl Callees for Version {
    fn routine(&self, name: &str) -> sql_value::Result<&Routine> {
        let found = self.routines.iter().find(|routine| routine.signature.name == name);
        match found.map(|routine| &routine.compiled) {
            Some(Ok(routine)) => Ok(routine),
            Some(Err(error)) => Err(Box::new(error.as_value())),
            None => Err(sql_value::Error::internal("a routine does not exist")),
        }
    }
}

/// Adds to the effects of each routine those of the routines that it calls while it runs.
fn add_effects(routines: &mut [VersionRoutine]) {
    let own: BTreeMap<String, Effects> = routines
        .iter()
        .filter_map(|one| {
            let compiled = one.compiled.as_ref().ok()?;
            Some((one.signature.name.clone(), compiled.effects().clone()))
        })
        .collect();
    for routine in routines.iter_mut().filter_map(|one| one.compiled.as_mut().ok()) {
        let mut seen = BTreeSet::new();
        let mut open: Vec<String> = routine.effects().callees().map(str::to_owned).collect();
        while let Some(name) = open.pop() {
            if let Some(effects) = own.get(&name).filter(|_| seen.insert(name.clone())) {
                open.extend(effects.callees().map(str::to_owned));
                routine.add_effects(effects);
            }
        }
    }
}

/// A definition was valid when it was stored, and its table was made from it.
fn open_error(error: OpenError) -> SqlError {
    let OpenError::Different { table } = error else {
        return SqlError::new("XX000", error.to_string());
    };
    let message = format!("table \"{table}\" was stored by a version with another row layout");
    SqlError::new("XX000", message)
        .hint("Dump the database with the version that wrote it, and load it into an empty one.")
}

/// A routine with plans for a catalog. A definition was valid when it was stored.
fn routine(
    knowledge: Knowledge<'_>,
    tables: &Tables,
    called: &Routines,
    id: i64,
    source: &Source,
) -> Option<VersionRoutine> {
    let mut fails_late = false;
    let (signature, compiled) = match sql::read_routines(source, knowledge.catalog, called) {
        Ok(read) => {
            let signature = read.into_iter().next()?;
            let compiled = compile_routine(knowledge, tables, signature.clone());
            (signature, compiled)
        }
        Err(errors) => {
            // The header may name tables that are gone, too: such a routine does not exist.
            let signature = sql::read_signature(source, knowledge.catalog, called)?;
            fails_late = errors.iter().all(|error| error.is_late);
            (signature, Err(parse_error(errors.first(), source.text())))
        }
    };
    Some(VersionRoutine { id, signature, compiled, fails_late })
}

fn compile_routine(
    knowledge: Knowledge<'_>,
    tables: &Tables,
    routine: Procedure,
) -> Result<Routine, SqlError> {
    compile_planned(&plan_routine(knowledge, routine)?, tables)
}

fn plan_routine(
    knowledge: Knowledge<'_>,
    routine: Procedure,
) -> Result<procedure::node::Procedure, SqlError> {
    let program = Program { catalog: knowledge.catalog.clone(), procedures: vec![routine] };
    let planned = plan_program(&program, knowledge.statistics, knowledge.costs)
        .map_err(|error| SqlError::unsupported(error.to_string()))?;
    let planned = planned.procedures.into_iter().next();
    planned.ok_or_else(|| SqlError::internal("a program without its routine"))
}

fn compile_planned(
    planned: &procedure::node::Procedure,
    tables: &Tables,
) -> Result<Routine, SqlError> {
    Routine::compile(planned, tables).map_err(|error| SqlError::unsupported(error.to_string()))
}

/// Costs of verbs: in memory of this process a round trip is a cache miss or two.
fn costs<E: Env>() -> Costs {
    match E::IMMEDIATE {
        true => Costs { round_trip: 300.0, byte: 0.1, ..Costs::default() },
        false => Costs::default(),
    }
}
