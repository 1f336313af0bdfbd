#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use specdev_migrate_fuzz::{mutate, upgrade};

fuzz_target!(|data: &[u8]| upgrade::check(data));

// Random bytes hardly ever leave a JSON file readable; most of the time values and lines change places.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match mutate::changed(&data[..size], seed) {
        Some(new) if !new.is_empty() && new.len() <= max_size => {
            data[..new.len()].copy_from_slice(&new);
            new.len()
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
});
