//! Selects a workload with its parameters, and runs the same job on any workload.

use super::{parse_count, parse_units};
use crate::bench::report::Parameters;
use crate::bench::text::{counted, grouped};
use crate::bench::{AnyWorkload, json};
use crate::output;
use anyhow::{Context, Result};
use clap::{Args, Subcommand, ValueEnum};
use folder_benchmark::{Code, DesignOrigin, Options, Stored};
use namdb::Isolation;
use serde_json::json;
use std::path::{Path, PathBuf};
use workload::append::AppendConfig;
use workload::smallbank::SmallBankConfig;
use workload::tatp::{SUBSCRIBERS_MAX, TatpConfig};
use workload::tpcc::Scale;
use workload::ycsb::{Distribution, Letter, Mix, YcsbConfig};
use workload::{Append, Bank, SmallBank, Tatp, Tpcc, Ycsb, tpcc};

const TPCC_EXAMPLES: &str = "\
Examples:
  namdb bench tpcc --warehouses 4 --threads 4     a warehouse for each thread
  namdb bench tpcc --isolation serializable       reads are validated, too
  namdb bench tpcc --servers 4 --distribution 100 every new order touches another warehouse
  namdb trace tpcc --warehouses 1                 every verb of one transaction of each type";

const SMALLBANK_EXAMPLES: &str = "\
Examples:
  namdb bench smallbank --isolation serializable  no write skew; snapshot isolation allows it
  namdb bench smallbank --hot 10 --threads 4      many conflicts
  namdb bench smallbank --hot-percent 0           hardly any";

const TATP_EXAMPLES: &str = "\
Examples:
  namdb bench tatp --subscribers 1000000          about 2 GB
  namdb bench tatp --isolation serializable       reads are validated, too
  namdb trace tatp --subscribers 1000             every verb of one transaction of each type

Types and keys are drawn without looking at the tables, so about a quarter of the transactions fail by the \
specification's rules: they find no row, or insert an existing one. The report counts them apart from committed \
and aborted ones.";

const YCSB_EXAMPLES: &str = "\
Examples:
  namdb bench ycsb --workload B --records 1000000 95 % reads, skewed
  namdb bench ycsb --read-share 80 --uniform      80 % reads, 20 % updates, no skew
  namdb bench ycsb --ops-per-txn 10 --read-share 0
                                                  transactions of ten updates
  namdb bench ycsb --workload C --record-bytes 100
                                                  small records";

const FOLDER_EXAMPLES: &str = "\
Examples:
  namdb bench workloads/tpcc                      TPC-C as stored procedures, by generated code
  namdb bench workloads/tpcc --code plans         the same by the executor of PostgreSQL's plans
  namdb bench workloads/tatp --units 10 --threads 1    a million subscribers
  namdb bench workloads/tatp --design mine.json   tables stored as a file says
  namdb bench mine                                a workload of your own, by the executor of plans or, in a program that
                                                  `namdb spade generate mine --crate DIR` has written, by its code
  namdb bench workloads/tatp --postgres --threads 2    the same in a PostgreSQL, and the ratio

A workload is a folder with schema.sql, procedures.sql, workload.toml and, made by `namdb spade plan`, plans. Tables are
created and loaded, and procedures called, as workload.toml says (docs/workload.md); docs/sql.md lists the supported SQL.
Generated code for the shipped workloads is built in; a program of your own links that of others. A call that ends by RAISE
EXCEPTION or violates the schema (an existing key, a CHECK, a reference) counts as rolled back. A call that returns no row
although it could counts as having found nothing.";

const BANK_EXAMPLES: &str = "\
Examples:
  namdb bench bank --records 100 --threads 4      many conflicts
  namdb bench bank --audits 50                    long readers beside writers";

const APPEND_EXAMPLES: &str = "\
Examples:
  namdb bench append --seconds 5 --history run.edn
                                                  record, judge, and keep the history
  namdb bench append --isolation serializable --lists 5
                                                  many conflicts, and a serial order all the same
  namdb bench append --operations 10 --read-share 80
                                                  long transactions that mostly read
The history can be judged again, and drawn: namdb check history run.edn --svg found.svg";

