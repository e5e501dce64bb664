//! The requests of a base site to other sites.

use crate::message::{Malformed, Reader, Writer};
use crate::row_key::RowKey;
use crate::trad_si::partition::Write;

/// A request of a base site to another site.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum SiteRequest {
    /// Wait for the site's turn, and read the rows with these keys.
    Reserve { site: u32, keys: Vec<RowKey> },
    /// End the turn with these writes; empty if the transaction rolls back.
    Finish { site: u32, writes: Vec<Write> },
}

impl SiteRequest {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to = Writer::new();
        match self {
            Self::Reserve { site, keys } => {
                to.u8(0);
                to.u32(*site);
                to.u32(keys.len() as u32);
                keys.iter().for_each(|key| key.write(&mut to));
            }
            Self::Finish { site, writes } => {
                to.u8(1);
                to.u32(*site);
                to.u32(writes.len() as u32);
                for (key, content) in writes {
                    key.write(&mut to);
                    to.optional(content.as_deref());
                }
            }
        }
        to.finish()
    }

    pub(super) fn decode(message: &[u8]) -> Result<Self, Malformed> {
        let from = &mut Reader::new(message);
        let (kind, site, count) = (from.u8()?, from.u32()?, from.u32()?);
        let request = match kind {
            0 => {
                let keys = (0..count).map(|_| RowKey::read(from)).collect::<Result<_, _>>()?;
                Self::Reserve { site, keys }
            }
            1 => {
                let write = |_| Ok((RowKey::read(from)?, from.optional()?.map(<[u8]>::to_vec)));
                let writes = (0..count).map(write).collect::<Result<_, Malformed>>()?;
                Self::Finish { site, writes }
            }
            _ => return Err(Malformed),
        };
        if from.is_empty() { Ok(request) } else { Err(Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_arrive_as_they_were_sent() {
        let key = RowKey::new(3, 1, 4);
        let requests = [
            SiteRequest::Reserve { site: 2, keys: vec![key, key] },
            SiteRequest::Finish { site: 3, writes: vec![(key, None), (key, Some(vec![7]))] },
        ];
        for request in requests {
            let message = request.encode();
            assert_eq!(SiteRequest::decode(&message), Ok(request));
            assert_eq!(SiteRequest::decode(&message[..message.len() - 1]), Err(Malformed));
        }
    }
}
