"""The wire formats, spelt the same everywhere."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["Protocol", "Source"]

Protocol: TypeAlias = Literal["openai_chat", "anthropic_messages", "openai_responses"]
Source: TypeAlias = Literal["auto", "openai_chat", "anthropic_messages", "openai_responses"]
