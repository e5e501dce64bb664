//! Messages of clients.

use super::HEADER_BYTES;
use super::reader::{Malformed, Reader};
use super::writer::Writer;

/// A message of a client. Texts and values are in the connection's buffer.
#[derive(Debug, PartialEq)]
pub enum Frontend<'m> {
    Query(&'m str),
    Parse { name: &'m str, query: &'m str, types: Vec<u32> },
    Bind(Bind<'m>),
    Describe(Target<'m>),
    Close(Target<'m>),
    Execute { portal: &'m str, rows_max: i32 },
    Flush,
    Sync,
    CopyData(&'m [u8]),
    CopyDone,
    CopyFail(&'m str),
    Password(&'m [u8]),
    Terminate,
}

/// A statement or a portal by its name; the empty name is the unnamed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'m> {
    Statement(&'m str),
    Portal(&'m str),
}

#[derive(Debug, PartialEq, Eq)]
pub struct Bind<'m> {
    pub portal: &'m str,
    pub statement: &'m str,
    pub parameter_formats: Vec<i16>,
    pub parameters: Vec<Option<&'m [u8]>>,
    pub result_formats: Vec<i16>,
}

/// The message at the beginning of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The whole message is there.
    Whole { kind: u8, bytes: usize },
    /// More bytes are needed; 0 if its length is not there yet.
    Partial { bytes: usize },
    /// The type is unknown, or the length is invalid or above the limit. The stream cannot be read
    /// further.
    Invalid { kind: u8, length: i32 },
}

/// Finds the end of the message at the beginning of a buffer.
#[inline]
pub fn frame(buffer: &[u8], bytes_max: usize) -> Frame {
    let Some(&kind) = buffer.first() else { return Frame::Partial { bytes: 0 } };
    if !b"QPBDCEFHSdcfpX".contains(&kind) {
        return Frame::Invalid { kind, length: 0 };
    }
    let Some(length) = buffer.get(1..HEADER_BYTES) else { return Frame::Partial { bytes: 0 } };
    let length = i32::from_be_bytes(length.try_into().expect("it has four bytes"));
    match usize::try_from(length) {
        Ok(body) if body >= 4 && body < bytes_max => match body + 1 {
            bytes if bytes <= buffer.len() => Frame::Whole { kind, bytes },
            bytes => Frame::Partial { bytes },
        },
        _ => Frame::Invalid { kind, length },
    }
}

/// Parses a whole message.
pub fn parse(message: &[u8]) -> Result<Frontend<'_>, Malformed> {
    let kind = *message.first().ok_or(Malformed::Short)?;
    let mut reader = Reader::new(message.get(HEADER_BYTES..).ok_or(Malformed::Short)?);
    let parsed = match kind {
        b'Q' => Frontend::Query(reader.text()?),
        b'P' => {
            let (name, query) = (reader.text()?, reader.text()?);
            let count = reader.count(4)?;
            let types = (0..count).map(|_| reader.u32()).collect::<Result<_, _>>()?;
            Frontend::Parse { name, query, types }
        }
        b'B' => Frontend::Bind(bind(&mut reader)?),
        b'D' => Frontend::Describe(target(&mut reader)?),
        b'C' => Frontend::Close(target(&mut reader)?),
        b'E' => Frontend::Execute { portal: reader.text()?, rows_max: reader.i32()? },
        b'H' => Frontend::Flush,
        b'S' => Frontend::Sync,
        b'd' => Frontend::CopyData(reader.rest()),
        b'c' => Frontend::CopyDone,
        b'f' => Frontend::CopyFail(reader.text()?),
        b'p' => Frontend::Password(reader.rest()),
        b'X' => Frontend::Terminate,
        _ => return Err(Malformed::Number),
    };
    reader.end()?;
    Ok(parsed)
}

fn target<'m>(reader: &mut Reader<'m>) -> Result<Target<'m>, Malformed> {
    match reader.byte()? {
        b'S' => Ok(Target::Statement(reader.text()?)),
        b'P' => Ok(Target::Portal(reader.text()?)),
        _ => Err(Malformed::Number),
    }
}

fn bind<'m>(reader: &mut Reader<'m>) -> Result<Bind<'m>, Malformed> {
    let (portal, statement) = (reader.text()?, reader.text()?);
    let parameter_formats = formats(reader)?;
    let count = reader.count(4)?;
    let parameters = (0..count).map(|_| reader.value()).collect::<Result<_, _>>()?;
    let result_formats = formats(reader)?;
    Ok(Bind { portal, statement, parameter_formats, parameters, result_formats })
}

fn formats(reader: &mut Reader<'_>) -> Result<Vec<i16>, Malformed> {
    let count = reader.count(2)?;
    (0..count).map(|_| reader.i16()).collect()
}

impl Frontend<'_> {
    /// Appends the message to a client's buffer.
    pub fn write(&self, buffer: &mut Vec<u8>) {
        match self {
            Self::Query(query) => Writer::begin(buffer, b'Q').text(query).end(),
            Self::Parse { name, query, types } => {
                let mut writer = Writer::begin(buffer, b'P');
                writer.text(name).text(query).count(types.len());
                types.iter().for_each(|oid| _ = writer.u32(*oid));
                writer.end();
            }
            Self::Bind(bind) => bind.write(buffer),
            Self::Describe(target) => target.write(buffer, b'D'),
            Self::Close(target) => target.write(buffer, b'C'),
            Self::Execute { portal, rows_max } => {
                Writer::begin(buffer, b'E').text(portal).i32(*rows_max).end();
            }
            Self::Flush => Writer::begin(buffer, b'H').end(),
            Self::Sync => Writer::begin(buffer, b'S').end(),
            Self::CopyData(data) => Writer::begin(buffer, b'd').bytes(data).end(),
            Self::CopyDone => Writer::begin(buffer, b'c').end(),
            Self::CopyFail(reason) => Writer::begin(buffer, b'f').text(reason).end(),
            Self::Password(data) => Writer::begin(buffer, b'p').bytes(data).end(),
            Self::Terminate => Writer::begin(buffer, b'X').end(),
        }
    }
}

