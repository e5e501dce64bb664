//! Procedure `enrol`, line 3 of `procedures.sql`.

use super::tables::{Tables, customer};
use fabric::Env;
use layout::KeyBuilder;
use procedure_runtime::{Argument, Call, Stop, Text, check, duplicate, known, number, text};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `p_id`, integer.
    pub p_id: i64,
    /// `p_name`, character varying.
    pub p_name: &'a [u8],
    /// `p_country`, bpchar.
    pub p_country: &'a [u8],
    /// `p_adviser`, integer.
    pub p_adviser: Option<i64>,
    /// `p_credit`, numeric, in units of 10^-2.
    pub p_credit: Option<i64>,
    /// `p_email`, character varying.
    pub p_email: Option<&'a [u8]>,
}

impl<'a> Arguments<'a> {
    /// Reads the arguments of a call; unexpected ones deviate.
    pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {
        let [p_id, p_name, p_country, p_adviser, p_credit, p_email] = arguments else {
            return Err(Stop::Deviates);
        };
        Ok(Self {
            p_id: p_id.int4()?,
            p_name: p_name.text()?,
            p_country: p_country.characters()?,
            p_adviser: p_adviser.or_null(|argument| argument.int4())?,
            p_credit: p_credit.or_null(|argument| argument.decimal(2))?,
            p_email: p_email.or_null(|argument| argument.text())?,
        })
    }
}

/// Executes the procedure `enrol`.
pub async fn enrol<E: Env>(
    call: &mut Call<'_, '_, E>,
    tables: &Tables,
    arguments: &Arguments<'_>,
) -> Result<(), Stop> {
    let p_id = arguments.p_id;
    let p_name = arguments.p_name;
    let p_country = arguments.p_country;
    let p_adviser = arguments.p_adviser;
    let p_credit = arguments.p_credit;
    let p_email = arguments.p_email;
    let country = text::fitting(p_country, 2)?;
    let credit = p_credit.map(|value| number::digits(value, 10)).transpose()?;
    check(credit.is_none_or(|value| value > 0))?;
    check(credit.is_none() || (0 >= number::negate(known(credit)?)?))?;
    // The rows that it refers to are read together.
    call.scratch.reads.clear();
    call.scratch.reads.push((tables.country, KeyBuilder::new().padded(country, 2).key()));
    if let Some(advised_by) = p_adviser {
        call.scratch.reads.push((tables.customer, KeyBuilder::new().int4(advised_by as i32).key()));
    }
    let mut referred_to = call.scratch.take_found();
    call.txn.read_many(&call.scratch.reads, &mut referred_to).await?;
    check(referred_to.iter().all(Option::is_some))?;
    call.scratch.give_found(referred_to);
    let name = Text::<24>::new(text::fitting(p_name, 24)?)?;
    let email = p_email
        .map(|value| text::fitting(value, 32))
        .transpose()?
        .map(Text::<32>::new)
        .transpose()?;
    let customer_row = call
        .txn
        .insert(tables.customer, &KeyBuilder::new().int4(p_id as i32).key())
        .await
        .map_err(|error| duplicate(error, "customer_pkey", "id", &[p_id]))?;
    let mut new_customer = call.txn.update(customer_row);
    new_customer.set_bytes_in(customer::NAME, &name);
    new_customer.set_bytes_in(customer::COUNTRY, country);
    match p_adviser {
        Some(value) => new_customer.set_int_in(customer::ADVISED_BY, value),
        None => new_customer.set_null_in(customer::ADVISED_BY),
    }
    new_customer.set_int_in(customer::BALANCE, 0);
    match credit {
        Some(value) => new_customer.set_int_in(customer::CREDIT, value),
        None => new_customer.set_null_in(customer::CREDIT),
    }
    match email.as_deref() {
        Some(value) => new_customer.set_bytes_in(customer::EMAIL, value),
        None => new_customer.set_null_in(customer::EMAIL),
    }
    Ok(())
}
