//! The calls of one thread.
//!
//! Decision: docs/decisions/0220-generated-code-names-a-calls-keys-for-prefetching.md

use crate::code::{Crew, Ready};
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

/// Calls that are drawn together, as they would wait in a queue of requests.
const CALLS_AHEAD: u64 = 8;
/// Places for drawn calls, of which one at least is the call under way.
const PLACES: u64 = 2 * CALLS_AHEAD;
/// Most characters of arguments that are told.
const TOLD_MAX: usize = 200;

/// What a thread keeps between calls.
pub struct Terminal {
    calls: Calls<Arc<Population>>,
    callee: Callee,
    /// Calls one behind the other, in a ring.
    queue: [Ready; PLACES as usize],
    /// How many were drawn.
    drawn: u64,
    /// How many were begun.
    begun: u64,
    /// Who sees to it that calls are made where their rows are, if anybody does.
    resident: Option<Resident>,
    /// Who sends calls to the owners of their rows, if anybody does.
    shipping: Option<Box<Shipping>>,
}

/// Calls of a thread to owners of rows.
struct Shipping {
    shipper: Shipper,
    /// The rows of the last of them.
    results: Results,
}

/// Who carries out calls.
pub struct Callee {
    crew: Crew,
    /// The procedures by name.
    names: &'static [&'static str],
    /// Of each procedure, whether it gives rows.
    gives_rows: Vec<bool>,
    /// By which errors they end as they say.
    rules: Arc<Rules>,
    /// Rows of the last call that was carried out here.
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

    /// Makes the next call. Calls that give no rows where they could are counted as skipped parts.
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
            // Boxed: other calls do not carry its state along.
            let shipped = Box::pin(callee.ship(lane.env(), shipping, owner, ready));
            if let Some(finished) = shipped.await? {
                return Ok(finished);
            }
        }
        callee.carry_out(lane, ready).await
    }

    /// Draws calls behind those that were drawn; the one under way, which is the last of them, stays where it is. The rows
    /// that they name are asked for close together, so that the processor looks for the pages of several at once.
    fn draw<E: Env>(&mut self, lane: &Lane<E>) {
        let places = self.drawn..self.drawn + CALLS_AHEAD;
        for place in places.clone() {
            let call = &mut self.queue[(place % PLACES) as usize];
            call.procedure = self.calls.next_into(0, call.prepared.drawn());
            if let Some(resident) = &mut self.resident {
                let drawn = call.prepared.drawn();
                call.whereabouts = resident.place(&mut self.calls, call.procedure, drawn);
            }
            self.callee.crew.make_ready(call);
            if let Some(shipping) = &self.shipping {
                shipping.make_ready(call);
            }
        }
        for place in places {
            self.callee.crew.prefetch(lane, &self.queue[(place % PLACES) as usize]);
        }
        self.drawn += CALLS_AHEAD;
    }
}

impl Shipping {
    /// Notes who carries out a call that was drawn.
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
        crew: Crew,
        names: &'static [&'static str],
        gives_rows: Vec<bool>,
        rules: Arc<Rules>,
    ) -> Self {
        Self { crew, names, gives_rows, rules, rows: 0 }
    }

    /// Makes a call ready.
    pub fn ready(&self, call: Call) -> Ready {
        let mut ready = Ready::default();
        ready.procedure = call.procedure;
        *ready.prepared.drawn() = Arguments::new(call.arguments);
        self.crew.make_ready(&mut ready);
        ready
    }

    /// What is said of a call that ended with an error that is none of the rules.
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
            "a call of {name}({arguments}) ended with SQLSTATE {}: {}; calls may end by RAISE EXCEPTION or since a row is not as \
             the schema wants it, and not so: let workload.toml draw other arguments, or change the procedure",
            error.sqlstate, error.message
        )
    }

    /// Makes a call; answers how it has ended. Calls that give no rows where they could are counted as skipped parts.
    ///
    /// # Errors
    ///
    /// Memory servers do not answer, or it ended as no call should.
    pub async fn carry_out<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        ready: &Ready,
    ) -> Result<Finished, WorkloadError> {
        let ended = self.crew.call(lane, ready).await;
        self.rows = *ended.as_ref().unwrap_or(&0);
        self.finished(ready, ended, self.crew.aborts())
    }

    /// How many rows the last call gave that was carried out here.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Has the owner of its rows carry out a call; none if it does not.
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

    /// What is counted of a call that has ended so, or given so many rows.
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

    /// What a call that has not committed is counted as.
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
