//! Which packets are real-time.

use rtether_model::smoother::Rule;

use super::Class;

/// Returns the class of a packet with this type-of-service octet and protocol number.
pub fn classify(rule: Rule, type_of_service: u8, protocol: u8) -> Class {
    let is_real_time = match rule {
        Rule::TypeOfService { mask, values } => values.contains(&(type_of_service & mask)),
        Rule::Protocol(real_time) => protocol == real_time,
    };
    if is_real_time { Class::RealTime } else { Class::Bulk }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_variants_read_different_fields() {
        // Oracle: RFC 3246 (EF is 46, so the octet is 184), RFC 1349 (low delay is 0x10); protocol
        // numbers 1, 6, 17 of IANA.
        for (type_of_service, expected) in [
            (0xb8, Class::RealTime),
            (0xb9, Class::RealTime),
            (0x10, Class::RealTime),
            (0x18, Class::Bulk),
            (0x00, Class::Bulk),
            (0x28, Class::Bulk),
        ] {
            assert_eq!(classify(Rule::LINUX, type_of_service, 6), expected);
        }
        assert_eq!(classify(Rule::NT, 0, 17), Class::RealTime);
        assert_eq!(classify(Rule::NT, 0xb8, 6), Class::Bulk);
        assert_eq!(classify(Rule::NT, 0xb8, 1), Class::Bulk);
    }
}
