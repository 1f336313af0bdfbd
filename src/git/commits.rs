//! Which commits texts stand for, and how they are related: a graph in memory, and pure questions.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use super::program::GitFault;
use super::survey::is_id;

/// Resolved branches and revisions with all of their ancestors.
///
/// Answers are `None` when a text is unknown here. In a shallow repository history was cut off, so a
/// commit that is not found behind another may still be there in full: that too is `None`, unless the
/// two are known in the opposite order.
#[derive(Debug, Clone, Default)]
pub struct Commits {
    branches: BTreeMap<String, Branch>,
    revisions: BTreeMap<String, String>,
    graph: Graph,
    shallow: bool,
}

#[derive(Debug, Clone)]
struct Branch {
    tip: String,
    /// Made when first needed: a branch is asked about once for each record.
    reach: OnceLock<Bits>,
}

impl Commits {
    /// From tips by short branch name, full ids by revision text, and lines `commit parent…`, children
    /// before their parents, as `git rev-list --topo-order --parents` prints them.
    ///
    /// # Errors
    /// The lines are something else, leave out a parent, a tip or a revision, or are in another order.
    pub fn new(
        branches: BTreeMap<String, String>,
        revisions: BTreeMap<String, String>,
        lines: &[u8],
        shallow: bool,
    ) -> Result<Commits, GitFault> {
        let graph = Graph::parse(lines)
            .ok_or_else(|| GitFault::new("`git rev-list` answered something unexpected"))?;
        if let Some(id) = branches.values().chain(revisions.values()).find(|id| graph.node(id).is_none()) {
            return Err(GitFault::new(format!("`git rev-list` left out commit {id}")));
        }
        let branches =
            branches.into_iter().map(|(name, tip)| (name, Branch { tip, reach: OnceLock::new() })).collect();
        Ok(Commits { branches, revisions, graph, shallow })
    }

    /// The full id of the commit that a text stands for: one of the revisions asked about, or a full id
    /// among the ancestors of what was asked about.
    pub fn resolve<'a>(&'a self, text: &'a str) -> Option<&'a str> {
        match self.revisions.get(text) {
            Some(id) => Some(id),
            None => self.graph.node(text).map(|_| text),
        }
    }

    /// The tip of a branch that was asked about and exists.
    pub fn branch_tip(&self, branch: &str) -> Option<&str> {
        self.branches.get(branch).map(|branch| branch.tip.as_str())
    }

    /// Whether a branch holds a revision.
    pub fn contains(&self, branch: &str, revision: &str) -> Option<bool> {
        let (tip, reach) = self.reach(branch)?;
        let node = self.node(revision)?;
        self.certain(reach.holds(node), node, tip)
    }

    /// Whether `a` is `b` or one of its ancestors.
    pub fn is_ancestor(&self, a: &str, b: &str) -> Option<bool> {
        let (a, b) = (self.node(a)?, self.node(b)?);
        self.certain(self.graph.reaches(b, a), a, b)
    }

    /// How many commits are reachable from a revision (a branch by its tip) but not from a branch.
    pub fn missing_from(&self, tip: &str, branch: &str) -> Option<usize> {
        let (_, reach) = self.reach(branch)?;
        let own = self.graph.reach(self.node(tip)?, None);
        Some(own.without(reach))
    }

    /// The full id of the one revision that is an ancestor of all others; `None` when there is none, or
    /// one of them is unknown.
    pub fn oldest(&self, revisions: &[&str]) -> Option<String> {
        let mut ids = revisions.iter().map(|text| self.resolve(text));
        let mut oldest = ids.next()??;
        for id in ids {
            let id = id?;
            if self.graph.reaches(self.graph.node(oldest)?, self.graph.node(id)?) {
                oldest = id;
            }
        }
        let all = revisions.iter().all(|text| self.is_ancestor(oldest, text) == Some(true));
        all.then(|| oldest.to_owned())
    }

    fn node(&self, text: &str) -> Option<u32> {
        self.graph.node(self.resolve(text)?)
    }

    fn reach(&self, branch: &str) -> Option<(u32, &Bits)> {
        let branch = self.branches.get(branch)?;
        let tip = self.graph.node(&branch.tip)?;
        Some((tip, branch.reach.get_or_init(|| self.graph.reach(tip, None))))
    }

    /// What `found` (is `node` behind `tip`?) proves.
    fn certain(&self, found: bool, node: u32, tip: u32) -> Option<bool> {
        if found || !self.shallow || self.graph.reaches(node, tip) { Some(found) } else { None }
    }
}

