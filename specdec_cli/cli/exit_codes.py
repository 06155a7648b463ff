"""Exit codes that are not an error's own."""

EXIT_INTERRUPTED = 130
