//! The pages of `explain`: complete, in order, true to the codes, and readable.

use std::collections::BTreeSet;

use specdev_migrate::decisions::Decisions;
use specdev_migrate::explain::{Page, names, nearest, page, summary, table, terminal};
use specdev_migrate::finding::{Code, Severity};
use specdev_migrate::migrations;

const FINDINGS: &str = include_str!("../../docs/findings.md");

fn text(code: Code) -> String {
    page(code.as_str()).expect("every code has a page").text
}

/// The content of every fence with this info string.
fn fences(text: &str, info: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut open: Option<bool> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(found), None) => {
                open = Some(found == info);
                out.extend((found == info).then(String::new));
            }
            (Some(_), Some(_)) => open = None,
            (None, Some(true)) => out.last_mut().expect("the fence is open").extend([line, "\n"]),
            _ => {}
        }
    }
    assert_eq!(open, None, "a fence is not closed");
    out
}

fn shown(text: &'static str) -> Page {
    Page { name: "x", text: text.to_string() }
}

#[test]
fn sections_are_the_codes_in_order() {
    let sections: Vec<&str> =
        FINDINGS.lines().filter_map(|l| l.strip_prefix("## ")).map(|title| title.trim_matches('`')).collect();
    let codes: Vec<&str> = Code::ALL.iter().map(|c| c.as_str()).collect();
    assert_eq!(sections, codes);
}

#[test]
fn section_has_all_parts_in_order() {
    for code in Code::ALL {
        let text = text(*code);
        let why = match code.severity() {
            Severity::Error | Severity::Blocker => "**Why the tool stops.**",
            Severity::Warning | Severity::Note => "**Why the tool goes on.**",
        };
        let parts: Vec<&str> = text
            .lines()
            .filter(|l| l.starts_with("**"))
            .map(|l| &l[..l[2..].find("**").unwrap() + 4])
            .collect();
        assert_eq!(parts, ["**Example.**", why, "**What you do.**", "**Afterwards.**"], "{code}");
        for part in parts {
            let rest = text.split_once(part).unwrap().1;
            assert!(rest.starts_with(' ') && rest.trim().len() > 10, "{code}: {part} is empty");
        }
    }
}

#[test]
fn section_agrees_with_severity_and_exit() {
    for code in Code::ALL {
        let severity = code.severity().as_str();
        let guard = if code.is_guard() { ", only when writing" } else { "" };
        let exit = match code.exit() {
            0 => "none of its own".to_string(),
            n => n.to_string(),
        };
        let want = format!("Severity: {severity}{guard}. Exit code: {exit}.");
        let text = text(*code);
        assert_eq!(text.lines().nth(4), Some(want.as_str()), "{code}");
        assert_eq!(text.matches("Severity:").count(), 1, "{code}");
    }
}

#[test]
fn guard_says_that_a_dry_run_works() {
    for code in Code::ALL {
        let words = text(*code).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.contains("A dry run still works."), code.is_guard(), "{code}");
    }
}

#[test]
fn summary_is_one_sentence_on_one_line() {
    for code in Code::ALL {
        let summary = summary(*code);
        assert_eq!(text(*code).lines().nth(2), Some(summary), "{code}");
        assert!(summary.ends_with('.'), "{code}: {summary}");
        assert!(!summary.trim_end_matches('.').contains(". "), "{code}: {summary}");
        assert!(summary.starts_with(char::is_uppercase), "{code}: {summary}");
        assert!(summary.chars().count() <= 110, "{code}: {summary}");
    }
}

#[test]
fn summary_of_a_code() {
    let want = "A worktree record is still open: somebody may be at work, or work may be lost.";
    assert_eq!(summary(Code::ActiveWorktree), want);
}

#[test]
fn page_of_a_code_is_its_section_only() {
    let text = text(Code::SealedArchive);
    assert!(text.starts_with("# `sealed-archive`\n\nThere are archived changes"), "{text}");
    assert!(text.ends_with("Every byte below `archive/` is as before.\n"), "{text}");
    assert!(!text.contains("\n## "));
}

#[test]
fn page_of_the_last_code_ends_with_the_file() {
    let text = text(*Code::ALL.last().unwrap());
    assert!(FINDINGS.ends_with(text.split_once('\n').unwrap().1));
}

#[test]
fn page_of_a_step_is_its_readme() {
    for step in migrations::CHAIN {
        let page = page(step.name).unwrap();
        assert_eq!((page.name, page.text.as_str()), (step.name, step.page));
        assert!(page.text.starts_with("# "), "{}", step.name);
    }
}

