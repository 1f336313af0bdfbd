//! Status 4 → 5: the index keeps names only; values have moved into the changes (contract.md §2).

use super::index_values::{drop_repeats, fates, present, raise_faults, raise_overfull, raise_strangers};
use crate::doc::json::Op;
use crate::doc::pointer::Pointer;
use crate::state::artifact::Artifact;
use crate::step::{JsonDraft, Run, Step, index_of};

/// The step.
pub const STEP: Step = Step {
    name: "status_v4_v5",
    artifact: Artifact::Status,
    from: &[4],
    to: Some(5),
    summary: "active[] keeps only the change's name; its values move into the change's own status",
    page: include_str!("README.md"),
    run: Run::Json(run),
};

fn run(d: &mut JsonDraft<'_>) {
    let index = index_of(d);
    raise_faults(d, &index);
    raise_strangers(d, &index);
    d.renumber(5);
    d.close(&Pointer::root(), &["schema_version", "workflow", "active", "archived"]);
    let mut overfull = Vec::new();
    for entry in &index.entries {
        for i in &entry.at {
            let at = Pointer::new(["active"]).join(i);
            d.close(&at, &["change", "current_work", "works_run", "claimed_investigations"]);
            for member in present(d, &at) {
                let gone = fates(d, &entry.change, &at, member);
                gone.into_iter().for_each(|(from, fate)| d.book(from, fate));
                // A repeated entry goes as a whole.
                if *i == entry.at[0] {
                    d.ops.push(Op::Remove { at: at.join(member) });
                }
            }
        }
        let newer = d.cx.settled.get(&entry.change).is_some_and(|s| s.newer);
        if newer && entry.has_values() {
            overfull.push(entry.change.clone());
        }
    }
    drop_repeats(d, &index, false);
    raise_overfull(d, &overfull);
}
