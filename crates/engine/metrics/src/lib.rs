//! Metrics of servers in Prometheus's format.
//!
//! Every metric is a constant of [`catalog`]: name, unit, labels and meaning. A server registers
//! the sources of its numbers in a [`Registry`] and serves it with [`serve`]. Sources are closures
//! or existing counters that are only read during a scrape, so metrics cost transactions nothing.
//! Latencies are the exception: each worker counts them in its own [`LatencyTally`] and adds it to
//! the histogram from time to time. Module [`sources`] registers the numbers of each kind of
//! server.
//!
//! ```no_run
//! use metrics::{Access, Registry, Status, catalog};
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicU64;
//!
//! let registry = Registry::new();
//! let sleeps = Arc::new(AtomicU64::new(0));
//! registry.add_cell(&catalog::POLLING_SLEEPS, &[], &sleeps);
//! registry.add(&catalog::REGION_BYTES, &[], || 1_u64 << 30);
//! let status = || Status::healthy("{\"node\":0}".to_owned());
//! let endpoint = metrics::serve("127.0.0.1:0", Access::Everybody, &registry, status)?;
//! println!("metrics at http://{}/metrics", endpoint.address());
//! endpoint.stop();
//! # Ok::<(), metrics::EndpointError>(())
//! ```
#![forbid(unsafe_code)]

pub mod catalog;
mod clock;
mod definition;
mod endpoint;
mod latency;
mod registry;
pub mod sources;
mod text;
mod value;

pub use definition::{Definition, Kind, Label, Unit};
pub use endpoint::{Access, Bounds, Endpoint, EndpointError, Status, serve, serve_within};
pub use latency::{LatencyHistogram, LatencyTally};
pub use registry::{Registry, Samples};
pub use value::Value;
