//! Generates all modules of a workload.

use crate::code::Kind;
use crate::flow;
use crate::found;
use crate::function::Function;
use crate::names::identifier;
use crate::needs::{Need, has_word};
use crate::tables;
use crate::unsupported::Unsupported;
use crate::variable::{Guess, Variable};
use procedure::Procedure;
use procedure::node::Workload;
use sql::Load;
use sql::load::{Distribution, Draw, Literal};
use sql::procedure::{ParameterMode, Procedure as Routine};
use std::fmt::Write;

type Result<T> = std::result::Result<T, Unsupported>;

/// Maximum number of passes over a procedure to find out about its variables. Each pass determines
/// at least one of them.
const PASSES_MAX: usize = 200;

/// A Rust file, not formatted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Its name in the workload's folder.
    pub name: String,
    pub text: String,
}

/// The code generated for a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generated {
    pub files: Vec<File>,
    /// The procedures that are left to the executor, with the reasons.
    pub left: Vec<(String, Unsupported)>,
}

/// Generates the modules of a workload. How `load` draws the arguments determines which of them may
/// be null, and their scales: calls with other arguments are left to the executor.
pub fn generate(workload: &Workload, load: &Load) -> Generated {
    let (mut files, mut needs) = (Vec::new(), Vec::new());
    let mut left = Vec::new();
    let mut generated = Vec::new();
    for procedure in &workload.procedures {
        let name = &procedure.routine.name;
        let printed = print(workload, procedure, &hints(load, &procedure.routine));
        match printed {
            Ok(Printed { text, has_hint, needs: of_this }) => {
                let new = of_this.into_iter().filter(|need| !needs.contains(need));
                needs.extend(new.collect::<Vec<_>>());
                files.push(File { name: format!("{}.rs", identifier(name)), text });
                generated.push((procedure, has_hint));
            }
            Err(unsupported) => left.push((name.clone(), unsupported.at(procedure.routine.line))),
        }
    }
    let tables = tables::module(&workload.catalog, &needs);
    files.insert(0, File { name: "tables.rs".to_owned(), text: tables });
    files.push(File {
        name: "mod.rs".to_owned(),
        text: module((&load.name, workload.fingerprint()), &generated, &left),
    });
    Generated { files, left }
}

/// The file of a procedure.
struct Printed {
    text: String,
    /// Whether it has a prefetch hint.
    has_hint: bool,
    /// The columns that it needs of rows that it reads together.
    needs: Vec<Need>,
}

/// Prints a procedure repeatedly, until a pass finds nothing new about its variables.
fn print(workload: &Workload, procedure: &Procedure, hints: &Guess) -> Result<Printed> {
    let mut guess = hints.clone();
    flow::survey(procedure, &mut guess);
    for _ in 0..PASSES_MAX {
        let mut function = Function::new(workload, procedure, &guess);
        let printed = function.body();
        function.guess.needs = function.needs();
        function.guess.own.extend(function.own());
        if function.guess.kinds != guess.kinds {
            // The variables were compared with outdated values.
            function.guess.padded.clear();
        }
        if function.guess == guess {
            printed?;
            let (text, has_hint) = file(&function)?;
            return Ok(Printed { text, has_hint, needs: function.guess.needs });
        }
        guess = function.guess;
    }
    Err(Unsupported::new("variables whose Rust types cannot be determined"))
}

/// Returns what the load says about arguments.
fn hints(load: &Load, routine: &Routine) -> Guess {
    let mut guess = Guess::default();
    let Some(load) = load.procedures.iter().find(|load| load.procedure == routine.name) else {
        return guess;
    };
    let inputs = routine.parameters.iter().filter(|parameter| parameter.mode != ParameterMode::Out);
    for (parameter, (_, distribution)) in inputs.zip(&load.arguments) {
        let place = (parameter.variable, None);
        // A strict function is not called with null: the executor handles that.
        if may_be_null(distribution) && !routine.is_strict {
            guess.nullable.insert(place);
        }
        let is_decimal =
            matches!(routine.variables[parameter.variable].sql_type, sql::SqlType::Numeric(_));
        if let Some(scale) = decimals(distribution).filter(|_| is_decimal) {
            guess.kinds.insert(place, (Kind::Decimal(scale), None));
        }
    }
    guess
}

