//! Which tool call a delta means: the table of index and id, row by row.

#![allow(clippy::unwrap_used, reason = "a test may end at the first surprise")]

use penstock_core::{BlockMachine, CallDelta, CallSort, Delta, Event, Limits, Part, Sink};

/// The arguments of each call, by its id, in the order in which the calls started.
#[derive(Default)]
struct Calls(Vec<(String, String)>);

impl Sink for Calls {
    fn event(&mut self, event: Event<'_>) {
        if let Event::BlockStarted { id, .. } = event {
            self.0.push((id.to_owned(), String::new()));
        }
        if let Event::BlockGrew { block, part: Part::Arguments, text } = event {
            self.0.get_mut(block).unwrap().1.push_str(text);
        }
    }
}

fn call<'a>(index: Option<u64>, id: &'a str, name: &'a str, arguments: &'a str) -> CallDelta<'a> {
    let given = |text: &'a str| (!text.is_empty()).then(|| text.into());
    CallDelta { index, id: given(id), name: given(name), arguments: arguments.into(), ..CallDelta::default() }
}

fn legacy<'a>(name: &'a str, arguments: &'a str) -> CallDelta<'a> {
    CallDelta { sort: CallSort::Legacy, ..call(None, "", name, arguments) }
}

/// The calls that a machine makes of deltas, as `id=arguments`.
fn calls(deltas: impl IntoIterator<Item = CallDelta<'static>>) -> Vec<String> {
    let (mut machine, mut calls) = (BlockMachine::new(Limits::default()), Calls::default());
    for delta in deltas {
        machine.step(0, Delta::Call(Box::new(delta)), &mut calls).unwrap();
    }
    calls.0.into_iter().map(|(id, arguments)| format!("{id}={arguments}")).collect()
}

#[test]
fn a_new_index_is_a_new_call_whatever_its_id() {
    assert_eq!(calls([call(Some(0), "a", "f", "1"), call(Some(1), "b", "f", "2")]), ["a=1", "b=2"]);
    assert_eq!(calls([call(Some(0), "a", "f", "1"), call(Some(1), "a", "f", "2")]), ["a=1", "a=2"]);
    assert_eq!(calls([call(Some(0), "", "f", "1"), call(Some(5), "", "f", "2")]), ["tc_0=1", "tc_5=2"]);
}

#[test]
fn a_known_index_without_an_id_is_the_newest_call_of_that_index() {
    let open = [call(Some(0), "a", "f", "1"), call(Some(1), "b", "f", "2")];
    assert_eq!(calls(open.into_iter().chain([call(Some(0), "", "", "3")])), ["a=13", "b=2"]);
    let taken_over = [call(Some(0), "a", "f", "1"), call(Some(0), "b", "f", "2"), call(Some(0), "", "", "3")];
    assert_eq!(calls(taken_over), ["a=1", "b=23"]);
}

#[test]
fn a_known_index_with_its_own_id_is_that_call() {
    assert_eq!(calls([call(Some(0), "a", "f", "1"), call(Some(0), "a", "", "2")]), ["a=12"]);
}

#[test]
fn an_id_that_comes_late_is_taken_and_the_made_one_stays() {
    let deltas = [call(Some(0), "", "f", "1"), call(Some(0), "a", "", "2"), call(Some(0), "a", "", "3")];
    assert_eq!(calls(deltas), ["tc_0=123"]);
    assert_eq!(
        calls([call(Some(0), "", "f", "1"), call(Some(0), "a", "", "2"), call(Some(0), "b", "f", "3")]),
        ["tc_0=12", "b=3"]
    );
}

#[test]
fn a_known_index_with_another_id_is_a_new_call() {
    assert_eq!(calls([call(Some(0), "a", "f", "1"), call(Some(0), "b", "f", "2")]), ["a=1", "b=2"]);
}

#[test]
fn without_an_index_the_id_decides() {
    let deltas = [call(None, "a", "f", "1"), call(None, "b", "f", "2"), call(None, "a", "", "3")];
    assert_eq!(calls(deltas), ["a=13", "b=2"]);
}

#[test]
fn without_index_and_id_it_is_the_newest_call_unless_a_name_begins_another() {
    assert_eq!(calls([call(None, "", "f", "{"), call(None, "", "", "}")]), ["tc_0={}"]);
    assert_eq!(calls([call(None, "", "f", "{"), call(None, "", "f", "}")]), ["tc_0={}"]);
    assert_eq!(calls([call(None, "", "f", "{}"), call(None, "", "f", "{}")]), ["tc_0={}", "tc_1={}"]);
}

#[test]
fn a_legacy_call_and_another_are_never_the_same() {
    assert_eq!(calls([legacy("f", "{"), legacy("", "}")]), ["tc_0={}"]);
    assert_eq!(calls([legacy("f", "{"), call(None, "", "", "}")]), ["tc_0={", "tc_1=}"]);
    assert_eq!(calls([call(None, "", "f", "{"), legacy("", "}")]), ["tc_0={", "tc_1=}"]);
}

#[test]
fn a_made_id_is_not_given_twice() {
    let deltas = [call(Some(1), "tc_0", "f", "1"), call(Some(0), "", "f", "2"), call(None, "", "g", "3")];
    assert_eq!(calls(deltas), ["tc_0=1", "tc_0_1=2", "tc_2=3"]);
}