/// Commits numbered in topological order: a parent's number is above its children's, so one pass over
/// the numbers is a walk.
#[derive(Debug, Clone, Default)]
struct Graph {
    numbers: HashMap<Id, u32>,
    /// The parents of commit `n` are `parents[starts[n]..starts[n + 1]]`.
    starts: Vec<u32>,
    parents: Vec<u32>,
}

/// An object id: its length in bytes tells the two formats apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Id {
    length: u8,
    bytes: [u8; 32],
}

impl Graph {
    fn parse(lines: &[u8]) -> Option<Graph> {
        let lines = std::str::from_utf8(lines).ok()?;
        let mut graph = Graph { starts: vec![0], ..Graph::default() };
        for (number, line) in lines.lines().enumerate() {
            let id = Id::parse(line.split(' ').next()?)?;
            if graph.numbers.insert(id, u32::try_from(number).ok()?).is_some() {
                return None;
            }
        }
        for (number, line) in lines.lines().enumerate() {
            for parent in line.split(' ').skip(1) {
                let parent = graph.node(parent)?;
                if parent as usize <= number {
                    return None;
                }
                graph.parents.push(parent);
            }
            graph.starts.push(u32::try_from(graph.parents.len()).ok()?);
        }
        Some(graph)
    }

    fn node(&self, id: &str) -> Option<u32> {
        self.numbers.get(&Id::parse(id)?).copied()
    }

    fn parents(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.parents[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// Everything behind `tip`, itself included, up to number `last`.
    fn reach(&self, tip: u32, last: Option<u32>) -> Bits {
        let count = self.numbers.len();
        let mut bits = Bits(vec![0; count.div_ceil(64)]);
        bits.set(tip);
        let end = last.map_or(count, |last| last as usize).min(count);
        for node in tip..u32::try_from(end).unwrap_or(u32::MAX) {
            if bits.holds(node) {
                for parent in self.parents(node) {
                    bits.set(*parent);
                }
            }
        }
        bits
    }

    fn reaches(&self, tip: u32, node: u32) -> bool {
        node >= tip && self.reach(tip, Some(node)).holds(node)
    }
}

impl Id {
    fn parse(text: &str) -> Option<Id> {
        if !is_id(text) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = digit(pair[0]) << 4 | digit(pair[1]);
        }
        Some(Id { length: u8::try_from(text.len() / 2).ok()?, bytes })
    }
}

/// The value of a lower-case hexadecimal digit.
fn digit(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        _ => byte - b'a' + 10,
    }
}

/// A set of commit numbers.
#[derive(Debug, Clone)]
struct Bits(Vec<u64>);

impl Bits {
    fn set(&mut self, node: u32) {
        self.0[node as usize / 64] |= 1 << (node % 64);
    }

    fn holds(&self, node: u32) -> bool {
        self.0[node as usize / 64] & (1 << (node % 64)) != 0
    }

    fn without(&self, other: &Bits) -> usize {
        self.0.iter().zip(&other.0).map(|(a, b)| (a & !b).count_ones() as usize).sum()
    }
}

/// Whether git may be asked about this text: an object id or a ref name, and no revision syntax, which
/// could mean anything (`:/text` searches all messages).
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 1024
        && text != "@"
        && !text.starts_with(['-', '/', '.'])
        && !text.ends_with(['/', '.'])
        && !["..", "//", "@{"].iter().any(|part| text.contains(part))
        && !text.chars().any(|c| c.is_ascii_control() || " ~^:?*[\\".contains(c))
}

/// Whether `id` is what a revision text means: hexadecimal texts of four digits or more are object ids,
/// whatever branch or tag is called so.
pub(super) fn stands_for(text: &str, id: &str) -> bool {
    let hexadecimal = text.len() >= 4 && text.bytes().all(|b| b.is_ascii_hexdigit());
    !hexadecimal || id.starts_with(&text.to_ascii_lowercase())
}

/// Reads `git cat-file --batch-check` with names and types: one commit, or none, for each line asked.
pub(super) fn parse_ids(bytes: &[u8], lines: usize) -> Result<Vec<Option<String>>, GitFault> {
    let answer = String::from_utf8_lossy(bytes);
    let ids: Vec<Option<String>> = answer
        .lines()
        .map(|line| line.strip_suffix(" commit").filter(|id| is_id(id)).map(str::to_owned))
        .collect();
    let understood = answer
        .lines()
        .zip(&ids)
        .all(|(line, id)| id.is_some() || line.ends_with(" missing") || line.ends_with(" ambiguous"));
    if ids.len() == lines && understood {
        Ok(ids)
    } else {
        Err(GitFault::new("`git cat-file` answered something unexpected"))
    }
}