/// A workload and its parameters.
#[derive(Subcommand, Clone, Debug)]
pub enum Choice {
    /// A wholesaler's orders: five transaction types on nine tables, full mix
    Tpcc(TpccArguments),
    /// Customers' savings and checking accounts: six short transaction types, most on few customers
    Smallbank(SmallBankArguments),
    /// A mobile network's home location register: seven very short transaction types, mostly reads
    Tatp(TatpArguments),
    /// Reads and updates of records by key, with a skew
    Ycsb(YcsbArguments),
    /// Transfers between accounts, and audits that must see every cent
    Bank(BankArguments),
    /// The stored procedures of a workload folder, called as its workload.toml says
    Folder(FolderArguments),
    /// Appends to lists and reads of them, recorded and checked: the isolation level that clients
    /// observed
    Append(AppendArguments),
}

/// Arguments of TPC-C.
#[derive(Args, Clone, Debug)]
#[command(after_help = TPCC_EXAMPLES)]
pub struct TpccArguments {
    /// Warehouses, about 100 MB each [default: one per thread]
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=i64::from(tpcc::WAREHOUSES_MAX)))]
    pub warehouses: Option<u32>,
    /// Percentage of new orders that touch another warehouse [default: TPC-C's, about 10]
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub distribution: Option<u32>,
    /// Size of a warehouse
    #[arg(long, value_enum, default_value = "full")]
    pub population: PopulationName,
}

/// Sizes of a TPC-C warehouse.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PopulationName {
    /// TPC-C's size; any other size is not TPC-C
    Full,
    /// About a hundredth, with more contention
    Small,
    /// About a thousandth, for emulated hosts
    Tiny,
}

impl PopulationName {
    fn scale(self) -> Scale {
        match self {
            Self::Full => Scale::FULL,
            Self::Small => Scale::SMALL,
            Self::Tiny => Scale::TINY,
        }
    }
}

/// Arguments of SmallBank.
#[derive(Args, Clone, Debug)]
#[command(after_help = SMALLBANK_EXAMPLES)]
pub struct SmallBankArguments {
    /// Customers
    #[arg(long, allow_negative_numbers = true, value_parser = parse_count::<u64>, default_value_t = 100_000)]
    pub records: u64,
    /// Number of hot customers [default: 4 in 100]
    #[arg(long, allow_negative_numbers = true, value_parser = parse_count::<u64>)]
    pub hot: Option<u64>,
    /// Percentage of transactions on hot customers
    #[arg(long, allow_negative_numbers = true, value_parser = parse_count::<u32>, default_value_t = 90)]
    pub hot_percent: u32,
}

#[derive(Args, Clone, Debug)]
#[command(after_help = TATP_EXAMPLES)]
pub struct TatpArguments {
    /// Subscribers, about 2 KB each
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=i64::from(SUBSCRIBERS_MAX)), default_value_t = 100_000)]
    pub subscribers: u32,
}

#[derive(Args, Clone, Debug)]
#[command(after_help = YCSB_EXAMPLES)]
pub struct YcsbArguments {
    /// YCSB's mix: A half updates, B 5 % updates, C reads only, D reads of the latest and inserts,
    /// E scans and inserts, F half read-modify-writes
    #[arg(long, default_value = "A")]
    pub workload: Letter,
    /// Records
    #[arg(long, allow_negative_numbers = true, value_parser = parse_count::<u64>, default_value_t = 100_000)]
    pub records: u64,
    /// Total bytes of a record's fields
    #[arg(long, allow_negative_numbers = true, value_parser = parse_count::<u32>, default_value_t = workload::ycsb::config::RECORD_BYTES_DEFAULT)]
    pub record_bytes: u32,
    /// Operations per transaction, each on a different record
    #[arg(long, allow_negative_numbers = true, value_parser = parse_count::<u32>, default_value_t = 1)]
    pub ops_per_txn: u32,
    /// Percentage of reads (the rest updates), instead of the letter's mix
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=100), conflicts_with = "workload")]
    pub read_share: Option<u32>,
    /// Zipf skew: 0 is uniform, YCSB's is 0.99
    #[arg(long, value_name = "THETA", allow_negative_numbers = true, default_value_t = workload::ycsb::config::THETA_DEFAULT)]
    pub zipf: f64,
    /// Choose all records with equal probability
    #[arg(long, conflicts_with = "zipf")]
    pub uniform: bool,
}

