"""A speech app: what the model says is spoken sentence by sentence, while it is still being written.

Only visible text is spoken: no thinking, no tool calls, no tags. A sentence is spoken as soon as it is whole, and the rest of a block
when the block is, so that the voice does not wait for the end of the answer. The model here writes its thinking and its calls as tags
into its text; with native events, only `source` and `tags` would differ. Run it: `python examples/speech.py`.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from penstock import BlockReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from penstock import BlockEvent, ChunkMeta, MembraneBlock

SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class Voice:
    """Speaks whole sentences; prints them in place of a speech server."""

    def __init__(self) -> None:
        self._unspoken = ""
        self.calls: list[MembraneBlock] = []

    async def on_chunk(self, text: str, meta: ChunkMeta) -> None:
        """Takes visible text, and speaks the sentences that it completes."""
        if not meta.visible:
            return
        *sentences, self._unspoken = SENTENCE_END.split(self._unspoken + text)
        for sentence in sentences:
            await self._speak(sentence)

    async def on_block(self, event: BlockEvent) -> None:
        """Speaks what is left of a block, and says what else the model does."""
        if event.event == "block_complete" and event.block.type == "text":
            await self._speak(self._unspoken)
            self._unspoken = ""
        elif event.event == "block_complete" and event.block.type == "tool_call":
            print(f"  (calls {event.block.tool_name} with {event.block.input})")
            self.calls.append(event.block)

    async def _speak(self, sentence: str) -> None:
        if sentence.strip():
            print("spoken:", sentence.strip())
            await asyncio.sleep(0)


ANSWER = """<thinking>They want the tide. I should look it up.</thinking>Let me see. I will look it up.
<function_calls>
<invoke name="tide">
<parameter name="place">Brest</parameter>
</invoke>
</function_calls>"""


async def tokens(text: str) -> AsyncIterator[str]:
    """The answer as a model sends it, a few characters at a time."""
    for start in range(0, len(text), 5):
        yield text[start : start + 5]


async def main() -> None:
    """Reads an answer, runs the tool that it calls, and reads the next."""
    voice = Voice()
    reader = BlockReader(voice.on_chunk, voice.on_block, source="text", tags="claude-xml")
    await reader.read(tokens(ANSWER))
    for call in voice.calls:
        await reader.tool_result_async(call.tool_id or "", "high tide at 18:04", tool_name=call.tool_name)
    await reader.read(tokens("High tide is at four past six. Mind the stairs! They are <b>wet</b>"))


asyncio.run(main())