fn may_be_null(distribution: &Distribution) -> bool {
    let of_draw = match &distribution.draw {
        // Unlisted values give null.
        Draw::Cases { .. } | Draw::Column { .. } => true,
        Draw::Mixture(parts) => parts.iter().any(|(_, part)| may_be_null(part)),
        Draw::Digits { of, .. } | Draw::LastName(of) => may_be_null(of),
        _ => false,
    };
    distribution.null > 0.0 || of_draw
}

/// Returns the scale of a drawn decimal, if all draws have the same.
fn decimals(distribution: &Distribution) -> Option<u8> {
    match &distribution.draw {
        Draw::Uniform { decimals, .. } => Some(*decimals),
        Draw::Constant(Literal::Text(text)) => {
            u8::try_from(text.split_once('.').map_or(0, |(_, fraction)| fraction.len())).ok()
        }
        Draw::Constant(Literal::Integer(_)) => Some(0),
        Draw::Mixture(parts) => {
            let mut scales = parts.iter().map(|(_, part)| decimals(part));
            let first = scales.next()??;
            scales.all(|scale| scale == Some(first)).then_some(first)
        }
        _ => None,
    }
}

/// Returns the file of a procedure.
fn file(function: &Function<'_>) -> Result<(String, bool)> {
    let hint = function.hint();
    let routine = &function.procedure.routine;
    let name = identifier(&routine.name);
    let inputs: Vec<&Variable> = routine
        .parameters
        .iter()
        .filter(|parameter| parameter.mode != ParameterMode::Out)
        .map(|parameter| function.variables.at((parameter.variable, None)))
        .collect();
    let mut out =
        format!("//! Procedure `{}`, line {} of `procedures.sql`.\n\n", routine.name, routine.line);
    out.push_str(&imports(function, &hint));
    out.push_str(&arguments(&inputs)?);
    write(&mut out, format_args!("\n/// Executes the procedure `{}`.\n", routine.name));
    write(
        &mut out,
        format_args!(
            "pub async fn {name}<E: Env>(call: &mut Call<'_, '_, E>, tables: &Tables, arguments: &Arguments<'_>) -> Result<(), Stop> {{\n"
        ),
    );
    for input in &inputs {
        if input.is_read {
            write(&mut out, format_args!("let {0} = arguments.{0};\n", input.name));
        }
    }
    out.push_str(&locals(function)?);
    out.push_str(&function.out);
    out.push_str("}\n");
    out.push_str(&hint);
    Ok((out, !hint.is_empty()))
}

/// Returns the imports of the file.
fn imports(function: &Function<'_>, hint: &str) -> String {
    let text = &format!("{}{hint}", function.out);
    let names = |of: &str, names: &[&str]| {
        let used: Vec<&str> = names.iter().copied().filter(|name| is_used(text, name)).collect();
        match used.is_empty() {
            true => String::new(),
            false => format!("use {of}::{{{}}};\n", used.join(", ")),
        }
    };
    let catalog = &function.workload.catalog;
    let modules = function.modules.iter().map(|&table| identifier(&catalog.tables[table].name));
    let modules: Vec<String> = modules.filter(|name| text.contains(&format!("{name}::"))).collect();
    let mut tables = vec!["Tables".to_owned()];
    tables.extend(modules);
    let mut out = format!("use super::tables::{{{}}};\nuse fabric::Env;\n", tables.join(", "));
    out.push_str(&names("layout", &["KeyBuilder"]));
    let locals = ["Text", "check", "count", "duplicate", "element", "known", "number", "text"];
    let is_local_text = !function.out.contains("Text") && locals_have_text(function);
    let mut used: Vec<&str> = locals.into_iter().filter(|name| is_used(text, name)).collect();
    if is_local_text {
        used.insert(0, "Text");
    }
    let used: String = used.iter().map(|name| format!(", {name}")).collect();
    let column = if is_used(text, "Column") { ", Column" } else { "" };
    write(
        &mut out,
        format_args!("use procedure_runtime::{{Argument, Call{column}, Stop{used}}};\n"),
    );
    out.push_str(&names("txn", &["Lane", "Scan", "ScanSource"]));
    out.push('\n');
    out
}

fn locals_have_text(function: &Function<'_>) -> bool {
    function
        .variables
        .all()
        .any(|(_, variable)| is_local(variable) && variable.kind == Ok(Kind::Text))
}

/// Whether a text calls `name`, or uses something in it.
fn is_used(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "_.:".contains(letter);
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + name.len()..];
        let is_user =
            after.starts_with(['(', '<']) || after.starts_with("::") || after.starts_with(" {");
        is_user && !before.is_some_and(is_part)
    })
}

