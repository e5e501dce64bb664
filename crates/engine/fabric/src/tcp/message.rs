//! Calls: the bodies of their requests and answers.
//!
//! ```text
//! request                                      answer (status: bits)
//! word | field    | meaning                    word | field  | meaning
//!    0 | session  | the caller's session          0 | status | 0..32: 0 for an answer, else an
//!    1 | sequence | number of the call              |        | error; 32..64: length in bytes
//!    2 | service  | bits 0..16: its number;       1 | bytes  | the answer, or the sentence of
//!      |          | bits 32..64: bytes of           |        | REFUSED; padded with zeros
//!      |          | the request
//!    3 | bytes    | the request, padded with
//!      |          | zeros
//! ```

use crate::error::CallError;
use crate::remote::Call;
use crate::service::{Answer, CallId, ServiceId};
use crate::tcp::request::Malformed;
use layout::NodeId;

const ANSWERED: u32 = 0;
const NO_SUCH_SERVICE: u32 = 1;
const UNREACHABLE: u32 = 2;
const MALFORMED: u32 = 3;
const REFUSED: u32 = 4;

/// A received request; its bytes stay in the input buffer.
#[derive(Debug, PartialEq)]
pub(super) struct Request<'a> {
    pub id: CallId,
    pub service: ServiceId,
    pub bytes: &'a [u8],
}

/// Appends the body of a request.
pub(super) fn encode_request(call: &Call, to: &mut Vec<u64>) {
    let bytes = call.request.len() as u64;
    to.extend([call.id.session, call.id.sequence, u64::from(call.service.0) | bytes << 32]);
    put(&call.request, to);
}

pub(super) fn decode_request(body: &[u64]) -> Result<Request<'_>, Malformed> {
    let [session, sequence, service, rest @ ..] = body else { return Err(Malformed) };
    let id = CallId { session: *session, sequence: *sequence };
    let bytes = get(rest, (service >> 32) as usize)?;
    Ok(Request { id, service: ServiceId(*service as u16), bytes })
}

/// Appends the body of an answer.
pub(super) fn encode_answer(answer: &Answer, to: &mut Vec<u64>) {
    let (status, bytes): (u32, &[u8]) = match answer {
        Ok(bytes) => (ANSWERED, bytes),
        Err(CallError::NoSuchService(..)) => (NO_SUCH_SERVICE, &[]),
        Err(CallError::Unreachable(_)) => (UNREACHABLE, &[]),
        Err(CallError::Malformed(_)) => (MALFORMED, &[]),
        Err(CallError::Refused(sentence)) => (REFUSED, sentence.as_bytes()),
    };
    to.push(u64::from(status) | (bytes.len() as u64) << 32);
    put(bytes, to);
}

/// Reads the answer of `service` on `node`.
pub(super) fn decode_answer(
    body: &[u64],
    node: NodeId,
    service: ServiceId,
) -> Result<Answer, Malformed> {
    let [status, rest @ ..] = body else { return Err(Malformed) };
    let bytes = get(rest, (status >> 32) as usize)?;
    Ok(match *status as u32 {
        ANSWERED => Ok(bytes.to_vec()),
        NO_SUCH_SERVICE => Err(CallError::NoSuchService(node, service)),
        UNREACHABLE => Err(CallError::Unreachable(node)),
        MALFORMED => Err(CallError::Malformed(match node.compute_server() {
            None => "a service of a memory server",
            Some(_) => "a service of a compute server",
        })),
        REFUSED => Err(CallError::Refused(String::from_utf8_lossy(bytes).into_owned())),
        _ => return Err(Malformed),
    })
}

fn put(bytes: &[u8], to: &mut Vec<u64>) {
    let (whole, rest) = bytes.as_chunks();
    to.extend(whole.iter().map(|word| u64::from_le_bytes(*word)));
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        to.push(u64::from_le_bytes(word));
    }
}

fn get(words: &[u64], bytes: usize) -> Result<&[u8], Malformed> {
    if words.len() != bytes.div_ceil(8) {
        return Err(Malformed);
    }
    bytemuck::cast_slice(words).get(..bytes).ok_or(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_are_read_back_whatever_their_length() {
        for length in 0..20_u8 {
            let request: Vec<u8> = (0..length).collect();
            let id = CallId { session: 5, sequence: 9 };
            let call =
                Call { id, node: NodeId(1), service: ServiceId(77), request: request.clone() };
            let mut body = Vec::new();
            encode_request(&call, &mut body);
            let expected = Request { id, service: ServiceId(77), bytes: &request };
            assert_eq!(decode_request(&body), Ok(expected));
            body.push(0);
            assert_eq!(decode_request(&body), Err(Malformed));
            body.clear();
            encode_answer(&Ok(request.clone()), &mut body);
            assert_eq!(decode_answer(&body, NodeId(1), ServiceId(77)), Ok(Ok(request)));
        }
    }

    #[test]
    fn every_error_of_a_service_arrives() {
        let errors = [
            CallError::NoSuchService(NodeId(3), ServiceId(2)),
            CallError::Unreachable(NodeId(3)),
            CallError::Malformed("a service of a memory server"),
            CallError::Refused("no memory is left".to_owned()),
        ];
        for error in errors {
            let mut body = Vec::new();
            encode_answer(&Err(error.clone()), &mut body);
            assert_eq!(decode_answer(&body, NodeId(3), ServiceId(2)), Ok(Err(error)));
        }
        let (mut body, compute_server) = (Vec::new(), NodeId::of_compute_server(3));
        encode_answer(&Err(CallError::Malformed("here")), &mut body);
        let there = decode_answer(&body, compute_server, ServiceId(2));
        assert_eq!(there, Ok(Err(CallError::Malformed("a service of a compute server"))));
        assert_eq!(decode_answer(&[9], NodeId(3), ServiceId(2)), Err(Malformed));
        assert_eq!(decode_answer(&[], NodeId(3), ServiceId(2)), Err(Malformed));
    }
}
