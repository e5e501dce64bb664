//! The failure detector with real processes: deaths, suspensions and overload, with a registry in
//! files and in etcd.

mod deaths;
mod overload;
mod peer;
mod site;
mod suspensions;