/// Returns the structure of the arguments.
fn arguments(inputs: &[&Variable]) -> Result<String> {
    let mut out = String::from("#[derive(Clone, Copy, Debug)]\npub struct Arguments<'a> {\n");
    let mut bind = String::new();
    for input in inputs {
        let kind = input.kind.clone()?;
        let plain = kind.argument_type();
        let of = if input.is_nullable { format!("Option<{plain}>") } else { plain };
        let digits = match kind {
            Kind::Decimal(scale) => {
                format!(", in units of 10^-{scale}")
            }
            _ => String::new(),
        };
        write(
            &mut out,
            format_args!(
                "/// `{}`, {}{digits}.\npub {}: {of},\n",
                input.name, input.sql_type, input.name
            ),
        );
        let getter = match &kind {
            Kind::Int => format!("{}()", whole(&input.sql_type)),
            Kind::Decimal(scale) => format!("decimal({scale})"),
            Kind::Bool => "bool()".to_owned(),
            Kind::Float => "float()".to_owned(),
            Kind::Text if matches!(input.sql_type, sql::SqlType::Char(_)) => {
                "characters()".to_owned()
            }
            Kind::Text => "text()".to_owned(),
            Kind::List(element) => match **element {
                Kind::Int => "ints()".to_owned(),
                Kind::Bool => "bools()".to_owned(),
                Kind::Text => "texts()".to_owned(),
                _ => return Err(Unsupported::new("an array of this type as an argument")),
            },
            Kind::Unreadable | Kind::Unknown => {
                return Err(Unsupported::new("an argument of this type"));
            }
        };
        let getter = if input.is_nullable {
            format!("or_null(|argument| argument.{getter})")
        } else {
            getter
        };
        write(&mut bind, format_args!("{}: {}.{getter}?,\n", input.name, input.name));
    }
    if inputs.is_empty() {
        out.push_str("/// No arguments.\npub nothing: std::marker::PhantomData<&'a ()>,\n");
        bind.push_str("nothing: std::marker::PhantomData,\n");
    } else if inputs.iter().all(|input| !matches!(input.kind, Ok(Kind::Text | Kind::List(_)))) {
        out.push_str(
            "/// The lifetime is unused.\npub borrowed: std::marker::PhantomData<&'a ()>,\n",
        );
        bind.push_str("borrowed: std::marker::PhantomData,\n");
    }
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    write(
        &mut out,
        format_args!(
            "}}\n\nimpl<'a> Arguments<'a> {{\n/// Reads the arguments of a call; unexpected ones deviate.\n\
             pub fn bind(arguments: &'a [Argument<'a>]) -> Result<Self, Stop> {{\n\
             let [{}] = arguments else {{ return Err(Stop::Deviates) }};\nOk(Self {{\n{bind}}})\n}}\n}}\n",
            names.join(", ")
        ),
    );
    Ok(out)
}

/// Returns the getter of an integer argument, which checks its range.
fn whole(sql_type: &sql::SqlType) -> &'static str {
    match sql_type {
        sql::SqlType::Int2 => "int2",
        sql::SqlType::Int4 | sql::SqlType::Date => "int4",
        _ => "int",
    }
}

fn is_local(variable: &Variable) -> bool {
    variable.is_read && !variable.is_argument
}

/// Returns the declarations of the variables.
fn locals(function: &Function<'_>) -> Result<String> {
    let mut out = String::new();
    let loops = loop_variables(&function.procedure.routine);
    for (place @ (position, _), variable) in function.variables.all() {
        let is_named = function.guess.own.contains(&place);
        if !is_local(variable) || loops.contains(&position) || !is_named {
            continue;
        }
        let kind = variable.kind.clone()?;
        let plain = match kind {
            Kind::Int | Kind::Decimal(_) => "i64".to_owned(),
            Kind::Bool => "bool".to_owned(),
            Kind::Float => "f64".to_owned(),
            Kind::Text => format!("Text<{}>", variable.bytes_max.unwrap_or(0)),
            Kind::List(_) | Kind::Unreadable | Kind::Unknown => {
                return Err(Unsupported::new("a variable that is an array"));
            }
        };
        let name = &variable.name;
        match variable.is_nullable {
            true => write(&mut out, format_args!("let mut {name}: Option<{plain}> = None;\n")),
            false if found::variable(&function.procedure.routine) == Some(position) => {
                write(&mut out, format_args!("let mut {name} = false;\n"));
            }
            false
                if function.guess.started.contains(&place)
                    || has_word(&function.out, &format!("{name}.set")) =>
            {
                write(&mut out, format_args!("let mut {name}: {plain} = Default::default();\n"));
            }
            false => write(&mut out, format_args!("let mut {name}: {plain};\n")),
        }
    }
    Ok(out)
}

