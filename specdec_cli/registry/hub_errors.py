"""The errors of the Hub's client in our words: one line, a way out, a code."""

from __future__ import annotations

from collections.abc import Callable

from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from specdec_cli.errors import SpecdecError

TRANSPORT_ERRORS: tuple[type[Exception], ...] = (
    *(base for base in HfHubHTTPError.__mro__ if base.__name__ == "HTTPError"),
    ConnectionError,
    TimeoutError,
)
"""What the client's HTTP library raises when there is no answer, whichever library it is."""


def translate(
    error: Exception, repo: str, endpoint: str, suggest_ungated: Callable[[str], str | None]
) -> SpecdecError | None:
    """What to tell the user; None for an error that is not the Hub's."""
    if isinstance(error, SpecdecError):
        return error
    if isinstance(error, OfflineModeIsEnabled):
        return SpecdecError(
            f"offline, and {repo} is not in the cache",
            hint="leave out --offline and HF_HUB_OFFLINE, or name a local .gguf",
            code="file.offline",
        )
    if isinstance(error, GatedRepoError):
        return _gated(repo, endpoint, suggest_ungated(repo), logged_in=error.response.status_code == 403)
    if isinstance(error, RevisionNotFoundError):
        return SpecdecError(f"{repo} has no branch main", code="file.no_repository")
    if isinstance(error, RepositoryNotFoundError):
        return SpecdecError(
            f"there is no repository {repo} on the Hub, or it is private",
            hint="check the name; for a private one log in first: hf auth login",
            code="file.no_repository",
        )
    if isinstance(error, HFValidationError):
        reason = " ".join(str(error).split())
        return SpecdecError(f"{repo} is no repository name: {reason}", code="file.no_repository")
    if isinstance(error, TRANSPORT_ERRORS):
        status = getattr(getattr(error, "response", None), "status_code", None)
        return _refused(repo, endpoint, status) if status else _unreachable(endpoint, error)
    return not_the_hub(endpoint) if isinstance(error, ValueError) else None


def not_the_hub(endpoint: str) -> SpecdecError:
    """For an answer that cannot be the Hub's."""
    return SpecdecError(
        f"{endpoint} does not answer as the Hub does (a login page of the network? a wrong HF_ENDPOINT?)",
        hint="open it in a browser, or unset HF_ENDPOINT",
        code="file.hub_answer",
    )


def rate_limited(seconds: float | None) -> SpecdecError:
    """For a 429 that asks for a long wait, or for none in particular."""
    return SpecdecError(
        "the Hub limits requests (429)" + (f"; it says to wait {seconds:.0f} s" if seconds else ""),
        hint="try again later; logged-in users have higher limits (hf auth login)",
        code="file.rate_limited",
    )


def _gated(repo: str, endpoint: str, other: str | None, *, logged_in: bool) -> SpecdecError:
    page = f"{endpoint}/{repo}"
    ungated = f"; the same model without that: {other}" if other else ""
    if logged_in:
        return SpecdecError(
            f"{repo} is gated, and this login has not been let in",
            hint=f"ask for access at {page} with the account you are logged in as{ungated}",
            code="file.gated",
        )
    return SpecdecError(
        f"{repo} is gated: its licence has to be accepted at {page}",
        hint=f"accept it there, then log in: hf auth login (or set HF_TOKEN){ungated}",
        code="file.gated",
    )


def _refused(repo: str, endpoint: str, status: int) -> SpecdecError:
    if status == 429:
        return rate_limited(None)
    if status in (401, 403):
        return SpecdecError(
            f"the Hub does not accept this login for {repo} ({status})",
            hint="log in again: hf auth login (or correct HF_TOKEN)",
            code="file.refused",
        )
    return SpecdecError(
        f"{endpoint} answered {status} for {repo}",
        hint="the Hub has a problem: try again later",
        code="file.hub_answer",
    )


def _unreachable(endpoint: str, error: Exception) -> SpecdecError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return SpecdecError(
        f"cannot reach the Hub at {endpoint}: {reason}",
        hint="check the connection; models that are already here work with --offline",
        code="file.hub_unreachable",
    )
