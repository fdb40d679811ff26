//! Just enough 192-bit arithmetic for 160-bit indices.

/// An unsigned integer below 2^192, least significant limb first. The increment of a ring of one
/// partition is 2^160, which is why 160 bits would not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wide(pub(crate) [u64; 3]);

/// The largest power of ten in a limb, and how many digits it stands for.
const CHUNK: u64 = 10_000_000_000_000_000_000;
const CHUNK_DIGITS: usize = 19;
/// 2^160 - 1 has 49 digits; three chunks are written before leading zeros are dropped.
pub(crate) const DECIMAL_BUFFER: usize = 3 * CHUNK_DIGITS;

impl Wide {
    pub(crate) const ZERO: Wide = Wide([0; 3]);
    /// 2^160, the number of indices.
    pub(crate) const RING_TOP: Wide = Wide([0, 0, 1 << 32]);

    pub(crate) fn from_be_bytes(bytes: &[u8; 20]) -> Wide {
        let high = u32::from_be_bytes(bytes[..4].try_into().expect("4 bytes"));
        let middle = u64::from_be_bytes(bytes[4..12].try_into().expect("8 bytes"));
        let low = u64::from_be_bytes(bytes[12..].try_into().expect("8 bytes"));
        Wide([low, middle, u64::from(high)])
    }

    /// The 160-bit big-endian form, or `None` from 2^160 on.
    pub(crate) fn to_be_bytes(self) -> Option<[u8; 20]> {
        let high = u32::try_from(self.0[2]).ok()?;
        let mut bytes = [0; 20];
        bytes[..4].copy_from_slice(&high.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.0[1].to_be_bytes());
        bytes[12..].copy_from_slice(&self.0[0].to_be_bytes());
        Some(bytes)
    }

    /// Quotient and remainder.
    pub(crate) fn div_rem(self, divisor: u64) -> (Wide, u64) {
        let mut quotient = [0; 3];
        let mut remainder = 0u64;
        for limb in (0..3).rev() {
            let dividend = u128::from(remainder) << 64 | u128::from(self.0[limb]);
            quotient[limb] = (dividend / u128::from(divisor)) as u64;
            remainder = (dividend % u128::from(divisor)) as u64;
        }
        (Wide(quotient), remainder)
    }

    /// `self * factor + addend`, or `None` from 2^192 on.
    pub(crate) fn mul_add(self, factor: u64, addend: u64) -> Option<Wide> {
        let mut product = [0; 3];
        let mut carry = u128::from(addend);
        for (limb, out) in self.0.iter().zip(&mut product) {
            let sum = u128::from(*limb) * u128::from(factor) + carry;
            *out = sum as u64;
            carry = sum >> 64;
        }
        (carry == 0).then_some(Wide(product))
    }

    /// The sum, wrapping at 2^192.
    pub(crate) fn add(self, other: Wide) -> Wide {
        let mut sum = [0; 3];
        let mut carry = false;
        for (limb, out) in sum.iter_mut().enumerate() {
            let (partial, first) = self.0[limb].overflowing_add(other.0[limb]);
            let (total, second) = partial.overflowing_add(u64::from(carry));
            *out = total;
            carry = first || second;
        }
        Wide(sum)
    }

    /// The decimal digits, written at the end of `buffer`.
    pub(crate) fn decimal(self, buffer: &mut [u8; DECIMAL_BUFFER]) -> &str {
        let mut rest = self;
        for chunk in buffer.rchunks_exact_mut(CHUNK_DIGITS) {
            let (quotient, mut digits) = rest.div_rem(CHUNK);
            rest = quotient;
            for digit in chunk.iter_mut().rev() {
                *digit = b'0' + (digits % 10) as u8;
                digits /= 10;
            }
        }
        let first = buffer.iter().position(|&digit| digit != b'0').unwrap_or(DECIMAL_BUFFER - 1);
        std::str::from_utf8(&buffer[first..]).expect("only ASCII digits were written")
    }

    /// Reads decimal digits and nothing else; `None` if there are none, another character, or a
    /// value from 2^192 on.
    pub(crate) fn from_decimal(text: &str) -> Option<Wide> {
        if text.is_empty() {
            return None;
        }
        text.bytes().try_fold(Wide::ZERO, |value, byte| match byte {
            b'0'..=b'9' => value.mul_add(10, u64::from(byte - b'0')),
            _ => None,
        })
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Wide) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wide {
    fn cmp(&self, other: &Wide) -> std::cmp::Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}
