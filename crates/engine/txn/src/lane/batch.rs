//! The batch of a transaction, and its single owner.

use fabric::{Batch, Env, FabricError};
use std::ops::{Deref, DerefMut};

/// The batch of a transaction: its arena holds the data that the transaction has read and will
/// write. The batch is away while it executes. If the execution fails, the batch is lost: the verbs
/// may or may not have taken effect, and only their results could show it.
pub(crate) struct TransactionBatch {
    here: Option<Batch>,
    is_lost: bool,
}

impl TransactionBatch {
    pub fn new() -> Self {
        Self { here: Some(Batch::new()), is_lost: false }
    }

    /// Empties the batch for the next transaction.
    #[inline]
    pub fn reset(&mut self) {
        self.is_lost = false;
        self.here.get_or_insert_with(Batch::new).reset();
    }

    /// Whether the results of the last execution, and with them the arena, are lost.
    #[inline]
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Takes the batch for a function that returns it. It counts as lost until [`Self::put_back`].
    #[inline(always)]
    pub fn take(&mut self) -> Batch {
        self.is_lost = true;
        self.here.take().unwrap_or_default()
    }

    /// Puts back the batch that [`Self::take`] took.
    #[inline(always)]
    pub fn put_back(&mut self, batch: Batch) {
        debug_assert!(self.here.is_none(), "a transaction has one batch");
        self.is_lost = false;
        self.here = Some(batch);
    }

    /// Executes the verbs in a world where no verb waits.
    #[inline(always)]
    pub fn execute_now<E: Env>(&mut self, env: &E) -> Result<(), FabricError> {
        env.execute_now(self)
    }

    /// Posts the verbs and waits for their results: one round trip. If the future is dropped or the
    /// execution fails, the batch is lost.
    pub async fn execute<E: Env>(&mut self, env: &E) -> Result<(), FabricError> {
        let batch = self.take();
        self.put_back(env.execute(batch).await?);
        Ok(())
    }
}

impl Deref for TransactionBatch {
    type Target = Batch;

    #[inline(always)]
    fn deref(&self) -> &Batch {
        self.here.as_ref().expect("no step reads the batch while it executes")
    }
}

impl DerefMut for TransactionBatch {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Batch {
        self.here.get_or_insert_with(Batch::new)
    }
}
