//! Makes the workload from its plan.

use crate::file::Scenario;
use crate::file::workloads::{ChurnPlan, TpccPlan, WorkloadPlan};
use fabric::Env;
use layout::PhysicalDesign;
use txn::Isolation;
use workload::History;
use workload::append::AppendConfig;
use workload::smallbank::SmallBankConfig;
use workload::tatp::TatpConfig;
use workload::{
    Append, Bank, CheckResult, Churn, ChurnConfig, Cycle, Passing, Register, RegisterConfig,
    SmallBank, Tatp, Tpcc, Workload, WorkloadError, tpcc,
};

/// A workload that clients share.
pub(crate) trait Play<E: Env>: Workload<E> + Clone + 'static {
    /// The judge's verdict on the history so far; empty if the workload records none.
    fn verdicts(&self) -> Vec<CheckResult> {
        Vec::new()
    }

    /// The clients' history so far; `None` if the workload records none.
    fn history(&self) -> Option<History> {
        None
    }
}

impl<E: Env> Play<E> for Append {
    fn verdicts(&self) -> Vec<CheckResult> {
        self.verdicts()
    }

    fn history(&self) -> Option<History> {
        Some(self.recordings().history())
    }
}

impl<E: Env> Play<E> for Register {
    fn verdicts(&self) -> Vec<CheckResult> {
        self.verdicts()
    }

    fn history(&self) -> Option<History> {
        Some(self.recordings().history())
    }
}

impl<E: Env> Play<E> for Tatp {
    fn verdicts(&self) -> Vec<CheckResult> {
        self.verdicts()
    }

    fn history(&self) -> Option<History> {
        Some(self.recordings().history())
    }
}

impl<E: Env> Play<E> for Bank {}
impl<E: Env> Play<E> for Cycle {}
impl<E: Env> Play<E> for SmallBank {}
impl<E: Env> Play<E> for Tpcc {}
impl<E: Env> Play<E> for Churn {}
impl<E: Env> Play<E> for Passing {}

/// A workload of any kind.
pub(crate) enum Work {
    Append(Append),
    Register(Register),
    Bank(Bank),
    Cycle(Cycle),
    SmallBank(SmallBank),
    Tatp(Tatp),
    Tpcc(Tpcc),
    Churn(Churn),
    Passing(Passing),
}

/// The workload of a scenario that was drawn for a seed.
pub(crate) fn make(scenario: &Scenario) -> Result<Work, WorkloadError> {
    let isolation = scenario.database.isolation.get().into();
    let design = scenario.design.as_ref().map(|design| design.design()).unwrap_or_default();
    Ok(match &scenario.workload {
        WorkloadPlan::Append(plan) => Work::Append(Append::new(AppendConfig {
            lists: plan.lists.get(),
            elements: plan.elements.get(),
            operations: plan.operations.get(),
            read_percent: plan.read_percent.get(),
            isolation,
            recorded: u64::MAX,
        })?),
        WorkloadPlan::Register(plan) => Work::Register(Register::new(RegisterConfig {
            registers: plan.registers.get(),
            operations: plan.operations.get(),
            read_percent: plan.read_percent.get(),
            long_percent: plan.long_percent.get(),
            pause_ns: plan.pause_ns.get(),
            isolation,
            design,
        })?),
        WorkloadPlan::Bank(plan) => {
            let audit_percent = plan.audit_percent.get();
            let accounts = i32::try_from(plan.accounts.get()).unwrap_or(i32::MAX);
            Work::Bank(Bank { audit_percent, isolation, ..Bank::new(accounts)? })
        }
        WorkloadPlan::Cycle(plan) => {
            Work::Cycle(Cycle::new(plan.rows.get(), plan.walk_percent.get(), isolation, design)?)
        }
        WorkloadPlan::Smallbank(plan) => Work::SmallBank(SmallBank::new(SmallBankConfig {
            customers: plan.customers.get(),
            hot_customers: plan.hot_customers.get(),
            hot_percent: plan.hot_percent.get(),
            isolation,
        })?),
        WorkloadPlan::Tatp(plan) => Work::Tatp(Tatp::new(TatpConfig {
            isolation,
            recorded: true,
            ..TatpConfig::new(plan.subscribers.get())
        })?),
        WorkloadPlan::Tpcc(plan) => Work::Tpcc(tiny_tpcc(plan, isolation)?),
        WorkloadPlan::Churn(plan) => Work::Churn(churn(plan, isolation, design)?),
        WorkloadPlan::Passing(plan) => Work::Passing(Passing::new(
            plan.tables.get(),
            plan.change_percent.get(),
            isolation,
            design,
        )?),
    })
}

fn tiny_tpcc(plan: &TpccPlan, isolation: Isolation) -> Result<Tpcc, WorkloadError> {
    let number = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
    let scale = tpcc::Scale {
        items: number(plan.items.get()),
        districts: i16::try_from(plan.districts.get()).unwrap_or(i16::MAX),
        customers_per_district: number(plan.customers.get()),
        orders_per_district: number(plan.customers.get()),
    };
    Tpcc::new(tpcc::Config { scale, isolation, ..tpcc::Config::new(plan.warehouses.get()) })
}

fn churn(
    plan: &ChurnPlan,
    isolation: Isolation,
    design: PhysicalDesign,
) -> Result<Churn, WorkloadError> {
    Churn::new(ChurnConfig {
        rows: plan.rows.get(),
        groups: plan.groups.get(),
        tags: plan.tags.get(),
        operations: plan.operations.get(),
        survey_percent: plan.survey_percent.get(),
        delete_percent: plan.delete_percent.get(),
        tide: plan.tide.get(),
        isolation,
        design,
        group_index: plan.group_index.get().into(),
        tag_index: plan.tag_index.get().into(),
    })
}
