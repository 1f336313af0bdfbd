//! The schema of every artifact version and the check of a value against it (contract.md §1, *Validity*).
//!
//! The files in `migrations/schemas/` are plain JSON Schema 2020-12 and hold what single values may be.
//! One rule stands beside them: an integer field must be spelled as an integer, while JSON Schema takes
//! `2.0` for one (contract.md §1, *Text rules*). What compares members with each other or with git is
//! not said here. A version without a schema is refused, not waved through.
//!
//! Two conventions make the messages: a `description` beside `pattern` names what is wanted ("a ticket
//! id such as …"), and the `description` of a `then` or `else` says when it holds ("where `status` is …").

use std::borrow::Cow;
use std::sync::OnceLock;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use crate::doc::pointer::Pointer;
use crate::finding::Code;
use crate::state::artifact::Artifact;

/// One thing a value has that its schema does not allow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// JSON Pointer of the offending value; of the object when a member is missing from it.
    pub pointer: String,
    /// What is wrong, as a fragment in lower case that fits behind the pointer: `must be …`.
    pub message: String,
    /// The member that is missing or must not be there.
    pub member: Option<String>,
}

/// All violations of `value`, by pointer and then message; none when it is valid.
///
/// A version that is not [`known`] is one violation at the root.
pub fn check(artifact: Artifact, version: u64, value: &Value) -> Vec<Violation> {
    let Some(schema) = find(artifact, version) else {
        return vec![at_root(format!("has version {version}, for which there is no {artifact} schema"))];
    };
    match schema.compiled() {
        Ok(compiled) => compiled.check(value),
        Err(fault) => vec![at_root(format!("cannot be checked: the {artifact} schema {version} {fault}"))],
    }
}

/// Whether there is a schema for this version.
pub fn known(artifact: Artifact, version: u64) -> bool {
    versions(artifact).contains(&version)
}

/// A version number from its spelling, or why it is none this tool reads (contract.md §1).
pub(crate) fn version_of(artifact: Artifact, text: Option<&str>) -> std::result::Result<u64, (Code, String)> {
    let newest = match artifact {
        // A configuration above 4 is left alone whatever its number.
        Artifact::Config => u64::MAX,
        _ => versions(artifact).iter().copied().max().unwrap_or(0),
    };
    let Some(text) = text else {
        return Err((
            Code::UnsupportedVersion,
            "schema_version is missing; versions from 3 on can be upgraded".into(),
        ));
    };
    let plain = !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'));
    if !plain {
        return Err((Code::UnsupportedVersion, format!("schema_version {text} is not a plain integer")));
    }
    match text.parse::<u64>() {
        Ok(n) if n > newest => Err((
            Code::NewerVersion,
            format!(
                "{artifact} version {n} was made by a newer tool; this one knows {newest} at most, upgrade it"
            ),
        )),
        Ok(n) if n >= 3 => Ok(n),
        Ok(n) => Err((
            Code::UnsupportedVersion,
            format!("{artifact} version {n} is older than 3 and cannot be upgraded"),
        )),
        Err(_) if artifact == Artifact::Config => Ok(u64::MAX),
        Err(_) => Err((
            Code::NewerVersion,
            format!("{artifact} version {text} was made by a newer tool; upgrade it"),
        )),
    }
}

/// The members every file of this version has, in the order in which new ones are placed
/// (contract.md §1, *Text rules*); empty for an unknown version.
pub fn order(artifact: Artifact, version: u64) -> Vec<String> {
    order_at(artifact, version, &[])
}

/// The same for the object below `path`, whose steps are member names; an array index is any number.
/// Empty where the schema does not describe an object.
pub fn order_at(artifact: Artifact, version: u64, path: &[&str]) -> Vec<String> {
    let required = object_at(artifact, version, path).and_then(|node| node.get("required"));
    let names = required.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// All members the schema names at the root, in file order; empty for an unknown version.
pub fn properties(artifact: Artifact, version: u64) -> Vec<String> {
    let properties = object_at(artifact, version, &[]).and_then(|node| node.get("properties"));
    properties.and_then(Value::as_object).map(|p| p.keys().cloned().collect()).unwrap_or_default()
}

/// A schema file, and what becomes of it the first time it is needed.
struct Schema {
    artifact: Artifact,
    version: u64,
    text: &'static str,
    compiled: OnceLock<Result<Compiled, String>>,
}

/// A schema as data, for names, order and descriptions, and as a validator.
struct Compiled {
    root: Value,
    validator: Validator,
}

macro_rules! schemas {
    ($($artifact:ident $name:literal: $($version:literal)+;)+) => {
        /// The versions of an artifact that have a schema, ascending.
        pub fn versions(artifact: Artifact) -> &'static [u64] {
            match artifact { $(Artifact::$artifact => &[$($version),+],)+ }
        }

        static SCHEMAS: [Schema; SCHEMA_COUNT] = [$($(Schema {
            artifact: Artifact::$artifact,
            version: $version,
            text: include_str!(concat!("../migrations/schemas/", $name, ".v", $version, ".json")),
            compiled: OnceLock::new(),
        },)+)+];
    };
}

