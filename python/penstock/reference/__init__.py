"""The engine in plain Python: what the tests hold the Rust core to, and what the benchmarks compare it with.

Importing `penstock` does not import this package, and nothing falls back to it.
"""

from penstock.reference.reader import BlockReader
from penstock.reference.session import StreamProcessor
from penstock.reference.sse import SseFramer
from penstock.reference.translate import Translator

__all__ = ["BlockReader", "SseFramer", "StreamProcessor", "Translator"]