/// Arguments of a workload folder.
#[derive(Args, Clone, Debug)]
#[command(after_help = FOLDER_EXAMPLES)]
pub struct FolderArguments {
    /// The folder
    pub folder: PathBuf,
    /// Scale, such as the number of warehouses [default: as in workload.toml]
    #[arg(long, allow_negative_numbers = true, value_parser = parse_units)]
    pub units: Option<u64>,
    /// How procedures are executed [default: by generated code if there is some for this workload,
    /// otherwise by the plan executor]
    #[arg(long, value_enum)]
    pub code: Option<CodeName>,
    /// How tables are stored [default: design.json of the folder, or the output of `namdb spade
    /// design`]
    #[arg(long, value_name = "FILE")]
    pub design: Option<PathBuf>,
    /// First run the procedures in PostgreSQL and compare: in a server started for the run, or in
    /// the one at this address (as for psql), which must not require a password
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "")]
    pub postgres: Option<String>,
    /// Number of PostgreSQL clients [default: the number of threads]
    #[arg(long, value_name = "N", requires = "postgres", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub clients: Option<u32>,
    /// PostgreSQL's isolation level
    #[arg(long, value_enum, default_value = "repeatable-read", requires = "postgres")]
    pub postgres_isolation: PostgresIsolation,
    /// Generated code linked into this program in addition to that of the shipped workloads.
    #[arg(skip)]
    pub linked: Vec<namdb::procedures::Code>,
}

/// PostgreSQL's isolation levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PostgresIsolation {
    /// A snapshot per statement: weaker than any level of namdb
    ReadCommitted,
    /// A snapshot per transaction, first updater wins: like namdb's snapshot isolation
    RepeatableRead,
    /// As if transactions ran one after the other
    Serializable,
}

impl PostgresIsolation {
    /// The level's name in PostgreSQL.
    pub fn words(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }
}

/// Ways to execute procedures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CodeName {
    /// Generated code, and the plan executor for calls that the code leaves to it
    Generated,
    /// The executor of PostgreSQL's plans
    Plans,
}

#[derive(Args, Clone, Debug)]
#[command(after_help = BANK_EXAMPLES)]
pub struct BankArguments {
    /// Accounts
    #[arg(long, allow_negative_numbers = true, default_value_t = 10_000, value_parser = clap::value_parser!(i32).range(2..))]
    pub records: i32,
    /// Percentage of transactions that read all accounts
    #[arg(long, allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub audits: u32,
}

/// Arguments of list-append.
#[derive(Args, Clone, Debug)]
#[command(after_help = APPEND_EXAMPLES)]
pub struct AppendArguments {
    /// Number of lists in use at a time; fewer lists mean more conflicts
    #[arg(long, allow_negative_numbers = true, value_parser = parse_count::<u64>, default_value_t = AppendConfig::default().lists)]
    pub lists: u64,
    /// Appends to a list before a new list replaces it
    #[arg(long, allow_negative_numbers = true, value_parser = parse_count::<u32>, default_value_t = AppendConfig::default().elements)]
    pub elements: u32,
    /// Maximal number of operations per transaction
    #[arg(long, allow_negative_numbers = true, value_parser = parse_count::<u32>, default_value_t = AppendConfig::default().operations)]
    pub operations: u32,
    /// Percentage of reads, the rest appends
    #[arg(long, allow_negative_numbers = true, value_parser = parse_count::<u32>, default_value_t = AppendConfig::default().read_percent)]
    pub read_share: u32,
    /// Transactions to record and check, including aborted attempts; later ones only read
    #[arg(long, allow_negative_numbers = true, value_parser = parse_count::<u64>, default_value_t = AppendConfig::default().recorded)]
    pub recorded: u64,
    /// Write the history, for `namdb check history` and for other checkers
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
}

/// A job that can run on any workload.
pub trait Job {
    /// Result of the job.
    type Output;

    /// Runs the job. `parameters` describe the workload.
    fn run<W: AnyWorkload>(self, workload: W, parameters: Parameters) -> Result<Self::Output>;
}

impl Choice {
    /// Adds linked generated code to a folder workload.
    pub fn link(&mut self, code: &[namdb::procedures::Code]) {
        if let Self::Folder(arguments) = self {
            arguments.linked = code.to_vec();
        }
    }