schemas! {
    Config "config": 3 4 5;
    Status "status": 3 4 5;
    ChangeStatus "change-status": 3 4 5 6;
    GoalPlan "goal-plan": 3 4 5 6 7 8;
    ExecutionContext "execution-context": 1;
    ExecutionRecord "execution-record": 1;
}

fn find(artifact: Artifact, version: u64) -> Option<&'static Schema> {
    SCHEMAS.iter().find(|s| s.artifact == artifact && s.version == version)
}

fn object_at(artifact: Artifact, version: u64, path: &[&str]) -> Option<&'static Value> {
    let compiled = find(artifact, version)?.compiled().ok()?;
    let root = &compiled.root;
    let mut node = root;
    for step in path {
        node = match node.get("properties").and_then(|p| p.get(step)) {
            Some(member) => member,
            None if step.parse::<usize>().is_ok() => node.get("items")?,
            None => return None,
        };
        node = follow(root, node);
    }
    Some(node)
}

impl Schema {
    fn compiled(&'static self) -> Result<&'static Compiled, &'static str> {
        self.compiled.get_or_init(|| Compiled::new(self.text)).as_ref().map_err(String::as_str)
    }
}

impl Compiled {
    fn new(text: &str) -> Result<Compiled, String> {
        let root: Value = serde_json::from_str(text).map_err(|e| format!("is not JSON: {e}"))?;
        let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
        let validator = options.build(&root).map_err(|e| format!("does not compile: {e}"))?;
        Ok(Compiled { root, validator })
    }

    fn check(&self, value: &Value) -> Vec<Violation> {
        let strict = without_whole_floats(value);
        if self.validator.is_valid(&strict) {
            return Vec::new();
        }
        let mut found: Vec<_> =
            self.validator.iter_errors(&strict).flat_map(|e| self.violations(&e, value)).collect();
        found.sort();
        found.dedup();
        found
    }

    /// One error of the validator in our words: unexpected members are one violation each.
    fn violations(&self, error: &ValidationError<'_>, value: &Value) -> Vec<Violation> {
        let pointer = error.instance_path().as_str();
        let instance = value.pointer(pointer).unwrap_or(&Value::Null);
        let when = self.condition(error);
        let one = |message: String, member: Option<String>| {
            vec![Violation { pointer: pointer.to_owned(), message: message + &when, member }]
        };
        match error.kind() {
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default().to_owned();
                one(format!("missing member `{name}`"), Some(name))
            }
            Kind::AdditionalProperties { unexpected } => {
                let object = Pointer::parse(pointer).unwrap_or_default();
                let unexpected = unexpected.iter().map(|name| Violation {
                    pointer: object.join(name).to_string(),
                    message: format!("unexpected member `{name}`"),
                    member: Some(name.clone()),
                });
                unexpected.collect()
            }
            // Its type is wrong already, and the limits saw a stand-in.
            Kind::Minimum { .. } | Kind::Maximum { .. } if whole_float(instance).is_some() => Vec::new(),
            kind => one(self.message(kind, error, instance), None),
        }
    }

    fn message(&self, kind: &Kind, error: &ValidationError<'_>, instance: &Value) -> String {
        match kind {
            Kind::Type { kind } => wrong_type(kind, instance),
            Kind::Constant { expected_value } => wrong_constant(expected_value, instance),
            Kind::Enum { options } => {
                let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
                format!("must be one of {}, not {}", listed(options, ", "), shown(instance))
            }
            Kind::Pattern { pattern } => match self.description(error) {
                Some(wanted) => format!("must be {wanted}, not {}", shown(instance)),
                None => format!("must match {pattern}, not be {}", shown(instance)),
            },
            Kind::Not { .. } => self.description(error).unwrap_or("is not allowed here").to_owned(),
            Kind::MinLength { limit: 1 } | Kind::MinItems { limit: 1 } => "must not be empty".to_owned(),
            Kind::Minimum { limit } => format!("must be at least {limit}, not {}", shown(instance)),
            Kind::Maximum { limit } => format!("must be at most {limit}, not {}", shown(instance)),
            Kind::UniqueItems => repeated(instance),
            // No other keyword is used by the schemas.
            _ => error.to_string(),
        }
    }

    /// The description beside the keyword that failed, or below `not`.
    fn description(&self, error: &ValidationError<'_>) -> Option<&str> {
        let (parent, keyword) = owned(Pointer::parse(error.schema_path().as_str())?.split_last()?);
        let parent = self.root.pointer(&parent.to_string())?;
        let node = if keyword == "not" { parent.get("not")? } else { parent };
        node.get("description")?.as_str()
    }

    /// When the failed rule holds, with a comma before it; empty when it always does.
    fn condition(&self, error: &ValidationError<'_>) -> String {
        let mut node = &self.root;
        let mut when = None;
        for step in Pointer::parse(error.evaluation_path().as_str()).unwrap_or_default().tokens() {
            node = match &*step {
                "$ref" => follow(&self.root, node),
                step => match below(node, step) {
                    Some(child) => child,
                    None => break,
                },
            };
            if matches!(&*step, "then" | "else") {
                when = node.get("description").and_then(Value::as_str);
            }
        }
        when.map(|w| format!(", {w}")).unwrap_or_default()
    }
}

