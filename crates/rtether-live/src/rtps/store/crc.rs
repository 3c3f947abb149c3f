//! CRC-32C (Castagnoli; RFC 3720, 12.1): detects every burst of up to 32 flipped bits, and records
//! half written at a crash, but not forgery.

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut octet: u32 = 0;
    while octet < 256 {
        let mut rest = octet;
        let mut bit = 0;
        while bit < 8 {
            let carry = rest & 1;
            rest >>= 1;
            if carry == 1 {
                rest ^= 0x82F6_3B78;
            }
            bit += 1;
        }
        table[octet as usize] = rest;
        octet += 1;
    }
    table
}

/// Returns the checksum of octets.
pub(super) fn crc32c(octets: &[u8]) -> u32 {
    let sum = octets.iter().fold(u32::MAX, |sum, octet| {
        let [low, ..] = sum.to_le_bytes();
        (sum >> 8) ^ TABLE[usize::from(low ^ octet)]
    });
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_sum_is_that_of_its_standard() {
        // Oracle: RFC 3720, B.4, and the check value of the catalogue of CRCs.
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&rising), 0x46DD_794E);
    }
}
