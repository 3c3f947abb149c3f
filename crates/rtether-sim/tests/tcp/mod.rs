//! TCP engines against each other over a scripted wire in virtual time, with `smoltcp` over the
//! same wire as oracle.

mod bottleneck;
mod duplex;
mod oracle;
mod pair;
mod properties;
mod stack;
mod theory;
