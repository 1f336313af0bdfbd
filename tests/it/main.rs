//! One test binary: the tool as its users meet it, and the modules against the libraries' own reading.

mod account;
mod architecture;
mod chain;
mod cli;
mod contexts;
mod diff;
mod doc_json;
mod doc_markdown;
mod doc_yaml;
mod explain;
mod git;
mod readme;
mod real_transaction;
mod refuse;
mod registry;
mod report;
mod schemas;
mod steps;
mod support;
mod transaction;
mod untouched;
mod validate;