/// Returns the loop variables of range loops, which the loops declare themselves.
fn loop_variables(routine: &Routine) -> Vec<usize> {
    use sql::procedure::{Body, Over, Statement, StatementKind};
    fn gather(statements: &[Statement], into: &mut Vec<usize>) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Block(block) => gather(&block.statements, into),
                StatementKind::If { branches, otherwise } => {
                    branches.iter().for_each(|(_, inside)| gather(inside, into));
                    gather(otherwise, into);
                }
                StatementKind::Case { branches, otherwise, .. } => {
                    branches.iter().for_each(|(_, inside)| gather(inside, into));
                    otherwise.iter().for_each(|inside| gather(inside, into));
                }
                StatementKind::Loop { over, body, .. } => {
                    if let Over::Range { variable, .. } = over {
                        into.push(*variable);
                    }
                    gather(body, into);
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    if let Body::Block(block) = &routine.body {
        gather(&block.statements, &mut found);
    }
    found
}

/// Returns the module of the workload.
fn module(
    (name, fingerprint): (&str, u32),
    generated: &[(&Procedure, bool)],
    left: &[(String, Unsupported)],
) -> String {
    let mut out = format!(
        "//! Workload `{name}`, generated from its folder by `namdb spade generate`. Do not edit.\n"
    );
    if !left.is_empty() {
        out.push_str("//!\n//! Left to the executor of plans:\n//!\n");
    }
    for (procedure, why) in left {
        write(&mut out, format_args!("//! - `{procedure}`: {why}\n"));
    }
    out.push('\n');
    for (procedure, _) in generated {
        write(&mut out, format_args!("pub mod {};\n", identifier(&procedure.routine.name)));
    }
    out.push_str(
        "pub mod tables;\n\nuse fabric::Env;\nuse procedure_runtime::{Argument, BindError, Call, Generated, Stop};\n\
         pub use tables::Tables;\n",
    );
    let lane = if generated.iter().any(|(_, has_hint)| *has_hint) { ", Lane" } else { "" };
    write(
        &mut out,
        format_args!(
            "use txn::{{Database{lane}}};\n\nimpl Generated for Tables {{\n\
             const WORKLOAD: &'static str = {name:?};\nconst PROCEDURES: &'static [&'static str] = &[\n"
        ),
    );
    for (procedure, _) in generated {
        write(&mut out, format_args!("{:?},\n", procedure.routine.name));
    }
    out.push_str("];\n");
    write(&mut out, format_args!("const FINGERPRINT: u32 = {fingerprint:#010x};\n"));
    out.push_str(
        "\nfn find<E: Env>(database: &Database<E>) -> Result<Self, BindError> {\nSelf::find(database)\n}\n\n\
         async fn run<E: Env>(self, call: &mut Call<'_, '_, E>, procedure: usize, arguments: &[Argument<'_>]) \
         -> Result<(), Stop> {\nmatch procedure {\n",
    );
    for (position, (procedure, _)) in generated.iter().enumerate() {
        let name = identifier(&procedure.routine.name);
        write(
            &mut out,
            format_args!(
                "{position} => {name}::{name}(call, &self, &{name}::Arguments::bind(arguments)?).await,\n"
            ),
        );
    }
    out.push_str("_ => Err(Stop::Deviates),\n}\n}\n");
    out.push_str(&prefetches(generated));
    out.push_str("}\n");
    out
}

/// Returns the module's function that prefetches for calls.
fn prefetches(generated: &[(&Procedure, bool)]) -> String {
    let mut out = String::new();
    for (position, (procedure, _)) in generated.iter().enumerate().filter(|(_, (_, has))| *has) {
        let name = identifier(&procedure.routine.name);
        write(
            &mut out,
            format_args!(
                "{position} => {name}::prefetch(lane, self, &{name}::Arguments::bind(arguments)?),\n"
            ),
        );
    }
    if out.is_empty() {
        return out;
    }
    format!(
        "\nfn prefetch<E: Env>(&self, lane: &Lane<E>, procedure: usize, arguments: &[Argument<'_>]) -> Result<(), Stop> \
         {{\nmatch procedure {{\n{out}_ => Ok(()),\n}}\n}}\n"
    )
}

pub fn write(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes all that is written to it");
}
