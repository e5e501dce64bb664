//! Small plans: their parsed form, and the errors of invalid ones.

use super::*;
use crate::node::{IndexScan, Operator};

fn origin(parameters: u32) -> Origin {
    Origin { file: "plans/buy.1.xml".to_owned(), statement: "buy.1".to_owned(), parameters }
}

/// A file with a `<Plan>` of this content.
fn file(plan: &str) -> String {
    format!(
        "<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n<Query>\n<Plan>\n{plan}\n</Plan>\n</Query>\n</explain>"
    )
}

/// The attributes that every node has.
const COSTS: &str = "<Parallel-Aware>false</Parallel-Aware><Startup-Cost>0.00</Startup-Cost>\
    <Total-Cost>0.25</Total-Cost><Plan-Rows>1</Plan-Rows><Plan-Width>8</Plan-Width>";

fn scan(more: &str) -> String {
    file(&format!(
        "<Node-Type>Index Scan</Node-Type>{COSTS}<Scan-Direction>Forward</Scan-Direction>\
         <Index-Name>part_pkey</Index-Name><Relation-Name>part</Relation-Name><Schema>public</Schema>\
         <Alias>p</Alias>{more}"
    ))
}

fn refused(text: &str, parameters: u32) -> String {
    read(text, &origin(parameters)).expect_err("it is refused").to_string()
}

#[test]
fn a_scan_is_read_with_everything_it_has() {
    let text = scan("<Output><Item>name</Item></Output><Index-Cond>(id = $1)</Index-Cond>");
    let plan = read(&text, &origin(1)).expect("this is a plan");
    let Operator::IndexScan(IndexScan { relation, condition, filter, .. }) = &plan.root.operator
    else {
        panic!("{plan:?}");
    };
    assert_eq!((&*relation.schema, &*relation.name, &*relation.alias), ("public", "part", "p"));
    // Unqualified columns belong to the only relation.
    assert_eq!(condition.as_ref().map(ToString::to_string).as_deref(), Some("(p.id = $1)"));
    assert_eq!(plan.root.output[0].to_string(), "p.name");
    assert_eq!(*filter, None);
    let estimate = plan.root.estimate;
    assert_eq!((estimate.total_cost, estimate.rows, estimate.width_bytes), (0.25, 1, 8));
}

#[test]
fn an_unknown_node_is_named_with_those_above_it() {
    let inner = format!(
        "<Plans><Plan><Node-Type>Gather</Node-Type><Parent-Relationship>Outer</Parent-Relationship>{COSTS}</Plan></Plans>"
    );
    let text = file(&format!("<Node-Type>Limit</Node-Type>{COSTS}{inner}"));
    let message = refused(&text, 0);
    assert!(
        message
            .starts_with("plans/buy.1.xml:4: in the plan of buy.1, node Limit > Gather: this kind"),
        "{message}"
    );
}

