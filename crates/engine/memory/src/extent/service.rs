//! The memory server's side: executes the calls of compute servers.

use super::{ALLOCATE, AllocateError, Extents, FREE, FREE_LABEL, Label, Need, POPULATE, USAGE};
use crate::message::{Reader, Writer};
use fabric::{CallError, Env, Note, Reply, Service};
use layout::{GlobalPtr, WORD_BYTES};
use std::sync::Arc;

/// Words zeroed by one verb when an extent is freed.
const ZERO_WORDS: u32 = 16 * 1024;

/// Handles allocation calls of compute servers.
pub struct ExtentService(pub Arc<Extents>);

impl<E: Env> Service<E> for ExtentService {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let mut reader = Reader::new(request, "the extent service");
            let (kind, at) = (reader.number()?, GlobalPtr::from_word(reader.number()?));
            match kind {
                ALLOCATE => {
                    let (bytes, label) = (reader.number()?, Label(reader.number()?));
                    let need = Need::from_number(reader.number()?)?;
                    self.allocate(env, bytes, label, need).await
                }
                FREE => self.free(env, at.offset(), Label(reader.number()?)).await,
                FREE_LABEL => {
                    let label = Label(reader.number()?);
                    for offset in self.0.extents_of(label) {
                        self.free(env, offset, label).await?;
                    }
                    Ok(Vec::new())
                }
                POPULATE => {
                    let bytes = reader.number()?;
                    let (start, bytes, touched) = self.0.begin_populating(bytes);
                    let from = GlobalPtr::new(self.0.region, start + touched);
                    zero(env, from, bytes - touched).await?;
                    self.0.end_populating(start, bytes);
                    Ok(Vec::new())
                }
                USAGE => Ok(self.usage()),
                _ => Err(CallError::Malformed("the extent service")),
            }
        })
    }
}

impl ExtentService {
    async fn allocate<E: Env>(
        &self,
        env: &E,
        bytes: u64,
        label: Label,
        need: Need,
    ) -> Result<Vec<u8>, CallError> {
        match self.0.allocate_in(env, bytes, label, need).await {
            Ok(ptr) => Ok(Writer::new().number(ptr.word()).finish()),
            Err(AllocateError::Full { wanted_bytes, free_bytes, region_bytes }) => {
                Ok(Writer::new()
                    .number(0)
                    .number(wanted_bytes)
                    .number(free_bytes)
                    .number(region_bytes)
                    .finish())
            }
            Err(AllocateError::Call(error)) => Err(error),
        }
    }

    async fn free<E: Env>(&self, env: &E, offset: u64, label: Label) -> Result<Vec<u8>, CallError> {
        let Some(bytes) = self.0.forget(offset, label) else {
            // The server that has freed it has died before it could answer.
            if self.0.is_taken_over() {
                return Ok(Vec::new());
            }
            return Err(CallError::Refused(format!(
                "no extent of label {} starts at {offset:#x}",
                label.0
            )));
        };
        let at = GlobalPtr::new(self.0.region, offset);
        env.note(|| Note::FreesExtent { at, bytes });
        zero(env, at, bytes).await?;
        if env.has_replicas() {
            self.0.unlist(env, at, bytes).await?;
        }
        self.0.recycle(offset, bytes);
        Ok(Vec::new())
    }

    fn usage(&self) -> Vec<u8> {
        let usage = self.0.usage();
        usage
            .iter()
            .fold(Writer::new(), |writer, part| writer.number(part.label.0).number(part.bytes))
            .finish()
    }
}

/// Zeroes freed memory, because allocation returns zeroed extents.
async fn zero<E: Env>(env: &E, start: GlobalPtr, bytes: u64) -> Result<(), CallError> {
    let words = bytes / WORD_BYTES;
    let mut batch = fabric::Batch::new();
    let mut done = 0;
    while done < words {
        batch.reset();
        let count = ZERO_WORDS.min((words - done) as u32);
        let span = batch.reserve(count);
        batch.words_mut(span).fill(0);
        batch.write(start.add_words(done), span);
        let node = start.region().server();
        batch = env.execute(batch).await.map_err(|_| CallError::Unreachable(node))?;
        done += u64::from(count);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extent::{EXTENT_SERVICE, allocate_extent, free_extent, populate, usage};
    use fabric::{Fabric, LocalWorld, WorldConfig, run_now};
    use layout::{NodeId, RegionId};

    #[test]
    fn freed_extents_are_zeroed_and_full_memory_is_an_error() {
        let world =
            LocalWorld::new(&WorldConfig { server_bytes: vec![1 << 20], seed: 1 }).expect("memory");
        let extents = Arc::new(Extents::new(RegionId(0), 1 << 20));
        world.register(NodeId(0), EXTENT_SERVICE, Arc::new(ExtentService(extents)));
        let env = world.endpoint();
        let ask = |bytes| run_now(allocate_extent(&env, NodeId(0), bytes, Label(7)));
        let first = ask(64 * 1024).expect("there is room");
        let mut batch = fabric::Batch::new();
        batch.write_word(first, 9);
        run_now(env.execute(batch)).expect("inside the region");
        let error = ask(1 << 20).expect_err("the region is smaller");
        assert!(error.to_string().contains("memory servers are full"), "{error}");
        assert_eq!(run_now(usage(&env, NodeId(0))).expect("usage")[0].bytes, 64 * 1024);
        run_now(free_extent(&env, first, Label(7))).expect("it was allocated");
        assert!(run_now(free_extent(&env, first, Label(7))).is_err());
        assert_eq!(ask(64 * 1024).expect("there is room"), first);
        for _ in 0..3 {
            run_now(populate(&env, NodeId(0), 100 * 1024)).expect("there is room");
        }
        let second = ask(64 * 1024).expect("there is room");
        assert_eq!(second.offset() - first.offset(), 64 * 1024, "touched memory is free");
        ask((1 << 20) - 3 * 64 * 1024).expect("all of it is free");
        let mut batch = fabric::Batch::new();
        let span = batch.read(first, 1);
        let batch = run_now(env.execute(batch)).expect("inside the region");
        assert_eq!(batch.words(span), [0]);
    }
}
