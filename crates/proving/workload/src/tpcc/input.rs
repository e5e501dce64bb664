//! The inputs of the five transactions, as the terminals' users would enter them.

use super::Config;
use super::nurand::NurandConstants;
use super::text::{LAST_NAME_BYTES_MAX, Text, last_name};
use crate::random::Random;
use fabric::random::Zipf;

/// The largest number of lines of an order [TPC-C 2.4.1.3].
pub const LINES_MAX: usize = 15;
/// The smallest number of lines of an order.
pub const LINES_MIN: usize = 5;

/// The distribution of items in new-orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemChoice {
    /// NURand, as in the specification [TPC-C 2.4.1.5].
    Nurand,
    /// All items with equal probability [ZB17 7.4].
    Uniform,
    /// With probability proportional to rank^-theta [ZB17 7.4]: the contention experiment.
    Zipf {
        /// Theta in hundredths; the paper has 80, 90, 100 and 200.
        theta_percent: u32,
    },
}

/// The parameters and generators of inputs.
pub struct InputSource<'a> {
    pub config: &'a Config,
    /// The constants of this database and run.
    pub constants: &'a NurandConstants,
    /// The distribution of items, if it is Zipfian.
    pub zipf: Option<&'a Zipf>,
    pub random: &'a mut Random,
}

/// One line of a new order.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineInput {
    pub item: i32,
    /// The warehouse that supplies it.
    pub supply_warehouse: i16,
    pub quantity: i16,
}

/// Input of new-order [TPC-C 2.4.1].
#[derive(Clone, Debug)]
pub struct NewOrderInput {
    pub warehouse: i16,
    pub district: i16,
    pub customer: i32,
    lines: [LineInput; LINES_MAX],
    line_count: usize,
}

impl NewOrderInput {
    #[inline]
    pub fn lines(&self) -> &[LineInput] {
        &self.lines[..self.line_count]
    }

    /// Whether the home warehouse supplies every line.
    pub fn is_all_local(&self) -> bool {
        self.lines().iter().all(|line| line.supply_warehouse == self.warehouse)
    }
}

/// The identification of a customer.
#[derive(Clone, Debug)]
pub enum CustomerChoice {
    /// By number.
    Number(i32),
    /// By last name, shared by about three customers of the district.
    LastName(Text<LAST_NAME_BYTES_MAX>),
}

/// Input of payment [TPC-C 2.5.1].
#[derive(Clone, Debug)]
pub struct PaymentInput {
    /// The warehouse that is paid.
    pub warehouse: i16,
    /// The district that is paid.
    pub district: i16,
    pub customer_warehouse: i16,
    pub customer_district: i16,
    pub customer: CustomerChoice,
    /// In cents.
    pub amount: i64,
}

/// Input of order-status [TPC-C 2.6.1].
#[derive(Clone, Debug)]
pub struct OrderStatusInput {
    pub warehouse: i16,
    pub district: i16,
    pub customer: CustomerChoice,
}

/// Input of delivery [TPC-C 2.7.1].
#[derive(Clone, Copy, Debug)]
pub struct DeliveryInput {
    pub warehouse: i16,
    pub carrier: i16,
}

/// Input of stock-level [TPC-C 2.8.1].
#[derive(Clone, Copy, Debug)]
pub struct StockLevelInput {
    pub warehouse: i16,
    pub district: i16,
    /// Stock below this is low.
    pub threshold: i16,
}

/// The item of a rank, both counted from 0, if the distribution has more ranks than there are
/// items: ranks beyond the items are spread evenly over the colder half, so that the hottest items
/// keep the popularity of their ranks.
fn folded(rank: u64, items: u64) -> u64 {
    let hottest = items / 2;
    if rank < items { rank } else { hottest + (rank - items) % (items - hottest) }
}

