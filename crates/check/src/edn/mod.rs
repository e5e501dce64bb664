//! Histories in EDN, as Jepsen records them and Elle reads them: one map for each beginning and each end
//! of a transaction.
//!
//! ```text
//! {:type :invoke, :f :txn, :value [[:append 8 1] [:r 9 nil]], :process 4, :time 120, :index 0}
//! {:type :ok, :f :txn, :value [[:append 8 1] [:r 9 [2 5]]], :process 4, :time 310, :index 1}
//! ```
//!
//! The file is a sequence of such maps, or one vector of them; a tag before a map is passed over, so are
//! all other entries of a map, and operations of processes that are not numbers (`:nemesis`). `:type` is
//! `:ok`, `:fail` (had no effect) or `:info` (nobody knows); a transaction that never ends is `:info`.
//! The order of the maps in the file is the order of time; `:time`, in nanoseconds, is only told.
//! Operations are `[:append k v]` and `[:r k [v ...]]` on lists, `[:w k v]` and `[:r k v]` on registers;
//! `nil` is what was there before any write. Keys are numbers, keywords, strings or symbols, values are
//! integers. An entry `:versions [nil 17]`, beside `:value`, gives the number of the version that a
//! write made, where the engine exports it: larger is later.

mod read;
mod scanner;
mod write;

pub use read::read_edn;
pub use write::write_edn;
