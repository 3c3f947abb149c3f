//! Simulator.
#![no_std]
