"""Two models, one report: do they fit together, and if not, which field, which values, which way out?

    ModelHeader ─┐            architecture  what each file is, rollback, experts, draft heads
                 ├─ compare ─ tokens → vocabulary ← family   token by token, then field by field
    ModelHeader ─┘            template · size · quantization · context
                    └─> CompatibilityReport: findings (worst first) and the figures behind them

Pure: nothing is read, nothing is loaded. What breaks decides the level. The prompt is tokenized once, by the
target, and every drafted token is judged by the target, so a draft can only ever cost time: an *error* is what
makes drafting pointless or impossible, a *warning* what makes it poorer, *info* what explains a figure.
`overridable` is False where going on would fail natively. Every code is described in `findings_catalog.py`.
"""

from specdec_cli.compat.compare import compare
from specdec_cli.compat.report import CompatibilityReport, ModelSummary, SizeComparison, VocabularySummary

__all__ = ["CompatibilityReport", "ModelSummary", "SizeComparison", "VocabularySummary", "compare"]
