//! A workload folder as a benchmark.

mod benchmark;

use crate::check::Checks;
use crate::code::{Code, Crew};
use crate::design::{self, Division, Home, Subject, Uses};
use crate::linked::LinkedCode;
use crate::names::{kept, kept_all};
use crate::residence::Residence;
use crate::rows::RowCounts;
use crate::rules::Rules;
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

/// Memory for everything that does not depend on the tables.
const BASE_BYTES: u64 = 256 << 20;
/// Memory beyond raw rows, in percent: headers, keys, indexes, old versions, and what a run inserts.
const OVERHEAD_PERCENT: u64 = 250;
/// What a design is called that has no file.
const GIVEN: &str = "that was given";
/// The design of a folder, if it has one.
const DESIGN_FILE: &str = "design.json";

/// Why a folder cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// Its texts are not in order.
    #[error(transparent)]
    Sql(#[from] sql::Errors),
    /// Its plans are not.
    #[error(transparent)]
    Plans(#[from] procedure::ReadError),
    /// Rows or arguments cannot be drawn as it says.
    #[error(transparent)]
    Population(#[from] PopulationError),
    /// There is no generated code for it.
    #[error(
        "this program has no generated code for the workload {0}; `namdb spade generate DIR --crate PROJECT` writes one that has, \
         or run it with `--code plans`"
    )]
    NoCode(String),
    /// The generated code of this name is of other procedures.
    #[error(
        "this program's code for the workload {0} was generated for other procedures, tables or plans than the folder has; \
         generate it again with `namdb spade generate DIR --crate PROJECT` and build that, or run it with `--code plans`"
    )]
    OtherCode(String),
    /// The file of a design cannot be read.
    #[error("the design {0} cannot be read: {1}")]
    DesignFile(PathBuf, io::Error),
    /// It is no design.
    #[error("{0}: {1}")]
    Design(PathBuf, DesignError),
    /// It does not fit the workload.
    #[error("the design {file} does not fit the workload:\n  {}", problems.join("\n  "))]
    Unfit {
        /// Where it stands.
        file: String,
        /// All that does not fit, a sentence each.
        problems: Vec<String>,
    },
}

/// How a folder is run.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Units of scale; as many as `workload.toml` says if nothing is said.
    pub units: Option<u64>,
    /// Whether the executor of plans carries out procedures even where there is generated code.
    pub wants_plans: bool,
    /// Generated code beside that of the shipped workloads.
    pub linked: &'a [LinkedCode],
    /// The file of the design; `design.json` of the folder, or a default design, if nothing is said.
    pub design: Option<&'a Path>,
    /// How much transactions are kept apart.
    pub isolation: Isolation,
    /// Everything random follows from it.
    pub seed: u64,
}

/// Where a design comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DesignOrigin {
    /// A file.
    File(PathBuf),
    /// Whoever runs it.
    Given,
    /// Procedures and load.
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
    /// Of each table, the rows of a leaf if the load leaves room in leaves.
    leaf_rows: Arc<Vec<Option<u64>>>,
    origin: DesignOrigin,
    rows: Vec<u64>,
    code: Code,
    settings: Settings,
    checks: Arc<Checks>,
    row_counts: Arc<RowCounts>,
    /// Where it was read, as a whole path.
    folder: PathBuf,
    /// Who carries out calls that are shipped; none if nobody does.
    owners: Option<Arc<Owners>>,
    /// Where calls of this process have their rows; none if that is anywhere.
    residence: Option<Arc<Residence>>,
    rules: Arc<Rules>,
}

impl Stored {
    /// Reads a folder.
    ///
    /// # Errors
    ///
    /// See [`FolderError`].
    pub fn read(folder: &Path, options: &Options<'_>) -> Result<Self, FolderError> {
        let design = design_file(folder, options.design);
        let options = Options { design: design.as_deref(), ..options.clone() };
        Self::of(folder, WorkloadFolder::read(folder)?, &options)
    }

    /// The same by generated code if there is some for it and plans are not wanted, and else by the executor of plans. If there is
    /// some of that name for other procedures, tables or plans, that is told beside it.
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

    /// The same with what was read of it, whose load may be another than the folder's. Its design is the default one if the
    /// options name no other.
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
        let subject = Subject::of(&load, &ready, &population, &uses);
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
                DesignOrigin::Default => "that nobody has made".to_owned(),
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

    /// The same with another design, for the same units of scale, whichever it says.
    ///
    /// # Errors
    ///
    /// It does not fit.
    pub fn with_design(&self, design: Design) -> Result<Self, FolderError> {
        let tables = design::fit(&design, &self.subject())
            .map_err(|problems| FolderError::Unfit { file: GIVEN.to_owned(), problems })?;
        let leaf_rows = Arc::new(design::leaf_rows(&tables, &self.subject()));
        let design = design.for_units(self.units(), self.load.units);
        let (design, designs) = (Arc::new(design), Arc::new(tables));
        Ok(Self { design, designs, leaf_rows, origin: DesignOrigin::Given, ..self.clone() })
    }

    /// The design that follows from its procedures and its load alone, for its units of scale.
    pub fn default_design(&self) -> Design {
        design::default_design(&self.subject())
    }