impl InputSource<'_> {
    /// Draws the input of a new-order [TPC-C 2.4.1].
    pub fn new_order(&mut self, warehouse: i16) -> NewOrderInput {
        let scale = &self.config.scale;
        let district = self.district();
        let customer = self.constants.customer(self.random, scale);
        let line_count = self.random.uniform(LINES_MIN as i64, LINES_MAX as i64) as usize;
        let mut lines = [LineInput::default(); LINES_MAX];
        for line in &mut lines[..line_count] {
            line.item = self.item();
            line.supply_warehouse = warehouse;
            line.quantity = self.random.uniform(1, 10) as i16;
        }
        self.choose_suppliers(warehouse, &mut lines[..line_count]);
        // One in a hundred orders ends with an unused item number [TPC-C 2.4.1.5].
        if self.random.percent(1) {
            lines[line_count - 1].item = scale.unused_item();
        }
        NewOrderInput { warehouse, district, customer, lines, line_count }
    }

    fn item(&mut self) -> i32 {
        let scale = &self.config.scale;
        match (self.config.item_choice, self.zipf) {
            (ItemChoice::Zipf { .. }, Some(zipf)) => {
                folded(zipf.rank(self.random), scale.items as u64) as i32 + 1
            }
            (ItemChoice::Uniform, _) => self.random.uniform(1, i64::from(scale.items)) as i32,
            _ => self.constants.item(self.random, scale),
        }
    }

    /// Another warehouse supplies one line in a hundred [TPC-C 2.4.1.5]; with a configured degree
    /// of distribution, exactly one line of that percentage of the orders [ZB17 7.3].
    fn choose_suppliers(&mut self, home: i16, lines: &mut [LineInput]) {
        if self.config.warehouses == 1 {
            return;
        }
        match self.config.distribution_percent {
            None => {
                for line in lines {
                    if self.random.percent(1) {
                        line.supply_warehouse = self.other_warehouse(home);
                    }
                }
            }
            Some(percent) if self.random.percent(percent) => {
                let line = self.random.below(lines.len() as u64) as usize;
                lines[line].supply_warehouse = self.other_warehouse(home);
            }
            Some(_) => {}
        }
    }

    /// Draws the input of a payment [TPC-C 2.5.1].
    pub fn payment(&mut self, warehouse: i16) -> PaymentInput {
        let district = self.district();
        let is_remote = self.config.warehouses > 1 && self.random.percent(15);
        let (customer_warehouse, customer_district) = match is_remote {
            true => (self.other_warehouse(warehouse), self.district()),
            false => (warehouse, district),
        };
        let customer = self.customer_choice();
        let amount = self.random.uniform(100, 500_000);
        PaymentInput {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer,
            amount,
        }
    }

    /// Draws the input of an order-status [TPC-C 2.6.1].
    pub fn order_status(&mut self, warehouse: i16) -> OrderStatusInput {
        OrderStatusInput { warehouse, district: self.district(), customer: self.customer_choice() }
    }

    /// Draws the input of a delivery [TPC-C 2.7.1].
    pub fn delivery(&mut self, warehouse: i16) -> DeliveryInput {
        DeliveryInput { warehouse, carrier: self.random.uniform(1, 10) as i16 }
    }

    /// Draws the input of a stock-level [TPC-C 2.8.1]. Terminals serve whole warehouses here, so
    /// the district is drawn as well.
    pub fn stock_level(&mut self, warehouse: i16) -> StockLevelInput {
        let threshold = self.random.uniform(10, 20) as i16;
        StockLevelInput { warehouse, district: self.district(), threshold }
    }

    fn district(&mut self) -> i16 {
        self.random.uniform(1, i64::from(self.config.scale.districts)) as i16
    }

    /// By last name in 60 of 100 cases [TPC-C 2.5.1.2, 2.6.1.2].
    fn customer_choice(&mut self) -> CustomerChoice {
        let scale = &self.config.scale;
        if self.random.percent(60) {
            CustomerChoice::LastName(last_name(self.constants.last_name_run(self.random, scale)))
        } else {
            CustomerChoice::Number(self.constants.customer(self.random, scale))
        }
    }

    /// Any warehouse except `home`, with equal probability.
    fn other_warehouse(&mut self, home: i16) -> i16 {
        debug_assert!(self.config.warehouses > 1);
        let drawn = self.random.uniform(1, i64::from(self.config.warehouses) - 1) as i16;
        if drawn >= home { drawn + 1 } else { drawn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 100_000;

    fn with_source<T>(config: Config, draw: impl FnOnce(&mut InputSource<'_>) -> T) -> T {
        let constants = NurandConstants::new(3);
        let mut random = Random::new(4);
        let zipf = config.zipf();
        draw(&mut InputSource {
            config: &config,
            constants: &constants,
            zipf: zipf.as_ref(),
            random: &mut random,
        })
    }

    fn config(warehouses: u32, distribution_percent: Option<u32>) -> Config {
        Config { distribution_percent, ..Config::new(warehouses) }
    }

    /// Six standard deviations of a binomial around a share in percent.
    fn assert_share(count: u32, percent: f64) {
        let expected = f64::from(DRAWS) * percent / 100.0;
        let deviation = (expected * (1.0 - percent / 100.0)).sqrt();
        let distance = (f64::from(count) - expected).abs();
        assert!(distance <= 6.0 * deviation, "{count} of {DRAWS}, not {percent} percent");
    }

    fn count(mut holds: impl FnMut() -> bool) -> u32 {
        (0..DRAWS).map(|_| u32::from(holds())).sum()
    }

    #[test]
    fn one_order_in_a_hundred_has_an_unused_item_at_its_end() {
        with_source(config(1, None), |source| {
            let unused = source.config.scale.unused_item();
            let rolled_back = count(|| {
                let input = source.new_order(1);
                let (last, others) = input.lines().split_last().expect("five lines at least");
                assert!(others.iter().all(|line| line.item != unused));
                last.item == unused
            });
            assert_share(rolled_back, 1.0);
        });
    }

    #[test]
    fn a_tenth_of_all_orders_is_remote_by_the_specification() {
        with_source(config(7, None), |source| {
            let mut lines = 0;
            let remote = count(|| {
                let input = source.new_order(4);
                lines += input.lines().len();
                assert!((5..=15).contains(&input.lines().len()));
                !input.is_all_local()
            });
            // The mean of 1 - 0.99^lines over 5 to 15 lines.
            assert_share(remote, 9.52);
            assert!((lines as f64 / f64::from(DRAWS) - 10.0).abs() < 0.1);
        });
    }

    #[test]
    fn the_degree_of_distribution_is_the_share_of_remote_orders() {
        for percent in [0, 37, 100] {
            with_source(config(7, Some(percent)), |source| {
                assert_share(count(|| !source.new_order(4).is_all_local()), f64::from(percent));
            });
        }
        let remote =
            with_source(config(1, Some(100)), |source| !source.new_order(1).is_all_local());
        assert!(!remote, "with one warehouse nothing is remote");
    }

    #[test]
    fn payments_are_remote_and_by_name_as_often_as_they_should() {
        with_source(config(7, None), |source| {
            let mut by_name = 0;
            let mut others = [0; 8];
            let remote = count(|| {
                let input = source.payment(4);
                by_name += u32::from(matches!(input.customer, CustomerChoice::LastName(_)));
                assert!((100..=500_000).contains(&input.amount));
                others[input.customer_warehouse as usize] += 1;
                input.customer_warehouse != 4
            });
            assert_share(remote, 15.0);
            assert_share(by_name, 60.0);
            for warehouse in [1, 2, 3, 5, 6, 7] {
                assert_share(others[warehouse], 2.5);
            }
        });
    }

    #[test]
    fn ranks_without_items_go_to_the_colder_half() {
        assert_eq!([0, 9, 10, 14, 15].map(|rank| folded(rank, 10)), [0, 9, 5, 9, 5]);
        let mut counts = [0; 10];
        (0..10_000).for_each(|rank| counts[folded(rank, 10) as usize] += 1);
        assert_eq!(counts[..5], [1; 5]);
        assert_eq!(counts[5..], [1999; 5]);
    }

    #[test]
    fn items_are_skewed_as_configured() {
        let share_of_first = |item_choice| {
            let config = Config { item_choice, ..config(1, None) };
            with_source(config, |source| {
                let first = count(|| source.item() == 1);
                assert!((0..1000).all(|_| (1..=100_000).contains(&source.item())));
                first
            })
        };
        assert!(share_of_first(ItemChoice::Uniform) < 15);
        // 1 / zeta(2) of all draws, and 1 / (the 100000th harmonic number).
        assert_share(share_of_first(ItemChoice::Zipf { theta_percent: 200 }), 60.79);
        assert_share(share_of_first(ItemChoice::Zipf { theta_percent: 100 }), 8.27);
    }
}
