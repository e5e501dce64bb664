//! The packets with which a connection begins. They have a length and no type.

use super::reader::{Malformed, Reader};
use super::writer::Writer;

/// Maximal length of such a packet, as in PostgreSQL.
pub const PACKET_BYTES_MAX: usize = 10_000;

const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;
const CANCEL: u32 = 80_877_102;
/// Protocol 3.0.
pub const VERSION_3_0: u32 = 3 << 16;

/// The first packet of a client, or the next one after a refused encryption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Asks whether the server speaks TLS.
    Ssl,
    /// Asks whether the server encrypts by GSSAPI.
    Gss,
    /// Cancels the statement of another connection.
    Cancel {
        process: u32,
        secret: Vec<u8>,
    },
    Startup(Startup),
}

/// A client's wish for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Startup {
    /// Protocol version: major in the upper, minor in the lower 16 bits.
    pub version: u32,
    pub parameters: Vec<(String, String)>,
}

/// The packet at the beginning of a buffer, with its length in bytes; `None` if it is not whole
/// yet.
pub fn packet(buffer: &[u8]) -> Result<Option<(Packet, usize)>, Malformed> {
    let Some(length) = buffer.get(..4) else { return Ok(None) };
    let length = u32::from_be_bytes(length.try_into().expect("it has four bytes")) as usize;
    if !(8..=PACKET_BYTES_MAX).contains(&length) {
        return Err(Malformed::Number);
    }
    let Some(body) = buffer.get(4..length) else { return Ok(None) };
    Ok(Some((parse(body)?, length)))
}

fn parse(body: &[u8]) -> Result<Packet, Malformed> {
    let mut reader = Reader::new(body);
    Ok(match reader.u32()? {
        SSL => Packet::Ssl,
        GSS => Packet::Gss,
        CANCEL => {
            let process = reader.u32()?;
            Packet::Cancel { process, secret: reader.rest().to_vec() }
        }
        version => {
            let mut parameters = Vec::new();
            loop {
                // PostgreSQL requires the zero at the end as well.
                let name = reader.text()?;
                if name.is_empty() {
                    break;
                }
                parameters.push((name.to_owned(), reader.text()?.to_owned()));
            }
            reader.end()?;
            Packet::Startup(Startup { version, parameters })
        }
    })
}

impl Packet {
    /// Appends the packet to a client's buffer.
    pub fn write(&self, buffer: &mut Vec<u8>) {
        let mut writer = Writer::begin_packet(buffer);
        match self {
            Self::Ssl => writer.u32(SSL),
            Self::Gss => writer.u32(GSS),
            Self::Cancel { process, secret } => writer.u32(CANCEL).u32(*process).bytes(secret),
            Self::Startup(startup) => {
                writer.u32(startup.version);
                for (name, value) in &startup.parameters {
                    writer.text(name).text(value);
                }
                writer.byte(0)
            }
        };
        writer.end();
    }
}

impl Startup {
    /// A parameter's value; the last one counts.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let same = self.parameters.iter().rev().find(|(other, _)| other == name);
        same.map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_as_they_were_written() {
        let parameters =
            vec![("user".to_owned(), "ada".to_owned()), ("a".to_owned(), String::new())];
        for written in [
            Packet::Ssl,
            Packet::Gss,
            Packet::Cancel { process: 7, secret: vec![1; 8] },
            Packet::Startup(Startup { version: VERSION_3_0, parameters }),
        ] {
            let mut buffer = Vec::new();
            written.write(&mut buffer);
            let length = buffer.len();
            for end in 0..length {
                assert_eq!(packet(&buffer[..end]), Ok(None), "{end}");
            }
            buffer.push(b'Q');
            assert_eq!(packet(&buffer), Ok(Some((written, length))));
        }
    }

    #[test]
    fn strange_packets_are_refused() {
        assert_eq!(packet(b"GET / HTTP/1.1\r\n"), Err(Malformed::Number));
        assert_eq!(packet(b"\0\0\0\x04"), Err(Malformed::Number));
        assert_eq!(packet(b"\0\0\0\x08\0\x03\0\0"), Err(Malformed::Unterminated));
        assert_eq!(packet(b"\0\0\0\x0b\0\x03\0\0u\0v"), Err(Malformed::Unterminated));
        assert_eq!(packet(b"\0\0\0\x0a\0\x03\0\0\0u"), Err(Malformed::Long));
        assert_eq!(packet(b"\0\0\0\x0a\0\x03\0\0\xff\0"), Err(Malformed::NotUtf8));
    }
}
