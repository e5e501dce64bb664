//! The parameters of SmallBank: customers, the number of hot ones, and the mix of its six
//! transactions.

use crate::random::Random;
use txn::Isolation;

/// Initial cents on each account. With any amount, Amalgamate collects the money of the hot
/// customers on few accounts, so that in a long run three of four payments bounce; that is a
/// property of SmallBank.
pub const BALANCE_INITIAL_CENTS: i64 = 2_000_000;
/// The amount of a payment between customers, in cents.
pub const PAYMENT_CENTS: i64 = 500;
/// The amount of a deposit, in cents.
pub const DEPOSIT_CENTS: i64 = 130;
/// The amount of a check, in cents.
pub const CHECK_CENTS: i64 = 500;
/// The largest amount that goes to or from a savings account at once, in cents.
pub const SAVINGS_CENTS_MAX: i64 = 2_020;
/// The penalty for a check that is not covered, in cents.
pub const PENALTY_CENTS: i64 = 100;

/// The largest change of the sum of all accounts by one transaction, in cents.
pub const CHANGE_CENTS_MAX: i64 = SAVINGS_CENTS_MAX;
const _: () = assert!(CHANGE_CENTS_MAX >= CHECK_CENTS + PENALTY_CENTS);
const _: () = assert!(CHANGE_CENTS_MAX >= DEPOSIT_CENTS);

/// A run of SmallBank [Alomari et al. 2008].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallBankConfig {
    /// Number of customers, each with an account, savings and checking.
    pub customers: u64,
    /// Customers below this number are hot.
    pub hot_customers: u64,
    /// Percentage of the transactions that draw from the hot customers only.
    pub hot_percent: u32,
    /// The isolation level.
    pub isolation: Isolation,
}

impl Default for SmallBankConfig {
    fn default() -> Self {
        Self {
            customers: 100_000,
            hot_customers: 4_000,
            hot_percent: 90,
            isolation: Isolation::Snapshot,
        }
    }
}

/// The reason why a configuration is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SmallBankConfigError {
    /// Payments need two customers.
    #[error(
        "payments need at least two hot customers, and at most as many as there are customers; {hot} of {customers} were asked for"
    )]
    Customers { customers: u64, hot: u64 },
    /// A percentage over 100.
    #[error("{0} percent of the transactions cannot be on hot customers")]
    HotPercent(u32),
}

impl SmallBankConfig {
    /// Reports an error if the configuration is invalid.
    pub fn validate(&self) -> Result<(), SmallBankConfigError> {
        if self.hot_customers < 2 || self.customers < self.hot_customers {
            let (customers, hot) = (self.customers, self.hot_customers);
            return Err(SmallBankConfigError::Customers { customers, hot });
        }
        if self.hot_percent > 100 {
            return Err(SmallBankConfigError::HotPercent(self.hot_percent));
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Empties one customer's accounts into another's checking.
    Amalgamate,
    /// Reads the total balance of a customer.
    Balance,
    /// Pays into checking.
    DepositChecking,
    /// Moves money from one customer's checking to another's, if there is enough.
    SendPayment,
    /// Pays into savings, or takes from it if there is enough.
    TransactSavings,
    /// Takes a check from checking, with a penalty if savings and checking do not cover it.
    WriteCheck,
}

impl Kind {
    /// All transactions with their percentages [FORD, DrTM+H].
    pub const MIX: [(Self, u32); 6] = [
        (Self::Amalgamate, 15),
        (Self::Balance, 15),
        (Self::DepositChecking, 15),
        (Self::SendPayment, 25),
        (Self::TransactSavings, 15),
        (Self::WriteCheck, 15),
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Amalgamate => "amalgamate",
            Self::Balance => "balance",
            Self::DepositChecking => "deposit_checking",
            Self::SendPayment => "send_payment",
            Self::TransactSavings => "transact_savings",
            Self::WriteCheck => "write_check",
        }
    }
}

/// One transaction with all its inputs, so that a retry does the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    pub kind: Kind,
    /// The customer whose accounts it uses.
    pub customer: u64,
    /// The other customer of a transaction on two.
    pub other: u64,
    /// The amount in cents; negative to take from savings.
    pub cents: i64,
}

pub fn draw(config: &SmallBankConfig, random: &mut Random) -> Input {
    let kind = draw_kind(random);
    let hot = random.percent(config.hot_percent);
    let population = if hot { config.hot_customers } else { config.customers };
    let customer = random.below(population);
    let mut other = random.below(population - 1);
    if other >= customer {
        other += 1;
    }
    let cents = match kind {
        Kind::Amalgamate | Kind::Balance => 0,
        Kind::DepositChecking => DEPOSIT_CENTS,
        Kind::SendPayment => PAYMENT_CENTS,
        Kind::WriteCheck => CHECK_CENTS,
        Kind::TransactSavings => {
            let amount = 1 + random.below(SAVINGS_CENTS_MAX as u64) as i64;
            if random.percent(50) { amount } else { -amount }
        }
    };
    Input { kind, customer, other, cents }
}

fn draw_kind(random: &mut Random) -> Kind {
    let mut share = random.below(100) as u32;
    for (kind, percent) in Kind::MIX {
        if share < percent {
            return kind;
        }
        share -= percent;
    }
    unreachable!("the shares make 100 percent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_and_the_hot_set_are_kept() {
        let config = SmallBankConfig::default();
        let mut random = Random::new(11);
        let inputs: Vec<Input> = (0..100_000).map(|_| draw(&config, &mut random)).collect();
        for (kind, percent) in Kind::MIX {
            let count = inputs.iter().filter(|input| input.kind == kind).count() as i64;
            let expected = i64::from(percent) * 1000;
            assert!((count - expected).abs() < 600, "{} {count} times", kind.name());
        }
        // 90 % by choice, and 4 % of the others by chance.
        let hot = inputs.iter().filter(|input| input.customer < config.hot_customers).count();
        assert!((89_800..91_000).contains(&hot), "{hot} of 100 000 were hot");
        assert!(inputs.iter().all(|input| input.customer != input.other));
        assert!(inputs.iter().all(|input| input.other < config.customers));
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let config = |customers, hot_customers, hot_percent| SmallBankConfig {
            customers,
            hot_customers,
            hot_percent,
            isolation: Isolation::Snapshot,
        };
        assert_eq!(config(2, 2, 100).validate(), Ok(()));
        assert!(config(10, 11, 90).validate().is_err());
        assert!(config(10, 1, 90).validate().is_err());
        assert!(config(10, 4, 101).validate().is_err());
    }
}
