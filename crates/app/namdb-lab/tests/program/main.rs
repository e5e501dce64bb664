//! The program as users see it: results, files, exit codes, and errors.

mod arguments;
mod bench;
mod check;
mod cluster;
mod copies;
mod counts;
mod directory;
mod etcd;
mod files;
#[path = "../../../../app/namdb/tests/procedures/folder.rs"]
mod folder;
mod health;
mod kills;
mod left_locks;
mod logs;
mod measure;
mod own_folder;
mod owners;
mod parts;
mod pauses;
mod postgres;
mod procedures;
mod replicas;
mod server;
mod ship;
mod simulate;
mod simulated;
mod soak;
mod spade;
mod startup;
mod streams;
mod support;
mod tls;
mod trace;
mod tune;
mod verify;
