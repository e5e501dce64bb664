//! Channel binding `tls-server-end-point` [RFC 5929, section 4]: a hash of the server's
//! certificate, with the hash function of the certificate's signature.

use sha2::{Digest, Sha256, Sha384, Sha512};

/// Object identifiers of signatures, as bytes of DER, with the length of their hash in bits.
const SIGNATURES: [(&[u8], u32); 6] = [
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b], 256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c], 384),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d], 512),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02], 256),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03], 384),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04], 512),
];

/// The hash of a certificate in DER; `None` if its signature has no hash function of these.
pub fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let oid = signature(certificate)?;
    let (_, bits) = SIGNATURES.iter().find(|(known, _)| *known == oid)?;
    Some(match bits {
        256 => Sha256::digest(certificate).to_vec(),
        384 => Sha384::digest(certificate).to_vec(),
        _ => Sha512::digest(certificate).to_vec(),
    })
}

/// The identifier of a certificate's signature: the certificate is a sequence of the signed part,
/// the sequence of the identifier and its parameters, and the signature.
fn signature(certificate: &[u8]) -> Option<&[u8]> {
    let (parts, _) = element(certificate, 0x30)?;
    let (_, rest) = element(parts, 0x30)?;
    let (algorithm, _) = element(rest, 0x30)?;
    element(algorithm, 0x06).map(|(oid, _)| oid)
}

/// The content of the element at the beginning, which must have this tag, and the rest behind it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = bytes.split_first_chunk::<2>()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        // A length of up to four bytes; longer ones do not occur in certificates.
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |all, &byte| all << 8 | usize::from(byte)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_decides_the_hash() {
        for (oid, bits) in SIGNATURES {
            let mut algorithm = vec![0x06, oid.len() as u8];
            algorithm.extend(oid);
            let mut parts = vec![0x30, 0x81, 200];
            parts.extend([7; 200]);
            parts.extend([0x30, algorithm.len() as u8]);
            parts.extend(&algorithm);
            let mut certificate = vec![0x30, 0x82, 0, parts.len() as u8];
            certificate.extend(&parts);
            let hash = end_point(&certificate).expect("the signature is known");
            assert_eq!(hash.len() as u32 * 8, bits);
            for end in 0..certificate.len() {
                assert_eq!(end_point(&certificate[..end]), None, "{end}");
            }
        }
        assert_eq!(end_point(&[0x30, 0x85, 1, 2, 3, 4, 5]), None);
    }
}
