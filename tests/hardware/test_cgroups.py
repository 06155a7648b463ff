"""Container limits of both kinds, in made-up trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdec_cli.hardware.cgroups import ContainerLimits, container_limits

GIB = 1 << 30


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return root


def test_version_2(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/app\n",
        "sys/fs/cgroup/app/memory.max": f"{4 * GIB}\n",
        "sys/fs/cgroup/app/memory.current": f"{3 * GIB}\n",
        "sys/fs/cgroup/app/memory.stat": f"anon 5\ninactive_file {GIB}\n",
        "sys/fs/cgroup/app/cpu.max": "150000 100000\n",
    }
    assert container_limits(tree(tmp_path, files)) == ContainerLimits(4 * GIB, 2 * GIB, 1.5)


def test_the_tightest_group_on_the_way_up_counts(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/pod/app\n",
        "sys/fs/cgroup/pod/app/memory.max": "max\n",
        "sys/fs/cgroup/pod/app/cpu.max": "max 100000\n",
        "sys/fs/cgroup/pod/memory.max": f"{2 * GIB}\n",
        "sys/fs/cgroup/pod/memory.current": "0\n",
        "sys/fs/cgroup/pod/cpu.max": "200000 100000\n",
        "sys/fs/cgroup/memory.max": f"{8 * GIB}\n",
    }
    limits = container_limits(tree(tmp_path, files))
    assert (limits.memory_total, limits.memory_free, limits.cores) == (2 * GIB, 2 * GIB, 2.0)


def test_version_1(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n1:name=systemd:/\n",
        "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": f"{GIB}\n",
        "sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes": f"{GIB // 2}\n",
        "sys/fs/cgroup/memory/docker/x/memory.stat": f"total_inactive_file {GIB // 4}\n",
        "sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us": "50000\n",
        "sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000\n",
    }
    assert container_limits(tree(tmp_path, files)) == ContainerLimits(GIB, 3 * GIB // 4, 0.5)


def test_inside_a_container_the_path_is_not_there_but_the_mount_is(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "5:memory:/docker/abc\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{GIB}\n",
    }
    assert container_limits(tree(tmp_path, files)).memory_total == GIB


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/self/cgroup": ""},
        {"proc/self/cgroup": "nonsense\n:::\n0::/../..\n"},
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": "max\n",
            "sys/fs/cgroup/cpu.max": "max 100000",
        },
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "lots", "sys/fs/cgroup/cpu.max": "1 0"},
        {
            "proc/self/cgroup": "4:memory:/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
        },
        {"proc/self/cgroup": "3:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1"},
    ],
)
def test_no_limit(files: dict[str, str], tmp_path: Path) -> None:
    assert container_limits(tree(tmp_path, files)) == ContainerLimits()
