//! The response as a whole: its envelope, its end, and a body that was not streamed.

use std::borrow::Cow;

use super::calls::{Came, WholeItem};
use super::items::{Items, Out};
use super::schema::{Incomplete, Response, text_of};
use super::usage;
use crate::delta::{Delta, Field, Identity, Origin};
use crate::event::Quirk;
use crate::wire::json::Raw;

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Completed,
    Incomplete,
    Failed,
    /// It has not ended.
    None,
}

impl Ending {
    fn of_status(status: &str) -> Self {
        match status {
            // Some leave it out.
            "completed" | "" => Self::Completed,
            "incomplete" => Self::Incomplete,
            "failed" => Self::Failed,
            _ => Self::None,
        }
    }
}

/// Which response it is, and what is said of it besides its items.
pub(crate) fn envelope<'a>(response: &mut Response<'a>, out: &mut Out<'_, 'a>) {
    out.push(Delta::Announced);
    for (name, value) in [("id", response.id.take()), ("model", response.model.take())] {
        if let Some(text) = value {
            out.push(Delta::Identity { name, value: Identity::Text(text.0) });
        }
    }
    if let Some(Raw(json)) = response.created_at.take() {
        out.push(Delta::Identity { name: "created", value: Identity::Json(Cow::Borrowed(json)) });
    }
    let details = response.incomplete_details.map(|Raw(json)| ("incomplete_details".into(), json.into()));
    for (name, json) in std::mem::take(&mut response.extras).into_iter().chain(details) {
        out.push(Delta::ResponseNote { name, json });
    }
}

/// The last event of a stream.
pub(crate) fn end<'a>(
    items: &mut Items,
    mut response: Response<'a>,
    ending: Ending,
    out: &mut Out<'_, 'a>,
) -> Result<(), serde_json::Error> {
    let output = read_output(&mut response)?;
    envelope(&mut response, out);
    for (position, item) in (0..).zip(output) {
        if !items.agrees(position, item) {
            out.quirk(Quirk::Contradiction);
        }
    }
    finish(items, &response, ending, out);
    Ok(())
}

/// A whole body.
pub(crate) fn body<'a>(
    items: &mut Items,
    mut response: Response<'a>,
    out: &mut Out<'_, 'a>,
) -> Result<(), serde_json::Error> {
    let output = read_output(&mut response)?;
    let ending = Ending::of_status(text_of(response.status.as_ref()));
    envelope(&mut response, out);
    for (index, item) in (0..).zip(output) {
        out.stand_at(Origin::new(0, Field::ResponseOutput, index as usize));
        items.done(index, item, Came::InBody, out);
    }
    out.stand_at(Origin::of_event());
    finish(items, &response, ending, out);
    Ok(())
}

fn read_output<'a>(response: &mut Response<'a>) -> Result<Vec<WholeItem<'a>>, serde_json::Error> {
    response.output.take().unwrap_or_default().into_iter().map(WholeItem::read).collect()
}

fn finish<'a>(items: &mut Items, response: &Response<'a>, ending: Ending, out: &mut Out<'_, 'a>) {
    if let Some(Raw(json)) = response.usage.filter(|usage| usage.0.starts_with('{')) {
        out.push(Delta::Usage { counts: Box::new(usage::counts(json)), json: Cow::Borrowed(json) });
    }
    let error = response.error.map(|Raw(json)| Cow::Borrowed(json));
    match (ending, error) {
        (Ending::Failed, error) => return fail(error.unwrap_or(Cow::Borrowed("{}")), out),
        (Ending::None, error) => {
            let status = serde_json::Value::from(text_of(response.status.as_ref())).to_string();
            out.push(Delta::ResponseNote { name: "status".into(), json: status.into() });
            return error.into_iter().for_each(|json| out.push(Delta::Error(json)));
        }
        (Ending::Completed | Ending::Incomplete, Some(json)) => {
            out.push(Delta::ResponseNote { name: "error".into(), json });
        }
        (Ending::Completed | Ending::Incomplete, None) => {}
    }
    items.close_all(out);
    let (reason, native) = match ending {
        Ending::Incomplete => incomplete_reason(response.incomplete_details),
        Ending::Completed if items.pending.is_empty() => ("stop".into(), "completed".into()),
        Ending::Completed | Ending::Failed | Ending::None => ("tool_calls".into(), "completed".into()),
    };
    out.push(Delta::Stop { reason, native });
    out.push(Delta::End);
}

/// An error ends the response: what is open is not whole.
pub(crate) fn fail<'a>(error: Cow<'a, str>, out: &mut Out<'_, 'a>) {
    out.push(Delta::Error(error));
    out.push(Delta::End);
}

/// The reason in the one vocabulary, and the wire's own word.
fn incomplete_reason(details: Option<Raw<'_>>) -> (Cow<'_, str>, Cow<'_, str>) {
    let details = details.and_then(|Raw(json)| serde_json::from_str::<Incomplete<'_>>(json).ok());
    let native = details.and_then(|details| details.reason).map_or(Cow::Borrowed("incomplete"), |reason| reason.0);
    let reason = if native == "max_output_tokens" { Cow::Borrowed("length") } else { native.clone() };
    (reason, native)
}
