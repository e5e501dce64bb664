//! Registers: short transactions that read and overwrite single values, recorded from the clients'
//! view, and long ones that read every register in one snapshot with pauses in between. Its check
//! is the judge of the crate `history_judge`.
//!
//! A read of a register shows one version and nothing about earlier ones, so the engine exports the
//! order: the number of a version is the number of commits that its writer's snapshot covers. Of
//! two writers of a register, the later one's snapshot covers the earlier one's commit, and
//! snapshots only grow, so its number is larger.
//!
//! A register is created by its first write, while others look for it.

use crate::attempts::{self, result_of};
use crate::catch_up::catch_up;
use crate::driver::{CheckResult, Finished, RunTotals, TransactionResult, Workload};
use crate::error::WorkloadError;
use crate::random::Random;
use crate::recording::{Recordings, Session, version};
use crate::verdicts::verdicts;
use fabric::Env;
use layout::{Column, ColumnType, Key, KeyBuilder, PhysicalDesign, RecordRef, Schema};
use txn::{Database, Isolation, Lane, RowId, TableId, TableSpec};

const TABLE: &str = "register";
const VALUE: usize = 1;
const TYPES: [&str; 3] = ["write", "read", "long read"];
const WRITE: usize = 0;
const READ: usize = 1;
const LONG_READ: usize = 2;
/// The random stream of the terminals.
const TERMINAL_STREAM: u32 = 220;
/// Memory that is independent of the number of registers.
const BASE_BYTES: u64 = 16 << 20;
/// Memory of a register, including old versions.
const REGISTER_BYTES: u64 = 512;

/// The parameters of the transactions.
#[derive(Clone, PartialEq, Debug)]
pub struct RegisterConfig {
    /// Number of registers, at least 1.
    pub registers: u64,
    /// The largest number of registers of a short transaction, at least 1.
    pub operations: u32,
    /// Percentage of reads among the operations.
    pub read_percent: u32,
    /// Percentage of long transactions.
    pub long_percent: u32,
    /// The longest pause of a long transaction before each read.
    pub pause_ns: u64,
    /// The isolation level.
    pub isolation: Isolation,
    /// The physical design of the table.
    pub design: PhysicalDesign,
}

/// The workload. Its clones share their recordings.
#[derive(Clone, Debug)]
pub struct Register {
    config: RegisterConfig,
    recordings: Recordings,
}

impl Register {
    /// The workload of a configuration; an error if the configuration is invalid.
    pub fn new(config: RegisterConfig) -> Result<Self, WorkloadError> {
        let refuse = |sentence: String| Err(WorkloadError::Configuration(sentence));
        if config.registers == 0 || config.operations == 0 {
            return refuse("a transaction needs at least one register".to_owned());
        }
        for percent in [config.read_percent, config.long_percent] {
            if percent > 100 {
                return refuse(format!("{percent} percent: at most 100 are possible"));
            }
        }
        Ok(Self { config, recordings: Recordings::default() })
    }

    /// The recorded histories of its sessions.
    pub fn recordings(&self) -> &Recordings {
        &self.recordings
    }

    /// The judge's verdict on the recorded histories.
    pub fn verdicts(&self) -> Vec<CheckResult> {
        verdicts(&self.recordings.history(), self.config.isolation)
    }
}

/// The state of one thread between transactions.
#[derive(Debug)]
pub struct Terminal {
    config: RegisterConfig,
    table: TableId,
    random: Random,
    session: Session,
    /// The registers of the transaction, each once, with a flag for writes.
    operations: Vec<(u64, bool)>,
    rows: Vec<Option<RowId>>,
}

impl Terminal {
    fn draw(&mut self) {
        let count = 1 + self.random.below(u64::from(self.config.operations));
        self.operations.clear();
        for _ in 0..count {
            let register = self.random.below(self.config.registers);
            if self.operations.iter().all(|&(other, _)| other != register) {
                let is_write = !self.random.percent(self.config.read_percent);
                self.operations.push((register, is_write));
            }
        }
    }

    async fn recorded<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        kind: usize,
    ) -> Result<TransactionResult, WorkloadError> {
        self.session.begin(lane.env().now_ns());
        let attempt = match kind {
            LONG_READ => self.long_read(lane).await,
            _ => self.short(lane).await,
        };
        self.session.end(lane.env().now_ns(), &attempt);
        attempt
    }

    async fn short<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
    ) -> Result<TransactionResult, WorkloadError> {
        let mut transaction = lane.begin(self.config.isolation).await?;
        self.session.version(version(&transaction));
        let table = self.table;
        let reads: Vec<_> = self.operations.iter().map(|&(id, _)| (table, key(id))).collect();
        transaction.read_many(&reads, &mut self.rows).await?;
        for (place, &(register, is_write)) in self.operations.iter().enumerate() {
            let found = self.rows[place];
            let value = found.map(|row| transaction.row(row).int(VALUE));
            self.session.read_value(register, value);
            if !is_write {
                continue;
            }
            let row = match found {
                Some(row) => row,
                None => transaction.insert(table, &key(register)).await?,
            };
            let value = self.session.value();
            self.session.write(register, value);
            transaction.update(row).set_int(VALUE, value);
        }
        Ok(result_of(transaction.commit().await))
    }

    async fn long_read<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
    ) -> Result<TransactionResult, WorkloadError> {
        let mut transaction = lane.begin(self.config.isolation).await?;
        for register in 0..self.config.registers {
            let pause_ns = self.random.below(self.config.pause_ns + 1);
            transaction.env().clone().sleep_ns(pause_ns).await;
            let row = transaction.read(self.table, &key(register)).await?;
            let value = row.map(|row| transaction.row(row).int(VALUE));
            self.session.read_value(register, value);
        }
        Ok(result_of(transaction.commit().await))
    }
}

