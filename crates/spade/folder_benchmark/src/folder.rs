//! A workload folder as a benchmark: reads it with its design, and creates its tables.

mod benchmark;

use crate::check::Checks;
use crate::code::{Code, OpenedProcedures};
use crate::design::{self, DesignContext, Division, Home, Uses};
use crate::linked::LinkedCode;
use crate::names::{kept, kept_all};
use crate::residence::Residence;
use crate::rows::RowCounts;
use crate::rules::Rules;
use crate::shipped_folder::ShippedFolder;
use crate::shipping::{Opening, Owners};
use crate::terminal::Callee;
use benchmark::refused;
use datagen::{Population, PopulationError, Scale};
use fabric::Env;
use interpreter::{Settings, TableDesign};
use layout::NodeId;
use procedure::node::Workload as Ready;
use spade_format::design::{BYTES_MAX, Design, DesignError, Partition};
use spade_format::scale::rescale;
use sql::file::read_text;
use sql::procedure::Returns;
use sql::{SqlType, WorkloadFolder};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use txn::{CatalogError, Database, Isolation, TableSpec};
use workload::WorkloadError;

/// Memory that does not depend on the tables, in bytes.
const BASE_BYTES: u64 = 256 << 20;
/// Memory beyond raw rows, in percent: headers, keys, indexes, old versions, and rows inserted by a
/// run.
const OVERHEAD_PERCENT: u64 = 250;
/// Name of a design without a file, in messages.
const GIVEN: &str = "that was given";
/// File name of the folder's own design.
const DESIGN_FILE: &str = "design.json";

/// Why a folder cannot be run as a benchmark.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The SQL files or `workload.toml` have errors.
    #[error(transparent)]
    Sql(#[from] sql::Errors),
    /// The plans have errors.
    #[error(transparent)]
    Plans(#[from] procedure::ReadError),
    /// The load cannot be drawn.
    #[error(transparent)]
    Population(#[from] PopulationError),
    /// The program has no generated code for the workload.
    #[error(
        "this program has no generated code for the workload {0}; generate a program with `namdb spade generate DIR --crate PROJECT`, \
         or run it with `--code plans`"
    )]
    NoCode(String),
    /// The generated code is for other procedures, tables or plans.
    #[error(
        "this program's code for the workload {0} was generated for other procedures, tables or plans than the folder has; \
         generate it again with `namdb spade generate DIR --crate PROJECT` and build it, or run it with `--code plans`"
    )]
    OtherCode(String),
    #[error("the design {0} cannot be read: {1}")]
    DesignFile(PathBuf, io::Error),
    /// The file is not a valid design.
    #[error("{0}: {1}")]
    Design(PathBuf, DesignError),
    /// The design does not fit the workload.
    #[error("the design {file} does not fit the workload:\n  {}", problems.join("\n  "))]
    Unfit {
        /// The file of the design.
        file: String,
        /// The problems, a sentence each.
        problems: Vec<String>,
    },
}

/// How a folder is run.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Units of scale. `None`: the value of `workload.toml`.
    pub units: Option<u64>,
    /// Whether to use the interpreter even if there is generated code.
    pub wants_plans: bool,
    /// Generated code beside the shipped.
    pub linked: &'a [LinkedCode],
    /// The design file. `None`: the folder's `design.json`, or the default design.
    pub design: Option<&'a Path>,
    /// Isolation level of transactions.
    pub isolation: Isolation,
    /// Seed of all random choices.
    pub seed: u64,
}

/// The origin of a design.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DesignOrigin {
    /// A file.
    File(PathBuf),
    /// The caller supplied it.
    Given,
    /// Computed from procedures and load.
    Default,
}

/// A workload folder as a benchmark.
#[derive(Clone)]
pub struct Stored {
    name: &'static str,
    tables: &'static [&'static str],
    procedures: &'static [&'static str],
    uses: Arc<Uses>,
    load: Arc<sql::Load>,
    ready: Arc<Ready>,
    population: Arc<Population>,
    design: Arc<Design>,
    designs: Arc<Vec<TableDesign>>,
    /// For each table, the rows per leaf if the load leaves room in leaves.
    leaf_rows: Arc<Vec<Option<u64>>>,
    origin: DesignOrigin,
    rows: Vec<u64>,
    code: Code,
    settings: Settings,
    checks: Arc<Checks>,
    row_counts: Arc<RowCounts>,
    /// Absolute path of the folder.
    folder: PathBuf,
    /// Compute servers that execute shipped calls. `None` if calls are not shipped.
    owners: Option<Arc<Owners>>,
    /// Draws calls near this process. `None` if calls may access rows anywhere.
    residence: Option<Arc<Residence>>,
    rules: Arc<Rules>,
}

