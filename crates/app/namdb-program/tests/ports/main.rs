//! Strangers at the ports of a cluster: who does not prove the cluster's secret learns the version
//! of the protocol and nothing else, and keeps no member out.
//!
//! ```text
//! cluster    a cluster on this host, its ports, and connections to them
//! strangers  first messages and proofs that do not fit, at every port for verbs, calls and work
//! control    requests for status and metrics without the token
//! floods     silent connections beside members, and the log lines that they cause
//! orders     orders of members that name paths
//! ```
#![allow(clippy::disallowed_methods, reason = "real ports have real clocks and threads")]

mod cluster;
mod control;
mod floods;
mod orders;
mod strangers;