#[test]
fn page_of_an_unknown_name() {
    for name in ["", "active", "ACTIVE-WORKTREE", "config", "`symlink`"] {
        assert_eq!(page(name), None, "{name}");
    }
}

#[test]
fn every_name_has_a_page_and_stands_once() {
    let names = names();
    assert_eq!(names.len(), Code::ALL.len() + migrations::CHAIN.len());
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert_eq!(names[0], "active-worktree");
    assert_eq!(names.last(), Some(&"change_status_values"));
    for name in names {
        assert_eq!(page(name).map(|p| p.name), Some(name));
    }
}

#[test]
fn nearest_name() {
    for (typed, want) in [
        ("symlink", Some("symlink")),
        ("symlinks", Some("symlink")),
        ("simlynk", Some("symlink")),
        ("active-worktre", Some("active-worktree")),
        ("active_worktree", Some("active-worktree")),
        ("ACTIVE-WORKTREE", Some("active-worktree")),
        ("acitve-worktree", Some("active-worktree")),
        ("dirty-sources", Some("dirty-source")),
        ("invalid-jsn", Some("invalid-json")),
        ("invalid-yml", Some("invalid-yaml")),
        ("config-v3-v4", Some("config_v3_v4")),
        ("status_v3_v5", Some("status_v3_v4")),
        ("e2e-undecide", Some("e2e-undecided")),
        ("", None),
        ("abc", None),
        ("worktree", None),
        ("symlink____", None),
        ("symlink___", Some("symlink")),
        ("ä-ö-ü", None),
    ] {
        assert_eq!(nearest(typed), want, "{typed}");
    }
}

#[test]
fn table_has_one_row_per_code() {
    let table = table();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("| code | severity | exit | what it means | what to do |"));
    assert_eq!(lines.next(), Some("| --- | --- | --- | --- | --- |"));
    let rows: Vec<Vec<&str>> =
        lines.map(|l| l.trim_matches('|').split(" | ").map(str::trim).collect()).collect();
    assert_eq!(rows.len(), Code::ALL.len());
    for (row, code) in rows.iter().zip(Code::ALL) {
        assert_eq!(row.len(), 5, "{code}: {row:?}");
        assert_eq!(row[0], format!("[`{code}`](docs/findings.md#{code})"));
        assert_eq!(row[1], code.severity().as_str());
        let exit = if code.exit() == 0 { "–".into() } else { code.exit().to_string() };
        assert_eq!(row[2], exit);
        assert_eq!(format!("{}.", row[3]), summary(*code));
        assert!(row[4].len() > 5 && row[4].chars().count() <= 90, "{code}: {}", row[4]);
        assert!(!row[4].ends_with(['.', ':']) && !row[4].contains(". "), "{code}: {}", row[4]);
    }
}

#[test]
fn table_groups_blockers_errors_warnings_notes() {
    let words: Vec<&str> = Code::ALL.iter().map(|c| c.severity().as_str()).collect();
    let table = table();
    let shown: Vec<&str> = table.lines().skip(2).map(|l| l.split(" | ").nth(1).unwrap()).collect();
    assert_eq!(shown, words);
    let mut groups = shown;
    groups.dedup();
    assert_eq!(groups, ["blocked", "error", "warning", "note"]);
}

#[test]
fn table_row() {
    let want = "| [`newer-version`](docs/findings.md#newer-version) | error | 5 \
                | A file was made by a newer workflow than this tool knows \
                | Install a newer specdev-migrate |";
    assert!(table().lines().any(|l| l == want), "{}", table());
}

