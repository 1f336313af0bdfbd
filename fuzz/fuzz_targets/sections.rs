#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| specdev_migrate_fuzz::sections::check(data));
