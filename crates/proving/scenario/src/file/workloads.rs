//! The workloads that a scenario can run, and their parameters.

use super::choice::Choice;
use super::plans::IndexName;
use serde::{Deserialize, Serialize};

/// The workload of the clients: one table of these, such as `[workload.bank]`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadPlan {
    /// Lists that are appended to and read, judged by the judge of histories.
    Append(AppendPlan),
    /// Registers that are read and overwritten, judged by the judge of histories.
    Register(RegisterPlan),
    /// Transfers with a constant sum.
    Bank(BankPlan),
    /// Rows that form one ring.
    Cycle(CyclePlan),
    Smallbank(SmallbankPlan),
    /// TATP, recorded, with its checks and the judge of histories.
    Tatp(TatpPlan),
    /// TPC-C, with its consistency conditions.
    Tpcc(TpccPlan),
    /// Rows that are inserted, deleted and moved between index keys.
    Churn(ChurnPlan),
    /// Tables and indexes that are created and dropped while in use.
    Passing(PassingPlan),
}

/// Parameters of list-append.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AppendPlan {
    /// Lists in use at a time.
    pub lists: Choice<u64>,
    /// Appends to a list before it is replaced.
    pub elements: Choice<u32>,
    /// The largest number of operations of a transaction.
    pub operations: Choice<u32>,
    /// Percentage of reads among them.
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

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RegisterPlan {
    pub registers: Choice<u64>,
    /// The largest number of registers of a transaction.
    pub operations: Choice<u32>,
    /// Percentage of reads among operations.
    pub read_percent: Choice<u32>,
    /// Percentage of transactions that read all registers slowly.
    pub long_percent: Choice<u32>,
    /// The longest pause before each read of those, in nanoseconds.
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
    pub accounts: Choice<u32>,
    /// Percentage of audits of all accounts among the transactions.
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
    pub rows: Choice<u64>,
    /// Percentage of walks around the whole ring among the transactions.
    pub walk_percent: Choice<u32>,
}

impl Default for CyclePlan {
    fn default() -> Self {
        Self { rows: Choice::of(&[5, 12]), walk_percent: Choice::only(20) }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SmallbankPlan {
    pub customers: Choice<u64>,
    /// The hot ones among them.
    pub hot_customers: Choice<u64>,
    /// Percentage of transactions on hot customers only.
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

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TatpPlan {
    pub subscribers: Choice<u32>,
}

impl Default for TatpPlan {
    fn default() -> Self {
        Self { subscribers: Choice::of(&[3, 12]) }
    }
}

/// Parameters of TPC-C; the population is as small as its rules permit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TpccPlan {
    pub warehouses: Choice<u32>,
    /// Districts per warehouse.
    pub districts: Choice<u32>,
    /// Customers per district, and orders right after the load.
    pub customers: Choice<u32>,
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
    /// The largest number of rows.
    pub rows: Choice<u32>,
    pub groups: Choice<u32>,
    /// Number of tags that rows compete for.
    pub tags: Choice<u32>,
    /// The largest number of changes of a transaction.
    pub operations: Choice<u32>,
    /// Percentage of surveys among the transactions.
    pub survey_percent: Choice<u32>,
    /// Percentage of deletions among changes of existing rows.
    pub delete_percent: Choice<u32>,
    /// Number of a client's transactions until the tide turns: until then rows are inserted one
    /// after another, and then deleted until it turns again; 0: rows are inserted and deleted at
    /// any time.
    pub tide: Choice<u32>,
    /// The kind of the index on groups.
    pub group_index: Choice<IndexName>,
    /// The kind of the index on tags.
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
    /// Number of table names.
    pub tables: Choice<u32>,
    /// Percentage of catalog changes among the transactions.
    pub change_percent: Choice<u32>,
}

impl Default for PassingPlan {
    fn default() -> Self {
        Self { tables: Choice::only(2), change_percent: Choice::only(10) }
    }
}
