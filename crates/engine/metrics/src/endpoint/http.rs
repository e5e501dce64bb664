//! The part of HTTP/1.1 that three pages need: requests without bodies, answers that close the
//! connection.

use super::{Access, Status};
use crate::registry::Registry;
use crate::text::CONTENT_TYPE;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximal number of headers.
const HEADERS_MAX: usize = 64;
const PLAIN: &str = "text/plain; charset=utf-8";

/// Sources of the pages.
pub(super) struct Pages {
    pub(super) access: Access,
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
    /// A complete request; `path` excludes the query string. `token` is that of the header
    /// `Authorization`.
    Whole { method: String, path: String, token: Option<String> },
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
            let (method, path) = (method.to_owned(), path.to_owned());
            Request::Whole { method, path, token: token(request.headers) }
        }
        Err(_) => Request::Malformed,
    }
}

/// The token of a request with one header `Authorization: Bearer TOKEN`.
fn token(headers: &[httparse::Header<'_>]) -> Option<String> {
    let is_it = |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case("Authorization");
    let mut found = headers.iter().filter(is_it);
    let only = found.next().filter(|_| found.next().is_none())?;
    let (scheme, token) = std::str::from_utf8(only.value).ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim().to_owned())
}

impl Pages {
    pub(super) fn too_long(&self) -> Vec<u8> {
        match self.access {
            Access::Everybody => {
                let code = "431 Request Header Fields Too Large";
                plain(code, "this request is too long").answer(true)
            }
            Access::Token(_) => unauthorized().answer(true),
        }
    }

    pub(super) fn malformed(&self) -> Vec<u8> {
        match self.access {
            Access::Everybody => {
                plain("400 Bad Request", "this is not an HTTP request").answer(true)
            }
            Access::Token(_) => unauthorized().answer(true),
        }
    }

    pub(super) fn answer(&self, method: &str, path: &str, token: Option<&str>) -> Vec<u8> {
        if let Access::Token(is_right) = &self.access
            && !token.is_some_and(is_right)
        {
            return unauthorized().answer(method != "HEAD");
        }
        let is_read = matches!(method, "GET" | "HEAD");
        let page = match path {
            "/metrics" | "/status" | "/healthz" | "/readyz" if !is_read => {
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
            "/readyz" => {
                let status = (self.status)();
                match status.problem.or(status.refusal) {
                    None => plain("200 OK", "ready"),
                    Some(reason) => plain("503 Service Unavailable", &reason),
                }
            }
            _ => plain("404 Not Found", "there are /metrics, /status, /healthz and /readyz"),
        }
    }
}

/// The only page for strangers: the version of the protocol, and what a holder of the token does.
fn unauthorized() -> Page {
    let sentence = format!(
        "namdb, protocol {}: send the header `Authorization: Bearer TOKEN`; `namdb cluster token` prints it",
        fabric::identity::WIRE_VERSION
    );
    plain("401 Unauthorized", &sentence)
}

fn plain(code: &'static str, sentence: &str) -> Page {
    Page { code, content: PLAIN, body: format!("{sentence}\n") }
}

impl Page {
    fn answer(self, has_body: bool) -> Vec<u8> {
        let Self { code, content, body } = self;
        let allow = match code.split(' ').next() {
            Some("405") => "Allow: GET, HEAD\r\n",
            Some("401") => "WWW-Authenticate: Bearer\r\n",
            _ => "",
        };
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
        assert_eq!(parse(text), Request::Whole { method, path, token: None });
        assert_eq!(parse(b"\x16\x03\x01\x02\x00\x01"), Request::Malformed);
    }

    #[test]
    fn every_page_has_its_type_and_what_does_not_exist_says_what_does() {
        let (problem, refusal) = (Some("no lease".to_owned()), Some("it starts".to_owned()));
        let status = move || Status {
            json: "{}".to_owned(),
            problem: problem.clone(),
            refusal: refusal.clone(),
        };
        let access = Access::Everybody;
        let pages = Pages { access, registry: Registry::new(), status: Box::new(status) };
        let answer = |method: &str, path: &str| {
            String::from_utf8(pages.answer(method, path, None)).expect("answers are text")
        };
        assert!(answer("GET", "/metrics").contains("version=0.0.4"));
        assert!(answer("GET", "/status").contains("application/json"));
        assert!(answer("GET", "/status").ends_with("\r\n\r\n{}"));
        assert!(answer("HEAD", "/status").ends_with("\r\n\r\n"));
        assert!(answer("HEAD", "/status").contains("Content-Length: 2\r\n"));
        let ill = answer("GET", "/healthz");
        assert!(ill.starts_with("HTTP/1.1 503 ") && ill.ends_with("no lease\n"), "{ill}");
        assert!(answer("GET", "/readyz").ends_with("no lease\n"));
        assert!(answer("POST", "/metrics").contains("Allow: GET, HEAD\r\n"));
        assert!(answer("GET", "/").starts_with("HTTP/1.1 404 "));
    }

    #[test]
    fn without_the_token_every_request_gets_the_version_and_nothing_else() {
        let status = || Status::healthy("{\"identity\":1}".to_owned());
        let access = Access::Token(Box::new(|token| token == "abc"));
        let pages = Pages { access, registry: Registry::new(), status: Box::new(status) };
        let answer = |text: String| match parse(text.as_bytes()) {
            Request::Whole { method, path, token } => {
                pages.answer(&method, &path, token.as_deref())
            }
            Request::Malformed => pages.malformed(),
            Request::Partial => pages.too_long(),
        };
        let answer = |text: String| String::from_utf8(answer(text)).expect("answers are text");
        let right = ["Authorization: Bearer abc", "authorization: bearer abc"];
        for header in right {
            let told = answer(format!("GET /status HTTP/1.1\r\n{header}\r\n\r\n"));
            assert!(told.starts_with("HTTP/1.1 200 ") && told.contains("identity"), "{told}");
        }
        let wrong = [
            "Host: a",
            "Authorization: Bearer abcd",
            "Authorization: Bearer",
            "Authorization: Basic abc",
            "Authorization: abc",
            "Authorization: Bearer abc\r\nAuthorization: Bearer x",
            "Proxy-Authorization: Bearer abc",
        ];
        let paths = ["/status", "/metrics", "/healthz", "/readyz", "/", "/../status"];
        let requests = paths.iter().flat_map(|path| {
            let line = ["GET", "HEAD", "POST", "PUT"].map(|method| format!("{method} {path}"));
            wrong.iter().flat_map(move |header| {
                line.clone().map(|line| format!("{line} HTTP/1.1\r\n{header}\r\n\r\n"))
            })
        });
        let others = ["\u{16}\u{3}\u{1}", "GET /status HTTP/1.1\r\nA: "].map(str::to_owned);
        for request in requests.chain(others) {
            let told = answer(request.clone());
            let (head, body) = told.split_once("\r\n\r\n").expect("it has a head");
            assert!(head.starts_with("HTTP/1.1 401 Unauthorized"), "{request}: {told}");
            assert!(head.contains("WWW-Authenticate: Bearer"), "{request}: {told}");
            assert!(body.is_empty() || body.starts_with("namdb, protocol "), "{request}: {told}");
            assert!(!told.contains("identity"), "{request}: {told}");
        }
    }
}