#[test]
fn what_might_change_the_meaning_is_refused() {
    let limit = format!("<Node-Type>Limit</Node-Type>{COSTS}");
    for (text, sentence) in [
        (
            scan("<Sampling-Method>system</Sampling-Method>"),
            "the attribute Sampling-Method is unknown",
        ),
        (scan("<Alias>q</Alias>"), "the attribute Alias occurs twice"),
        (scan("<Filter>(p.id = )</Filter>"), "a value is expected, at character 9 of `(p.id = )`"),
        (scan("<Output><Thing>1</Thing></Output>"), "Output may only have texts"),
        (scan("<Filter><Item>1</Item></Filter>"), "Filter is not a plain text"),
        (scan("").replace(">false<", ">true<"), "without parallel workers"),
        (scan("").replace(">false<", ">perhaps<"), "neither true nor false"),
        (scan("").replace("Forward", "Sideways"), "the scan direction Sideways"),
        (scan("").replace("<Schema>public</Schema>", ""), "the attribute Schema is missing"),
        (scan("").replace("0.25", "cheap"), "Total-Cost is `cheap`"),
        (file(&limit), "the node has 0 inputs instead of 1"),
        (file("<Node-Type>Limit</Node-Type>"), "the attribute Startup-Cost is missing"),
        (file("<Parallel-Aware>false</Parallel-Aware>"), "the attribute Node-Type is missing"),
        ("<plan/>".to_owned(), "<explain> is expected instead of <plan>"),
        ("<explain/>".to_owned(), "<explain> has no <Query>"),
        ("<explain><Query><Plan/><Triggers/></Query></explain>".to_owned(), "may only have <Plan>"),
        ("<explain>".to_owned(), "this is not XML"),
        (String::new(), "this is not XML"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><explain>&b;</explain>".to_owned(), "this is not XML"),
    ] {
        let message = refused(&text, 1);
        assert!(message.contains(sentence), "{message}");
    }
}

#[test]
fn parameters_are_distinguished_from_columns_of_init_plans() {
    let init = |numbers: &str| {
        format!(
            "<Plans><Plan><Node-Type>Result</Node-Type><Parent-Relationship>InitPlan</Parent-Relationship>\
             <Subplan-Name>InitPlan 1 (returns {numbers})</Subplan-Name>{COSTS}</Plan></Plans>"
        )
    };
    let text = |numbers: &str| {
        scan(&format!("<Index-Cond>((id = $1) AND (n = $0))</Index-Cond>{}", init(numbers)))
    };
    let plan = read(&text("$0"), &origin(1)).expect("this is a plan");
    let Operator::IndexScan(scan) = &plan.root.operator else { panic!("{plan:?}") };
    let mut found = Vec::new();
    scan.condition.as_ref().expect("it has one").walk(&mut |part| match part {
        Expression::Parameter(number) => found.push(("parameter", *number)),
        Expression::InitPlanOutput(number) => found.push(("output", *number)),
        _ => {}
    });
    assert_eq!(found, [("parameter", 1), ("output", 0)]);
    assert_eq!(plan.root.init_plans[0].delivers, [0]);
    assert_eq!(plan.root.init_plans[0].name, "InitPlan 1");

    let ambiguous = refused(&text("$0,$1"), 1);
    assert!(ambiguous.contains("SELECT max(id) + 1 INTO next FROM t"), "{ambiguous}");
    assert!(refused(&text("$2"), 1).contains("the plan uses $0"));
    assert!(refused(&text("$0"), 0).contains("the plan uses $1"));
}

#[test]
fn comments_and_empty_elements_are_not_deep() {
    let comment = format!("<!-- {} -->", "a < b ".repeat(1000));
    let items = "<Item/>".repeat(1000);
    let text = format!("{comment}\n{}", scan(&format!("<Presorted-Key>{items}</Presorted-Key>")));
    // The comment is skipped; parsing fails at an attribute that this node may not have.
    assert!(refused(&text, 0).contains("the attribute Presorted-Key is unknown"));
}

/// Deeply nested XML or plans must not overflow the stack.
#[test]
fn deep_plans_are_refused() {
    let elements = format!("{}{}", "<a>".repeat(200_000), "</a>".repeat(200_000));
    assert!(refused(&elements, 0).contains("nested"));
    let mut plan = format!("<Node-Type>Result</Node-Type>{COSTS}");
    for _ in 0..35 {
        plan = format!(
            "<Node-Type>Limit</Node-Type>{COSTS}<Plans><Plan><Parent-Relationship>Outer</Parent-Relationship>{plan}</Plan></Plans>"
        );
    }
    assert!(read(&file(&plan), &origin(0)).is_ok());
    for _ in 0..20 {
        plan = format!(
            "<Node-Type>Limit</Node-Type>{COSTS}<Plans><Plan><Parent-Relationship>Outer</Parent-Relationship>{plan}</Plan></Plans>"
        );
    }
    assert!(refused(&file(&plan), 0).contains("nested"));
}
