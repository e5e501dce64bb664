//! The purchase by one-sided verbs.

use super::{Input, LINES, ORDER_WORDS, PRODUCT_WORDS, STOCK, order_rows, sell};
use crate::rsi::{Client, Ended, Oracle, Record, Records};
use fabric::{Env, FabricError};
use layout::region::HEADER_BYTES;
use layout::{GlobalPtr, RegionId, WORD_BYTES};

/// Number of records of an order: its own and those of its lines.
const ORDER_RECORDS: u64 = 1 + LINES as u64;

/// The location of all data: products first, then an area for the orders of each client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Places {
    /// Number of memory servers; the oracle is behind the header of the first.
    pub servers: u64,
    /// Number of products of each.
    pub products_per_server: u64,
    /// Number of clients. Their areas are distributed over the servers.
    pub clients: u64,
    /// The largest number of orders of a client.
    pub orders_per_client: u64,
}

impl Places {
    pub fn oracle(&self) -> Oracle {
        Oracle::new(GlobalPtr::new(RegionId(0), HEADER_BYTES))
    }

    fn first(server: u64) -> GlobalPtr {
        GlobalPtr::new(RegionId(server as u16), HEADER_BYTES + Oracle::BYTES)
    }

    /// The row of a product.
    pub fn product(&self, number: u64) -> Record {
        let place = number / self.servers * u64::from(Records::words(PRODUCT_WORDS));
        Record { at: Self::first(number % self.servers).add_words(place), words: PRODUCT_WORDS }
    }

    /// Number of order records on each server.
    fn order_records(&self) -> u64 {
        self.clients.div_ceil(self.servers) * self.orders_per_client * ORDER_RECORDS
    }

    fn product_words(&self) -> u64 {
        self.products_per_server * u64::from(Records::words(PRODUCT_WORDS))
    }

    /// The row of an order, or of one of its lines.
    pub fn order(&self, input: &Input, row: u64) -> Record {
        assert!(input.order < self.orders_per_client, "the client's area for orders is full");
        let area = input.client / self.servers * self.orders_per_client;
        let place = (area + input.order) * ORDER_RECORDS + row;
        let word = self.product_words() + place * u64::from(Records::words(ORDER_WORDS));
        Record { at: Self::first(input.client % self.servers).add_words(word), words: ORDER_WORDS }
    }

    /// Words of a memory server with room for all of it.
    pub fn server_words(&self) -> u64 {
        let order_words = self.order_records() * u64::from(Records::words(ORDER_WORDS));
        (HEADER_BYTES + Oracle::BYTES) / WORD_BYTES + self.product_words() + order_words
    }
}

/// Executes a purchase. The row of a product that was never sold is memory that was never written:
/// its stock is 0.
///
/// # Errors
/// Those of the fabric.
pub async fn buy<E: Env>(
    client: &Client<E>,
    places: &Places,
    input: &Input,
) -> Result<Ended, FabricError> {
    let products = input.products.map(|number| places.product(number));
    let mut snapshot = client.begin().await?;
    if !client.read(&mut snapshot, &products).await? {
        return Ok(Ended::Aborted);
    }
    let sold = |(line, quantity): (usize, &u64)| {
        let mut row = snapshot.content(line).to_vec();
        row[STOCK] = sell(row[STOCK], *quantity);
        (line, row)
    };
    let updates: Vec<_> = input.quantities.iter().enumerate().map(sold).collect();
    let rows = order_rows(input);
    let insert = |(number, row): (u64, &[u64; ORDER_WORDS as usize])| {
        (places.order(input, number), row.to_vec())
    };
    let inserts: Vec<_> = (0..).zip(&rows).map(insert).collect();
    client.commit(&snapshot, &updates, &inserts).await
}
