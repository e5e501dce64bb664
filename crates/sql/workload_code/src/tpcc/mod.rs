//! Workload `tpcc`, generated from its folder by `namdb spade generate`. Do not edit.

pub mod delivery;
pub mod new_order;
pub mod order_status;
pub mod payment;
pub mod stock_level;
pub mod tables;

use fabric::Env;
use procedure_runtime::{Argument, BindError, Call, Generated, Stop};
pub use tables::Tables;
use txn::{Database, Lane};

impl Generated for Tables {
    const WORKLOAD: &'static str = "tpcc";
    const PROCEDURES: &'static [&'static str] =
        &["new_order", "payment", "order_status", "delivery", "stock_level"];
    const FINGERPRINT: u32 = 0xe1c493ef;

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
            0 => new_order::new_order(call, &self, &new_order::Arguments::bind(arguments)?).await,
            1 => payment::payment(call, &self, &payment::Arguments::bind(arguments)?).await,
            2 => {
                order_status::order_status(call, &self, &order_status::Arguments::bind(arguments)?)
                    .await
            }
            3 => delivery::delivery(call, &self, &delivery::Arguments::bind(arguments)?).await,
            4 => {
                stock_level::stock_level(call, &self, &stock_level::Arguments::bind(arguments)?)
                    .await
            }
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
            0 => new_order::prefetch(lane, self, &new_order::Arguments::bind(arguments)?),
            1 => payment::prefetch(lane, self, &payment::Arguments::bind(arguments)?),
            4 => stock_level::prefetch(lane, self, &stock_level::Arguments::bind(arguments)?),
            _ => Ok(()),
        }
    }
}
