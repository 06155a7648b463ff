"""Know before you load: everything a pair's headers and the machine say, in one report with one verdict.

    two ModelHeaders ─ compat.compare ───────────────┐
    headers + settings + Machine ─ memory.plan_memory ┼─> PreflightReport ─┬─ ui/check_view   for people
                                   predict.predict ──┘                    └─ document.py     check --json

Pure: reads no file, loads no library. `specdec check` prints the report; `run` and `chat` ask it for a
`refusal` before they load anything, so that all three say the same words.
"""

from specdec_cli.preflight.document import preflight_document
from specdec_cli.preflight.measured import MeasuredModel
from specdec_cli.preflight.report import PreflightReport, PreflightRequest, Verdict
from specdec_cli.preflight.service import preflight

__all__ = [
    "MeasuredModel",
    "PreflightReport",
    "PreflightRequest",
    "Verdict",
    "preflight",
    "preflight_document",
]
