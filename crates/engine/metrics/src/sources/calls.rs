//! Counts the calls that a compute server accepts from others.

use crate::catalog;
use crate::latency::LatencyHistogram;
use crate::registry::Registry;
use fabric::{Env, Reply, Service, ServiceId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The call counters of a compute server. Any thread may read them.
pub struct Calls {
    under_way: Arc<AtomicU64>,
    services: BTreeMap<ServiceId, Arc<Counts>>,
}

/// Calls of one service.
#[derive(Default)]
struct Counts {
    latencies: Arc<LatencyHistogram>,
    refused: Arc<AtomicU64>,
}

/// A service whose calls are counted.
struct Counted<E: Env> {
    service: Arc<dyn Service<E>>,
    counts: Arc<Counts>,
    under_way: Arc<AtomicU64>,
}

/// A call in progress; dropping it ends the count.
struct UnderWay<'a>(&'a AtomicU64);

impl Calls {
    /// Registers the counters of these services.
    pub fn enter(registry: &Registry, services: &[(ServiceId, &str)]) -> Self {
        let under_way = Arc::<AtomicU64>::default();
        registry.add_cell(&catalog::CALLS_UNDER_WAY, &[], &under_way);
        let counted = services.iter().map(|&(id, name)| {
            let counts = Counts::default();
            registry.add_latencies(&catalog::CALL_SECONDS, &[name], &counts.latencies);
            registry.add_cell(&catalog::REFUSED_CALLS, &[name], &counts.refused);
            (id, Arc::new(counts))
        });
        Self { under_way, services: counted.collect() }
    }

    /// Wraps the services so that they count their calls; a service that was not registered is
    /// unchanged.
    pub fn counted<E: Env>(
        &self,
        services: BTreeMap<ServiceId, Arc<dyn Service<E>>>,
    ) -> BTreeMap<ServiceId, Arc<dyn Service<E>>> {
        let counted = services.into_iter().map(|(id, service)| {
            let Some(counts) = self.services.get(&id).cloned() else { return (id, service) };
            let counted = Counted { service, counts, under_way: self.under_way.clone() };
            (id, Arc::new(counted) as Arc<dyn Service<E>>)
        });
        counted.collect()
    }
}

impl<E: Env> Service<E> for Counted<E> {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let begin_ns = env.now_ns();
            let under_way = UnderWay::begin(&self.under_way);
            let answer = self.service.handle(env, request).await;
            drop(under_way);
            self.counts.refused.fetch_add(u64::from(answer.is_err()), Relaxed);
            self.counts.latencies.record_ns(env.now_ns().saturating_sub(begin_ns));
            answer
        })
    }
}

impl<'a> UnderWay<'a> {
    fn begin(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::{CallError, LocalEnv, LocalWorld, WorldConfig, run_now};
    use std::task::{Context, Waker};

    const ECHO: ServiceId = ServiceId(7);
    const WAIT: ServiceId = ServiceId(8);

    /// Returns the request, or refuses an empty one.
    struct Echo;

    impl Service<LocalEnv> for Echo {
        fn handle<'a>(&'a self, _env: &'a LocalEnv, request: &'a [u8]) -> Reply<'a> {
            let refused = || CallError::Refused("nothing was sent".to_owned());
            let answer = (!request.is_empty()).then(|| request.to_vec()).ok_or_else(refused);
            Box::pin(async { answer })
        }
    }

    /// Never answers.
    struct Wait;

    impl Service<LocalEnv> for Wait {
        fn handle<'a>(&'a self, _env: &'a LocalEnv, _request: &'a [u8]) -> Reply<'a> {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn calls_are_counted_by_service_and_by_how_they_end() {
        let registry = Registry::new();
        let calls = Calls::enter(&registry, &[(ECHO, "echo"), (WAIT, "wait")]);
        let services: [(ServiceId, Arc<dyn Service<LocalEnv>>); 2] =
            [(ECHO, Arc::new(Echo)), (WAIT, Arc::new(Wait))];
        let world = LocalWorld::new(&WorldConfig { server_bytes: Vec::new(), seed: 1 });
        let (env, services) =
            (world.expect("no memory").endpoint(), calls.counted(services.into()));
        let echo = |request: &[u8]| run_now(services[&ECHO].handle(&env, request));
        assert_eq!(echo(&[1, 2]), Ok(vec![1, 2]));
        assert!(echo(&[]).is_err());
        let tells = |lines: &[&str]| {
            let page = registry.text();
            lines
                .iter()
                .for_each(|line| assert!(page.contains(line), "{line} is missing in\n{page}"));
        };
        let mut waits = services[&WAIT].handle(&env, &[]);
        let is_pending = waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        assert!(is_pending);
        tells(&["namdb_calls_under_way 1\n"]);
        // A cancelled call counts as unanswered.
        drop(waits);
        tells(&[
            "namdb_calls_under_way 0\n",
            "namdb_refused_calls_total{service=\"echo\"} 1\n",
            "namdb_refused_calls_total{service=\"wait\"} 0\n",
            "namdb_call_seconds_count{service=\"echo\"} 2\n",
            "namdb_call_seconds_count{service=\"wait\"} 0\n",
        ]);
    }
}
