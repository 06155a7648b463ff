"""`specdec`: the program. Every error becomes a line, a hint and an exit code here, and nowhere else."""

from __future__ import annotations

import sys
from typing import Annotated, cast

import typer

from specdec_cli import __version__
from specdec_cli.cli.commands import Group, register_commands
from specdec_cli.cli.environment import Environment
from specdec_cli.cli.exit_codes import EXIT_INTERRUPTED
from specdec_cli.errors import EngineFault, SpecdecError


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"specdec {__version__}")
        raise typer.Exit


def _specdec(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of `specdec` itself."""


def _program(command: str | None) -> typer.Typer:
    """The program with one of its commands; with all of them where there is none of that name."""
    app = typer.Typer(
        name="specdec",
        help="Speculative decoding that works on consumer hardware: lossless, checked before loading, "
        "never slower than plain decoding.",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(cls=Group)(_specdec)
    register_commands(app, command)
    return app


_UsageProblem = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""The base of every complaint about the command line; typer does not export it."""


def main(arguments: list[str] | None = None, environment: Environment | None = None) -> int:
    """Run `specdec` and return its exit code: 0 done, 1 fixable, 2 usage, 3 our bug, 130 interrupted."""
    environment = environment or Environment()
    words = sys.argv[1:] if arguments is None else arguments
    try:
        program = typer.main.get_command(_program(next(iter(words), None)))
        code = program.main(args=arguments, prog_name="specdec", standalone_mode=False, obj=environment)
        environment.stdout.flush()
        return cast(int, code or 0)
    except SpecdecError as error:
        _complain(environment, error.message, error.hint)
        if isinstance(error, EngineFault):
            _complain(environment, "this is a bug in specdec", "set SPECDEC_TRACEBACK=1 for the details")
        return error.exit_code
    except typer.Exit as stop:
        return stop.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except Exception as error:
        if isinstance(error, _UsageProblem):
            return _usage(environment, error)
        if environment.variables.get("SPECDEC_TRACEBACK"):
            raise
        message = str(error).strip().splitlines()
        _complain(
            environment,
            f"unexpected {type(error).__name__}: {message[0] if message else 'no details'}",
            "this is a bug in specdec; set SPECDEC_TRACEBACK=1 for the details",
        )
        return EngineFault.exit_code


def _usage(environment: Environment, error: Exception) -> int:
    """A complaint of the command-line parser, in our form."""
    context = getattr(error, "ctx", None)
    format_message = getattr(error, "format_message", None)
    message = format_message() if format_message else str(error)
    if not message.strip():
        return 0  # the help was printed instead
    command = context.command_path if context is not None else "specdec"
    _complain(environment, message.rstrip("."), f"{command} --help lists the options")
    return 2


def _complain(environment: Environment, message: str, hint: str | None) -> None:
    line = " ".join(message.split())
    environment.stderr.write(f"error: {line}\n")
    if hint:
        environment.stderr.write(f"hint: {hint}\n")
    environment.stderr.flush()


def entry_point() -> None:
    """The `specdec` command."""
    sys.exit(main())
