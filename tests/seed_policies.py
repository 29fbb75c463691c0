"""The three policies that the processor's design was written with, in the words in which users have them."""

# fmt: off
from __future__ import annotations

from penstock import ContentStreamBlock, ToolCallStreamBlock

JUDGED = []
FORBIDDEN = set()


def should_block(call, arguments=None):
    """The judge: takes a block, or a name and arguments."""
    name, arguments = (call.name, call.arguments) if arguments is None else (call, arguments)
    JUDGED.append((name, arguments))
    return name in FORBIDDEN


def create_error():
    """What the client gets instead of a call."""
    return {"error": "blocked"}


create_error_response = create_error


async def basic(chunk, state, context):
    # React to block completions
    if state.just_completed:
        if isinstance(state.just_completed, ToolCallStreamBlock):
            # A tool call just finished streaming
            tool_call = state.just_completed

            # Judge it
            if should_block(tool_call.name, tool_call.arguments):
                await context.send(create_error_response())
                context.terminate()
                return

        elif isinstance(state.just_completed, ContentStreamBlock):
            # Content block finished (rare to care about this)
            pass

    # Access current streaming block
    if state.current_block:
        # Do something with in-progress block
        pass

    # Forward chunk
    await context.send(chunk)


class BufferedJudgePolicy:
    def __init__(self):
        self.buffered_chunks = []

    async def on_chunk(self, chunk, state, context):
        # Buffer everything until we can judge
        self.buffered_chunks.append(chunk)

        if state.just_completed:
            if isinstance(state.just_completed, ToolCallStreamBlock):
                # Judge the completed tool call
                if should_block(state.just_completed):
                    await context.send(create_error())
                    context.terminate()
                    return

                # Approved - flush buffer
                for buffered in self.buffered_chunks:
                    await context.send(buffered)
                self.buffered_chunks.clear()

        # Continue buffering...


async def per_tool_call(chunk, state, context):
    # Track which tool calls we've judged
    if not hasattr(context, '_judged_tool_calls'):
        context._judged_tool_calls = set()
        context._tool_buffers = {}

    if state.current_block:
        block_id = state.current_block.id

        if isinstance(state.current_block, ToolCallStreamBlock):
            # Buffer this tool call's chunks
            if block_id not in context._tool_buffers:
                context._tool_buffers[block_id] = []
            context._tool_buffers[block_id].append(chunk)

            # Check if it just completed
            if state.just_completed and state.just_completed.id == block_id:
                # Judge it
                if should_block(state.just_completed):
                    await context.send(create_error())
                    context.terminate()
                    return

                # Approved - flush this tool call's buffer
                for buffered in context._tool_buffers[block_id]:
                    await context.send(buffered)
                del context._tool_buffers[block_id]
                context._judged_tool_calls.add(block_id)
        else:
            # Content block - forward immediately
            await context.send(chunk)
