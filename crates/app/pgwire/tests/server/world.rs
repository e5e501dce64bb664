//! A server with a toy, and clients.

use crate::toy::Toy;
use pgwire::client::{Client, Failure, Target, is_error};
use pgwire::message::backend::Backend;
use pgwire::message::frontend::{Bind, Frontend};
use pgwire::{Limits, Server};
use std::net::TcpListener;
use std::time::Duration;

pub struct World {
    pub server: Server<Toy>,
    pub toy: Toy,
}

impl World {
    pub fn new() -> Self {
        let limits = Limits {
            startup: Duration::from_millis(300),
            // Short, so that the tests go through the lobby often.
            linger: Duration::from_millis(5),
            drain: Duration::from_millis(1500),
            message_bytes_max: 1 << 20,
            ..Limits::default()
        };
        Self::with(limits)
    }

    pub fn with(limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
        let toy = Toy::default();
        let server = Server::start(listener, toy.clone(), limits).expect("it starts");
        Self { server, toy }
    }

    pub fn target(&self) -> Target {
        Target {
            host: "127.0.0.1".to_owned(),
            port: self.server.address().port(),
            user: "ada".to_owned(),
            database: "ada".to_owned(),
            password: None,
        }
    }

    pub fn client(&self) -> Client {
        let client = Client::connect(&self.target(), &[]).expect("it is accepted");
        let wait = Some(Duration::from_secs(20));
        client.socket().set_read_timeout(wait).expect("it is a socket");
        client
    }

    /// The log since the last call.
    pub fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.toy.log.lock().expect("no holder panics"))
    }
}

/// Reads up to ReadyForQuery; each message in a short form.
pub fn answers(client: &mut Client) -> Vec<String> {
    let mut answers = Vec::new();
    loop {
        let message = client.read().expect("the server answers");
        let is_end = matches!(message, Backend::Ready(_));
        answers.push(short(&message));
        if is_end {
            return answers;
        }
    }
}

pub fn query(client: &mut Client, text: &str) -> Vec<String> {
    send(client, &[Frontend::Query(text)])
}

/// Sends messages in one piece; returns the answers up to ReadyForQuery.
pub fn send(client: &mut Client, messages: &[Frontend<'_>]) -> Vec<String> {
    messages.iter().for_each(|message| client.put(message));
    client.flush().expect("the server reads");
    answers(client)
}

pub fn parse<'m>(name: &'m str, query: &'m str, types: &[u32]) -> Frontend<'m> {
    Frontend::Parse { name, query, types: types.to_vec() }
}

pub fn bind<'m>(
    portal: &'m str,
    statement: &'m str,
    parameters: &[Option<&'m [u8]>],
    format: i16,
) -> Frontend<'m> {
    Frontend::Bind(Bind {
        portal,
        statement,
        parameter_formats: vec![format],
        parameters: parameters.to_vec(),
        result_formats: vec![format],
    })
}

pub fn execute(portal: &str, rows_max: i32) -> Frontend<'_> {
    Frontend::Execute { portal, rows_max }
}

pub fn short(message: &Backend) -> String {
    match message {
        Backend::Error(error) if is_error(error) => format!("error {}", error.sqlstate),
        Backend::Error(error) => format!("notice {}", error.message),
        Backend::Row(values) => {
            let value = |value: &Option<Vec<u8>>| match value {
                Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                None => "null".to_owned(),
            };
            format!("row {}", values.iter().map(value).collect::<Vec<_>>().join(","))
        }
        Backend::Rows(columns) => {
            let names = columns.iter().map(|column| format!("{}:{}", column.name, column.type_oid));
            format!("columns {}", names.collect::<Vec<_>>().join(","))
        }
        Backend::Complete(tag) => format!("complete {tag}"),
        Backend::Ready(status) => format!("ready {}", char::from(*status)),
        Backend::CopyData(data) => format!("data {}", String::from_utf8_lossy(data).trim_end()),
        Backend::Other(kind) => format!("message {}", char::from(*kind)),
        other => format!("{other:?}"),
    }
}

/// The SQLSTATE with which a connection is refused.
pub fn refused(target: &Target, settings: &[(&str, &str)]) -> String {
    match Client::connect(target, settings) {
        Err(Failure::Server(error)) => error.sqlstate.to_string(),
        Err(other) => panic!("the server does not say why: {other}"),
        Ok(_) => panic!("it was accepted"),
    }
}
