"""From the words of a command line to an exit code, and one clear line for whatever went wrong."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from enum import IntEnum

import click

from gossamer import __version__

COMMANDS = {
    "crawl": "Crawl websites, politely, into a data directory.",
    "resume": "Continue every unfinished crawl of a data directory.",
    "recrawl": "Visit a crawled site again, and keep what changed.",
    "changes": "Tell which pages were added, changed or removed.",
    "status": "Show the sources of a data directory and how far they are.",
    "explain": "Tell what became of a URL, and why.",
    "export": "Write all final pages as JSONL or CSV.",
    "verify": "Check the invariants of a store.",
    "wipe": "Delete what a data directory holds.",
    "config": "Show every setting and where its value came from.",
    "demo": "Crawl a small example site that gossamer serves itself.",
}

EXAMPLES = """\b
Examples:
  gossamer demo
  gossamer crawl https://example.org/docs/ --out pages.jsonl
  gossamer crawl https://example.org/ --scope site --max-pages 500 --duration 10m
  gossamer resume
  gossamer recrawl && gossamer changes --since last
  gossamer explain https://example.org/docs/missing

\b
Exit codes: 0 finished, or a limit that you set was reached; 2 usage; 3 storage or configuration;
4 nothing could be fetched; 130 interrupted (resume continues).
"""


class Exit(IntEnum):
    DONE = 0
    USAGE = 2
    STORAGE = 3
    NOTHING = 4
    INTERRUPTED = 130
    PIPE = 141


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"gossamer.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Commands,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    no_args_is_help=False,
    invoke_without_command=True,
)
@click.version_option(__version__, message="gossamer %(version)s")
@click.pass_context
def gossamer(ctx: click.Context) -> None:
    """Turn websites into clean, searchable text: politely, without ever losing a page."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str]) -> int:
    """One command line, to its exit code. Expected trouble becomes one line on stderr."""
    try:
        code = gossamer.main(list(arguments), prog_name="gossamer", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        return _tell(_usage(error), Exit.USAGE)
    except (KeyboardInterrupt, click.Abort):
        return _tell("gossamer: interrupted", Exit.INTERRUPTED)
    except BrokenPipeError:
        return _quiet_pipe()
    except Exception as error:
        code = _code_of(error)
        if code is None:
            raise
        return _tell(f"gossamer: {error}", code)
    return code if isinstance(code, int) else Exit.DONE


def _tell(line: str, code: int) -> int:
    click.echo(line, err=True)
    return code


def _usage(error: click.ClickException) -> str:
    ctx = getattr(error, "ctx", None)
    place = ctx.command_path if ctx else "gossamer"
    if isinstance(error, click.NoSuchOption):
        return f"{place}: there is no flag {error.option_name}{_meant(error.option_name, _flags(ctx))}"
    if isinstance(error, click.UsageError) and error.message.startswith("No such command"):
        wrong = error.message.split("'")[1]
        return f"{place}: there is no command {wrong}{_meant(wrong, list(COMMANDS))}"
    return f"{place}: {error.format_message()} See {place} --help"


def _flags(ctx: click.Context | None) -> list[str]:
    params = ctx.command.get_params(ctx) if ctx else []
    return [name for param in params for name in (*param.opts, *param.secondary_opts) if name.startswith("--")]


def _meant(wrong: str, right: list[str]) -> str:
    found = get_close_matches(wrong, right, n=1)
    return f"; did you mean {found[0]}?" if found else "; --help lists what there is"


def _code_of(error: Exception) -> Exit | None:
    from gossamer.config import ConfigError, FlagError, SeedError, WishError
    from gossamer.ports import StorageError

    if isinstance(error, (FlagError, SeedError, WishError)):
        return Exit.USAGE
    return Exit.STORAGE if isinstance(error, (ConfigError, StorageError)) else None


def _quiet_pipe() -> int:
    # The reader of our output has gone; nothing that Python flushes at exit may complain about it.
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.PIPE