#[test]
fn decisions_files_can_be_read() {
    let mut seen = 0;
    for code in Code::ALL {
        for yaml in fences(&text(*code), "yaml") {
            let read = Decisions::parse("decisions.yaml", yaml.as_bytes());
            assert!(read.is_ok(), "{code}: {read:?}\n{yaml}");
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen}");
}

#[test]
fn json_can_be_read() {
    for code in Code::ALL {
        for json in fences(&text(*code), "json") {
            let read = serde_json::from_str::<serde_json::Value>(&json);
            assert!(read.is_ok(), "{code}: {read:?}\n{json}");
        }
    }
}

#[test]
fn commands_use_what_the_command_line_has() {
    let words = [
        "--dry-run",
        "--check",
        "--to",
        "--state",
        "--decisions",
        "--partial",
        "--allow-dirty",
        "--no-git",
        "--format",
        "--version",
        "status",
        "validate",
        "decisions",
        "history",
        "list",
        "show",
        "restore",
        "recover",
        "explain",
        "steps",
        "ID",
        "json",
        "0.7.3",
        "2.0.6",
        "decisions.yaml",
        "decisions.new.yaml",
        "speculo/.speculo/back/state",
        "CODE",
    ];
    let pieces = FINDINGS.split('`').flat_map(str::lines).filter(|l| l.starts_with("specdev-migrate"));
    let mut seen = 0;
    for command in pieces {
        let call = command.split(" > ").next().unwrap();
        for word in call.split_whitespace().skip(1) {
            assert!(words.contains(&word), "{word} in {command:?}");
        }
        seen += 1;
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn fences_are_of_a_known_kind() {
    for code in Code::ALL {
        let text = text(*code);
        let known: usize = ["sh", "yaml", "json", "text"].map(|info| fences(&text, info).len()).iter().sum();
        assert_eq!(text.lines().filter(|l| l.starts_with("```")).count(), 2 * known, "{code}");
    }
}

#[test]
fn no_path_of_a_machine() {
    for name in names() {
        for line in page(name).unwrap().text.lines() {
            // Owners are named like this in real files.
            let line = line.replace("codex:/root", "");
            for path in ["/root", "/home", "/tmp", "/work/", "/Users", "/var", "/mnt", "~/", "C:\\"] {
                assert!(!line.contains(path), "{name}: {line}");
            }
        }
    }
}

#[test]
fn lines_are_not_long() {
    for line in FINDINGS.lines().filter(|l| !l.starts_with(['{', 'g', 'l'])) {
        assert!(line.chars().count() <= 105, "{line}");
    }
}

#[test]
fn terminal_without_color() {
    let page = shown(
        "# `symlink`\n\nA **strong** word and `some code`, then a line that is long enough to be\nfilled \
         again at the eightieth column of it.\n\n## Next\n\n```sh\nls -l\n\nrm x\n```\n\n- one\n- two `b c`,\n  \
         on and on\n\nEnd.\n",
    );
    let want = "symlink\n=======\n\n\
         A strong word and `some code`, then a line that is long enough to be filled\n\
         again at the eightieth column of it.\n\n\
         Next\n----\n\n    ls -l\n\n    rm x\n\n- one\n- two `b c`, on and on\n\nEnd.\n";
    assert_eq!(terminal(&page, false), want);
}

#[test]
fn terminal_with_color() {
    let page = shown("# The `title`\n\nA **strong** `word`.\n\n```diff\n-old\n+new\n same\n```\n");
    let want = "\u{1b}[1mThe\u{1b}[0m \u{1b}[1mtitle\u{1b}[0m\n\n\
         A \u{1b}[1mstrong\u{1b}[0m \u{1b}[36mword\u{1b}[0m.\n\n\
         \x20   \u{1b}[31m-old\u{1b}[0m\n    \u{1b}[32m+new\u{1b}[0m\n     same\n";
    assert_eq!(terminal(&page, true), want);
}

#[test]
fn terminal_list_that_counts() {
    let page = shown("1. one\n2. two\n\n   ```sh\n   ls\n   ```\n");
    assert_eq!(terminal(&page, false), "1. one\n2. two\n\n      ls\n");
}

#[test]
fn terminal_of_every_page() {
    for name in names() {
        let page = page(name).unwrap();
        let plain = terminal(&page, false);
        assert!(plain.chars().all(|c| c == '\n' || !c.is_control()), "{name}");
        assert!(
            !plain.contains("**") && !plain.contains("\n\n\n") && plain.ends_with('\n'),
            "{name}:\n{plain}"
        );
        assert!(!plain.lines().any(|l| l.ends_with(' ')), "{name}:\n{plain}");
        for line in plain.lines().filter(|l| !l.starts_with("    ")) {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        // Colour changes no word and no line, only the marks of code are gone.
        let colored = terminal(&page, true);
        assert!(colored.contains('\u{1b}'), "{name}");
        let words = |text: &str| text.matches(char::is_alphanumeric).collect::<String>();
        let bare: String = colored
            .split('\u{1b}')
            .enumerate()
            .map(|(i, part)| if i == 0 { part } else { part.split_once('m').unwrap().1 })
            .collect();
        let heading = |l: &&str| !l.is_empty() && l.trim_matches(['=', '-']).is_empty();
        let plain: Vec<&str> = plain.lines().filter(|l| !heading(l)).collect();
        assert_eq!(words(&bare), words(&plain.join("\n")), "{name}");
    }
}
