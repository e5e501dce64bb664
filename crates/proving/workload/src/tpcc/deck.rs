//! The choice of the next transaction: a deck of cards per terminal [TPC-C 5.2.4.2].

use crate::random::Random;

pub const TYPE_COUNT: usize = 5;
/// Number of cards of a deck; one per percent.
const CARDS: usize = 100;

/// The transactions, in the order of [`TRANSACTION_NAMES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionType {
    /// 2.4
    NewOrder,
    /// 2.5
    Payment,
    /// 2.6
    OrderStatus,
    /// 2.7
    Delivery,
    /// 2.8
    StockLevel,
}

/// Every transaction type, in order.
pub const TRANSACTION_TYPES: [TransactionType; TYPE_COUNT] = [
    TransactionType::NewOrder,
    TransactionType::Payment,
    TransactionType::OrderStatus,
    TransactionType::Delivery,
    TransactionType::StockLevel,
];
pub const TRANSACTION_NAMES: [&str; TYPE_COUNT] =
    ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// Shares of the transaction types in percent; they add up to 100.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mix(pub [u32; TYPE_COUNT]);

impl Mix {
    /// The minimal shares of [TPC-C 5.2.3], the rest new-orders.
    pub const STANDARD: Self = Self([45, 43, 4, 4, 4]);
    /// New-orders alone, for the locality experiment of [ZB17 7.3].
    pub const NEW_ORDER_ONLY: Self = Self([100, 0, 0, 0, 0]);

    /// Whether the shares add up to 100.
    pub fn is_complete(&self) -> bool {
        self.0.iter().sum::<u32>() as usize == CARDS
    }
}

/// A shuffled deck of 100 cards, dealt to its end before it is shuffled again. So every hundred
/// transactions of a terminal have exactly the shares of the mix, as with the 23 cards of [TPC-C
/// 5.2.4.2], which however allow only 43.5 percent new-orders.
#[derive(Clone, Debug)]
pub struct Deck {
    cards: [TransactionType; CARDS],
    dealt: usize,
}

impl Deck {
    /// A deck with the shares of a complete mix.
    pub fn new(mix: &Mix) -> Self {
        assert!(mix.is_complete(), "the shares of a mix add up to 100");
        let mut cards = [TransactionType::NewOrder; CARDS];
        let dealt = TRANSACTION_TYPES
            .iter()
            .zip(mix.0)
            .flat_map(|(&kind, share)| std::iter::repeat_n(kind, share as usize));
        cards.iter_mut().zip(dealt).for_each(|(card, kind)| *card = kind);
        Self { cards, dealt: CARDS }
    }

    #[inline]
    pub fn deal(&mut self, random: &mut Random) -> TransactionType {
        if self.dealt == CARDS {
            random.shuffle(&mut self.cards);
            self.dealt = 0;
        }
        self.dealt += 1;
        self.cards[self.dealt - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hundred_transactions_have_the_exact_shares_in_another_order() {
        let mut random = Random::new(1);
        let mut deck = Deck::new(&Mix::STANDARD);
        let mut orders = Vec::new();
        for _ in 0..20 {
            let cards: Vec<_> = (0..CARDS).map(|_| deck.deal(&mut random)).collect();
            let share = |kind| cards.iter().filter(|&&card| card == kind).count();
            assert_eq!(TRANSACTION_TYPES.map(share), [45, 43, 4, 4, 4]);
            orders.push(cards);
        }
        assert!(orders.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_mix_of_one_type_deals_only_that() {
        let mut random = Random::new(1);
        let mut deck = Deck::new(&Mix::NEW_ORDER_ONLY);
        assert!((0..250).all(|_| deck.deal(&mut random) == TransactionType::NewOrder));
        assert!(!Mix([45, 43, 4, 4, 5]).is_complete());
    }
}
