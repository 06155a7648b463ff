"""Data-sheet rates of common GPUs, by the name their driver gives them.

A GPU's memory cannot be timed without its own tool chain, so its rates are looked up. A chip that is not here
has no rates, and then no speed is predicted for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class ChipRates:
    """Peak rates: bytes per second, and operations per second in the arithmetic llama.cpp multiplies with."""

    bandwidth: float
    compute: float


# Name as in the driver's description: GB/s, TFLOPS. Variants that differ in memory come before their shorter
# names. Operations: 8-bit dot products on NVIDIA and AMD, four times single precision; half precision on Apple
# and Intel.
_CHIPS: tuple[tuple[str, float, float], ...] = (
    ("Apple M1 Ultra", 800, 21),
    ("Apple M1 Max", 400, 10.4),
    ("Apple M1 Pro", 200, 5.2),
    ("Apple M1", 68, 2.6),
    ("Apple M2 Ultra", 800, 27),
    ("Apple M2 Max", 400, 13.6),
    ("Apple M2 Pro", 200, 6.8),
    ("Apple M2", 100, 3.6),
    ("Apple M3 Ultra", 819, 28),
    ("Apple M3 Max", 400, 14.2),
    ("Apple M3 Pro", 150, 6.4),
    ("Apple M3", 100, 3.6),
    ("Apple M4 Max", 546, 18),
    ("Apple M4 Pro", 273, 9.2),
    ("Apple M4", 120, 4.3),
    ("RTX 5090", 1792, 419),
    ("RTX 5080", 960, 225),
    ("RTX 5070 Ti", 896, 176),
    ("RTX 5070", 672, 123),
    ("RTX 5060 Ti", 448, 95),
    ("RTX 5060", 448, 77),
    ("RTX 4090", 1008, 330),
    ("RTX 4080 SUPER", 736, 209),
    ("RTX 4080", 717, 195),
    ("RTX 4070 Ti SUPER", 672, 176),
    ("RTX 4070 Ti", 504, 160),
    ("RTX 4070 SUPER", 504, 142),
    ("RTX 4070", 504, 117),
    ("RTX 4060 Ti", 288, 88),
    ("RTX 4060", 272, 60),
    ("RTX 3090 Ti", 1008, 160),
    ("RTX 3090", 936, 142),
    ("RTX 3080 Ti", 912, 136),
    ("RTX 3080", 760, 119),
    ("RTX 3070 Ti", 608, 87),
    ("RTX 3070", 448, 81),
    ("RTX 3060 Ti", 448, 65),
    ("RTX 3060", 360, 51),
    ("RTX 2080 Ti", 616, 54),
    ("RTX 2080", 448, 40),
    ("RTX 2070", 448, 30),
    ("RTX 2060", 336, 26),
    ("GTX 1080 Ti", 484, 45),
    ("GTX 1070", 256, 26),
    ("GTX 1060", 192, 17.6),
    ("RTX A6000", 768, 155),
    ("RTX A4000", 448, 77),
    ("Tesla P40", 346, 47),
    ("Tesla T4", 320, 32),
    ("NVIDIA L4", 300, 121),
    ("A100", 1555, 78),
    ("H100", 3350, 268),
    ("RX 9070 XT", 640, 195),
    ("RX 7900 XTX", 960, 245),
    ("RX 7900 XT", 800, 206),
    ("RX 7800 XT", 624, 149),
    ("RX 7600", 288, 87),
    ("RX 6900 XT", 512, 92),
    ("RX 6800 XT", 512, 83),
    ("RX 6700 XT", 384, 53),
    ("Arc A770", 560, 39),
    ("Arc B580", 456, 29),
)


def chip_rates(description: str) -> ChipRates | None:
    """Rates of the chip a driver describes so; None when it is not known. Laptop variants are not known."""
    if re.search(r"\b(laptop|mobile|max-q)\b", description, re.IGNORECASE):
        return None
    for name, gigabytes, teraflops in _CHIPS:
        if re.search(rf"\b{re.escape(name)}\b", description, re.IGNORECASE):
            return ChipRates(gigabytes * 1e9, teraflops * 1e12)
    return None
