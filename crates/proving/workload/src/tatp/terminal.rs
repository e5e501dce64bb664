//! A terminal: the state of one thread between transactions, and how it runs the next one.
//!
//! A terminal draws its next transaction before it runs the current one, as a server with a queue
//! of requests can, and prefetches the rows that the input names: they arrive while the current one
//! runs.
//!
//! Decision: docs/decisions/0191-a-terminal-draws-its-next-transaction-before-it-runs.md

use super::config::TatpConfig;
use super::input::{Input, InputSource, Kind};
use super::journal::{Journal, OpenPage};
use super::population::START_TIMES;
use super::tables::Tables;
use super::{forwarding, keys, reads, updates};
use crate::attempts::Attempts;
use crate::driver::{Finished, TransactionResult};
use crate::error::WorkloadError;
use crate::random::Random;
use crate::recording::{Recordings, Session};
use fabric::Env;
use layout::Key;
use txn::{Lane, RowId, TableId};

/// The random stream of the terminals.
const TERMINAL_STREAM: u32 = 312;

/// The state of one thread between transactions.
#[derive(Debug)]
pub struct Terminal {
    pub(super) config: TatpConfig,
    pub(super) tables: Tables,
    source: InputSource,
    next: Input,
    pub(super) page: OpenPage,
    /// The recording of this terminal, in recorded runs.
    pub(super) session: Option<Session>,
    /// Buffers that transactions reuse.
    pub(super) reads: Vec<(TableId, Key)>,
    pub(super) found: Vec<Option<RowId>>,
    pub(super) rows: Vec<RowId>,
    /// The row that the last transaction read for its caller.
    pub(super) result: [u64; reads::RESULT_WORDS],
}

impl Terminal {
    pub(super) fn new(
        config: TatpConfig,
        tables: Tables,
        journal: &Journal,
        recordings: &Recordings,
        thread: u32,
        seed: u64,
    ) -> Self {
        let random = Random::stream(seed, TERMINAL_STREAM, u64::from(thread));
        let mut source = InputSource::new(&config, random);
        Self {
            config,
            tables,
            next: source.draw(),
            source,
            page: journal.open(),
            session: config.recorded.then(|| recordings.open()),
            reads: Vec::new(),
            found: Vec::new(),
            rows: Vec::new(),
            result: [0; reads::RESULT_WORDS],
        }
    }

    /// A terminal that executes given transactions by [`Self::carry_out`], and records nothing for
    /// the checks.
    pub fn hired(config: TatpConfig, tables: Tables) -> Self {
        let (journal, recordings) = (Journal::default(), Recordings::default());
        Self::new(config, tables, &journal, &recordings, 0, config.seed)
    }

    /// Reads a subscriber in all of these tables, by key and by number, and changes nothing:
    /// afterwards the lane knows their locations.
    ///
    /// # Errors
    /// If a server is unreachable, or if the tables are not as loaded.
    pub async fn look<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        tables: Tables,
        s_id: i32,
    ) -> Result<(), WorkloadError> {
        let mut transaction = lane.begin(self.config.isolation).await?;
        let keys = [
            (tables.subscriber, keys::subscriber(s_id)),
            (tables.access_info, keys::typed(s_id, 1)),
            (tables.special_facility, keys::typed(s_id, 1)),
            (tables.call_forwarding, keys::call_forwarding(s_id, 1, START_TIMES[0])),
        ];
        transaction.read_many(&keys, &mut self.found).await?;
        let number = keys::number(&keys::number_of(s_id));
        transaction.lookup(tables.subscriber_number, &number, &mut self.rows).await?;
        reads::end_of_reading(transaction, true).await?;
        Ok(())
    }

    /// Executes a transaction on these tables to its end, without prefetching another.
    ///
    /// # Errors
    /// If a server is full or unreachable, or if the tables are not as loaded.
    pub async fn carry_out<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        tables: Tables,
        input: &Input,
    ) -> Result<Finished, WorkloadError> {
        self.tables = tables;
        let mut attempts = Attempts::new();
        let attempt = async |lane: &mut Lane<E>| self.attempt(lane, input).await;
        let result = attempts.repeat(lane, attempt).await?;
        Ok(attempts.finish(input.kind as usize, result, 0))
    }

    /// Runs the next transaction to its end, and draws the one after it.
    #[inline]
    pub(super) async fn run_one<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
    ) -> Result<Finished, WorkloadError> {
        let input = std::mem::replace(&mut self.next, self.source.draw());
        self.prefetch(lane);
        let mut attempts = Attempts::new();
        loop {
            let attempt = match self.session {
                None => self.attempt(lane, &input).await,
                Some(_) => self.recorded(lane, &input).await,
            };
            if let Some(result) = attempts.judge(lane.env(), attempt).await? {
                return Ok(attempts.finish(input.kind as usize, result, 0));
            }
        }
    }

    /// Prefetches the rows of the next transaction whose keys are among its input, and the index
    /// entry of its number.
    #[inline]
    fn prefetch<E: Env>(&self, lane: &Lane<E>) {
        let Input { kind, s_id, sort, starts, .. } = self.next;
        let Tables { subscriber, access_info, special_facility, call_forwarding, .. } = self.tables;
        let key = keys::subscriber(s_id);
        match kind {
            Kind::GetSubscriberData => lane.prefetch(&[(subscriber, key)]),
            Kind::GetAccessData => lane.prefetch(&[(access_info, keys::typed(s_id, sort))]),
            Kind::GetNewDestination => {
                lane.prefetch(&[(special_facility, keys::typed(s_id, sort))]);
                for start in START_TIMES.into_iter().take_while(|&start| start <= starts) {
                    lane.prefetch(&[(call_forwarding, keys::call_forwarding(s_id, sort, start))]);
                }
            }
            Kind::UpdateSubscriberData => {
                let facility = (special_facility, keys::typed(s_id, sort));
                lane.prefetch(&[(subscriber, key), facility]);
            }
            Kind::UpdateLocation | Kind::InsertCallForwarding | Kind::DeleteCallForwarding => {
                lane.prefetch_lookup(
                    self.tables.subscriber_number,
                    &keys::number(&self.next.number),
                );
            }
        }
    }

    async fn attempt<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        input: &Input,
    ) -> Result<TransactionResult, WorkloadError> {
        match input.kind {
            Kind::GetSubscriberData => reads::get_subscriber_data(lane, self, input).await,
            Kind::GetNewDestination => reads::get_new_destination(lane, self, input).await,
            Kind::GetAccessData => reads::get_access_data(lane, self, input).await,
            Kind::UpdateSubscriberData => updates::update_subscriber_data(lane, self, input).await,
            Kind::UpdateLocation => updates::update_location(lane, self, input).await,
            Kind::InsertCallForwarding => {
                forwarding::insert_call_forwarding(lane, self, input).await
            }
            Kind::DeleteCallForwarding => {
                forwarding::delete_call_forwarding(lane, self, input).await
            }
        }
    }

    async fn recorded<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        input: &Input,
    ) -> Result<TransactionResult, WorkloadError> {
        let input = &self.numbered(input)?;
        let begin_ns = lane.env().now_ns();
        if let Some(session) = &mut self.session {
            session.begin(begin_ns);
        }
        let attempt = self.attempt(lane, input).await;
        let end_ns = lane.env().now_ns();
        if let Some(session) = &mut self.session {
            session.end(end_ns, &attempt);
        }
        attempt
    }
}
