//! The calls of one thread.
//!
//! Decision: docs/decisions/0220-generated-code-names-a-calls-keys-for-prefetching.md

use crate::code::{OpenedProcedures, Ready};
use crate::residence::Resident;
use crate::rules::Rules;
use crate::shipping::{Shipped, Shipper};
use datagen::{Arguments, Call, Calls, Mix, Population};
use fabric::Env;
use interpreter::{CallError, Retries};
use layout::NodeId;
use procedure_runtime::Results;
use sql::SqlType;
use sql_value::Value;
use std::sync::Arc;
use txn::{Abort, Lane};
use workload::{AbortCounts, Finished, TransactionResult, WorkloadError};

/// Number of calls that are drawn together, as if they waited in a queue of requests.
const CALLS_AHEAD: u64 = 8;
/// Size of the ring of drawn calls; one of them is the current call.
const PLACES: u64 = 2 * CALLS_AHEAD;
/// Maximal number of characters of arguments in a message.
const TOLD_MAX: usize = 200;

/// The state of a thread between calls.
pub struct Terminal {
    calls: Calls<Arc<Population>>,
    callee: Callee,
    /// A ring of drawn calls.
    queue: [Ready; PLACES as usize],
    /// Number of drawn calls.
    drawn: u64,
    /// Number of started calls.
    begun: u64,
    /// Draws calls at home, if requested.
    resident: Option<Resident>,
    /// Ships calls to the owners of their rows, if requested.
    shipping: Option<Box<Shipping>>,
}

/// Shipping of calls.
struct Shipping {
    shipper: Shipper,
    /// The result of the last shipped call.
    results: Results,
}

/// Executes calls.
pub struct Callee {
    opened: OpenedProcedures,
    /// Names of the procedures.
    names: &'static [&'static str],
    /// For each procedure, whether it returns rows.
    gives_rows: Vec<bool>,
    /// The errors that procedures raise on purpose.
    rules: Arc<Rules>,
    /// Number of rows of the last call that was executed here.
    rows: usize,
}

impl Terminal {
    pub(crate) fn new(
        population: Arc<Population>,
        callee: Callee,
        client: (u64, u64),
        resident: Option<Resident>,
        shipper: Option<Shipper>,
    ) -> Self {
        let calls = Calls::new(population, client.0, client.1, Mix::Deck);
        let shipping =
            shipper.map(|shipper| Box::new(Shipping { shipper, results: Default::default() }));
        Self { calls, callee, queue: Default::default(), drawn: 0, begun: 0, resident, shipping }
    }

    /// Executes the next call. Counts a call that returns no rows, although its procedure could, as
    /// skipped.
    pub(crate) async fn run_one<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
    ) -> Result<Finished, WorkloadError> {
        let place = (self.begun % PLACES) as usize;
        self.begun += 1;
        if self.drawn <= self.begun {
            self.draw(lane);
        }
        let Self { callee, queue, shipping, .. } = self;
        let ready = &queue[place];
        if let (Some(owner), Some(shipping)) = (ready.owner, shipping) {
            // Boxed, so that other calls do not carry its state.
            let shipped = Box::pin(callee.ship(lane.env(), shipping, owner, ready));
            if let Some(finished) = shipped.await? {
                return Ok(finished);
            }
        }
        callee.carry_out(lane, ready).await
    }

    /// Draws the next calls; the current call, which is the last of the earlier ones, stays in its
    /// slot. Prefetches the rows of all of them together, so that the processor overlaps the page
    /// walks.
    fn draw<E: Env>(&mut self, lane: &Lane<E>) {
        let places = self.drawn..self.drawn + CALLS_AHEAD;
        for place in places.clone() {
            let call = &mut self.queue[(place % PLACES) as usize];
            call.procedure = self.calls.next_into(0, call.prepared.drawn());
            if let Some(resident) = &mut self.resident {
                let drawn = call.prepared.drawn();
                call.whereabouts = resident.place(&mut self.calls, call.procedure, drawn);
            }
            self.callee.opened.make_ready(call);
            if let Some(shipping) = &self.shipping {
                shipping.make_ready(call);
            }
        }
        for place in places {
            self.callee.opened.prefetch(lane, &self.queue[(place % PLACES) as usize]);
        }
        self.drawn += CALLS_AHEAD;
    }
}

impl Shipping {
    /// Stores which server executes a drawn call.
    fn make_ready(&self, call: &mut Ready) {
        call.owner = None;
        if self.shipper.ships(call.procedure) && call.prepare() {
            let texts = call.prepared.texts();
            call.owner = self.shipper.owner(call.procedure, &call.prepared.arguments(&texts));
        }
    }
}