impl<E: Env> Workload<E> for Register {
    type Terminal = Terminal;

    fn name(&self) -> &'static str {
        "register"
    }

    fn transaction_types(&self) -> &'static [&'static str] {
        &TYPES
    }

    fn table_names(&self) -> &'static [&'static str] {
        &[TABLE]
    }

    fn memory_bytes(&self) -> u64 {
        BASE_BYTES + self.config.registers * REGISTER_BYTES
    }

    async fn create_tables(&self, database: &Database<E>) -> Result<(), WorkloadError> {
        let columns =
            vec![Column::new("r_id", ColumnType::Int8), Column::new("r_value", ColumnType::Int8)];
        let schema = Schema::new(TABLE, columns, &[0])?;
        let design = self.config.design.clone();
        database.create_table(TableSpec { schema, design, indexes: vec![] }).await?;
        Ok(())
    }

    fn terminal(
        &self,
        database: &Database<E>,
        thread: u32,
        _threads: u32,
        seed: u64,
    ) -> Result<Terminal, WorkloadError> {
        Ok(Terminal {
            config: self.config.clone(),
            table: database.table(TABLE).ok_or(WorkloadError::NoTable(TABLE))?,
            random: Random::stream(seed, TERMINAL_STREAM, u64::from(thread)),
            session: self.recordings.open(),
            operations: Vec::new(),
            rows: Vec::new(),
        })
    }

    async fn run_one(
        &self,
        lane: &mut Lane<E>,
        terminal: &mut Terminal,
    ) -> Result<Finished, WorkloadError> {
        let is_long = terminal.random.percent(self.config.long_percent);
        terminal.draw();
        let kind = match terminal.operations.iter().any(|&(_, is_write)| is_write) {
            _ if is_long => LONG_READ,
            true => WRITE,
            false => READ,
        };
        attempts::run(lane, kind, async |lane| terminal.recorded(lane, kind).await).await
    }

    /// Reads all registers once more, and runs the judge.
    async fn check(
        &self,
        database: &Database<E>,
        lane: &mut Lane<E>,
        _totals: &RunTotals,
        _after_load: bool,
    ) -> Result<Vec<CheckResult>, WorkloadError> {
        catch_up(lane).await?;
        let table = database.table(TABLE).ok_or(WorkloadError::NoTable(TABLE))?;
        let mut session = self.recordings.open();
        let look = async |lane: &mut Lane<E>| {
            session.begin(lane.env().now_ns());
            let attempt = read_all(lane, table, self.config.registers, &mut session).await;
            session.end(lane.env().now_ns(), &attempt);
            attempt
        };
        attempts::insist(lane, look).await?;
        Ok(self.verdicts())
    }
}

async fn read_all<E: Env>(
    lane: &mut Lane<E>,
    table: TableId,
    registers: u64,
    session: &mut Session,
) -> Result<TransactionResult, WorkloadError> {
    let mut transaction = lane.begin(Isolation::Snapshot).await?;
    let mut values = vec![None; registers as usize];
    let mut visit = |row: RecordRef<'_>| values[row.int(0) as usize] = Some(row.int(VALUE));
    transaction.for_each(table, &mut visit).await?;
    for (register, value) in (0..).zip(values) {
        session.read_value(register, value);
    }
    Ok(result_of(transaction.commit().await))
}

fn key(register: u64) -> Key {
    KeyBuilder::new().int8(register as i64).key()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Trial;
    use fabric::run_now;
    use history_judge::Level;

    fn register() -> Register {
        let config = RegisterConfig {
            registers: 6,
            operations: 3,
            read_percent: 50,
            long_percent: 5,
            pause_ns: 10,
            isolation: Isolation::Snapshot,
            design: PhysicalDesign::default(),
        };
        Register::new(config).expect("the configuration is right")
    }

    #[test]
    fn one_thread_is_strictly_serializable() {
        let mut trial = Trial::load(register());
        trial.run(2000);
        assert_eq!(trial.failures(), [""; 0]);
        let history = trial.workload.recordings().history();
        let report = history_judge::judge(&history).expect("values are unique");
        assert_eq!(report.verdict(Level::StrictSerializable), &history_judge::Verdict::Holds);
        assert_eq!(report.counts.unordered_keys, 0);
    }

    #[test]
    fn a_register_changed_behind_the_sessions_backs_is_noticed() {
        let mut trial = Trial::load(register());
        trial.run(100);
        let table = trial.database.table(TABLE).expect("it was made");
        trial.damage(|transaction| {
            let row = run_now(transaction.read(table, &key(0))).expect("quiet");
            transaction.update(row.expect("it was written")).set_int(VALUE, 7_000_000);
        });
        assert_eq!(trial.failures(), [crate::verdicts::SNAPSHOT]);
    }

    #[test]
    fn configurations_that_cannot_be_are_refused() {
        let config = RegisterConfig { long_percent: 101, ..register().config };
        let refused = Register::new(config).expect_err("it is more than all");
        assert!(refused.to_string().starts_with("101 percent"));
    }
}