    fn subject(&self) -> Subject<'_> {
        Subject::of(&self.load, &self.ready, &self.population, &self.uses)
    }

    /// Makes the tables on these memory servers, which are positions: in parts or copies, as the design says, or as a whole on
    /// one. If they are all that the database has, tables without trees and without partition are spread over them instead.
    ///
    /// # Errors
    ///
    /// A table is there already, or memory servers have no room for it.
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

    /// How its tables are divided among so many memory servers, in the order of the schema, where they are in parts.
    pub fn divisions(&self, servers: usize) -> Vec<Division> {
        design::divide(&self.design, &self.subject(), servers)
    }

    /// Of each procedure, where its calls have most of their rows if tables are in parts on so many memory servers; none
    /// if that is anywhere.
    pub fn homes(&self, servers: usize) -> Vec<Option<Home>> {
        design::homes(&self.design, &self.subject(), &self.load, servers)
    }

    /// Whether calls are carried out by the owners of their rows where there are so many memory servers, if these have owners.
    pub fn is_shipped(&self, servers: usize) -> bool {
        // On one memory server no call is nearer to its rows than another.
        servers > 1 && self.homes(servers).iter().flatten().any(|home| home.is_shipped)
    }

    /// Where calls are sent if the memory servers have these owners, which have to find the folder where it was read.
    /// `plans_only` and `is_dated` as in [`Opening`].
    pub fn owners(
        &self,
        servers: Vec<Option<NodeId>>,
        plans_only: bool,
        is_dated: bool,
    ) -> Arc<Owners> {
        let opening = Opening {
            folder: self.folder.display().to_string(),
            name: self.name.to_owned(),
            fingerprint: self.ready.fingerprint(),
            plans_only,
            is_dated,
            is_serializable: self.isolation() == Isolation::Serializable,
        };
        Owners::new(self.homes(servers.len()), servers, &opening)
    }

    /// Who carries out calls in the hands of one thread.
    ///
    /// # Errors
    ///
    /// Tables are missing, or are not as generated code has them.
    pub fn callee<E: Env>(&self, database: &Database<E>) -> Result<Callee, WorkloadError> {
        let crew = Crew::open(&self.code, database, &self.ready, self.settings).map_err(refused)?;
        let gives_rows = |of: &procedure::Procedure| matches!(of.routine.returns, Returns::Rows(_));
        let gives_rows = self.ready.procedures.iter().map(gives_rows).collect();
        Ok(Callee::new(crew, self.procedures, gives_rows, self.rules.clone()))
    }

    /// By which errors calls end as their procedures say.
    pub fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// How its tables are stored.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// Where that comes from.
    pub fn origin(&self) -> &DesignOrigin {
        &self.origin
    }

    /// Who carries out its procedures.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Who carries out its procedures, in a few words: procedures without generated code are left to the executor of plans.
    pub fn code_words(&self) -> String {
        self.code.words(self.procedures)
    }

    /// Units of scale.
    pub fn units(&self) -> u64 {
        self.population.scale().units
    }

    /// How its transactions are kept apart.
    pub fn isolation(&self) -> Isolation {
        self.settings.isolation
    }

    /// Its rows and calls.
    pub fn population(&self) -> &Arc<Population> {
        &self.population
    }

    /// Its tables and procedures.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// How many tables it has.
    pub fn table_count(&self) -> usize {
        self.tables.len()
    }

    /// Its procedures by name, in the order of the file.
    pub fn procedure_names(&self) -> &'static [&'static str] {
        self.procedures
    }

    /// Of each procedure, about how many bytes a row of its result takes in a message.
    pub fn answer_bytes(&self) -> Vec<usize> {
        let of_type = |sql_type: &SqlType| match sql_type {
            SqlType::Bool => 1,
            SqlType::Int2 => 2,
            SqlType::Int4 | SqlType::Date => 4,
            SqlType::Char(Some(length)) => *length as usize,
            // Half of the room, as texts are drawn.
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

    /// Bytes of memory that its tables take on all of so many servers, with their indexes and what a run inserts, about.
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

    /// Rows of all tables when they are loaded, about.
    pub fn row_count(&self) -> u64 {
        self.rows.iter().sum()
    }
}

/// The design of a folder's tables that follows from its procedures and its load alone, for so many units of scale, or as many
/// as `workload.toml` says.
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
    Ok(design::default_design(&Subject::of(&load, &ready, &population, &uses)))
}

/// Refuses a file's design that the tables of a folder cannot have, for so many units of scale, or as many as `workload.toml`
/// says.
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

/// The file of the design of a folder, if there is one.
fn design_file(folder: &Path, said: Option<&Path>) -> Option<PathBuf> {
    let own = folder.join(DESIGN_FILE);
    said.map(Path::to_path_buf).or_else(|| own.is_file().then_some(own))
}

fn read_design(path: &Path) -> Result<Design, FolderError> {
    let text = read_text(path, BYTES_MAX)
        .map_err(|error| FolderError::DesignFile(path.to_path_buf(), error))?;
    Design::parse(&text).map_err(|error| FolderError::Design(path.to_path_buf(), error))
}
