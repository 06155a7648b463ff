"""The machine: what it has, what is free, how fast it reads.

    psutil, cgroups ─ system.py ─┐
    llama.cpp's devices ─────────┼─ probe.py ──> values.Machine ──> memory/, predict/, `specdec doctor`
    bandwidth.py (0.3 s, cached) ┘                    ▲
    a TOML file ─────────────── machine_file.py ──────┘   plan for a machine one does not have

llama.cpp's device list is handed in by the caller (`llama.devices.list_devices`): this room loads no native
library, and a machine whose native library is broken can still be probed. `threads.py` chooses thread counts,
`doctor.py` says what is missing. Sizes are bytes, bandwidths bytes per second.
"""
