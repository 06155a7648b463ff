"""What `specdec list` and `specdec remove` do once their options are values."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from specdec_cli.cli.environment import Environment
from specdec_cli.cli.fitting import which_fit
from specdec_cli.cli.quick_machine import quick_machine
from specdec_cli.errors import SpecdecError
from specdec_cli.registry.catalog import load_catalog
from specdec_cli.registry.folders import user_models_file
from specdec_cli.registry.resolve import Folders
from specdec_cli.registry.store import Inventory, StoredModel, take_inventory
from specdec_cli.ui.inventory_view import print_inventory
from specdec_cli.ui.sizes import size_text

SCHEMA = 1


def run_list(environment: Environment, *, all_models: bool, json: bool) -> int:
    """Print the table or the document; returns the exit code."""
    folders = Folders.default()
    inventory = take_inventory(load_catalog(), folders)
    fitting = which_fit(inventory, quick_machine(environment), folders)
    if json:
        document = _list_document(inventory, fitting)
        environment.stdout.write(json_module.dumps(document, ensure_ascii=False) + "\n")
    else:
        print_inventory(
            inventory, fitting, environment.stdout, all_models=all_models, user_file=user_models_file()
        )
    environment.stdout.flush()
    return 0


def run_remove(environment: Environment, names: Sequence[str], *, yes: bool, force: bool) -> int:
    """Say what goes and what stays, ask, delete; returns the exit code."""
    from specdec_cli.registry.removal import plan_removal, remove
    from specdec_cli.ui.console import Printer
    from specdec_cli.ui.models_view import print_removal

    printer = Printer(environment.stderr)
    plan = plan_removal(names, load_catalog(), force=force)
    print_removal(plan, printer)
    if not plan.going:
        return SpecdecError.exit_code
    if not yes:
        if not environment.stdin_is_terminal:
            raise SpecdecError(
                "nothing was removed: nobody is here to ask", hint="--yes removes without asking"
            )
        printer.console.print("Remove them? [y/N] ", end="", markup=False)
        if environment.stdin.readline().strip().lower() not in (b"y", b"yes"):
            printer.line("nothing was removed")
            return SpecdecError.exit_code
    remove(plan)
    printer.line(f"{size_text(plan.bytes_freed)} freed")
    return 0


def _list_document(inventory: Inventory, fitting: Mapping[str, bool | None]) -> dict[str, Any]:
    """What `list --json` prints. Sizes in bytes, times in UTC."""
    return {
        "schema": SCHEMA,
        "pairs": [
            {
                "name": stored.pair.name,
                "family": stored.pair.family,
                "state": stored.state,
                "fits": fitting[stored.pair.name],
                "bytes_here": stored.bytes_here,
                "bytes_missing": stored.bytes_missing,
                "last_used": _time(stored.target.last_used if stored.target else None),
                "target": {"name": stored.target_entry.label, "path": _path(stored.target)},
                "draft": {"name": stored.draft_entry.label, "path": _path(stored.draft)},
                "licence": stored.pair.licence,
                "gated": stored.pair.gated,
                "context": stored.pair.context,
                "verified": stored.pair.verified,
                "notes": stored.pair.notes,
            }
            for stored in inventory.pairs
        ],
        "models": [
            {
                "name": model.label,
                "place": model.place,
                "paths": [str(path) for path in model.paths],
                "bytes": model.bytes,
                "last_used": _time(model.last_used),
                "fetched_by_specdec": model.fetched_by_specdec,
                "pairs": list(model.pairs),
            }
            for model in inventory.models
        ],
    }


def _path(model: StoredModel | None) -> str | None:
    return None if model is None else str(model.path)


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
