"""The machine a command plans for: this one, probed, or one described in a file."""

from __future__ import annotations

from specdec_cli.cli.environment import Environment
from specdec_cli.hardware.machine_file import load_machine
from specdec_cli.hardware.probe import Probe, probe_machine
from specdec_cli.registry.folders import cache_dir


def chosen_machine(environment: Environment, reference: str | None) -> Probe:
    """The machine of `--machine` (a TOML file or an example's name), else this one.

    Asks the native library for its devices; where it cannot be loaded, goes on without and says so.
    """
    if reference is not None:
        return Probe(load_machine(reference))
    return probe_machine(
        lambda: environment.open_backend().devices(), bandwidth_cache=cache_dir() / "bandwidth.json"
    )
