"""What preflight is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from specdec_cli.compat import CompatibilityReport
from specdec_cli.errors import SpecdecError
from specdec_cli.findings import Finding
from specdec_cli.gguf.header import ModelHeader
from specdec_cli.hardware.values import Machine
from specdec_cli.memory.plan import MemoryPlan
from specdec_cli.predict import Prediction
from specdec_cli.preflight.measured import MeasuredModel
from specdec_cli.settings import DEFAULT_CONTEXT, DEFAULT_DRAFT, ContextSettings
from specdec_cli.speeds import MeasuredSpeed

Verdict = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class PreflightRequest:
    """A pair, or a target alone, as it would be run on a machine."""

    target: ModelHeader
    draft: ModelHeader | None
    machine: Machine
    target_settings: ContextSettings = DEFAULT_CONTEXT
    draft_settings: ContextSettings = DEFAULT_CONTEXT
    draft_max: int = DEFAULT_DRAFT.draft_max
    explicit_ctx: bool = False
    """Whether the user chose the context size: then it may be larger than the target was trained on."""
    measured_target: MeasuredModel | None = None
    """What llama.cpp itself says the target takes (`--exact`); None to compute it."""
    measured_draft: MeasuredModel | None = None
    measured_speed: MeasuredSpeed | None = None
    """How fast these models were with these settings on this machine; None to predict it."""
    notes: tuple[Finding, ...] = ()
    """What was found on the way here, such as a machine whose GPUs could not be asked."""


@dataclass(frozen=True)
class PreflightReport:
    """The answer. `findings` holds what every part has to say, worst first."""

    findings: tuple[Finding, ...]
    compatibility: CompatibilityReport
    context: int
    """The context size the plan is for, in tokens."""
    machine: Machine
    memory: MemoryPlan | None
    """None when a model cannot run at all."""
    prediction: Prediction | None
    """None when a model cannot run, or when nothing was measured and the machine's rates are unknown."""

    @property
    def verdict(self) -> Verdict:
        """`fail` with an error, `warn` with a warning, else `ok`."""
        levels = {finding.level for finding in self.findings}
        return "fail" if "error" in levels else "warn" if "warning" in levels else "ok"

    def refusal(self, *, force: bool) -> SpecdecError | None:
        """The error to end with instead of loading; None to go on. `force` passes what can be overridden."""
        for finding in self.findings:
            if finding.level == "error" and not (force and finding.overridable):
                hint = finding.hint
                if finding.overridable:
                    hint = f"{hint}; --force goes on all the same" if hint else "--force goes on all the same"
                return SpecdecError(finding.message, hint=hint, code=finding.code)
        return None
