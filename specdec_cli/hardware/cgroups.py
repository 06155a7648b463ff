"""What a container allows: memory and processor time, by Linux control groups of both versions.

Elsewhere, and where a file is missing or unreadable, there is simply no limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_UNLIMITED = 1 << 60
"""Version 1 says "unlimited" with a number near 2^63."""


@dataclass(frozen=True)
class ContainerLimits:
    """None is no limit."""

    memory_total: int | None = None
    memory_free: int | None = None
    cores: float | None = None


def container_limits(root: Path = Path("/")) -> ContainerLimits:
    """The tightest limits of this process's control group and those above it. `root` is for tests."""
    groups = _own_groups(root)
    memory = [limit for group in groups.get("memory", []) if (limit := _memory(group)) is not None]
    cores = [quota for group in groups.get("cpu", []) if (quota := _cores(group)) is not None]
    return ContainerLimits(
        memory_total=min((total for total, _ in memory), default=None),
        memory_free=min((free for _, free in memory), default=None),
        cores=min(cores, default=None),
    )


def _own_groups(root: Path) -> dict[str, list[Path]]:
    """Folders to look into for each controller, from our own group up to the top."""
    mounted = root / "sys" / "fs" / "cgroup"
    found: dict[str, list[Path]] = {}
    for line in _lines(root / "proc" / "self" / "cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            for mount in (mounted, mounted / "unified"):
                for controller in ("memory", "cpu"):
                    found.setdefault(controller, []).extend(_upwards(mount, path))
        for controller in controllers.split(","):
            if controller in ("memory", "cpu"):
                for mount in (mounted / controller, mounted / controllers):
                    found.setdefault(controller, []).extend(_upwards(mount, path))
    return found


def _upwards(mount: Path, path: str) -> Iterator[Path]:
    """The group's folder and all above it. Inside a container the path may not exist: the mount does."""
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
    for length in range(len(parts), -1, -1):
        yield mount.joinpath(*parts[:length])


def _memory(group: Path) -> tuple[int, int] | None:
    """(limit, free) of one group. Cached file pages can be dropped, so they count as free."""
    for limit_name, used_name, cached_name in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit = _number(group / limit_name)
        if limit is None or limit >= _UNLIMITED:
            continue
        used = _number(group / used_name) or 0
        cached = next(
            (
                int(fields[1])
                for line in _lines(group / "memory.stat")
                if len(fields := line.split()) == 2 and fields[0] == cached_name and fields[1].isdigit()
            ),
            0,
        )
        return limit, max(0, min(limit, limit - used + min(cached, used)))
    return None


def _cores(group: Path) -> float | None:
    first_line = next(iter(_lines(group / "cpu.max")), "")
    fields = first_line.split()
    if len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit() and int(fields[1]):
        return int(fields[0]) / int(fields[1])
    quota, period = _number(group / "cpu.cfs_quota_us"), _number(group / "cpu.cfs_period_us")
    return quota / period if quota and period and quota > 0 else None


def _number(path: Path) -> int | None:
    text = next(iter(_lines(path)), "").strip()
    return int(text) if text.lstrip("-").isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