impl Target<'_> {
    fn write(self, buffer: &mut Vec<u8>, kind: u8) {
        let (letter, name) = match self {
            Self::Statement(name) => (b'S', name),
            Self::Portal(name) => (b'P', name),
        };
        Writer::begin(buffer, kind).byte(letter).text(name).end();
    }
}

impl Bind<'_> {
    fn write(&self, buffer: &mut Vec<u8>) {
        let mut writer = Writer::begin(buffer, b'B');
        writer.text(self.portal).text(self.statement).count(self.parameter_formats.len());
        self.parameter_formats.iter().for_each(|format| _ = writer.i16(*format));
        writer.count(self.parameters.len());
        for parameter in &self.parameters {
            writer.value(|buffer| {
                buffer.extend_from_slice(parameter.unwrap_or_default());
                parameter.is_some()
            });
        }
        writer.count(self.result_formats.len());
        self.result_formats.iter().for_each(|format| _ = writer.i16(*format));
        writer.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(message: &Frontend<'_>) {
        let mut buffer = Vec::new();
        message.write(&mut buffer);
        let whole = Frame::Whole { kind: buffer[0], bytes: buffer.len() };
        assert_eq!(frame(&buffer, 1 << 20), whole);
        assert_eq!(&parse(&buffer).expect("it was just written"), message);
        for end in 0..buffer.len() {
            assert!(matches!(frame(&buffer[..end], 1 << 20), Frame::Partial { .. }), "{end}");
            // A shorter body with a length that agrees.
            if end > HEADER_BYTES {
                let _ = parse(&buffer[..end]);
            }
        }
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        round_trip(&Frontend::Query("select 1"));
        round_trip(&Frontend::Parse { name: "s", query: "select $1", types: vec![23, 0] });
        round_trip(&Frontend::Bind(Bind {
            portal: "",
            statement: "s",
            parameter_formats: vec![0, 1],
            parameters: vec![Some(b"7"), None, Some(b"")],
            result_formats: vec![1],
        }));
        for target in [Target::Statement("s"), Target::Portal("")] {
            round_trip(&Frontend::Describe(target));
            round_trip(&Frontend::Close(target));
        }
        round_trip(&Frontend::Execute { portal: "", rows_max: 3 });
        for plain in [Frontend::Flush, Frontend::Sync, Frontend::CopyDone, Frontend::Terminate] {
            round_trip(&plain);
        }
        round_trip(&Frontend::CopyData(b"1\t2\n"));
        round_trip(&Frontend::CopyFail("no"));
        round_trip(&Frontend::Password(b"secret\0"));
    }

    /// Each of these made a published codec panic.
    #[test]
    fn lengths_that_lie_are_refused() {
        let refused = |message: &[u8]| parse(message).expect_err("it is malformed");
        assert_eq!(refused(b"B\0\0\0\x0a\0\0\0\x05\0\0"), Malformed::Short);
        assert_eq!(refused(b"B\0\0\0\x08\0\0\xff\xff"), Malformed::Short);
        assert_eq!(refused(b"P\0\0\0\x05x"), Malformed::Unterminated);
        assert_eq!(refused(b"Q\0\0\0\x06xx"), Malformed::Unterminated);
        assert_eq!(refused(b"Q\0\0\0\x07x\0y"), Malformed::Long);
        assert_eq!(refused(b"Q\0\0\0\x06\xff\0"), Malformed::NotUtf8);
        assert_eq!(refused(b"D\0\0\0\x06X\0"), Malformed::Number);
        let null = b"B\0\0\0\x10\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0";
        assert_eq!(refused(null), Malformed::Number);
        assert_eq!(Malformed::NotUtf8.sqlstate(), "22021");
    }

    #[test]
    fn frames_have_a_limit() {
        let invalid = |buffer: &[u8]| matches!(frame(buffer, 100), Frame::Invalid { .. });
        assert!(invalid(b"Q\0\0\0\x64"), "the limit");
        assert!(invalid(b"Q\xff\xff\xff\xff"), "negative");
        assert!(invalid(b"Q\0\0\0\x03"), "shorter than the length itself");
        assert!(invalid(b"GET / HTTP/1.1"), "another protocol");
        assert_eq!(frame(b"Q\0\0\0\x63", 100), Frame::Partial { bytes: 100 });
    }
}
