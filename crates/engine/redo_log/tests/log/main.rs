//! The log over a simulated disk: crashes, damage, planted bugs; and over the real one.

mod crash;
mod damage;
mod inspect;
mod model;
mod real;
mod world;
