//! Reservo, a house that lets meeting rooms by the hour.
//!
//! It knows rooms, plans, prices, opening hours, bookings, refunds and the six policy documents, and it can read a
//! request written by a person. All money is whole euro cents, all times are civil times without a zone.
//!
//! In five places the house meets the agents: [`tools`] are its functions as tools, [`specialists`] are the three who
//! use them, [`OfflineRules`] decides for them where there is no network, [`case`] has the decisions of the running case,
//! and [`grounding`] holds the numbers of an answer against their conversations. Nothing else here knows what a model is.
//!
//! It does not know what time it is (`now` is given to it), where bookings are kept ([`Bookings`] is a trait), or who
//! asks. It has no clock, no randomness and no environment, and only [`OfflineRules`] phrases an answer.
//!
//! ```text
//!  text ──read──▶ Reading (questions with their slots) ──entry──▶ which desk
//!                    │
//!        ┌───────────┼───────────────┐
//!     Reservo::quote Reservo::book   Reservo::search_docs ──▶ document text ──facts──▶ numbers
//!        │           Reservo::cancel
//!     PriceList      Bookings + PolicyLibrary
//! ```
//!
//! ```
//! use reservo::{Hours, Plan, Room, demo};
//!
//! let house = demo();
//! let quote = house.quote(Room::Focus, Plan::Pro, Hours::new(3)?);
//! assert_eq!(quote.total_cents.to_string(), "6000 cents");
//! # Ok::<(), reservo::ReservoError>(())
//! ```

pub mod booking;
pub mod case;
pub mod civil;
mod demo;
mod entry;
mod error;
mod facets;
pub mod facts;
pub mod grounding;
mod hours;
mod house;
mod money;
mod nearest;
mod offline;
mod plan;
pub mod policy;
pub mod price;
pub mod reader;
mod room;
pub mod search;
pub mod specialists;
pub mod tools;
mod words;

pub use booking::{Booking, BookingId, Bookings, MemoryBookings};
pub use demo::{DEMO_NOW, demo};
pub use entry::{Entry, entry};
pub use error::{Fault, ReservoError};
pub use facets::{Facet, Facets, facets};
pub use hours::Hours;
pub use house::Reservo;
pub use money::Cents;
pub use offline::OfflineRules;
pub use plan::Plan;
pub use policy::PolicyLibrary;
pub use price::PriceList;
pub use reader::read;
pub use room::Room;
pub use specialists::{SPECIALISTS, Specialist, SpecialistError, run_specialist};
