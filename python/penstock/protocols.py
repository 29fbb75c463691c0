"""The wire formats, spelt the same everywhere."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["Protocol", "Source", "Target"]

# `text` is no wire format: the stream is the text alone, and its end is the finish.
Protocol: TypeAlias = Literal["openai_chat", "anthropic_messages", "openai_responses", "text"]
# What can be written.
Target: TypeAlias = Literal["openai_chat", "anthropic_messages", "openai_responses"]
Source: TypeAlias = Literal["auto", "openai_chat", "anthropic_messages", "openai_responses", "text"]
