"""Whether the catalog's pairs fit this machine: for `list`, which must not wait.

What a pair needs on each device does not change from run to run (reading a large header takes most of a second,
planning some milliseconds), so it is kept; what is free does, so it is compared anew.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from specdec_cli import __version__
from specdec_cli.cli.shapes import Shapes
from specdec_cli.hardware.values import Machine
from specdec_cli.registry.atomic import read_json, write_json
from specdec_cli.registry.resolve import Folders
from specdec_cli.registry.store import Inventory, StoredPair

Needs = list[int] | None
"""Bytes on each device, in the machine's order; None where it is not known."""


def which_fit(inventory: Inventory, machine: Machine, folders: Folders) -> Mapping[str, bool | None]:
    """Pair name → whether target and draft fit at the default context; None when unknown."""
    shapes = Shapes(inventory, folders)
    path = folders.cache / "needs.json"
    devices = [(device.name, device.kind, device.total) for device in machine.devices]
    schema = f"{__version__} {devices}"
    kept: Any = read_json(path)
    known: dict[str, Needs] = kept["needs"] if isinstance(kept, dict) and kept.get("schema") == schema else {}
    fresh: dict[str, Needs] = {}
    fitting: dict[str, bool | None] = {}
    for stored in inventory.pairs:
        keys = shapes.key(stored.target_entry), shapes.key(stored.draft_entry)
        if None in keys:
            fitting[stored.pair.name] = None
            continue
        key = " + ".join(str(part) for part in keys)
        fresh[key] = known[key] if key in known else _needs(stored, machine, shapes)
        fitting[stored.pair.name] = _fits(fresh[key], machine)
    if fresh != known:
        with contextlib.suppress(OSError):
            write_json(path, {"schema": schema, "needs": fresh})
    return fitting


def _needs(stored: StoredPair, machine: Machine, shapes: Shapes) -> Needs:
    from specdec_cli.memory.placement import place
    from specdec_cli.recommend import wishes_for

    wishes = wishes_for(shapes.of(stored.target_entry), shapes.of(stored.draft_entry))
    if wishes is None or any(wish.shape.unknown for wish in wishes):
        return None
    placements = [place(wish, machine) for wish in wishes]
    return [sum(placed.parts[i].total for placed in placements) for i in range(len(machine.devices))]


def _fits(needs: Needs, machine: Machine) -> bool | None:
    if needs is None or len(needs) != len(machine.devices):
        return None
    return all(needed <= device.usable for needed, device in zip(needs, machine.devices, strict=True))
