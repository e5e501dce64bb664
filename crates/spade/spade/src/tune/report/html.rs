//! The report as one HTML page with embedded pictures. It loads nothing else.

use super::reasons::bytes;
use super::text::{access, count, interval, many, partition, workload_of};
use super::tuning::*;
use std::fmt::Write;

/// Widths of a picture, of its names, and of its figures.
const WIDTH: f64 = 860.0;
const NAMES: f64 = 300.0;
const FIGURES: f64 = 170.0;
/// Height of a bar with its gap.
const BAR: f64 = 22.0;
/// Maximal number of candidates in a picture.
const SHOWN: usize = 12;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;color:#1d2733;background:#fff;max-width:900px;margin:2em auto;\
padding:0 1em}h1{font-size:1.6em;margin-bottom:.1em}h2{font-size:1.25em;margin-top:2em;border-bottom:1px solid #d5dce4}\
h3{font-size:1.05em;margin:1.4em 0 .3em}p{margin:.4em 0}table{border-collapse:collapse;margin:.5em 0;font-size:.93em}\
th,td{text-align:left;padding:.2em .9em .2em 0;vertical-align:top;border-bottom:1px solid #eef1f4}th{font-weight:600}\
td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.dim{color:#66717d}details{margin:.4em 0}\
summary{cursor:pointer;color:#33608f}svg{display:block;margin:.4em 0}svg text{font:13px system-ui,sans-serif;fill:#1d2733}\
li{margin:.15em 0}";
/// Colours of the chosen option, the runner-up and others.
const CHOSEN: &str = "#2a6fb0";
const NEXT: &str = "#7fb0da";
const OTHER: &str = "#ccd5de";

struct Bar {
    name: String,
    value: f64,
    /// Minimum and maximum.
    interval: Option<(f64, f64)>,
    figure: String,
    colour: &'static str,
}

impl Tuning {
    pub fn html(&self) -> String {
        let mut page = String::new();
        let title = escaped(&format!("{}: a tuned design", self.target.workload));
        let _ = write!(
            page,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style></head><body>\n\
             <h1>{title}</h1>\n"
        );
        self.summary(&mut page);
        self.places(&mut page);
        page.push_str("<h2>Tables</h2>\n");
        self.tables.iter().for_each(|table| draw_table(&mut page, table));
        self.calls(&mut page);
        for (title, lines) in [("Assumptions", &self.assumptions), ("Warnings", &self.warnings)] {
            if !lines.is_empty() {
                let _ = write!(page, "<h2>{title}</h2>\n<ul>\n");
                for line in lines {
                    let _ = writeln!(page, "<li>{}</li>", escaped(line));
                }
                page.push_str("</ul>\n");
            }
        }
        page.push_str("</body></html>\n");
        page
    }

    fn summary(&self, page: &mut String) {
        paragraph(
            page,
            &format!(
                "{}, {}. {} of memory on each machine. {:.1} % of attempts are retries.",
                self.target.scale(),
                self.target.cluster(),
                bytes(self.memory.bytes_each),
                self.retries_percent
            ),
        );
        let told = |share| {
            format!(
                " {share:.0} of 100 calls arrive at another machine than the one with their rows;"
            )
        };
        let remote = self.remote_calls.map(|share| told(100.0 * share)).unwrap_or_default();
        let (wanted, copies) = (self.wanted(), copies(self.replicas));
        paragraph(page, &format!("Designed {wanted};{remote} {copies} of each row."));
        let _ = writeln!(
            page,
            "<p>Colours: <b style=\"color:{CHOSEN}\">chosen, or a full stage</b>; <b style=\"color:{NEXT}\">runner-up</b>; \
             <b style=\"color:{OTHER}\">others</b>.</p>"
        );
        let bar = |name: &str, of: &Forecast, colour| {
            let [least, rate, most] = of.transactions_per_s;
            let latency = of.latency_us[1];
            let figure = format!("{}/s, {latency:.1} us", count(rate));
            Bar {
                name: name.to_owned(),
                value: rate,
                interval: Some((least, most)),
                figure,
                colour,
            }
        };
        page.push_str("<h3>Transactions per second, with the interval of the measurements</h3>\n");
        let bars = [bar("tuned", &self.forecast, CHOSEN), bar("untuned", &self.baseline, OTHER)];
        picture(page, "transactions per second", &bars);
        page.push_str("<h3>Utilization of the stages of a machine</h3>\n");
        let stages = self.forecast.stages.iter().map(|(stage, share)| Bar {
            name: stage.clone(),
            value: *share,
            interval: None,
            figure: format!("{:.0} %", 100.0 * share),
            colour: if *share >= 1.0 { CHOSEN } else { NEXT },
        });
        picture(page, "stages", &stages.collect::<Vec<_>>());
    }

    fn places(&self, page: &mut String) {
        page.push_str("<h2>Partitions</h2>\n<table><tr><th>table</th><th>rows</th><th>where</th><th>why</th></tr>\n");
        for table in &self.tables {
            row(
                page,
                &[
                    &table.table,
                    &count(table.rows as f64),
                    &partition(&table.partition, &table.table),
                    &table.partition_reason,
                ],
            );
        }
        page.push_str("</table>\n");
        if !self.partitions.is_empty() {
            page.push_str("<h3>The workload with other partitions</h3>\n");
            draw_candidates(page, "partitions", &self.partitions);
        }
        page.push_str(
            "<h3>Attributes, by the share of operations that find their rows at home</h3>\n",
        );
        let bars = self.attributes.iter().take(SHOWN).map(|of| Bar {
            name: of.columns.first().cloned().unwrap_or_default(),
            value: of.local,
            interval: None,
            figure: format!("{:.0} % at home", 100.0 * of.local),
            colour: if of.verdict == Verdict::Chosen { CHOSEN } else { OTHER },
        });
        picture(page, "attributes", &bars.collect::<Vec<_>>());
        page.push_str("<details><summary>all attributes</summary><table>\n");
        for of in &self.attributes {
            row(page, &[&of.columns.join(" = "), &of.reason]);
        }
        page.push_str("</table></details>\n");
    }

    fn calls(&self, page: &mut String) {
        page.push_str(
            "<h2>Procedures</h2>\n<p>Calls on another machine than the one with their rows.</p>\n",
        );
        for of in &self.procedures {
            let by = of.by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
            let _ = writeln!(
                page,
                "<h3>{}: {}{}</h3>",
                escaped(&of.procedure),
                access(of.access),
                escaped(&by)
            );
            paragraph(
                page,
                &format!(
                    "{:.1} of 100 calls; {:.0} of 100 rows at home; latency at home {:.1} us.",
                    100.0 * of.share,
                    100.0 * of.local,
                    of.home_latency_us
                ),
            );
            let bars = of.candidates.iter().filter_map(|one| {
                let (rate, latency) = (one.calls_per_s?, one.latency_us?);
                Some(Bar {
                    name: match one.verdict {
                        Verdict::Chosen => format!("chosen: {}", access(one.access)),
                        Verdict::RunnerUp => format!("runner-up: {}", access(one.access)),
                        Verdict::Rejected => access(one.access).to_owned(),
                    },
                    value: rate,
                    interval: None,
                    figure: format!("{}/s, {latency:.1} us", count(rate)),
                    colour: if one.verdict == Verdict::Chosen { CHOSEN } else { OTHER },
                })
            });
            picture(page, "calls per second", &bars.collect::<Vec<_>>());
            for one in &of.candidates {
                let Some(forecast) = &one.forecast else { continue };
                let figures = workload_of(forecast, &one.writes);
                paragraph(page, &format!("With {}: {figures}.", access(one.access)));
            }
            for one in of.candidates.iter().filter(|one| !one.reason.is_empty()) {
                paragraph(page, &format!("Not {}: {}.", access(one.access), one.reason));
            }
        }
    }
}

fn draw_table(page: &mut String, table: &TableReport) {
    let _ = writeln!(page, "<h3>{}</h3>", escaped(&table.table));
    paragraph(
        page,
        &format!(
            "{} of {} bytes, {} on each machine; {:.3} writes a call, each {:.1} verbs, {:.0} ns of cores and {:.0} ns of engines.",
            many(count(table.rows as f64), "row"),
            table.row_bytes,
            bytes(table.bytes_each),
            table.writes.per_call,
            table.writes.verbs,
            table.writes.core_ns,
            table.writes.engine_ns
        ),
    );
    draw_candidates(page, "rows", &table.candidates);
    for index in &table.indexes {
        paragraph(page, &format!("Index {}", index.index));
        draw_candidates(page, &index.index, &index.candidates);
    }
    if !table.versions.is_empty() {
        paragraph(page, "Old versions");
        draw_candidates(page, "old versions", &table.versions);
    }
    page.push_str("<details><summary>statements that access it</summary><table>\n");
    for driver in &table.drivers {
        row(page, &[&driver.statement, &driver.what, &format!("{:.4} a call", driver.per_call)]);
    }
    page.push_str("</table></details>\n");
}

fn draw_candidates(page: &mut String, title: &str, candidates: &[Alternative]) {
    let forecast = candidates.iter().filter_map(|one| Some((one, one.forecast.as_ref()?)));
    let bars = forecast.take(SHOWN).map(|(one, of)| Bar {
        name: match one.verdict {
            Verdict::Chosen => format!("chosen: {}", one.what),
            Verdict::RunnerUp => format!("runner-up: {}", one.what),
            Verdict::Rejected => one.what.clone(),
        },
        value: of.transactions_per_s,
        interval: of.interval.map(|of| (of.transactions_per_s[0], of.transactions_per_s[1])),
        figure: format!("{}/s, {:.2} us", count(of.transactions_per_s), of.latency_us),
        colour: match one.verdict {
            Verdict::Chosen => CHOSEN,
            Verdict::RunnerUp => NEXT,
            Verdict::Rejected => OTHER,
        },
    });
    picture(page, title, &bars.collect::<Vec<_>>());
    for one in candidates {
        let Some(of) = one.forecast.as_ref() else { continue };
        let Some(between) = &of.interval else { continue };
        let name = if one.verdict == Verdict::Chosen { "Chosen" } else { "Runner-up" };
        let memory = bytes(one.bytes_each);
        paragraph(
            page,
            &format!("{name}: {}, {}, {memory} on each machine.", one.what, interval(between)),
        );
    }
    page.push_str("<details><summary>why not the others</summary><table>\n");
    for one in candidates.iter().filter(|one| one.verdict != Verdict::Chosen) {
        let memory = if one.forecast.is_some() { bytes(one.bytes_each) } else { String::new() };
        row(page, &[&one.what, &memory, &one.reason]);
    }
    page.push_str("</table></details>\n");
}

/// Draws bars; the longest has the full width.
fn picture(page: &mut String, title: &str, bars: &[Bar]) {
    let ends = bars.iter().map(|bar| bar.interval.map_or(bar.value, |(_, most)| most));
    let longest = ends.fold(f64::MIN_POSITIVE, f64::max);
    let place = |value: f64| (WIDTH - NAMES - FIGURES) * value / longest;
    let _ = writeln!(
        page,
        "<svg width=\"{WIDTH}\" height=\"{:.0}\" role=\"img\" aria-label=\"{}\">",
        BAR * bars.len() as f64,
        escaped(title)
    );
    for (number, bar) in bars.iter().enumerate() {
        let top = BAR * number as f64;
        let (text, end) = (top + 15.0, NAMES + place(bar.value));
        let _ = writeln!(
            page,
            "<text x=\"{:.0}\" y=\"{text:.0}\" text-anchor=\"end\">{}</text><rect x=\"{NAMES}\" y=\"{:.0}\" width=\"{:.1}\" \
             height=\"16\" fill=\"{}\"/>",
            NAMES - 8.0,
            escaped(&bar.name),
            top + 3.0,
            place(bar.value).max(1.0),
            bar.colour
        );
        let mut figure = end;
        if let Some((least, most)) = bar.interval {
            let (from, to, middle) = (NAMES + place(least), NAMES + place(most), top + 11.0);
            let _ = writeln!(
                page,
                "<path d=\"M{from:.1} {middle:.0}H{to:.1}M{from:.1} {0:.0}V{1:.0}M{to:.1} {0:.0}V{1:.0}\" stroke=\"#1d2733\" \
                 fill=\"none\"/>",
                top + 6.0,
                top + 16.0
            );
            figure = to.max(end);
        }
        let _ = writeln!(
            page,
            "<text x=\"{:.1}\" y=\"{text:.0}\">{}</text>",
            figure + 8.0,
            escaped(&bar.figure)
        );
    }
    page.push_str("</svg>\n");
}

fn copies(count: u32) -> String {
    match count {
        1 => "one copy".to_owned(),
        several => format!("{several} copies"),
    }
}

fn paragraph(page: &mut String, text: &str) {
    let _ = writeln!(page, "<p>{}</p>", escaped(text));
}

fn row(page: &mut String, cells: &[&str]) {
    page.push_str("<tr>");
    for cell in cells {
        let _ = write!(page, "<td>{}</td>", escaped(cell));
    }
    page.push_str("</tr>\n");
}

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
