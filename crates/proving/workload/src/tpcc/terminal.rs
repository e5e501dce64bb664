//! A terminal: one thread's share of the warehouses, its random state, and its buffers.

use super::Config;
use super::deck::{Deck, TransactionType};
use super::input::{
    DeliveryInput, InputSource, NewOrderInput, OrderStatusInput, PaymentInput, StockLevelInput,
};
use super::keys;
use super::nurand::NurandConstants;
use super::tables::Partitions;
use crate::error::WorkloadError;
use crate::random::Random;
use fabric::random::Zipf;
use layout::Key;
use std::ops::Range;
use txn::{RowId, Scan, TableId};

/// The random stream of the terminals; the loader's streams are small numbers.
const TERMINAL_STREAM: u32 = 100;

/// The state of one thread between transactions.
#[derive(Debug)]
pub struct Terminal {
    pub(super) config: Config,
    pub(super) tables: Partitions,
    /// The terminal number of this thread's history rows; 0 is the loader.
    pub(super) history_terminal: u16,
    /// The number of the next history row, once the number of existing rows is known.
    pub(super) history_next: Option<i64>,
    pub(super) buffers: Buffers,
    /// For each home warehouse and district, a lower bound of the open orders' numbers.
    pub(super) oldest_orders: Vec<i32>,
    pub(super) first_warehouse: i16,
    warehouse_step: i16,
    warehouse_count: u64,
    deck: Deck,
    constants: NurandConstants,
    zipf: Option<Zipf>,
    random: Random,
}

/// Buffers that keep their capacity from one transaction to the next.
#[derive(Debug, Default)]
pub struct Buffers {
    /// Keys to read in one round trip.
    pub reads: Vec<(TableId, Key)>,
    /// The rows found for them.
    pub found: Vec<Option<RowId>>,
    /// Keys to insert in one round trip.
    pub inserts: Vec<(TableId, Key)>,
    /// Rows of the latest insert, lookup or scan.
    pub rows: Vec<RowId>,
    pub scans: Vec<Scan>,
    /// The rows of each range.
    pub ranges: Vec<Vec<RowId>>,
    /// The items whose stock is read.
    pub items: Vec<i32>,
    pub orders: Vec<DeliveredOrder>,
    /// Districts without an open order in the latest delivery.
    pub skipped: u32,
    /// The output of the terminal's screen.
    pub screen: Screen,
}

/// An order being delivered.
#[derive(Clone, Copy, Debug)]
pub struct DeliveredOrder {
    pub district: i16,
    pub order: i32,
    pub customer: i32,
    /// Sum of its lines, in cents.
    pub amount: i64,
}

/// The values that a transaction returns to its terminal, in the order of the specification's
/// screens. They are collected so that no transaction can omit reading them; formatting is the
/// terminal's work.
#[derive(Debug, Default)]
pub struct Screen {
    bytes: Vec<u8>,
}

impl Screen {
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    #[inline]
    pub fn text(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
    }

    /// Shows a number, amount or date.
    #[inline]
    pub fn number(&mut self, number: i64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// Everything shown: texts unchanged, numbers as eight little-endian bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The input of one transaction.
#[derive(Debug)]
pub enum Input {
    /// 2.4.1
    NewOrder(NewOrderInput),
    /// 2.5.1
    Payment(PaymentInput),
    /// 2.6.1
    OrderStatus(OrderStatusInput),
    /// 2.7.1
    Delivery(DeliveryInput),
    /// 2.8.1
    StockLevel(StockLevelInput),
}

impl Terminal {
    /// The terminal of thread `thread` of `threads`. It serves the warehouses w with
    /// (w - 1) % threads == thread; threads beyond the number of warehouses share one with others.
    pub fn new(
        config: &Config,
        tables: Partitions,
        thread: u32,
        threads: u32,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        assert!(thread < threads, "threads count from 0");
        let history_terminal =
            u16::try_from(thread + 1).ok().filter(|&terminal| terminal < u16::MAX);
        let Some(history_terminal) = history_terminal else {
            let sentence = format!("TPC-C has room for {} threads, not {threads}", u16::MAX - 1);
            return Err(WorkloadError::Configuration(sentence));
        };
        let warehouses = config.warehouses;
        let (first, step) = if threads <= warehouses {
            (thread, threads)
        } else {
            (thread % warehouses, warehouses)
        };
        let warehouse_count = (warehouses - first).div_ceil(step);
        let district_count = warehouse_count as usize * config.scale.districts as usize;
        Ok(Self {
            config: *config,
            tables,
            history_terminal,
            history_next: None,
            buffers: Buffers::default(),
            oldest_orders: vec![1; district_count],
            first_warehouse: first as i16 + 1,
            warehouse_step: step as i16,
            warehouse_count: u64::from(warehouse_count),
            deck: Deck::new(&config.mix),
            constants: NurandConstants::new(config.seed),
            zipf: config.zipf(),
            random: Random::stream(seed, TERMINAL_STREAM, u64::from(thread)),
        })
    }

    /// Makes it number its history rows as terminal `number`, from 1; without this call, as its
    /// thread's terminal. Two terminals with one number insert the same keys, and one of them then
    /// walks over all rows of the other, conflict by conflict.
    pub fn number_history_as(&mut self, number: u16) {
        assert!(
            number > 0 && number < u16::MAX,
            "0 is the loader's, and the range of the last has no end"
        );
        self.history_terminal = number;
    }

    /// The output of the latest transaction.
    pub fn screen(&self) -> &Screen {
        &self.buffers.screen
    }

    /// Draws the next transaction with its input.
    pub fn draw(&mut self) -> (TransactionType, Input) {
        let kind = self.deck.deal(&mut self.random);
        let warehouse = self.draw_warehouse();
        let (config, constants) = (&self.config, &self.constants);
        let (zipf, random) = (self.zipf.as_ref(), &mut self.random);
        let mut source = InputSource { config, constants, zipf, random };
        let input = match kind {
            TransactionType::NewOrder => Input::NewOrder(source.new_order(warehouse)),
            TransactionType::Payment => Input::Payment(source.payment(warehouse)),
            TransactionType::OrderStatus => Input::OrderStatus(source.order_status(warehouse)),
            TransactionType::Delivery => Input::Delivery(source.delivery(warehouse)),
            TransactionType::StockLevel => Input::StockLevel(source.stock_level(warehouse)),
        };
        (kind, input)
    }

    /// One of the terminal's home warehouses.
    fn draw_warehouse(&mut self) -> i16 {
        let drawn = self.random.below(self.warehouse_count) as i16;
        self.first_warehouse + drawn * self.warehouse_step
    }

    /// The positions in `oldest_orders` of the districts of a home warehouse.
    pub(super) fn oldest_orders_of(&self, warehouse: i16) -> Range<usize> {
        let position = (warehouse - self.first_warehouse) / self.warehouse_step;
        let districts = self.config.scale.districts as usize;
        let first = position as usize * districts;
        first..first + districts
    }

    /// The number of the next history row. Every attempt takes a new one, so a number of unknown
    /// outcome is never used again.
    #[inline]
    pub(super) fn take_history_number(&mut self) -> i64 {
        let next =
            self.history_next.get_or_insert(keys::first_history_number(self.history_terminal));
        *next += 1;
        *next - 1
    }
}