    /// Paths that the workload reads: a folder and a design.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let Self::Folder(FolderArguments { folder, design, .. }) = self else { return Vec::new() };
        [folder.clone(), folder.join("design.json")].into_iter().chain(design.clone()).collect()
    }

    /// Builds the workload and runs the job on it.
    pub fn run<J: Job>(
        &self,
        isolation: Isolation,
        threads: u32,
        seed: u64,
        job: J,
    ) -> Result<J::Output> {
        match self {
            Self::Tpcc(arguments) => {
                let config = arguments.config(isolation, threads, seed);
                let options = json!({
                    "warehouses": config.warehouses,
                    "distribution": arguments.distribution,
                    "items": config.scale.items,
                    "customers_per_district": config.scale.customers_per_district,
                });
                let words = arguments.describe(threads);
                job.run(Tpcc::new(config)?, Parameters { words, options })
            }
            Self::Smallbank(arguments) => {
                let config = arguments.config(isolation);
                let options = json!({
                    "records": config.customers,
                    "hot": config.hot_customers,
                    "hot_percent": config.hot_percent,
                });
                let words = arguments.describe(&config);
                job.run(SmallBank::new(config)?, Parameters { words, options })
            }
            Self::Tatp(arguments) => {
                let config = arguments.config(isolation, seed);
                let options = json!({ "subscribers": config.subscribers });
                let words = counted(u64::from(config.subscribers), "subscriber");
                job.run(Tatp::new(config)?, Parameters { words, options })
            }
            Self::Ycsb(arguments) => {
                let ycsb = Ycsb::new(arguments.config(isolation))?;
                job.run(
                    ycsb,
                    Parameters { words: arguments.describe(), options: arguments.options() },
                )
            }
            Self::Bank(arguments) => {
                let mut bank = Bank::new(arguments.records)?;
                bank.audit_percent = arguments.audits;
                bank.isolation = isolation;
                let accounts = counted(arguments.records as u64, "account");
                let words = format!("{accounts}, {} % audits", arguments.audits);
                let options = json!({ "records": arguments.records, "audits": arguments.audits });
                job.run(bank, Parameters { words, options })
            }
            Self::Folder(arguments) => {
                let (stored, parameters) = arguments.workload(isolation, seed)?;
                job.run(stored, parameters)
            }
            Self::Append(arguments) => {
                let append = Append::new(arguments.config(isolation))?;
                if let Some(path) = &arguments.history {
                    json::probe(path, &[])?;
                }
                let parameters =
                    Parameters { words: arguments.describe(), options: arguments.options() };
                let output = job.run(append.clone(), parameters)?;
                arguments.write_history(&append)?;
                Ok(output)
            }
        }
    }
}

impl AppendArguments {
    fn options(&self) -> serde_json::Value {
        json!({
            "lists": self.lists,
            "elements": self.elements,
            "operations": self.operations,
            "read_share": self.read_share,
            "recorded": self.recorded,
        })
    }
}

impl FolderArguments {
    /// Reads the folder.
    pub fn workload(&self, isolation: Isolation, seed: u64) -> Result<(Stored, Parameters)> {
        let Self { folder, units, code, design, linked, .. } = self;
        let options = Options {
            units: *units,
            wants_plans: *code == Some(CodeName::Plans),
            linked,
            design: design.as_deref(),
            isolation,
            seed,
        };
        let stored = match code {
            None => read_any(folder, &options)?,
            Some(_) => Stored::read(folder, &options)?,
        };
        let code = match stored.code() {
            Code::Plans => CodeName::Plans,
            Code::Generated(_) | Code::Linked(_) => CodeName::Generated,
        };
        let units = counted(stored.units(), "unit");
        let design = match stored.origin() {
            DesignOrigin::File(path) => format!("design {}", path.display()),
            DesignOrigin::Default => "the default design".to_owned(),
            DesignOrigin::Given => "a design".to_owned(),
        };
        let words = format!("{units}, {}, {design}", stored.code_words());
        let options = json!({
            "folder": folder.display().to_string(),
            "units": stored.units(),
            "code": code.words(),
            "design": design,
        });
        Ok((stored, Parameters { words, options }))
    }
}

/// Reads a folder, with generated code if some matches. If the workload has changed since its code
/// was generated, prints that the code is ignored.
pub fn read_any(folder: &Path, options: &Options<'_>) -> Result<Stored> {
    let (stored, other) = Stored::read_any(folder, options)?;
    if let Some(other) = other {
        output::say(&format!("namdb: {other}; until then it is run by the executor of plans"));
    }
    Ok(stored)
}

