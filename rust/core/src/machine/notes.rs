//! What is known of the response, and what is kept as it came.

use std::borrow::Cow;

use super::BlockMachine;
use super::choice::Noted;
use crate::delta::Identity;
use crate::event::{Event, Quirk, Sink};
use crate::wire::output::string_of;

impl BlockMachine {
    pub(super) fn identify(&mut self, name: &'static str, value: &Identity<'_>, sink: &mut impl Sink) {
        if name == "role" {
            self.check_role(value, sink);
        }
        if self.identified.contains(&name) {
            return;
        }
        let json = match value {
            Identity::Text(text) => Cow::Owned(string_of(text)),
            Identity::Json(json) => Cow::Borrowed(json.as_ref()),
        };
        self.identified.push(name);
        sink.event(Event::ResponseNoted { name, json: &json });
    }

    /// An answer has one role: what is said in another is not the model's.
    fn check_role(&mut self, value: &Identity<'_>, sink: &mut impl Sink) {
        let (Identity::Text(role) | Identity::Json(role)) = value;
        match &self.role {
            Some(known) if known == role => {}
            Some(_) => sink.event(Event::QuirkSeen(Quirk::RoleChanged)),
            None => self.role = Some(role.clone().into_owned()),
        }
    }

    pub(super) fn note_response(&mut self, name: &str, json: &str, sink: &mut impl Sink) {
        if remember(&mut self.noted, name, json) {
            sink.event(Event::ResponseNoted { name, json });
        }
    }

    pub(super) fn note(&mut self, at: usize, name: &str, json: &str, repeats: bool, sink: &mut impl Sink) {
        let Some(choice) = self.choices.get_mut(at) else { return };
        let Some(block) = choice.newest else {
            return self.note_response(name, json, sink);
        };
        if repeats && !remember(&mut choice.noted, name, json) {
            return;
        }
        sink.event(Event::BlockNoted { block, name, json });
    }
}

/// Remembers a value under a name; false if it is the one remembered already.
fn remember(noted: &mut Noted, name: &str, json: &str) -> bool {
    match noted.get_mut(name) {
        Some(value) if value == json => return false,
        Some(value) => json.clone_into(value),
        None => drop(noted.insert(name.to_owned(), json.to_owned())),
    }
    true
}
