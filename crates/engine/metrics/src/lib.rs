//! What servers tell about themselves, in the words of Prometheus.
//!
//! What can be told is a constant of [`catalog`]: name, unit, labels, and what it means. A server enters
//! where the numbers come from into a [`Registry`] and serves that with [`serve`]. Numbers are read when
//! somebody asks, from closures or from cells that are counted in anyway, so the path of a transaction
//! pays nothing for being watched. Latencies are the exception: workers count them in a [`LatencyTally`] of
//! their own and hand that over now and then. Module [`sources`] enters what servers of each kind have.
//!
//! ```no_run
//! use metrics::{Registry, Status, catalog};
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicU64;
//!
//! let registry = Registry::new();
//! let sleeps = Arc::new(AtomicU64::new(0));
//! registry.add_cell(&catalog::POLLING_SLEEPS, &[], &sleeps);
//! registry.add(&catalog::REGION_BYTES, &[], || 1_u64 << 30);
//! let status = || Status::healthy("{\"node\":0}".to_owned());
//! let endpoint = metrics::serve("127.0.0.1:0", &registry, status)?;
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
pub use endpoint::{Bounds, Endpoint, EndpointError, Status, serve, serve_within};
pub use latency::{LatencyHistogram, LatencyTally};
pub use registry::{Registry, Samples};
pub use value::Value;
