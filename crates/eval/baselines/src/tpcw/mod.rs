//! The transaction "buy", similar to that of TPC-W [blog, figure 4]: an order of three products.
//!
//! The available texts say that it is *similar to the buy transaction of the TPC-W benchmark*, that
//! all transactions are distributed, and that each spans three servers [slides, "Ethernet vs
//! IPoIB"]. The rest is our interpretation:
//!
//! - it reads three products on three servers and lowers their stocks, which are refilled if less
//!   than ten would be left,
//! - it inserts an order and its three lines beside the first product,
//! - products are chosen uniformly among so many that transactions rarely conflict,
//! - a product has 1 KB, the average record of [ZB17 1.1]; an order and a line have 128 bytes each.

pub mod rsi;
pub mod trad_si;

use workload::Random;

/// Number of products of an order, each on a different server.
pub const LINES: usize = 3;
/// Words of a product's row.
pub const PRODUCT_WORDS: u32 = 128;
/// Words of the row of an order, and of each of its lines.
pub const ORDER_WORDS: u32 = 16;
/// The word of a product's row with its stock.
pub const STOCK: usize = 0;
/// A stock that would fall below this is refilled.
const STOCK_MIN: u64 = 10;
/// The amount of a refill.
pub const STOCK_REFILL: u64 = 21;
/// The largest quantity of a product in an order.
const QUANTITY_MAX: u64 = 10;

/// The input of a purchase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Input {
    pub client: u64,
    /// The number of the order among the client's.
    pub order: u64,
    /// The products. Product p is on server p modulo their number.
    pub products: [u64; LINES],
    /// The quantity of each.
    pub quantities: [u64; LINES],
}

/// Draws the orders of a client.
#[derive(Clone, Debug)]
pub struct Source {
    random: Random,
    client: u64,
    orders: u64,
    servers: Vec<u64>,
    products_per_server: u64,
}

impl Source {
    /// The orders of client number `client`, with this many servers and products per server.
    pub fn new(seed: u64, client: u64, servers: u64, products_per_server: u64) -> Self {
        assert!(servers >= LINES as u64, "an order spans {LINES} servers");
        let (random, servers) = (Random::stream(seed, 0, client), (0..servers).collect());
        Self { random, client, orders: 0, servers, products_per_server }
    }

    pub fn draw(&mut self) -> Input {
        self.random.shuffle(&mut self.servers);
        let count = self.servers.len() as u64;
        let chosen: [u64; LINES] = std::array::from_fn(|line| self.servers[line]);
        let products =
            chosen.map(|server| server + count * self.random.below(self.products_per_server));
        let quantities = products.map(|_| 1 + self.random.below(QUANTITY_MAX));
        self.orders += 1;
        Input { client: self.client, order: self.orders - 1, products, quantities }
    }
}

/// The stock after a sale.
fn sell(stock: u64, quantity: u64) -> u64 {
    let filled = if stock < quantity + STOCK_MIN { stock + STOCK_REFILL } else { stock };
    filled - quantity
}

/// The rows of an order and of its lines.
fn order_rows(input: &Input) -> [[u64; ORDER_WORDS as usize]; 1 + LINES] {
    let mut rows = [[0; ORDER_WORDS as usize]; 1 + LINES];
    for (number, row) in rows.iter_mut().enumerate() {
        (row[0], row[1], row[2]) = (input.client, input.order, number as u64);
        if number > 0 {
            (row[3], row[4]) = (input.products[number - 1], input.quantities[number - 1]);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_spans_three_servers() {
        let mut source = Source::new(1, 2, 4, 100);
        for order in 0..1000 {
            let input = source.draw();
            assert_eq!((input.client, input.order), (2, order));
            let mut servers = input.products.map(|product| product % 4);
            servers.sort_unstable();
            assert!(servers[0] < servers[1] && servers[1] < servers[2]);
            assert!(input.products.iter().all(|&product| product < 400));
        }
    }

    #[test]
    fn stocks_do_not_run_out() {
        assert_eq!(sell(20, 10), 10);
        assert_eq!(sell(19, 10), 30);
        assert_eq!(sell(0, 10), 11);
    }
}
