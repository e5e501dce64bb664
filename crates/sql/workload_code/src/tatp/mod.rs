//! Workload `tatp`, generated from its folder by `namdb spade generate`. Do not edit.

pub mod delete_call_forwarding;
pub mod get_access_data;
pub mod get_new_destination;
pub mod get_subscriber_data;
pub mod insert_call_forwarding;
pub mod tables;
pub mod update_location;
pub mod update_subscriber_data;

use fabric::Env;
use procedure_runtime::{Argument, BindError, Call, Generated, Stop};
pub use tables::Tables;
use txn::{Database, Lane};

impl Generated for Tables {
    const WORKLOAD: &'static str = "tatp";
    const PROCEDURES: &'static [&'static str] = &[
        "get_subscriber_data",
        "get_new_destination",
        "get_access_data",
        "update_subscriber_data",
        "update_location",
        "insert_call_forwarding",
        "delete_call_forwarding",
    ];
    const FINGERPRINT: u32 = 0x32824af8;

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
                get_subscriber_data::get_subscriber_data(
                    call,
                    &self,
                    &get_subscriber_data::Arguments::bind(arguments)?,
                )
                .await
            }
            1 => {
                get_new_destination::get_new_destination(
                    call,
                    &self,
                    &get_new_destination::Arguments::bind(arguments)?,
                )
                .await
            }
            2 => {
                get_access_data::get_access_data(
                    call,
                    &self,
                    &get_access_data::Arguments::bind(arguments)?,
                )
                .await
            }
            3 => {
                update_subscriber_data::update_subscriber_data(
                    call,
                    &self,
                    &update_subscriber_data::Arguments::bind(arguments)?,
                )
                .await
            }
            4 => {
                update_location::update_location(
                    call,
                    &self,
                    &update_location::Arguments::bind(arguments)?,
                )
                .await
            }
            5 => {
                insert_call_forwarding::insert_call_forwarding(
                    call,
                    &self,
                    &insert_call_forwarding::Arguments::bind(arguments)?,
                )
                .await
            }
            6 => {
                delete_call_forwarding::delete_call_forwarding(
                    call,
                    &self,
                    &delete_call_forwarding::Arguments::bind(arguments)?,
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
            0 => get_subscriber_data::prefetch(
                lane,
                self,
                &get_subscriber_data::Arguments::bind(arguments)?,
            ),
            1 => get_new_destination::prefetch(
                lane,
                self,
                &get_new_destination::Arguments::bind(arguments)?,
            ),
            2 => {
                get_access_data::prefetch(lane, self, &get_access_data::Arguments::bind(arguments)?)
            }
            3 => update_subscriber_data::prefetch(
                lane,
                self,
                &update_subscriber_data::Arguments::bind(arguments)?,
            ),
            4 => {
                update_location::prefetch(lane, self, &update_location::Arguments::bind(arguments)?)
            }
            5 => insert_call_forwarding::prefetch(
                lane,
                self,
                &insert_call_forwarding::Arguments::bind(arguments)?,
            ),
            6 => delete_call_forwarding::prefetch(
                lane,
                self,
                &delete_call_forwarding::Arguments::bind(arguments)?,
            ),
            _ => Ok(()),
        }
    }
}
