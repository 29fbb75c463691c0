//! The core of penstock: the stream of a language model, turned into a sequence of blocks.
//!
//! ```text
//! reads ──sse──▶ frame ──wire──▶ delta ──tags──▶ delta ──machine──▶ event ──▶ blocks
//!                                                                  └──outlet──▶ reads of another format
//! ```
//!
//! Data flows one way. Every stage is fed, gives what is ready, and is finished: no I/O, no clock, no callbacks into user code.
#![forbid(unsafe_code)]

mod blocks;
mod delta;
mod digest;
mod error;
mod event;
mod failure;
mod intake;
mod limits;
mod machine;
mod mode;
mod outlet;
mod piece;
mod reader;
mod session;
mod sse;
pub mod tags;
mod translator;
mod usage;
pub mod wire;

pub use blocks::{Block, Blocks};
pub use delta::{BlockHead, CallDelta, CallSort, Delta, Field, Identity, Located, Origin};
pub use digest::FieldHash;
pub use error::{Error, ErrorKind, Malformed};
pub use event::{BlockKind, Event, Part, Quirk, Sink};
pub use failure::{Failure, FailureKind};
pub use limits::Limits;
pub use machine::{BlockMachine, Outcome};
pub use mode::{Grain, Mode};
pub use outlet::{Ask, CallView, DOUBTS, Gate, OnInterrupt, Outlet, OutletOptions, TextOrder, Verdict};
pub use piece::{ChunkText, Piece, Problem};
pub use reader::{BlockReader, ChunkPart, Item, Listener};
pub use session::Session;
pub use sse::{Frame, SseFramer};
pub use translator::Translator;
pub use usage::Usage;
pub use wire::{Protocol, Target};
