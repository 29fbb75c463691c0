//! What reading one chunk may cost in memory. A list of `{},{},…` has three bytes for each element, and what is made of one has hundreds.
//!
//! Rules. (1) Each object, each value that is kept raw and each field without a name in its schema is paid for before it is made. (2) A chunk that runs out
//! of room cannot be read, like one of another shape. (3) Short chunks have room for whatever they hold: they cannot hold much.

use std::cell::Cell;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Chunks up to this length are not counted. Nearly all are far shorter.
const SHORT: usize = 4 << 10;
/// What any chunk may cost: enough for an answer of 1,024 items that came whole.
const FREE: usize = 2 << 20;
/// What each of its bytes may cost beyond that. Text costs one, and a list of log probabilities three.
const EACH_BYTE: usize = 3;
/// What is made of a value that is kept raw: a place in a list, a delta, and a place among the notes of a block.
pub(crate) const RAW: usize = 128;
/// What an element of a list costs, and a member of an object with its name, where a value is read whole.
const ELEMENT: usize = 40;
const MEMBER: usize = 192;

thread_local! {
    /// The room that is left to the chunk that this thread reads. Readers made by derive have no other way to know.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Reads a chunk of that length in the room that it has.
pub(crate) fn within<T>(length: usize, read: impl FnOnce() -> T) -> T {
    if length <= SHORT {
        return read();
    }
    LEFT.set(FREE + EACH_BYTE * length);
    let done = read();
    LEFT.set(usize::MAX);
    done
}

/// Pays for something that is about to be made.
pub(crate) fn pay<E: de::Error>(bytes: usize) -> Result<(), E> {
    let Some(left) = LEFT.get().checked_sub(bytes) else {
        return Err(E::custom("a chunk has more parts than there is room for"));
    };
    LEFT.set(left);
    Ok(())
}

/// What an object costs: itself, in a list that grows, and what is made of it.
pub(crate) const fn of<T>() -> usize {
    2 * size_of::<T>() + RAW
}

/// Reads a value by itself, in the room that its own length gives; null if it has not enough, or is no JSON.
pub(crate) fn value(json: &str) -> Value {
    within(json.len(), || part(json))
}

/// Reads a value that is a part of a chunk, in the room of that.
pub(crate) fn part(json: &str) -> Value {
    serde_json::from_str::<Paid>(json).map_or(Value::Null, |paid| paid.0)
}

/// A value whose parts are paid for one by one.
pub(crate) struct Paid(pub(crate) Value);

impl<'de> Deserialize<'de> for Paid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PaidVisitor)
    }
}

struct PaidVisitor;

impl<'de> Visitor<'de> for PaidVisitor {
    type Value = Paid;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Paid, E> {
        Ok(Paid(Value::Null))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Paid, E> {
        Ok(Paid(Value::Bool(value)))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Paid, E> {
        Ok(Paid(Value::from(value)))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Paid, E> {
        Ok(Paid(Value::from(value)))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Paid, E> {
        Ok(Paid(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Paid, E> {
        Ok(Paid(Value::from(text)))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut elements: S) -> Result<Paid, S::Error> {
        let mut list = Vec::new();
        while let Some(Paid(element)) = elements.next_element()? {
            pay(ELEMENT)?;
            list.push(element);
        }
        Ok(Paid(Value::Array(list)))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<Paid, M::Error> {
        let mut object = Map::new();
        while let Some((name, Paid(member))) = members.next_entry::<String, Paid>()? {
            pay(MEMBER)?;
            object.insert(name, member);
        }
        Ok(Paid(Value::Object(object)))
    }
}
