//! Workload `lending`, generated from its folder by `namdb spade generate`. Do not edit.

pub mod bring_back;
pub mod lend;
pub mod look_up;
pub mod tables;

use fabric::Env;
use procedure_runtime::{Argument, BindError, Call, Generated, Stop};
pub use tables::Tables;
use txn::{Database, Lane};

impl Generated for Tables {
    const WORKLOAD: &'static str = "lending";
    const PROCEDURES: &'static [&'static str] = &["lend", "bring_back", "look_up"];
    const FINGERPRINT: u32 = 0x111e0d12;

    fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError> {
        Self::find(database)
    }

    async fn run<E: Env>(
        self,
        call: &mut Call<'_, '_, E>,
        procedure: usize,
        arguments: &[Argument<'_>],
    ) -> Result<(), Stop> {
        match procedure {
            0 => lend::lend(call, &self, &lend::Arguments::bind(arguments)?).await,
            1 => {
                bring_back::bring_back(call, &self, &bring_back::Arguments::bind(arguments)?).await
            }
            2 => look_up::look_up(call, &self, &look_up::Arguments::bind(arguments)?).await,
            _ => Err(Stop::Deviates),
        }
    }

    fn prefetch<E: Env>(
        &self,
        lane: &Lane<E>,
        procedure: usize,
        arguments: &[Argument<'_>],
    ) -> Result<(), Stop> {
        match procedure {
            0 => lend::prefetch(lane, self, &lend::Arguments::bind(arguments)?),
            1 => bring_back::prefetch(lane, self, &bring_back::Arguments::bind(arguments)?),
            2 => look_up::prefetch(lane, self, &look_up::Arguments::bind(arguments)?),
            _ => Ok(()),
        }
    }
}
