//! Inputs of transactions, as messages.

use crate::message::{Malformed, Reader, Writer};
use workload::tpcc::{CustomerChoice, DeliveryInput, NewOrderInput, OrderStatusInput};
use workload::tpcc::{PaymentInput, StockLevelInput};

/// The largest number of lines of an order.
const LINES_MAX: u32 = 15;

/// One line of a new order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    pub item: u32,
    pub supply_warehouse: u32,
    pub quantity: u32,
}

/// The identification of a customer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Customer {
    Number(u32),
    /// By last name.
    Name(Vec<u8>),
}

/// The input of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// [TPC-C 2.4]
    NewOrder(NewOrder),
    /// [TPC-C 2.5]
    Payment(Payment),
    /// [TPC-C 2.6]
    OrderStatus { warehouse: u32, district: u32, customer: Customer },
    /// [TPC-C 2.7]
    Delivery { warehouse: u32, carrier: u32 },
    /// [TPC-C 2.8]
    StockLevel {
        warehouse: u32,
        district: u32,
        /// Stock below this is low.
        threshold: u32,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewOrder {
    pub warehouse: u32,
    pub district: u32,
    pub customer: u32,
    pub lines: Vec<Line>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Payment {
    /// The warehouse that is paid.
    pub warehouse: u32,
    /// The district that is paid.
    pub district: u32,
    /// The customer's warehouse.
    pub customer_warehouse: u32,
    /// The customer's district.
    pub customer_district: u32,
    pub customer: Customer,
    /// In cents.
    pub amount: u32,
    /// A number that no other payment has.
    pub number: u64,
}

impl From<&CustomerChoice> for Customer {
    fn from(choice: &CustomerChoice) -> Self {
        match choice {
            CustomerChoice::Number(number) => Self::Number(*number as u32),
            CustomerChoice::LastName(name) => Self::Name(name.bytes().to_vec()),
        }
    }
}

impl From<&NewOrderInput> for NewOrder {
    fn from(input: &NewOrderInput) -> Self {
        let line = |line: &workload::tpcc::LineInput| Line {
            item: line.item as u32,
            supply_warehouse: line.supply_warehouse as u32,
            quantity: line.quantity as u32,
        };
        Self {
            warehouse: input.warehouse as u32,
            district: input.district as u32,
            customer: input.customer as u32,
            lines: input.lines().iter().map(line).collect(),
        }
    }
}

impl Payment {
    pub(super) fn new(input: &PaymentInput, number: u64) -> Self {
        Self {
            warehouse: input.warehouse as u32,
            district: input.district as u32,
            customer_warehouse: input.customer_warehouse as u32,
            customer_district: input.customer_district as u32,
            customer: Customer::from(&input.customer),
            amount: input.amount as u32,
            number,
        }
    }
}

impl From<&OrderStatusInput> for Input {
    fn from(input: &OrderStatusInput) -> Self {
        let (warehouse, district) = (input.warehouse as u32, input.district as u32);
        Self::OrderStatus { warehouse, district, customer: Customer::from(&input.customer) }
    }
}

impl From<&DeliveryInput> for Input {
    fn from(input: &DeliveryInput) -> Self {
        Self::Delivery { warehouse: input.warehouse as u32, carrier: input.carrier as u32 }
    }
}

impl From<&StockLevelInput> for Input {
    fn from(input: &StockLevelInput) -> Self {
        let (warehouse, district) = (input.warehouse as u32, input.district as u32);
        Self::StockLevel { warehouse, district, threshold: input.threshold as u32 }
    }
}

impl Customer {
    fn write(&self, to: &mut Writer) {
        match self {
            Self::Number(number) => {
                to.u8(0);
                to.u32(*number);
            }
            Self::Name(name) => {
                to.u8(1);
                to.string(name);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        match from.u8()? {
            0 => Ok(Self::Number(from.u32()?)),
            1 => Ok(Self::Name(from.string()?.to_vec())),
            _ => Err(Malformed),
        }
    }
}

impl Input {
    /// The home warehouse.
    pub fn warehouse(&self) -> u32 {
        match self {
            Self::NewOrder(input) => input.warehouse,
            Self::Payment(input) => input.warehouse,
            Self::OrderStatus { warehouse, .. }
            | Self::Delivery { warehouse, .. }
            | Self::StockLevel { warehouse, .. } => *warehouse,
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut to = Writer::new();
        let mut numbers = |kind, numbers: &[u32]| {
            to.u8(kind);
            numbers.iter().for_each(|&number| to.u32(number));
        };
        match self {
            Self::NewOrder(input) => {
                let NewOrder { warehouse, district, customer, lines } = input;
                numbers(0, &[*warehouse, *district, *customer, lines.len() as u32]);
                for line in lines {
                    let Line { item, supply_warehouse, quantity } = *line;
                    [item, supply_warehouse, quantity].into_iter().for_each(|n| to.u32(n));
                }
            }
            Self::Payment(input) => {
                let customer = [input.customer_warehouse, input.customer_district];
                numbers(1, &[input.warehouse, input.district, customer[0], customer[1]]);
                input.customer.write(&mut to);
                to.u32(input.amount);
                to.u64(input.number);
            }
            Self::OrderStatus { warehouse, district, customer } => {
                numbers(2, &[*warehouse, *district]);
                customer.write(&mut to);
            }
            Self::Delivery { warehouse, carrier } => numbers(3, &[*warehouse, *carrier]),
            Self::StockLevel { warehouse, district, threshold } => {
                numbers(4, &[*warehouse, *district, *threshold]);
            }
        }
        to.finish()
    }

    /// Parses a message.
    ///
    /// # Errors
    /// If it is not an input.
    pub fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let from = &mut Reader::new(message);
        let kind = from.u8()?;
        let warehouse = from.u32()?;
        let input = match kind {
            0 => {
                let (district, customer, count) = (from.u32()?, from.u32()?, from.u32()?);
                if count > LINES_MAX {
                    return Err(Malformed);
                }
                let mut line = |_| {
                    let (item, supply_warehouse) = (from.u32()?, from.u32()?);
                    Ok(Line { item, supply_warehouse, quantity: from.u32()? })
                };
                let lines = (0..count).map(&mut line).collect::<Result<_, Malformed>>()?;
                Self::NewOrder(NewOrder { warehouse, district, customer, lines })
            }
            1 => Self::Payment(Payment {
                warehouse,
                district: from.u32()?,
                customer_warehouse: from.u32()?,
                customer_district: from.u32()?,
                customer: Customer::read(from)?,
                amount: from.u32()?,
                number: from.u64()?,
            }),
            2 => {
                let district = from.u32()?;
                Self::OrderStatus { warehouse, district, customer: Customer::read(from)? }
            }
            3 => Self::Delivery { warehouse, carrier: from.u32()? },
            4 => {
                let (district, threshold) = (from.u32()?, from.u32()?);
                Self::StockLevel { warehouse, district, threshold }
            }
            _ => return Err(Malformed),
        };
        if from.is_empty() { Ok(input) } else { Err(Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_arrive_as_they_were_sent() {
        let line = Line { item: 9, supply_warehouse: 2, quantity: 6 };
        let customer = Customer::Name(b"BARBARBAR".to_vec());
        let inputs = [
            Input::NewOrder(NewOrder {
                warehouse: 1,
                district: 2,
                customer: 3,
                lines: vec![line, line],
            }),
            Input::Payment(Payment {
                warehouse: 1,
                district: 2,
                customer_warehouse: 3,
                customer_district: 4,
                customer: customer.clone(),
                amount: 5,
                number: 6,
            }),
            Input::OrderStatus { warehouse: 1, district: 2, customer },
            Input::Delivery { warehouse: 1, carrier: 2 },
            Input::StockLevel { warehouse: 1, district: 2, threshold: 3 },
        ];
        for input in inputs {
            let message = input.encode();
            assert_eq!(Input::decode(&message), Ok(input));
            assert_eq!(Input::decode(&message[..message.len() - 1]), Err(Malformed));
        }
    }
}
