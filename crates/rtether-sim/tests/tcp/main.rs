//! TCP engines against each other over a scripted wire in virtual time, and the same wire under
//! `smoltcp` as oracle.

mod bottleneck;
mod duplex;
mod oracle;
mod pair;
mod properties;
mod stack;
mod theory;
