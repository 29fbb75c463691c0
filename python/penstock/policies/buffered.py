"""Nothing leaves before everything is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.composition import Policies

if TYPE_CHECKING:
    from penstock.policy import Policy

__all__ = ["Buffered"]


class Buffered(Policies):
    """The same policy, but for the whole answer at once: no byte of it leaves before the last verdict.

    If any call is denied, the client has not yet seen the text that led up to it. The price is that nothing streams.

    Args:
        policy: Who judges.

    Example:
        >>> from penstock import AllowAll
        >>> from penstock.policies import Buffered
        >>> Buffered(AllowAll()).is_buffered
        True
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__(policy)
        self.is_buffered = True
