//! The workloads that a scenario can run, and their parameters.

use super::choice::Choice;
use super::plans::IndexName;
use serde::{Deserialize, Serialize};

/// What the clients do: one table of these, such as `[workload.bank]`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadPlan {
    /// Lists that are appended to and read; the judge decides.
    Append(AppendPlan),
    /// Registers that are read and overwritten; the judge decides.
    Register(RegisterPlan),
    /// Transfers that keep a sum.
    Bank(BankPlan),
    /// Rows that form one ring.
    Cycle(CyclePlan),
    /// SmallBank.
    Smallbank(SmallbankPlan),
    /// TATP, recorded; its checks and the judge decide.
    Tatp(TatpPlan),
    /// TPC-C, with its consistency conditions.
    Tpcc(TpccPlan),
    /// Rows that come, go and move between index keys.
    Churn(ChurnPlan),
    /// Tables and indexes that are made and dropped in use.
    Passing(PassingPlan),
}

/// Parameters of list-append.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AppendPlan {
    /// Lists in use at a time.
    pub lists: Choice<u64>,
    /// Appends that a list takes.
    pub elements: Choice<u32>,
    /// Operations of a transaction at most.
    pub operations: Choice<u32>,
    /// Reads among them, in percent.
    pub read_percent: Choice<u32>,
}

impl Default for AppendPlan {
    fn default() -> Self {
        Self {
            lists: Choice::of(&[2, 4, 8]),
            elements: Choice::only(10),
            operations: Choice::only(4),
            read_percent: Choice::only(50),
        }
    }
}

/// Parameters of registers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RegisterPlan {
    /// Registers.
    pub registers: Choice<u64>,
    /// Registers of a transaction at most.
    pub operations: Choice<u32>,
    /// Reads among operations, in percent.
    pub read_percent: Choice<u32>,
    /// Long reads of all registers, in percent of the transactions.
    pub long_percent: Choice<u32>,
    /// Longest pause before each read of a long one, in nanoseconds.
    pub pause_ns: Choice<u64>,
}

impl Default for RegisterPlan {
    fn default() -> Self {
        Self {
            registers: Choice::of(&[3, 8]),
            operations: Choice::only(3),
            read_percent: Choice::only(50),
            long_percent: Choice::only(0),
            pause_ns: Choice::only(0),
        }
    }
}

/// Parameters of the bank.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BankPlan {
    /// Accounts.
    pub accounts: Choice<u32>,
    /// Audits of all accounts, in percent of the transactions.
    pub audit_percent: Choice<u32>,
}

impl Default for BankPlan {
    fn default() -> Self {
        Self { accounts: Choice::of(&[4, 12]), audit_percent: Choice::only(20) }
    }
}

/// Parameters of the ring.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CyclePlan {
    /// Rows of the ring.
    pub rows: Choice<u64>,
    /// Walks around the whole ring, in percent of the transactions.
    pub walk_percent: Choice<u32>,
}

impl Default for CyclePlan {
    fn default() -> Self {
        Self { rows: Choice::of(&[5, 12]), walk_percent: Choice::only(20) }
    }
}

/// Parameters of SmallBank.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SmallbankPlan {
    /// Customers.
    pub customers: Choice<u64>,
    /// The hot ones among them.
    pub hot_customers: Choice<u64>,
    /// Transactions on hot ones only, in percent.
    pub hot_percent: Choice<u32>,
}

impl Default for SmallbankPlan {
    fn default() -> Self {
        Self {
            customers: Choice::only(12),
            hot_customers: Choice::only(4),
            hot_percent: Choice::only(70),
        }
    }
}

/// Parameters of TATP.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TatpPlan {
    /// Subscribers.
    pub subscribers: Choice<u32>,
}

impl Default for TatpPlan {
    fn default() -> Self {
        Self { subscribers: Choice::of(&[3, 12]) }
    }
}

/// Parameters of TPC-C; the population is as small as its rules allow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TpccPlan {
    /// Warehouses.
    pub warehouses: Choice<u32>,
    /// Districts of each.
    pub districts: Choice<u32>,
    /// Customers of a district, and orders right after the load.
    pub customers: Choice<u32>,
    /// Items.
    pub items: Choice<u32>,
}

impl Default for TpccPlan {
    fn default() -> Self {
        Self {
            warehouses: Choice::only(1),
            districts: Choice::only(2),
            customers: Choice::only(6),
            items: Choice::only(20),
        }
    }
}

/// Parameters of the churn.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChurnPlan {
    /// Rows there can be.
    pub rows: Choice<u32>,
    /// Groups they belong to.
    pub groups: Choice<u32>,
    /// Tags they fight for.
    pub tags: Choice<u32>,
    /// Changes of a transaction at most.
    pub operations: Choice<u32>,
    /// Surveys, in percent of the transactions.
    pub survey_percent: Choice<u32>,
    /// Deletions among changes of rows that are there, in percent.
    pub delete_percent: Choice<u32>,
    /// Transactions of a client until the tide turns: rows come, one after another, until it does, and go until
    /// it turns again; 0: rows come and go at any time.
    pub tide: Choice<u32>,
    /// How groups are indexed.
    pub group_index: Choice<IndexName>,
    /// How tags are indexed.
    pub tag_index: Choice<IndexName>,
}

impl Default for ChurnPlan {
    fn default() -> Self {
        Self {
            rows: Choice::of(&[6, 20]),
            groups: Choice::only(3),
            tags: Choice::only(3),
            operations: Choice::only(3),
            survey_percent: Choice::only(20),
            delete_percent: Choice::only(30),
            tide: Choice::only(0),
            group_index: Choice::of(&[IndexName::Hash, IndexName::Tree]),
            tag_index: Choice::of(&[IndexName::Hash, IndexName::Tree]),
        }
    }
}

/// Parameters of passing tables.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PassingPlan {
    /// Names of tables.
    pub tables: Choice<u32>,
    /// Changes of the catalog, in percent of the transactions.
    pub change_percent: Choice<u32>,
}

impl Default for PassingPlan {
    fn default() -> Self {
        Self { tables: Choice::only(2), change_percent: Choice::only(10) }
    }
}