fn owned((parent, last): (Pointer, Cow<'_, str>)) -> (Pointer, String) {
    (parent, last.into_owned())
}

fn below<'a>(node: &'a Value, step: &str) -> Option<&'a Value> {
    match node {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        node => node.get(step),
    }
}

/// The definition a `$ref` names, or the node itself.
fn follow<'a>(root: &'a Value, node: &'a Value) -> &'a Value {
    let target = node.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix('#'));
    target.and_then(|pointer| root.pointer(pointer)).unwrap_or(node)
}

/// The value with every `2.0` or `1e0` replaced by a number no integer field takes. Fields of other
/// types refuse it as before, so nothing else changes.
fn without_whole_floats(value: &Value) -> Cow<'_, Value> {
    fn any(value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().any(any),
            Value::Object(members) => members.values().any(any),
            value => whole_float(value).is_some(),
        }
    }
    fn replace(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(replace),
            Value::Object(members) => members.values_mut().for_each(replace),
            value if whole_float(value).is_some() => *value = Value::from(0.5),
            _ => {}
        }
    }
    if !any(value) {
        return Cow::Borrowed(value);
    }
    let mut copy = value.clone();
    replace(&mut copy);
    Cow::Owned(copy)
}

/// A number without fraction that is spelled with one or with an exponent, or does not fit 64 bits.
fn whole_float(value: &Value) -> Option<f64> {
    let number = value.as_number().filter(|n| n.is_f64())?.as_f64()?;
    (number.fract() == 0.0).then_some(number)
}

fn wrong_type(kind: &TypeKind, instance: &Value) -> String {
    let mut wanted: Vec<String> = match kind {
        TypeKind::Single(single) => vec![single.to_string()],
        TypeKind::Multiple(set) => set.iter().map(|t| t.to_string()).collect(),
    };
    if wanted.iter().any(|t| t == "integer")
        && let Some(number) = whole_float(instance)
    {
        return misspelled_integer(number);
    }
    // "a string or null" reads better than the other way round.
    wanted.sort_by_key(|t| t == "null");
    let wanted: Vec<&str> = wanted.iter().map(|t| with_article(t)).collect();
    format!("must be {}, not {}", wanted.join(" or "), shown(instance))
}

fn wrong_constant(expected: &Value, instance: &Value) -> String {
    match (expected.as_f64(), whole_float(instance)) {
        (Some(wanted), Some(number)) if wanted == number => misspelled_integer(number),
        _ => format!("must be {}, not {}", shown(expected), shown(instance)),
    }
}

fn misspelled_integer(number: f64) -> String {
    // 2^64: above it serde_json reads plain digits as a float, too.
    if number.abs() < 18_446_744_073_709_551_616.0 {
        "must be spelled as an integer".to_owned()
    } else {
        "must be an integer of at most 64 bits".to_owned()
    }
}

/// Which two items of an array are equal.
fn repeated(instance: &Value) -> String {
    let items = instance.as_array().map(Vec::as_slice).unwrap_or_default();
    for (later, item) in items.iter().enumerate() {
        if let Some(first) = items[..later].iter().position(|other| other == item) {
            return format!("must not repeat an item: items {first} and {later} are equal");
        }
    }
    "must not repeat an item".to_owned()
}

fn listed(values: &[Value], separator: &str) -> String {
    values.iter().map(shown).collect::<Vec<_>>().join(separator)
}

/// A value as it fits into a message: scalars as they are spelled in JSON, long text cut.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => with_article("array").to_owned(),
        Value::Object(_) => with_article("object").to_owned(),
        Value::String(text) if text.chars().count() > SHOWN_CHARACTERS => {
            let head: String = text.chars().take(SHOWN_CHARACTERS).collect();
            Value::from(head + "…").to_string()
        }
        value => value.to_string(),
    }
}

fn with_article(type_name: &str) -> &str {
    match type_name {
        "boolean" => "true or false",
        "integer" => "an integer",
        "number" => "a number",
        "string" => "a string",
        "array" => "an array",
        "object" => "an object",
        other => other,
    }
}

fn at_root(message: String) -> Violation {
    Violation { pointer: String::new(), message, member: None }
}

const SCHEMA_COUNT: usize = 18;
const SHOWN_CHARACTERS: usize = 60;
