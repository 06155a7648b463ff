"""The emulated Hub for every test of this room."""

from tests.support.hub import hub

__all__ = ["hub"]
