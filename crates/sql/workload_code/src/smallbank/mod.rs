//! Workload `smallbank`, generated from its folder by `namdb spade generate`. Do not edit.

pub mod amalgamate;
pub mod balance;
pub mod deposit_checking;
pub mod send_payment;
pub mod tables;
pub mod transact_savings;
pub mod write_check;

use fabric::Env;
use procedure_runtime::{Argument, BindError, Call, Generated, Stop};
pub use tables::Tables;
use txn::{Database, Lane};

impl Generated for Tables {
    const WORKLOAD: &'static str = "smallbank";
    const PROCEDURES: &'static [&'static str] = &[
        "amalgamate",
        "balance",
        "deposit_checking",
        "send_payment",
        "transact_savings",
        "write_check",
    ];
    const FINGERPRINT: u32 = 0xe8310bf0;

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
            0 => {
                amalgamate::amalgamate(call, &self, &amalgamate::Arguments::bind(arguments)?).await
            }
            1 => balance::balance(call, &self, &balance::Arguments::bind(arguments)?).await,
            2 => {
                deposit_checking::deposit_checking(
                    call,
                    &self,
                    &deposit_checking::Arguments::bind(arguments)?,
                )
                .await
            }
            3 => {
                send_payment::send_payment(call, &self, &send_payment::Arguments::bind(arguments)?)
                    .await
            }
            4 => {
                transact_savings::transact_savings(
                    call,
                    &self,
                    &transact_savings::Arguments::bind(arguments)?,
                )
                .await
            }
            5 => {
                write_check::write_check(call, &self, &write_check::Arguments::bind(arguments)?)
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
            1 => balance::prefetch(lane, self, &balance::Arguments::bind(arguments)?),
            2 => deposit_checking::prefetch(
                lane,
                self,
                &deposit_checking::Arguments::bind(arguments)?,
            ),
            3 => send_payment::prefetch(lane, self, &send_payment::Arguments::bind(arguments)?),
            4 => transact_savings::prefetch(
                lane,
                self,
                &transact_savings::Arguments::bind(arguments)?,
            ),
            5 => write_check::prefetch(lane, self, &write_check::Arguments::bind(arguments)?),
            _ => Ok(()),
        }
    }
}