impl Stored {
    ///
    /// # Errors
    ///
    /// See [`FolderError`].
    pub fn read(folder: &Path, options: &Options<'_>) -> Result<Self, FolderError> {
        let design = design_file(folder, options.design);
        let options = Options { design: design.as_deref(), ..options.clone() };
        Self::of(folder, WorkloadFolder::read(folder)?, &options)
    }

    /// Like [`Self::read`], but uses the interpreter if no generated code fits. If there is
    /// generated code of that name for other procedures, tables or plans, returns that error as a
    /// warning.
    ///
    /// # Errors
    ///
    /// See [`FolderError`].
    pub fn read_any(
        folder: &Path,
        options: &Options<'_>,
    ) -> Result<(Self, Option<FolderError>), FolderError> {
        let why = match Self::read(folder, options) {
            Err(FolderError::NoCode(_)) => None,
            Err(error @ FolderError::OtherCode(_)) => Some(error),
            read => return Ok((read?, None)),
        };
        Ok((Self::read(folder, &Options { wants_plans: true, ..options.clone() })?, why))
    }

    /// Like [`Self::read`] for files that were already read; the load may differ from the folder's.
    /// The default design is used unless the options name another.
    ///
    /// # Errors
    ///
    /// See [`FolderError`].
    pub fn of(
        folder: &Path,
        read: WorkloadFolder,
        options: &Options<'_>,
    ) -> Result<Self, FolderError> {
        let WorkloadFolder { program, load, .. } = read;
        let ready = Ready::read(folder)?;
        let checks = Ready::read_checks(folder)?;
        let units = options.units.unwrap_or(load.units);
        let scale = Scale { units, seed: options.seed, now_us: 0 };
        let population = Population::new(&program, &load, scale)?;
        let rows: Vec<u64> =
            (0..program.catalog.tables.len()).map(|table| population.row_count(table)).collect();
        let mut uses = Uses::new(&ready, &load);
        uses.note_checks(&checks);
        let subject = DesignContext::of(&load, &ready, &population, &uses);
        let (design, origin) = match options.design {
            None => (design::default_design(&subject), DesignOrigin::Default),
            Some(path) => {
                let design = rescale(read_design(path)?, &program, &load, units);
                let design = design.map_err(|of| FolderError::Design(path.to_path_buf(), of))?;
                (design, DesignOrigin::File(path.to_path_buf()))
            }
        };
        let tables = design::fit(&design, &subject).map_err(|problems| {
            let file = match &origin {
                DesignOrigin::File(path) => path.display().to_string(),
                DesignOrigin::Given => GIVEN.to_owned(),
                DesignOrigin::Default => "computed by default".to_owned(),
            };
            FolderError::Unfit { file, problems }
        })?;
        let leaf_rows = design::leaf_rows(&tables, &subject);
        let code = match options.wants_plans {
            true => Code::Plans,
            false => Code::find(&load.name, ready.fingerprint(), options.linked)?,
        };
        let checks = Checks::new(checks, &load);
        Ok(Self {
            name: kept(&load.name),
            tables: kept_all(population.tables()),
            procedures: kept_all(program.procedures.iter().map(|of| of.name.as_str())),
            uses: Arc::new(uses),
            rules: Arc::new(Rules::new(&ready)),
            row_counts: Arc::new(RowCounts::new(&ready, &load)),
            ready: Arc::new(ready),
            load: Arc::new(load),
            population: Arc::new(population),
            design: Arc::new(design),
            designs: Arc::new(tables),
            leaf_rows: Arc::new(leaf_rows),
            origin,
            rows,
            code,
            settings: Settings { isolation: options.isolation, ..Settings::default() },
            checks: Arc::new(checks),
            folder: folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf()),
            owners: None,
            residence: None,
        })
    }

    /// The same folder with another design; uses the folder's units whatever the design says.
    ///
    /// # Errors
    ///
    /// The design does not fit.
    pub fn with_design(&self, design: Design) -> Result<Self, FolderError> {
        let tables = design::fit(&design, &self.subject())
            .map_err(|problems| FolderError::Unfit { file: GIVEN.to_owned(), problems })?;
        let leaf_rows = Arc::new(design::leaf_rows(&tables, &self.subject()));
        let design = design.for_units(self.units(), self.load.units);
        let (design, designs) = (Arc::new(design), Arc::new(tables));
        Ok(Self { design, designs, leaf_rows, origin: DesignOrigin::Given, ..self.clone() })
    }

    /// The design computed from procedures and load, for this folder's units.
    pub fn default_design(&self) -> Design {
        design::default_design(&self.subject())
    }

    fn subject(&self) -> DesignContext<'_> {
        DesignContext::of(&self.load, &self.ready, &self.population, &self.uses)
    }

    /// Creates the tables on memory servers, given by position: in parts, as copies, or whole on
    /// one server, as the design says. If `servers` are all memory servers of the database,
    /// unpartitioned tables without trees are spread over them instead.
    ///
    /// # Errors
    ///
    /// A table already exists, or a memory server has not enough room.
    pub async fn create_in_parts<E: Env>(
        &self,
        database: &Database<E>,
        servers: &[u16],
    ) -> Result<(), CatalogError> {
        let subject = self.subject();
        let are_all = servers.len() == database.server_count();
        let divisions = self.divisions(servers.len());
        let tables = self.ready.catalog.tables.iter().zip(&*self.designs).zip(divisions);
        for (at, ((table, design), division)) in tables.enumerate() {
            let mut spec = TableSpec {
                schema: table.schema.clone(),
                design: design.rows.clone(),
                indexes: design.indexes.clone(),
            };
            match division {
                _ if are_all && design::is_spread(&self.design, &subject, at, servers.len()) => {
                    database.create_table(spec).await?;
                }
                Division::Parts(rule) => _ = database.create_in_parts(spec, servers, rule).await?,
                Division::Whole => {
                    let one = servers.get(at % servers.len().max(1)).copied();
                    spec.design.server = one.filter(|_| !are_all);
                    database.create_table(spec).await?;
                }
            }
        }
        Ok(())
    }

    /// How each table is divided over this number of memory servers, in the order of the schema.
    pub fn divisions(&self, servers: usize) -> Vec<Division> {
        design::divide(&self.design, &self.subject(), servers)
    }

    /// For each procedure, where its calls have most of their rows when tables are in parts on this
    /// number of memory servers. `None` if that is unknown.
    pub fn homes(&self, servers: usize) -> Vec<Option<Home>> {
        design::homes(&self.design, &self.subject(), &self.load, servers)
    }

    /// Whether owners of rows execute calls, if this number of memory servers has owners.
    pub fn is_shipped(&self, servers: usize) -> bool {
        // With a single memory server, no call is nearer to its rows than another.
        servers > 1 && self.homes(servers).iter().flatten().any(|home| home.is_shipped)
    }

    /// The owners to which calls are shipped, by memory server, with the files of the folder. See
    /// [`Opening`] for `plans_only` and `is_dated`.
    pub fn owners(
        &self,
        servers: Vec<Option<NodeId>>,
        plans_only: bool,
        is_dated: bool,
    ) -> Arc<Owners> {
        let opening = Opening {
            files: self.shipped_files(),
            name: self.name.to_owned(),
            fingerprint: self.ready.fingerprint(),
            plans_only,
            is_dated,
            is_serializable: self.isolation() == Isolation::Serializable,
        };
        Owners::new(self.homes(servers.len()), servers, &opening)
    }

    /// The files for owners. Without them owners refuse, and callers execute their own calls.
    fn shipped_files(&self) -> ShippedFolder {
        ShippedFolder::of_procedures(&self.folder).unwrap_or_else(|error| {
            tracing::warn!("calls of {} are not shipped: {error}", self.name);
            ShippedFolder::default()
        })
    }

    /// Opens the procedures for calls of one thread.
    ///
    /// # Errors
    ///
    /// Tables are missing, or differ from those of the generated code.
    pub fn callee<E: Env>(&self, database: &Database<E>) -> Result<Callee, WorkloadError> {
        let opened = OpenedProcedures::open(&self.code, database, &self.ready, self.settings)
            .map_err(refused)?;
        let gives_rows = |of: &procedure::Procedure| matches!(of.routine.returns, Returns::Rows(_));
        let gives_rows = self.ready.procedures.iter().map(gives_rows).collect();
        Ok(Callee::new(opened, self.procedures, gives_rows, self.rules.clone()))
    }

    /// The errors that procedures raise on purpose.
    pub fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// The design of its tables.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// The origin of the design.
    pub fn origin(&self) -> &DesignOrigin {
        &self.origin
    }

    /// The code that executes its procedures.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Describes the code that executes its procedures, for a report.
    pub fn code_words(&self) -> String {
        self.code.words(self.procedures)
    }

    pub fn units(&self) -> u64 {
        self.population.scale().units
    }

    pub fn isolation(&self) -> Isolation {
        self.settings.isolation
    }

    pub fn population(&self) -> &Arc<Population> {
        &self.population
    }

    /// Its tables and procedures with plans.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    pub fn table_count(&self) -> usize {
        self.tables.len()
    }

    /// Names of its procedures, in the order of the file.
    pub fn procedure_names(&self) -> &'static [&'static str] {
        self.procedures
    }

    /// For each procedure, the approximate size of a result row in a message, in bytes.
    pub fn answer_bytes(&self) -> Vec<usize> {
        let of_type = |sql_type: &SqlType| match sql_type {
            SqlType::Bool => 1,
            SqlType::Int2 => 2,
            SqlType::Int4 | SqlType::Date => 4,
            SqlType::Char(Some(length)) => *length as usize,
            // Texts are drawn with half of the maximal length on average.
            SqlType::Varchar(Some(length)) => *length as usize / 2,
            _ => 8,
        };
        let of = |returns: &Returns| match returns {
            Returns::Nothing => 0,
            Returns::Value(sql_type) => of_type(sql_type),
            Returns::Row(fields) | Returns::Rows(fields) => {
                fields.iter().map(|field| of_type(&field.sql_type)).sum()
            }
        };
        self.ready.procedures.iter().map(|procedure| of(&procedure.routine.returns)).collect()
    }

    /// Approximate memory of its tables on all memory servers, with indexes and rows inserted by a
    /// run.
    pub fn memory_bytes(&self, servers: u16) -> u64 {
        let tables = self.ready.catalog.tables.iter();
        let raw = tables.zip(&self.rows).zip(&*self.designs).map(|((table, rows), design)| {
            let slots = design::slots(&design.rows).max(*rows);
            let of = self.design.tables.iter().find(|of| of.table == table.name);
            let is_copied = of.is_some_and(|of| of.partition == Partition::Replicated);
            let copies = if is_copied { u64::from(servers) } else { 1 };
            table.schema.raw_bytes().saturating_mul(slots).saturating_mul(copies)
        });
        let raw = raw.fold(0_u64, u64::saturating_add);
        BASE_BYTES.saturating_add(raw).saturating_add(raw / 100 * OVERHEAD_PERCENT)
    }

    /// Approximate number of rows of all tables after the load.
    pub fn row_count(&self) -> u64 {
        self.rows.iter().sum()
    }
}

