//! The purchase by messages.

use super::{Input, LINES, PRODUCT_WORDS, STOCK, order_rows, sell};
use crate::message::{Malformed, Reader, Writer};
use crate::row_key::RowKey;
use crate::trad_si::cluster::{Cluster, Server, load};
use crate::trad_si::{Procedure, Stop, Transaction, TransactionOutcome, submit};
use fabric::Env;
use layout::{NodeId, WORD_BYTES};
use std::sync::Arc;

const PRODUCT: u32 = 0;
const ORDER: u32 = 1;
const LINE: u32 = 2;
/// Bits of the count of a client's orders in an order's number.
const ORDER_BITS: u32 = 32;

pub struct Buy;

/// The key of a product, with this many servers.
pub fn product(servers: u64, number: u64) -> RowKey {
    RowKey::new((number % servers) as u32, PRODUCT, number)
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub fn stock(row: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(*row.get(STOCK * WORD_BYTES as usize..)?.first_chunk()?))
}

impl Input {
    fn encode(&self, servers: u64) -> Vec<u8> {
        let mut to = Writer::new();
        to.u64(servers);
        to.u64(self.client);
        to.u64(self.order);
        self.products.iter().chain(&self.quantities).for_each(|&number| to.u64(number));
        to.finish()
    }

    fn decode(message: &[u8]) -> Result<(Self, u64), Malformed> {
        let mut from = Reader::new(message);
        let (servers, client, order) = (from.u64()?, from.u64()?, from.u64()?);
        let mut input = Self { client, order, products: [0; LINES], quantities: [0; LINES] };
        for number in input.products.iter_mut().chain(&mut input.quantities) {
            *number = from.u64()?;
        }
        Ok((input, servers))
    }
}

impl Procedure for Buy {
    async fn run<E: Env>(
        &self,
        transaction: &mut Transaction<'_, E>,
        input: &[u8],
    ) -> Result<Vec<u8>, Stop> {
        let (input, servers) = Input::decode(input)?;
        let keys = input.products.map(|number| product(servers, number));
        let products = transaction.read(&keys).await?;
        for ((key, row), quantity) in keys.into_iter().zip(products).zip(input.quantities) {
            let mut row = row.ok_or(Stop::RolledBack)?;
            let left = sell(stock(&row).ok_or(Malformed)?, quantity);
            row[STOCK * WORD_BYTES as usize..][..WORD_BYTES as usize]
                .copy_from_slice(&left.to_le_bytes());
            transaction.write(key, row);
        }
        let beside = keys[0].partition;
        let order = input.client << ORDER_BITS | input.order;
        for (number, row) in order_rows(&input).iter().enumerate() {
            let key = match number {
                0 => RowKey::new(beside, ORDER, order),
                line => RowKey::new(beside, LINE, order * LINES as u64 + line as u64 - 1),
            };
            transaction.write(key, bytes(row));
        }
        Ok(Vec::new())
    }
}

/// Adds the products, with a stock of 0.
pub fn load_products(servers: &[Arc<Server>], products_per_server: u64) {
    let count = servers.len() as u64;
    let row = vec![0; (u64::from(PRODUCT_WORDS) * WORD_BYTES) as usize];
    (0..count * products_per_server)
        .for_each(|number| load(servers, product(count, number), row.clone()));
}

/// Sends an order to the server of its first product, which saves messages.
pub async fn buy<E: Env>(env: &E, cluster: &Cluster, input: &Input) -> TransactionOutcome {
    let servers = cluster.servers.len() as u64;
    let manager: NodeId = cluster.servers[(input.products[0] % servers) as usize];
    submit(env, manager, input.encode(servers)).await
}
