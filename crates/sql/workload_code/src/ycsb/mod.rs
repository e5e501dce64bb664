//! Workload `ycsb`, generated from its folder by `namdb spade generate`. Do not edit.

pub mod insert_record;
pub mod multi_operation;
pub mod read_record;
pub mod scan_records;
pub mod tables;
pub mod update_record;

use fabric::Env;
use procedure_runtime::{Argument, BindError, Call, Generated, Stop};
pub use tables::Tables;
use txn::{Database, Lane};

impl Generated for Tables {
    const WORKLOAD: &'static str = "ycsb";
    const PROCEDURES: &'static [&'static str] =
        &["read_record", "update_record", "insert_record", "scan_records", "multi_operation"];
    const FINGERPRINT: u32 = 0x44bfbedb;

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
                read_record::read_record(call, &self, &read_record::Arguments::bind(arguments)?)
                    .await
            }
            1 => {
                update_record::update_record(
                    call,
                    &self,
                    &update_record::Arguments::bind(arguments)?,
                )
                .await
            }
            2 => {
                insert_record::insert_record(
                    call,
                    &self,
                    &insert_record::Arguments::bind(arguments)?,
                )
                .await
            }
            3 => {
                scan_records::scan_records(call, &self, &scan_records::Arguments::bind(arguments)?)
                    .await
            }
            4 => {
                multi_operation::multi_operation(
                    call,
                    &self,
                    &multi_operation::Arguments::bind(arguments)?,
                )
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
            0 => read_record::prefetch(lane, self, &read_record::Arguments::bind(arguments)?),
            _ => Ok(()),
        }
    }
}
