//! Deterministic discrete-event simulation of switched Ethernet and its end nodes.
//!
//! A [`Simulation`] is built from a network, its flows and a [`Config`]; it runs in steps of any
//! length and ends in a [`rtether_model::record::Record`]. The same input gives the same bytes on
//! every machine: time is an integer, every purpose has its own random generator, and simultaneous
//! events have a fixed order (time, kind, name).
//!
//! **Scope.** Full-duplex links and shared media (hubs, half duplex); store-and-forward and
//! cut-through switches with VLANs, priorities and five transmission selections; end stations with
//! a protocol stack above a FIFO driver queue and, optionally, application tasks, priority queues
//! and a traffic smoother; UDP-like traffic with IP fragmentation, adaptive requests, files and
//! messages over TCP, samples over RTPS. Not modeled: gates, frame preemption,
//! clock drift.
//!
//! [`medium`] is a shared segment as a separate engine.
//!
//! [`emulation`] runs a network of switches and hubs on frames from outside, for live network
//! emulation.
//!
//! Ports, switches, stations and connections are elements that own their state and know nothing of
//! each other; `kernel` composes them and moves packets from one to the next. Path of a packet:
//! `flow` releases it, `station` passes it through the stack (and `layer` through tasks and
//! queues), `port` queues and sends it, `switch` forwards it, `station` receives it and `stats`
//! books it.
//!
//! # Modules
//!
//! The discrete-event simulator: elements that own their state, and a kernel that moves packets
//! between them.
//!
//! Elements are private data with methods, and know neither each other nor the simulation.
//!
//! `flow` knows when packets are released (`source`) and answered; `station` is an end station,
//! `servers` its stack; `port` is a port with its link, `queues` holds the frames that wait there
//! and asks the transmission selection (`rtether_proto::port`); `switch` decides by VLAN and
//! address; `stats` records the deliveries of a stream; `twins` knows the copies of frames that
//! stations in two networks have sent.
//!
//! `layer` is everything in a station besides stack and port: application tasks, receive queues or
//! stack instances, transmit queues, smoother; it hosts the engines of `rtether-proto`.
//!
//! `medium` is a collision domain (half duplex) as one engine, `shared` has it with its hubs and
//! the ports on it, and counts by sender what all of them count; `access` hosts the scheme by which
//! these take turns, if there is one.
//!
//! `tcp` are two sans-IO engines on segments without bytes; `bulk` drives them for files,
//! `conversation` for messages over a connection, `chain` tells what both wait for; `fragments`
//! cuts and reassembles datagrams above one frame; `publication` hosts participants of
//! `rtether-rtps`, with the datagrams they send; `message` is a message or sample, which is not a
//! packet.
//!
//! `kernel` has the `Simulation`, whose fields only its own modules see, and the event loop. Below
//! it, `kernel::port`, `kernel::switch` and so on say what happens at an element of that name and
//! where a packet goes next; `kernel::build` assigns numbers and timer slots, `delivery` and `loss`
//! record how packets end, `finish` makes the record, `invariants` checks conservation.
//!
//! `agenda` finds the next event, `packet` has the packets and their queues, `due` is a queue with
//! a timer, `observe` notifies observers; `trace` gives frames their bytes and writes pcapng,
//! `timeline` is an observer that follows packets and tells what they waited for.
//!
//! `emulation` runs a network without flows on frames from outside, with the stacks and layers of
//! emulated stations, reports outcomes in advance once they are certain, and replays recordings;
//! `kernel::foreign` is its way into the simulation.
//!
//! **Invariant:** an element does not name the `Simulation`; `tidy` would find a circle of modules.
//!
//! **Invariant:** `no_std`: no clock, no socket, no thread, no hash map with random order; it knows
//! neither scenario files nor bounds.
//!
//! **Invariant:** one run is single-threaded, and simultaneous events are ordered by (time, kind,
//! name): the place of a node or flow in the file does not matter.
//!
//! # Life of a frame
//!
//! Follow one sample of `ct1` to the protection unit in `scenarios/substation.yaml`.
//!
//! Functions without a type belong to the `Simulation`, in the module of `kernel` named after the
//! place; what they ask is a method of the element.
//!
//! 1. **Release.** The flow's slot in the `Agenda` is the earliest. `release` asks the `FlowState`,
//!    which sets the slot to its next release, and puts a `Packet` into the `Pool`: a record of
//!    some hundred octets with release time, flow, destination and frame size, but no bytes.
//! 2. **Stack.** `send` hands it to the station's `StackState`. If the server is busy, the packet
//!    waits in its FIFO queue; otherwise `begin_service` sets the server's slot to the end of the
//!    service. `complete_service` then records the time since release as *talker stack*.
//! 3. **Driver queue.** `enqueue` at the station's port. If the link is free (`Port::offer`) the
//!    frame is sent at once, otherwise it waits in the `EgressQueues`; the wait is recorded as
//!    *driver queue*. A port with several queues sends it once nothing else can come at this time. Where only the order of arrival decides when it leaves, and no observer
//!    looks, it goes on the link at once with that time (decision 24). If there is no room, the
//!    packet is dropped and recorded as lost (`lose`).
//! 4. **Wire.** `transmit`: `Port::send` computes when the last bit (for a cut-through switch: the
//!    header) is at the other end, adds the latency of the switch there, and records *wire* and
//!    *switch latency*; `Port::launch` appends the packet to the frames in flight. The link's
//!    arrival slot always holds the first of them.
//! 5. **Switch.** `arrive` calls `forward`. `SwitchState::take_in` discards frames with errors,
//!    sets VLAN and priority and learns the source address, `SwitchState::way` finds the egress
//!    ports; copies are made for multicast or flooding, and `SwitchState::tag` adds or removes
//!    tags.
//! 6. **Egress queue.** `enqueue` again, now at the switch port: the priority selects the queue,
//!    transmission selection the frame when the link is free. The wait is recorded as *switch
//!    queue*. Back to 4 for the next hop.
//! 7. **Receiving stack.** `receive` passes the frame through the station's server: *receive queue*
//!    and *receive stack*.
//! 8. **Delivery.** `book_delivery`: now minus release is the latency, and its parts add up to it
//!    exactly. `StreamStats` counts it, bins it, and keeps the worst packet with the place that
//!    delayed it most.
//! 9. **Verdict and report.** `Record`s of all seeds are merged in the order of seeds;
//!    `verdict::assess` compares with the scenario's `accept` lines; `report` draws.
//!
//! ## In a node with priorities, at a hub, over a connection
//!
//! Three detours, all in `scenarios/hub.yaml` except for priority queues and tasks.
//!
//! - **Connection** (before 2, after 7). A message over TCP is not a packet. `Conversation` writes
//!   its octets into the talker's engine; the resulting segments go through steps 2 to 7 as
//!   packets, including acknowledgments. When the listener's engine has delivered the last octet,
//!   `book_whole` records the message, with the parts of the segment that completed it, and the
//!   rest as *protocol*, by where what it waited for was meanwhile (`chain`: each segment that
//!   arrives knows the one that made its sender send it).
//! - **Layer** (around 2, 3 and 7). The message waits for its task on the application's processor.
//!   On the way out `kernel::classify` finds kind, class and size, and `kernel::layer::driver`
//!   hands the packet to `rtether_proto::egress`: its smoother holds bulk packets until it has
//!   credits, transmit queues hold low-priority frames until the ring has room, and both waits are
//!   *driver queue*. The ring is the queue of the port. On the way in, receive queues choose the
//!   next frame for the stack, or its stack instance preempts others. When a frame has left, `port`
//!   reports it, and the detector tells the smoother of collisions.
//! - **Shared medium** (instead of 4). `offer_next` gives the frame at the head of the queue to the
//!   `Medium` of the collision domain, and no other before its outcome is known. The medium's slot
//!   in the agenda holds the time of its next report: `kernel::media` passes on a successful
//!   transmission through every hub to the interfaces that receive it; the medium itself retries
//!   one that collided; one that was given up is recorded as lost. The time from the head of the
//!   queue to the start of the successful transmission is *medium access*.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod access;
mod admission;
mod agenda;
mod bulk;
mod cause;
mod chain;
mod config;
mod conversation;
mod datagram;
mod due;
pub mod emulation;
mod error;
mod flow;
mod fragments;
mod kernel;
mod kind;
mod layer;
mod mechanism;
pub mod medium;
mod message;
pub mod observe;
mod packet;
pub mod passages;
mod port;
mod publication;
mod queues;
mod random;
pub mod release;
mod servers;
mod shared;
mod source;
mod station;
mod stats;
mod switch;
pub mod tcp;
pub mod thinking;
pub mod timeline;
pub mod topic;
pub mod trace;
mod twins;
mod visitor;

pub use config::Config;
pub use error::BuildError;
pub use kernel::Simulation;
pub use publication::Habit;