impl CodeName {
    /// How a run with these parameters executed procedures, as `--code` takes it; `None` for
    /// workloads other than folders.
    pub fn of(options: &serde_json::Value) -> Option<Self> {
        let said = options.get("code")?;
        Self::value_variants().iter().copied().find(|code| *said == code.words())
    }

    fn words(self) -> &'static str {
        match self {
            Self::Generated => "generated code",
            Self::Plans => "the executor of plans",
        }
    }
}

impl TpccArguments {
    fn config(&self, isolation: Isolation, threads: u32, seed: u64) -> tpcc::Config {
        tpcc::Config {
            distribution_percent: self.distribution,
            scale: self.population.scale(),
            isolation,
            seed,
            ..tpcc::Config::new(self.warehouses.unwrap_or(threads))
        }
    }

    fn describe(&self, threads: u32) -> String {
        let warehouses = counted(u64::from(self.warehouses.unwrap_or(threads)), "warehouse");
        let work = match self.distribution {
            None => format!("{warehouses}, the full mix, no think times"),
            Some(percent) => format!("{warehouses}, {percent} % of new orders distributed"),
        };
        match self.population {
            PopulationName::Full => work,
            PopulationName::Small | PopulationName::Tiny => {
                format!("{work}, a population far smaller than TPC-C's")
            }
        }
    }
}

impl SmallBankArguments {
    fn config(&self, isolation: Isolation) -> SmallBankConfig {
        SmallBankConfig {
            customers: self.records,
            hot_customers: self.hot.unwrap_or((self.records / 25).max(2)),
            hot_percent: self.hot_percent,
            isolation,
        }
    }

    fn describe(&self, config: &SmallBankConfig) -> String {
        let customers = counted(self.records, "customer");
        let hot = grouped(config.hot_customers);
        format!("{customers}, {} % of transactions on {hot} of them", self.hot_percent)
    }
}

impl TatpArguments {
    fn config(&self, isolation: Isolation, seed: u64) -> TatpConfig {
        TatpConfig { isolation, seed, ..TatpConfig::new(self.subscribers) }
    }
}

impl AppendArguments {
    fn config(&self, isolation: Isolation) -> AppendConfig {
        AppendConfig {
            lists: self.lists,
            elements: self.elements,
            operations: self.operations,
            read_percent: self.read_share,
            isolation,
            recorded: self.recorded,
        }
    }

    fn describe(&self) -> String {
        let lists = counted(self.lists, "list");
        let operations = counted(u64::from(self.operations), "operation");
        format!("{lists} of {} elements, {operations}, {} % reads", self.elements, self.read_share)
    }

    fn write_history(&self, append: &Append) -> Result<()> {
        let Some(path) = &self.history else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        history_judge::write_edn(&append.recordings().history(), &mut bytes)
            .context("writing to memory cannot fail")?;
        output::replace(path, &bytes)
    }
}

impl YcsbArguments {
    /// The letter's mix or the share of reads that replaces it, and the skew, if any.
    fn options(&self) -> serde_json::Value {
        let letter = format!("{:?}", self.workload);
        json!({
            "workload": self.read_share.is_none().then_some(letter),
            "read_share": self.read_share,
            "records": self.records,
            "record_bytes": self.record_bytes,
            "ops_per_txn": self.ops_per_txn,
            "zipf": (!self.uniform).then_some(self.zipf),
            "uniform": self.uniform,
        })
    }

    fn config(&self, isolation: Isolation) -> YcsbConfig {
        let distribution = match self.uniform {
            true => Distribution::Uniform,
            false => self.workload.distribution(self.zipf),
        };
        YcsbConfig {
            records: self.records,
            record_bytes: self.record_bytes,
            mix: self.read_share.map_or(self.workload.mix(), Mix::reads_and_updates),
            distribution,
            operations_per_transaction: self.ops_per_txn,
            isolation,
        }
    }

    fn describe(&self) -> String {
        let mix = match self.read_share {
            Some(percent) => format!("{percent} % reads"),
            None => format!("workload {:?}", self.workload),
        };
        let records = counted(self.records, "record");
        let skew = match self.uniform {
            true => "uniform".to_owned(),
            false => format!("zipf {}", self.zipf),
        };
        let operations = match self.ops_per_txn {
            1 => String::new(),
            several => format!(", {several} operations a transaction"),
        };
        format!("{mix}, {records} of {} B, {skew}{operations}", self.record_bytes)
    }
}
