//! A terminal: draws inputs of one home warehouse, like the terminals of the crate `workload`.

use super::input::{Input, NewOrder, Payment};
use fabric::random::Zipf;
use workload::Random;
use workload::tpcc::{Config, Deck, InputSource, ItemChoice, NurandConstants, TransactionType};

/// Items that Zipf's law ranks: those of the specification, for any number of loaded items. Ranks
/// beyond the loaded items map to items other than the hottest.
const RANKS: u64 = 100_000;

/// Bits of the count in a payment's number; the terminal is above them.
const PAYMENT_BITS: u32 = 32;

#[derive(Clone, Debug)]
pub struct Terminal {
    config: Config,
    constants: NurandConstants,
    zipf: Option<Zipf>,
    deck: Deck,
    random: Random,
    warehouse: i16,
    number: u64,
    payments: u64,
}

impl Terminal {
    /// Terminal `number` of the warehouse `warehouse`, which counts from 1.
    pub fn new(config: &Config, seed: u64, number: u64, warehouse: u32) -> Self {
        let zipf = match config.item_choice {
            ItemChoice::Zipf { theta_percent } => {
                Some(Zipf::new(RANKS, f64::from(theta_percent) / 100.0))
            }
            ItemChoice::Nurand | ItemChoice::Uniform => None,
        };
        Self {
            config: *config,
            constants: NurandConstants::new(config.seed),
            zipf,
            deck: Deck::new(&config.mix),
            random: Random::stream(seed, 0, number),
            warehouse: warehouse as i16,
            number,
            payments: 0,
        }
    }

    pub fn draw(&mut self) -> Input {
        let kind = self.deck.deal(&mut self.random);
        let (config, constants) = (&self.config, &self.constants);
        let mut source =
            InputSource { config, constants, zipf: self.zipf.as_ref(), random: &mut self.random };
        let home = self.warehouse;
        match kind {
            TransactionType::NewOrder => Input::NewOrder(NewOrder::from(&source.new_order(home))),
            TransactionType::Payment => {
                self.payments += 1;
                let number = self.number << PAYMENT_BITS | self.payments;
                Input::Payment(Payment::new(&source.payment(home), number))
            }
            TransactionType::OrderStatus => Input::from(&source.order_status(home)),
            TransactionType::Delivery => Input::from(&source.delivery(home)),
            TransactionType::StockLevel => Input::from(&source.stock_level(home)),
        }
    }
}
