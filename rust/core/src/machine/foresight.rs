//! What a delta would do, for whoever must know before it is taken.

use super::BlockMachine;
use super::choice::Target;
use crate::delta::Delta;
use crate::event::{BlockKind, Part};

impl BlockMachine {
    /// Whether a delta would complete a block. Changes nothing.
    pub fn would_complete(&self, choice: u32, delta: &Delta<'_>) -> bool {
        if let Delta::Close { slot } = delta {
            return self.slots.get(*slot).is_some_and(|slot| slot.is_open);
        }
        let Some(choice) = self.choices.iter().find(|known| known.number == choice) else { return false };
        let Some(current) = choice.current else { return false };
        let other_than = |kind: BlockKind| self.blocks.get(current) != Some(&kind);
        match delta {
            Delta::Text(text) => !text.is_empty() && other_than(BlockKind::Text),
            Delta::Thinking(text) => !text.is_empty() && (other_than(BlockKind::Thinking) || choice.is_signed(current)),
            Delta::Refusal(text) => !text.is_empty() && other_than(BlockKind::Refusal),
            Delta::Raw { kind, whole, .. } => *whole || !choice.grows(kind),
            Delta::Signature(_) => self.starts_thinking(choice, Part::Signature),
            Delta::ThinkingData(_) => self.starts_thinking(choice, Part::Data),
            Delta::Call(call) => match choice.target(call) {
                Target::Known(at) => choice.calls.get(at).is_some_and(|call| call.block != current),
                Target::New => true,
            },
            Delta::Stop { .. } | Delta::Open { .. } => true,
            // The end completes every open block, in any choice: the session hands out one chunk for each.
            Delta::End
            | Delta::Close { .. }
            | Delta::Announced
            | Delta::Repeated
            | Delta::Identity { .. }
            | Delta::ResponseNote { .. }
            | Delta::Note { .. }
            | Delta::Grow { .. }
            | Delta::NoteOn { .. }
            | Delta::Quirk(_)
            | Delta::Refused(_)
            | Delta::Usage { .. }
            | Delta::Error(_) => false,
        }
    }
}