impl Callee {
    pub(crate) fn new(
        opened: OpenedProcedures,
        names: &'static [&'static str],
        gives_rows: Vec<bool>,
        rules: Arc<Rules>,
    ) -> Self {
        Self { opened, names, gives_rows, rules, rows: 0 }
    }

    /// Prepares a call.
    pub fn ready(&self, call: Call) -> Ready {
        let mut ready = Ready::default();
        ready.procedure = call.procedure;
        *ready.prepared.drawn() = Arguments::new(call.arguments);
        self.opened.make_ready(&mut ready);
        ready
    }

    /// The message for a call that ended with an unexpected error.
    fn strange_end(&self, ready: &Ready, error: &sql_value::Error) -> String {
        let name = self.names.get(ready.procedure).copied().unwrap_or_default();
        let arguments: Vec<String> = ready
            .prepared
            .whole()
            .iter()
            .map(|value| match value {
                Value::Null => "null".to_owned(),
                value => sql_value::output::text(value, &SqlType::Unknown).to_string(),
            })
            .collect();
        let arguments: String = arguments.join(", ").chars().take(TOLD_MAX).collect();
        format!(
            "a call of {name}({arguments}) ended with SQLSTATE {}: {}; calls may only end by RAISE EXCEPTION or by violating \
             a constraint; let workload.toml draw other arguments, or change the procedure",
            error.sqlstate, error.message
        )
    }

    /// Executes a call; returns how it ended. Counts a call that returns no rows, although its
    /// procedure could, as skipped.
    ///
    /// # Errors
    ///
    /// Memory servers do not answer, or the call ended with an unexpected error.
    pub async fn carry_out<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        ready: &Ready,
    ) -> Result<Finished, WorkloadError> {
        let ended = self.opened.call(lane, ready).await;
        self.rows = *ended.as_ref().unwrap_or(&0);
        self.finished(ready, ended, self.opened.aborts())
    }

    /// Number of rows of the last call that was executed here.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Ships a call to the owner of its rows; `None` if the owner does not execute it.
    async fn ship<E: Env>(
        &self,
        env: &E,
        Shipping { shipper, results }: &mut Shipping,
        owner: NodeId,
        ready: &Ready,
    ) -> Result<Option<Finished>, WorkloadError> {
        let texts = ready.prepared.texts();
        let (what, arguments) =
            ((ready.procedure, Retries::default()), ready.prepared.arguments(&texts));
        let shipped = shipper.ship(env, owner, what, &arguments, results).await;
        let Some(Shipped { failure, aborts }) = shipped else { return Ok(None) };
        let ended = failure.map_or(Ok(results.rows()), |error| Err(Box::new(error)));
        let finished = self.finished(ready, ended, &aborts)?;
        Ok(Some(Finished { is_shipped: true, ..finished }))
    }

    /// The counts of a call that ended.
    #[inline]
    fn finished(
        &self,
        ready: &Ready,
        ended: Result<usize, Box<CallError>>,
        reasons: &[Abort],
    ) -> Result<Finished, WorkloadError> {
        let kind = ready.procedure;
        let (result, skipped) = match ended {
            Ok(rows) => {
                (TransactionResult::Committed, u32::from(rows == 0 && self.gives_rows[kind]))
            }
            Err(error) => (self.end(ready, *error)?, 0),
        };
        let mut aborts = AbortCounts::default();
        reasons.iter().for_each(|&reason| aborts.add(reason));
        let is_given_up = matches!(result, TransactionResult::Aborted(_));
        let retries = reasons.len() as u32 - u32::from(is_given_up);
        let whereabouts = ready.whereabouts;
        Ok(Finished { kind, result, retries, skipped, aborts, whereabouts, is_shipped: false })
    }

    /// How a call that did not commit is counted.
    #[cold]
    fn end(&self, ready: &Ready, error: CallError) -> Result<TransactionResult, WorkloadError> {
        Ok(match error {
            CallError::Sql(error) if self.rules.are_kept(ready.procedure, &error.sqlstate) => {
                TransactionResult::RolledBack
            }
            CallError::Sql(error) => {
                return Err(WorkloadError::Configuration(self.strange_end(ready, &error)));
            }
            CallError::Aborted(reason) => TransactionResult::Aborted(reason),
            CallError::Unknown => TransactionResult::Unknown,
            CallError::Engine(error) => return Err(WorkloadError::Statement(error)),
            other => return Err(WorkloadError::Inconsistent(other.to_string())),
        })
    }
}
