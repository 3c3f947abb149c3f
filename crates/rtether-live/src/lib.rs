//! Drivers that host the engines of `rtether-proto` on Linux: clocks, threads, sockets.
//!
//! The only crate with `unsafe` code, and the only one that depends on an operating system. Drivers
//! carry out what an engine says and make no protocol decisions.
//!
//! # Modules
//!
//! Drivers that host the engines on Linux, and the only `unsafe` code.
//!
//! `clock`, `thread` and `wait` are time, placement and waiting of a measuring thread; `link` has
//! one module for each way a payload travels; `meter` and `responder` host the probe engine on both
//! sides, `timestamping`, `stamps` and `informant` add the kernel's time stamps of both; `load` and
//! its sink generate traffic, `calibrate` measures the cost of the stack, `host` finds out what
//! this machine is and can do.
//!
//! `identify` hosts the prober of devices: `datagrams`, `icmp`, `connects` and `stream` carry its
//! messages, `interview` asks.
//!
//! `station` plays an end station of a scenario, `emulator` runs `rtether_sim::emulation` in real
//! time (`tap` receives with stamps and tags and sends, `store` keeps the octets, `timing` records
//! departure errors, `report` compares the run with the replay of its arrivals), `shim` puts the
//! engines between the stack and a device of this host (`divert` are the filters that redirect
//! frames to it while it is alive, `plan` what is changed and undone, `transmit` and `receive` the
//! two directions, `line` and `hub` the reports on frames sent, `probes` the frames around probes
//! between shims), `filter` tags packets of ordinary sockets, `wall` maps real time to the time of
//! the run, `stall` finds stalls of the host; `namespace` creates and removes test beds.
//!
//! `shim::kernel` is the end-node layer in the kernel of this host: `program` writes filters from
//! table and rules, `commands` the HTB classes named by `shape`, `regulator` hosts the smoother's
//! law, which sets a rate through `netlink`; `plan` is what is changed and undone, `refuse` what
//! HTB does not support.
//!
//! `mirror` receives all frames at a device and sends none; `rtps` hosts a participant of
//! `rtether-rtps` in one thread, on UDP sockets or on packet sockets (`ethernet`, with a kernel
//! filter, `sieve`), and an application with it (`application`), and `waker` ends its sleep from
//! another thread; `yielding` keeps a spinning thread from being stopped; `rtps::store` keeps the
//! last sample of each instance in a file, for the next writer.
//!
//! `c`, behind the feature of this name, is its C interface: types described at run time,
//! publications, subscriptions, events; `include/rtether.h` is generated from its sources, and no
//! panic unwinds into C.
//!
//! `process`, `privileges` and `confine` are the events that a service waits for, and the rights it
//! gives up.
//!
//! **Invariant:** an emulated network decides in virtual time from receive stamps; it may release
//! late, but never decides late without counting it.
//!
//! **Invariant:** a driver carries out what an engine says and makes no protocol decisions;
//! malformed input from the network is counted and dropped, and never answered with more octets
//! than it has.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "system calls without a safe wrapper; each block has its reason")]

mod bpf;
#[cfg(any(feature = "c", test))]
pub mod c;
pub mod calibrate;
pub mod clock;
pub mod confine;
pub mod emulator;
pub mod filter;
mod fit;
pub mod host;
pub mod identify;
mod informant;
mod leaving;
pub mod link;
pub mod load;
pub mod meter;
pub mod mirror;
pub mod namespace;
mod option;
pub mod privileges;
pub mod process;
pub mod responder;
pub mod rtps;
pub mod shim;
mod spare;
pub mod stall;
pub mod stamps;
pub mod station;
pub mod thread;
pub mod timestamping;
pub mod wait;
mod wall;
