//! The part of HTTP/1.1 that three pages need: requests without bodies, answers that close the
//! connection.

use super::Status;
use crate::registry::Registry;
use crate::text::CONTENT_TYPE;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximal number of headers.
const HEADERS_MAX: usize = 64;
const PLAIN: &str = "text/plain; charset=utf-8";

/// Sources of the pages.
pub(super) struct Pages {
    pub(super) registry: Registry,
    pub(super) status: Box<dyn Fn() -> Status + Send>,
}

/// State of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// The beginning of a request.
    Partial,
    /// Bytes that no request begins with.
    Malformed,
    /// A complete request; `path` excludes the query string.
    Whole { method: String, path: String },
}

struct Page {
    code: &'static str,
    content: &'static str,
    body: String,
}

pub(super) fn parse(bytes: &[u8]) -> Request {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) => Request::Partial,
        Ok(httparse::Status::Complete(_)) => {
            let target = request.path.expect("a whole request has a path");
            let path = target.split('?').next().expect("a split text has a first part");
            let method = request.method.expect("a whole request has a method");
            Request::Whole { method: method.to_owned(), path: path.to_owned() }
        }
        Err(_) => Request::Malformed,
    }
}

pub(super) fn too_long() -> Vec<u8> {
    plain("431 Request Header Fields Too Large", "this request is too long").answer(true)
}

pub(super) fn malformed() -> Vec<u8> {
    plain("400 Bad Request", "this is not an HTTP request").answer(true)
}

impl Pages {
    pub(super) fn answer(&self, method: &str, path: &str) -> Vec<u8> {
        let is_read = matches!(method, "GET" | "HEAD");
        let page = match path {
            "/metrics" | "/status" | "/healthz" if !is_read => {
                plain("405 Method Not Allowed", "pages can be read with GET and HEAD only")
            }
            // A source that panics must not affect the other pages.
            _ => catch_unwind(AssertUnwindSafe(|| self.page(path))).unwrap_or_else(|_| {
                plain("500 Internal Server Error", "a source of this page failed, see the log")
            }),
        };
        page.answer(method != "HEAD")
    }

    fn page(&self, path: &str) -> Page {
        match path {
            "/metrics" => {
                Page { code: "200 OK", content: CONTENT_TYPE, body: self.registry.text() }
            }
            "/status" => {
                Page { code: "200 OK", content: "application/json", body: (self.status)().json }
            }
            "/healthz" => match (self.status)().problem {
                None => plain("200 OK", "healthy"),
                Some(problem) => plain("503 Service Unavailable", &problem),
            },
            _ => plain("404 Not Found", "there are /metrics, /status and /healthz"),
        }
    }
}

fn plain(code: &'static str, sentence: &str) -> Page {
    Page { code, content: PLAIN, body: format!("{sentence}\n") }
}

impl Page {
    fn answer(self, has_body: bool) -> Vec<u8> {
        let Self { code, content, body } = self;
        let allow = if code.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
        let length = body.len();
        let mut answer = format!(
            "HTTP/1.1 {code}\r\nContent-Type: {content}\r\nContent-Length: {length}\r\n{allow}Connection: close\r\n\r\n"
        );
        if has_body {
            answer.push_str(&body);
        }
        answer.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_however_much_has_arrived() {
        let text = b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n";
        for end in 0..text.len() {
            assert_eq!(parse(&text[..end]), Request::Partial, "the first {end} bytes");
        }
        let (method, path) = ("GET".to_owned(), "/metrics".to_owned());
        assert_eq!(parse(text), Request::Whole { method, path });
        assert_eq!(parse(b"\x16\x03\x01\x02\x00\x01"), Request::Malformed);
    }

    #[test]
    fn every_page_has_its_type_and_what_does_not_exist_says_what_does() {
        let status = || Status { json: "{}".to_owned(), problem: Some("no lease".to_owned()) };
        let pages = Pages { registry: Registry::new(), status: Box::new(status) };
        let answer = |method: &str, path: &str| {
            String::from_utf8(pages.answer(method, path)).expect("answers are text")
        };
        assert!(answer("GET", "/metrics").contains("version=0.0.4"));
        assert!(answer("GET", "/status").contains("application/json"));
        assert!(answer("GET", "/status").ends_with("\r\n\r\n{}"));
        assert!(answer("HEAD", "/status").ends_with("\r\n\r\n"));
        assert!(answer("HEAD", "/status").contains("Content-Length: 2\r\n"));
        let ill = answer("GET", "/healthz");
        assert!(ill.starts_with("HTTP/1.1 503 ") && ill.ends_with("no lease\n"), "{ill}");
        assert!(answer("POST", "/metrics").contains("Allow: GET, HEAD\r\n"));
        assert!(answer("GET", "/").starts_with("HTTP/1.1 404 "));
    }
}
