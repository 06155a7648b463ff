"""specdec: speculative decoding that works on consumer hardware."""

__version__ = "0.1.0"
