use proptest::prelude::*;

use super::*;

fn time(text: &str) -> Result<u64, Problem> {
    read(text, Quantity::Time).map_err(|e| e.problem)
}

#[test]
fn values_are_exact() {
    assert_eq!(time("250 us"), Ok(250_000_000));
    assert_eq!(time("250us"), Ok(250_000_000));
    assert_eq!(time("0.25 ms"), Ok(250_000_000));
    assert_eq!(time("2.5e-1 ms"), Ok(250_000_000));
    assert_eq!(time("0.001 ns"), Ok(1));
    assert_eq!(time("20_000 s"), Ok(20_000_000_000_000_000));
    assert_eq!(time("0 s"), Ok(0));
    assert_eq!(read("100 Mbit/s", Quantity::BitRate), Ok(100_000_000));
    assert_eq!(read("100mbit", Quantity::BitRate), Ok(100_000_000));
    assert_eq!(read("2.5 Gbit/s", Quantity::BitRate), Ok(2_500_000_000));
    assert_eq!(read("64 B", Quantity::Size), Ok(64));
    assert_eq!(read("1.5 kB", Quantity::Size), Ok(1_500));
    assert_eq!(read("64 KiB", Quantity::Size), Ok(65_536));
    assert_eq!(read("20 m", Quantity::Length), Ok(20_000));
    assert_eq!(read("1e-9", Quantity::Ratio), Ok(1));
    assert_eq!(read("0.01 %", Quantity::Ratio), Ok(100_000));
    assert_eq!(read("250 ppm", Quantity::Ratio), Ok(250_000));
}

#[test]
fn intervals_of_packet_rates_are_rounded_to_a_picosecond() {
    assert_eq!(read_interval("5000 packets/s"), Ok(200_000_000));
    // 10^12 / 1440 = 694 444 444.4
    assert_eq!(read_interval("1440 /s"), Ok(694_444_444));
    // 10^12 / 3 = 333 333 333 333.3; 10^12 / 0.6 = 1 666 666 666 666.7
    assert_eq!(read_interval("3 Hz"), Ok(333_333_333_333));
    assert_eq!(read_interval("0.6 Hz"), Ok(1_666_666_666_667));
    assert!(read_interval("0 packets/s").is_err());
    assert!(read_interval("1e30 packets/s").is_err());
    assert!(read_interval("1e-300 packets/s").is_err());
}

#[test]
fn nothing_is_rounded_silently() {
    let smallest = "1 ps";
    assert_eq!(time("0.3 ps"), Err(Problem::TooFine { smallest }));
    assert_eq!(time("0.0001 ns"), Err(Problem::TooFine { smallest }));
    assert_eq!(time("1e-400 s"), Err(Problem::TooFine { smallest }));
    assert_eq!(
        read("0.5 B", Quantity::Size).unwrap_err().problem,
        Problem::TooFine { smallest: "1 B" }
    );
}

#[test]
fn mistakes_are_told_apart() {
    assert_eq!(time("2"), Err(Problem::MissingUnit));
    assert_eq!(time("fast"), Err(Problem::NotANumber));
    assert_eq!(time(""), Err(Problem::NotANumber));
    assert_eq!(time("-2 ms"), Err(Problem::Negative));
    let found = Quantity::BitRate;
    assert_eq!(time("2 Mbit/s"), Err(Problem::WrongQuantity { found }));
    let largest = "10 days";
    assert_eq!(time("11000 h"), Err(Problem::TooLarge { largest }));
    assert_eq!(time("1e300 s"), Err(Problem::TooLarge { largest }));
    let error = read("100 Mb", Quantity::BitRate).unwrap_err();
    assert_eq!(error.range, 4..6);
    let Problem::UnknownUnit { hint: Some(hint), .. } = error.problem else {
        panic!("{error:?}");
    };
    assert_eq!(hint.text, "bits or bytes? write `100 Mbit/s` for bits, `800 Mbit/s` for bytes");
}

/// Oracle: 10 days are 8.64e17 ps; a number of any length is compared with that, and a fraction of
/// a picosecond is refused at any length.
#[test]
fn numbers_with_many_digits_are_numbers() {
    let long = "12345678901234567890123456789012345678";
    let largest = Quantity::Time.largest().1;
    assert_eq!(time(&format!("{long} s")), Err(Problem::TooLarge { largest }));
    let smallest = Quantity::Time.smallest();
    assert_eq!(time(&format!("1.{long} s")), Err(Problem::TooFine { smallest }));
    assert_eq!(time(&format!("1.{:040} s", 0)), Ok(1_000_000_000_000));
}

proptest! {
    #[test]
    fn decimals_agree_with_integer_arithmetic(whole in 0u64..1_000_000, micro in 0u64..1_000_000) {
        // Oracle: the same value counted in picoseconds by hand.
        let text = format!("{whole}.{micro:06} us");
        prop_assert_eq!(time(&text), Ok(whole * 1_000_000 + micro));
        let with_exponent = format!("{whole}{micro:06}e-6us");
        prop_assert_eq!(time(&with_exponent), Ok(whole * 1_000_000 + micro));
    }

    #[test]
    fn any_text_gives_a_value_or_an_error_inside_it(text in "\\PC{0,24}") {
        for quantity in Quantity::ALL {
            if let Err(error) = read(&text, quantity) {
                prop_assert!(error.range.end <= text.len());
                prop_assert!(text.get(error.range).is_some());
            }
        }
        let _ = (read_interval(&text), read_count(&text));
    }

    #[test]
    fn numbers_in_any_form_never_overflow(
        digits in "[0-9_.]{1,40}", power in -999i32..999, unit in 0usize..UNITS.len()
    ) {
        let (unit, quantity, _) = UNITS[unit];
        let text = format!("{digits}e{power} {unit}");
        let _ = (read(&text, quantity), read_interval(&text), read_count(&text));
    }
}
