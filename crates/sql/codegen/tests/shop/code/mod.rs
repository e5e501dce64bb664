//! Workload `shop`, generated from its folder by `namdb spade generate`. Do not edit.
//!
//! Left to the executor of plans:
//!
//! - `bought`: a plan with groups

pub mod advised;
pub mod allow;
pub mod buy;
pub mod cancel;
pub mod cancel_all;
pub mod deposit;
pub mod enrol;
pub mod forget;
pub mod give_back;
pub mod kinds;
pub mod labelled;
pub mod leave;
pub mod lines_of;
pub mod longest_seen;
pub mod look;
pub mod mailed;
pub mod move_purchase;
pub mod praise;
pub mod product_of;
pub mod regift;
pub mod reprice;
pub mod reserve;
pub mod reserved_of;
pub mod restock;
pub mod seen;
pub mod settle;
pub mod skus_seen;
pub mod tables;
pub mod texts;
pub mod too_soon;
pub mod unwish;
pub mod want;
pub mod wants;
pub mod wish_again;

use fabric::Env;
use procedure_runtime::{Argument, BindError, Call, Generated, Stop};
pub use tables::Tables;
use txn::{Database, Lane};

impl Generated for Tables {
    const WORKLOAD: &'static str = "shop";
    const PROCEDURES: &'static [&'static str] = &[
        "enrol",
        "deposit",
        "allow",
        "buy",
        "too_soon",
        "settle",
        "cancel",
        "cancel_all",
        "leave",
        "move_purchase",
        "regift",
        "praise",
        "reprice",
        "reserve",
        "restock",
        "product_of",
        "kinds",
        "lines_of",
        "advised",
        "texts",
        "look",
        "forget",
        "seen",
        "longest_seen",
        "reserved_of",
        "skus_seen",
        "want",
        "wants",
        "give_back",
        "wish_again",
        "unwish",
        "labelled",
        "mailed",
    ];
    const FINGERPRINT: u32 = 0xda5b109f;

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
            0 => enrol::enrol(call, &self, &enrol::Arguments::bind(arguments)?).await,
            1 => deposit::deposit(call, &self, &deposit::Arguments::bind(arguments)?).await,
            2 => allow::allow(call, &self, &allow::Arguments::bind(arguments)?).await,
            3 => buy::buy(call, &self, &buy::Arguments::bind(arguments)?).await,
            4 => too_soon::too_soon(call, &self, &too_soon::Arguments::bind(arguments)?).await,
            5 => settle::settle(call, &self, &settle::Arguments::bind(arguments)?).await,
            6 => cancel::cancel(call, &self, &cancel::Arguments::bind(arguments)?).await,
            7 => {
                cancel_all::cancel_all(call, &self, &cancel_all::Arguments::bind(arguments)?).await
            }
            8 => leave::leave(call, &self, &leave::Arguments::bind(arguments)?).await,
            9 => {
                move_purchase::move_purchase(
                    call,
                    &self,
                    &move_purchase::Arguments::bind(arguments)?,
                )
                .await
            }
            10 => regift::regift(call, &self, &regift::Arguments::bind(arguments)?).await,
            11 => praise::praise(call, &self, &praise::Arguments::bind(arguments)?).await,
            12 => reprice::reprice(call, &self, &reprice::Arguments::bind(arguments)?).await,
            13 => reserve::reserve(call, &self, &reserve::Arguments::bind(arguments)?).await,
            14 => restock::restock(call, &self, &restock::Arguments::bind(arguments)?).await,
            15 => {
                product_of::product_of(call, &self, &product_of::Arguments::bind(arguments)?).await
            }
            16 => kinds::kinds(call, &self, &kinds::Arguments::bind(arguments)?).await,
            17 => lines_of::lines_of(call, &self, &lines_of::Arguments::bind(arguments)?).await,
            18 => advised::advised(call, &self, &advised::Arguments::bind(arguments)?).await,
            19 => texts::texts(call, &self, &texts::Arguments::bind(arguments)?).await,
            20 => look::look(call, &self, &look::Arguments::bind(arguments)?).await,
            21 => forget::forget(call, &self, &forget::Arguments::bind(arguments)?).await,
            22 => seen::seen(call, &self, &seen::Arguments::bind(arguments)?).await,
            23 => {
                longest_seen::longest_seen(call, &self, &longest_seen::Arguments::bind(arguments)?)
                    .await
            }
            24 => {
                reserved_of::reserved_of(call, &self, &reserved_of::Arguments::bind(arguments)?)
                    .await
            }
            25 => skus_seen::skus_seen(call, &self, &skus_seen::Arguments::bind(arguments)?).await,
            26 => want::want(call, &self, &want::Arguments::bind(arguments)?).await,
            27 => wants::wants(call, &self, &wants::Arguments::bind(arguments)?).await,
            28 => give_back::give_back(call, &self, &give_back::Arguments::bind(arguments)?).await,
            29 => {
                wish_again::wish_again(call, &self, &wish_again::Arguments::bind(arguments)?).await
            }
            30 => unwish::unwish(call, &self, &unwish::Arguments::bind(arguments)?).await,
            31 => labelled::labelled(call, &self, &labelled::Arguments::bind(arguments)?).await,
            32 => mailed::mailed(call, &self, &mailed::Arguments::bind(arguments)?).await,
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
            1 => deposit::prefetch(lane, self, &deposit::Arguments::bind(arguments)?),
            2 => allow::prefetch(lane, self, &allow::Arguments::bind(arguments)?),
            3 => buy::prefetch(lane, self, &buy::Arguments::bind(arguments)?),
            5 => settle::prefetch(lane, self, &settle::Arguments::bind(arguments)?),
            6 => cancel::prefetch(lane, self, &cancel::Arguments::bind(arguments)?),
            7 => cancel_all::prefetch(lane, self, &cancel_all::Arguments::bind(arguments)?),
            8 => leave::prefetch(lane, self, &leave::Arguments::bind(arguments)?),
            9 => move_purchase::prefetch(lane, self, &move_purchase::Arguments::bind(arguments)?),
            10 => regift::prefetch(lane, self, &regift::Arguments::bind(arguments)?),
            13 => reserve::prefetch(lane, self, &reserve::Arguments::bind(arguments)?),
            14 => restock::prefetch(lane, self, &restock::Arguments::bind(arguments)?),
            15 => product_of::prefetch(lane, self, &product_of::Arguments::bind(arguments)?),
            21 => forget::prefetch(lane, self, &forget::Arguments::bind(arguments)?),
            23 => longest_seen::prefetch(lane, self, &longest_seen::Arguments::bind(arguments)?),
            26 => want::prefetch(lane, self, &want::Arguments::bind(arguments)?),
            30 => unwish::prefetch(lane, self, &unwish::Arguments::bind(arguments)?),
            32 => mailed::prefetch(lane, self, &mailed::Arguments::bind(arguments)?),
            _ => Ok(()),
        }
    }
}
