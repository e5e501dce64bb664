//! Encodes the answer to a call as a code and bytes, for another process.

use crate::error::CallError;
use crate::service::{Answer, ServiceId};
use layout::NodeId;

const FINE: u16 = 0;
const NO_SUCH_SERVICE: u16 = 1;
const UNREACHABLE: u16 = 2;
const REFUSED: u16 = 3;

/// Code and bytes of an answer. `Malformed` becomes a refusal with the same message.
pub(super) fn encode(answer: Answer) -> (u16, Vec<u8>) {
    let node_bytes = |node: NodeId| node.0.to_le_bytes().to_vec();
    match answer {
        Ok(bytes) => (FINE, bytes),
        Err(CallError::NoSuchService(node, service)) => {
            let [low, high] = service.0.to_le_bytes();
            (NO_SUCH_SERVICE, [node_bytes(node), vec![low, high]].concat())
        }
        Err(CallError::Unreachable(node)) => (UNREACHABLE, node_bytes(node)),
        Err(error @ (CallError::Malformed(_) | CallError::Refused(_))) => {
            (REFUSED, error.to_string().into_bytes())
        }
    }
}

pub(super) fn decode(code: u16, bytes: Vec<u8>) -> Answer {
    let error = match (code, bytes.as_slice()) {
        (FINE, _) => return Ok(bytes),
        (NO_SUCH_SERVICE, &[a, b, c, d]) => {
            let (node, service) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
            CallError::NoSuchService(NodeId(node), ServiceId(service))
        }
        (UNREACHABLE, &[a, b]) => CallError::Unreachable(NodeId(u16::from_le_bytes([a, b]))),
        (REFUSED, _) => match String::from_utf8(bytes) {
            Ok(sentence) => CallError::Refused(sentence),
            Err(_) => CallError::Malformed("a refused call"),
        },
        _ => CallError::Malformed("a call: its answer is of no known kind"),
    };
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_arrive_as_they_were_given() {
        let answers = [
            Ok(Vec::new()),
            Ok(vec![1, 2, 3]),
            Err(CallError::NoSuchService(NodeId(3), ServiceId(0x1234))),
            Err(CallError::Unreachable(NodeId(700))),
            Err(CallError::Refused("there is no room".to_owned())),
        ];
        for answer in answers {
            let (code, bytes) = encode(answer.clone());
            assert_eq!(decode(code, bytes), answer);
        }
    }

    #[test]
    fn what_is_no_answer_is_malformed() {
        let (code, bytes) = encode(Err(CallError::Malformed("the mover")));
        let sentence = "malformed message for the mover".to_owned();
        assert_eq!(decode(code, bytes), Err(CallError::Refused(sentence)));
        for (code, bytes) in [(1, vec![1]), (2, vec![]), (3, vec![0xff]), (99, vec![])] {
            assert!(matches!(decode(code, bytes), Err(CallError::Malformed(_))), "{code}");
        }
    }
}
