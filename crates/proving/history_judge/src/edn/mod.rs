//! Histories in EDN, as Jepsen records them and Elle reads them: one map per beginning and per end
//! of a transaction.
//!
//! ```text
//! {:type :invoke, :f :txn, :value [[:append 8 1] [:r 9 nil]], :process 4, :time 120, :index 0}
//! {:type :ok, :f :txn, :value [[:append 8 1] [:r 9 [2 5]]], :process 4, :time 310, :index 1}
//! ```
//!
//! The file is a sequence of such maps, or one vector of them. The reader skips a tag before a map,
//! all other entries of a map, and operations of processes that are not numbers (`:nemesis`).
//! `:type` is `:ok`, `:fail` (no effect) or `:info` (unknown outcome); a transaction without an end
//! is `:info`. The order of the maps in the file is the order of time; `:time`, in nanoseconds, is
//! only shown in reports. Operations are `[:append k v]` and `[:r k [v ...]]` on lists, `[:w k v]`
//! and `[:r k v]` on registers; `nil` is the value before any write. Keys are numbers, keywords,
//! strings or symbols; values are integers. An entry `:versions [nil 17]`, beside `:value`, gives
//! the number of the version that a write made, if the engine exports it: larger is later.

mod read;
mod scanner;
mod write;

pub use read::read_edn;
pub use write::write_edn;
