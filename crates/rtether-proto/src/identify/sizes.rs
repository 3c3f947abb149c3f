//! Which sizes of a request and its answer can be chosen.

use alloc::vec::Vec;

use rtether_model::quantity::Bytes;

/// Sizes of a request and its answer: frames from addresses to frame check sequence, without tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exchange {
    /// Octets of the frame with the request.
    pub request: Bytes,
    /// Octets of the frame with the answer.
    pub answer: Bytes,
}

/// A range of frame sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The smallest frame.
    pub least: Bytes,
    /// The largest frame.
    pub most: Bytes,
}

/// What the request of a protocol lets its sender choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Both, each alone.
    Free {
        /// Sizes of the request.
        request: Span,
        /// Sizes of the answer.
        answer: Span,
    },
    /// The request alone, as TCP SYN with data to a closed port does.
    Request {
        /// Sizes of the request.
        request: Span,
        /// The size of every answer.
        answer: Bytes,
    },
    /// The answer alone, as reads of Modbus and getbulk of SNMP do.
    Answer {
        /// The size of every request.
        request: Bytes,
        /// Sizes of the answer.
        answer: Span,
    },
    /// One size for both, as ICMP echo does.
    Alike(Span),
    /// Neither.
    Fixed(Exchange),
}

impl Span {
    /// Returns the size after this number of quarters.
    fn at(self, quarters: u64) -> Bytes {
        let [least, most] = [self.least, self.most].map(Bytes::get);
        Bytes::new(least + most.saturating_sub(least) * quarters / 4)
    }

    /// Returns both ends and the middle.
    fn points(self) -> [Bytes; 3] {
        let middle = u64::midpoint(self.least.get(), self.most.get());
        [self.least, Bytes::new(middle), self.most]
    }
}

impl Sizes {
    /// Returns the sizes to try: three of each that is free, in every combination.
    pub fn grid(self) -> Vec<Exchange> {
        match self {
            Self::Free { request, answer } => {
                let rows = request.points().into_iter();
                let all = rows.flat_map(|request| answer.points().map(|answer| (request, answer)));
                all.map(|(request, answer)| Exchange { request, answer }).collect()
            }
            Self::Request { request, answer } => {
                request.points().map(|request| Exchange { request, answer }).to_vec()
            }
            Self::Answer { request, answer } => {
                answer.points().map(|answer| Exchange { request, answer }).to_vec()
            }
            Self::Alike(span) => {
                span.points().map(|size| Exchange { request: size, answer: size }).to_vec()
            }
            Self::Fixed(exchange) => alloc::vec![exchange],
        }
    }

    /// Returns sizes between those of [`Self::grid`], a large request with a small answer; the same if
    /// neither can be chosen.
    pub fn unused(self) -> Exchange {
        match self {
            Self::Free { request, answer } => {
                Exchange { request: request.at(3), answer: answer.at(1) }
            }
            Self::Request { request, answer } => Exchange { request: request.at(3), answer },
            Self::Answer { request, answer } => Exchange { request, answer: answer.at(3) },
            Self::Alike(span) => Exchange { request: span.at(3), answer: span.at(3) },
            Self::Fixed(exchange) => exchange,
        }
    }

    /// Returns the smallest sizes.
    pub fn smallest(self) -> Exchange {
        match self {
            Self::Free { request, answer } => {
                Exchange { request: request.least, answer: answer.least }
            }
            Self::Request { request, answer } => Exchange { request: request.least, answer },
            Self::Answer { request, answer } => Exchange { request, answer: answer.least },
            Self::Alike(span) => Exchange { request: span.least, answer: span.least },
            Self::Fixed(exchange) => exchange,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: by hand.
    #[test]
    fn three_sizes_of_each_that_is_free() {
        let span = Span { least: Bytes::new(64), most: Bytes::new(1_518) };
        let fixed = Bytes::new(70);
        let free = Sizes::Free { request: span, answer: span }.grid();
        let middle = Exchange { request: Bytes::new(791), answer: Bytes::new(791) };
        assert!(free.len() == 9 && free[4] == middle);
        let request = Sizes::Request { request: span, answer: fixed };
        assert!(request.grid().iter().all(|one| one.answer == fixed) && request.grid().len() == 3);
        let answer = Sizes::Answer { request: fixed, answer: span };
        assert_eq!(answer.smallest(), Exchange { request: fixed, answer: span.least });
        assert!(Sizes::Alike(span).grid().iter().all(|one| one.request == one.answer));
        assert_eq!(Sizes::Fixed(middle).grid(), [middle]);
        let between = Exchange { request: Bytes::new(1_154), answer: Bytes::new(427) };
        assert_eq!(Sizes::Free { request: span, answer: span }.unused(), between);
    }
}
