"""A `pull` in a process of its own, to be killed: `python pull_process.py REF [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path

from specdec_cli.errors import SpecdecError
from specdec_cli.registry.download import DownloadEvent, download, plan_download
from specdec_cli.registry.folders import hub_cache_dir
from specdec_cli.registry.hub import HubClient
from specdec_cli.registry.sources import HubSource, parse_source


def main(reference: str, folder: Path | None) -> int:
    source = parse_source(reference)
    assert isinstance(source, HubSource)
    client = HubClient()

    def report(event: DownloadEvent) -> None:
        print(event.note or f"{event.bytes_here}", flush=True)

    try:
        plan = plan_download([client.locate(source)], hub_cache_dir(), folder)
        download(plan, client, report)
    except SpecdecError as error:
        print(f"error: {error.message}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None))
