//! The words of the wire for events, items and parts, and what each means here.

use crate::event::BlockKind;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The response begins, waits or runs.
    Start,
    /// The response is whole.
    Completed,
    /// The response was cut short.
    Incomplete,
    /// The response failed.
    Failed,
    /// The stream failed.
    Error,
    /// An output item begins.
    ItemAdded,
    /// An output item is whole.
    ItemDone,
    /// A part of an item begins.
    PartAdded(Family),
    /// A part of an item is whole.
    PartDone(Family),
    /// A text, or the arguments of a call, grow.
    Delta(Family, BlockKind),
    /// A text, or the arguments of a call, are whole.
    Done(Family, BlockKind),
    /// A text gets an annotation.
    Annotation,
    /// A picture before it is whole.
    PartialImage,
    /// Sound or its transcript, under the name that it gets.
    Audio(&'static str),
    /// A command, or a patch, is whole before its item is.
    OperationDone,
    /// What the item says when it is whole.
    Progress,
    /// Anything else.
    Unknown,
}

/// Where in an item something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// The item itself.
    Item,
    /// An element of `content`.
    Content,
    /// An element of `summary`.
    Summary,
    /// Encrypted reasoning.
    Sealed,
}

/// What an output item becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A block for each part.
    Message,
    /// A block for each part, and one for what is encrypted.
    Reasoning,
    /// One call.
    Call(BlockKind),
    /// One result.
    Result,
    /// One block that is kept raw.
    Other,
}

/// What an event of that type is about.
pub(crate) fn event_kind(name: &str) -> EventKind {
    use BlockKind::{CustomCall, FunctionCall, Refusal, ServerCall, Text, Thinking};
    use EventKind::{Audio, Delta, Done, PartAdded, PartDone};
    use Family::{Content, Summary};
    let Some(name) = name.strip_prefix("response.") else {
        return if name == "error" { EventKind::Error } else { EventKind::Unknown };
    };
    match name {
        "output_text.delta" => Delta(Content, Text),
        "output_text.done" => Done(Content, Text),
        "refusal.delta" => Delta(Content, Refusal),
        "refusal.done" => Done(Content, Refusal),
        "reasoning_text.delta" => Delta(Content, Thinking),
        "reasoning_text.done" => Done(Content, Thinking),
        "reasoning_summary_text.delta" => Delta(Summary, Thinking),
        "reasoning_summary_text.done" => Done(Summary, Thinking),
        "function_call_arguments.delta" => Delta(Family::Item, FunctionCall),
        "function_call_arguments.done" => Done(Family::Item, FunctionCall),
        "custom_tool_call_input.delta" => Delta(Family::Item, CustomCall),
        "custom_tool_call_input.done" => Done(Family::Item, CustomCall),
        "mcp_call_arguments.delta" | "code_interpreter_call_code.delta" => Delta(Family::Item, ServerCall),
        "mcp_call_arguments.done" | "code_interpreter_call_code.done" => Done(Family::Item, ServerCall),
        "content_part.added" => PartAdded(Content),
        "content_part.done" => PartDone(Content),
        "reasoning_summary_part.added" => PartAdded(Summary),
        "reasoning_summary_part.done" => PartDone(Summary),
        "output_item.added" => EventKind::ItemAdded,
        "output_item.done" => EventKind::ItemDone,
        "created" | "queued" | "in_progress" => EventKind::Start,
        "completed" => EventKind::Completed,
        "incomplete" => EventKind::Incomplete,
        "failed" => EventKind::Failed,
        // The second spelling is that of an older version of the API.
        "output_text.annotation.added" | "output_text_annotation.added" => EventKind::Annotation,
        "image_generation_call.partial_image" => EventKind::PartialImage,
        "audio.delta" => Audio("data"),
        "audio.transcript.delta" => Audio("transcript"),
        "shell_call_command.done" | "apply_patch_call_operation_diff.done" => EventKind::OperationDone,
        _ => progress(name),
    }
}

fn progress(name: &str) -> EventKind {
    let (of, step) = name.split_once('.').unwrap_or_default();
    let is_progress = match of {
        "audio" => matches!(step, "done" | "transcript.done"),
        "shell_call_command" => matches!(step, "added" | "delta"),
        "shell_call_output_content" => matches!(step, "delta" | "done"),
        "apply_patch_call_operation_diff" => step == "delta",
        "image_generation_call" => matches!(step, "in_progress" | "generating" | "completed"),
        "code_interpreter_call" => matches!(step, "in_progress" | "interpreting" | "completed"),
        "web_search_call" | "file_search_call" => matches!(step, "in_progress" | "searching" | "completed"),
        "mcp_call" | "mcp_list_tools" => matches!(step, "in_progress" | "completed" | "failed"),
        _ => false,
    };
    if is_progress { EventKind::Progress } else { EventKind::Unknown }
}

/// What an item of that type becomes.
pub(crate) fn shape(kind: &str) -> Shape {
    match kind {
        "message" => Shape::Message,
        "reasoning" => Shape::Reasoning,
        "function_call" => Shape::Call(BlockKind::FunctionCall),
        "custom_tool_call" => Shape::Call(BlockKind::CustomCall),
        "mcp_call" | "web_search_call" | "file_search_call" | "code_interpreter_call" | "image_generation_call" => {
            Shape::Call(BlockKind::ServerCall)
        }
        "computer_call" | "local_shell_call" | "shell_call" | "apply_patch_call" => Shape::Call(BlockKind::BuiltinCall),
        _ if kind.ends_with("_output") => Shape::Result,
        _ => Shape::Other,
    }
}

/// What a part of that type becomes.
pub(crate) fn part_kind(kind: &str) -> BlockKind {
    match kind {
        "output_text" | "text" => BlockKind::Text,
        "refusal" => BlockKind::Refusal,
        "reasoning_text" | "summary_text" => BlockKind::Thinking,
        _ => BlockKind::Unknown,
    }
}