/// The default design of a folder, computed from procedures and load. `units` defaults to the value
/// of `workload.toml`.
///
/// # Errors
///
/// See [`FolderError`].
pub fn default_design(folder: &Path, units: Option<u64>) -> Result<Design, FolderError> {
    let WorkloadFolder { program, load, .. } = WorkloadFolder::read(folder)?;
    let ready = Ready::read(folder)?;
    let scale = Scale { units: units.unwrap_or(load.units), seed: 0, now_us: 0 };
    let population = Population::new(&program, &load, scale)?;
    let uses = Uses::new(&ready, &load);
    Ok(design::default_design(&DesignContext::of(&load, &ready, &population, &uses)))
}

/// Checks that a design file fits the tables of a folder. `units` defaults to the value of
/// `workload.toml`.
///
/// # Errors
///
/// See [`FolderError`].
pub fn ensure_fits(folder: &Path, design: &Path, units: Option<u64>) -> Result<(), FolderError> {
    let isolation = Isolation::Snapshot;
    let options =
        Options { units, wants_plans: true, linked: &[], design: Some(design), isolation, seed: 0 };
    Stored::read(folder, &options).map(drop)
}

/// The design file to use, if any.
fn design_file(folder: &Path, said: Option<&Path>) -> Option<PathBuf> {
    let own = folder.join(DESIGN_FILE);
    said.map(Path::to_path_buf).or_else(|| own.is_file().then_some(own))
}

fn read_design(path: &Path) -> Result<Design, FolderError> {
    let text = read_text(path, BYTES_MAX)
        .map_err(|error| FolderError::DesignFile(path.to_path_buf(), error))?;
    Design::parse(&text).map_err(|error| FolderError::Design(path.to_path_buf(), error))
}
