//! New-order as a procedure of single-threaded sites.

use super::input::{Input, NewOrder};
use super::load::Loader;
use super::{keys, load, new_order};
use crate::h_store::site::Site;
use crate::h_store::{Machine, SerialProcedure};
use crate::message::Malformed;
use crate::row_key::RowKey;
use crate::trad_si::partition::Write;
use fabric::Env;
use std::sync::Arc;
use workload::tpcc::Config;

/// Only new-orders, as in the experiment [ZB17 7.3].
#[derive(Clone, Copy, Debug)]
pub struct SerialNewOrder {
    config: Config,
    sites: u32,
}

struct Owned<'a>(&'a Site);

impl Loader for Owned<'_> {
    fn row(&mut self, key: RowKey, content: Vec<u8>) {
        self.0.load(key, content);
    }

    /// New-orders need no index of names.
    fn name(&mut self, _partition: u32, _name: &[u8], _numbers: &[u64]) {}
}

impl SerialNewOrder {
    /// New-orders on this many sites.
    pub fn new(config: Config, sites: u32) -> Self {
        Self { config, sites }
    }

    pub fn load<E: Env>(&self, machines: &[Arc<Machine<E, Self>>]) {
        let site = |site: u32| {
            let machine = &machines[site as usize % machines.len()];
            machine.site(site).expect("it is on this machine")
        };
        for number in 0..self.sites {
            load::items(&self.config, number, &mut Owned(site(number)));
        }
        for w in 1..=self.config.warehouses {
            load::warehouse(&self.config, w, &mut Owned(site(keys::partition(w) % self.sites)));
        }
    }
}

fn decode(input: &[u8]) -> Result<NewOrder, Malformed> {
    match Input::decode(input)? {
        Input::NewOrder(input) => Ok(input),
        _ => Err(Malformed),
    }
}

impl SerialProcedure for SerialNewOrder {
    fn base(&self, input: &[u8]) -> Result<u32, Malformed> {
        Ok(keys::partition(decode(input)?.warehouse))
    }

    fn reads(&self, input: &[u8]) -> Result<Vec<RowKey>, Malformed> {
        let input = decode(input)?;
        Ok(new_order::reads(&input, keys::partition(input.warehouse) % self.sites))
    }

    fn writes(
        &self,
        input: &[u8],
        rows: &[Option<Vec<u8>>],
        now_ns: u64,
    ) -> Result<Option<Vec<Write>>, Malformed> {
        Ok(new_order::writes(&decode(input)?, rows, (now_ns / 1000) as i64))
    }
}
