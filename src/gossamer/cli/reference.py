"""The reference of commands and settings, written from the code: `python -m gossamer.cli.reference docs/reference`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from gossamer.cli.entry import COMMANDS, gossamer
from gossamer.cli.options import default_text
from gossamer.config import DEFAULTS, GROUPS, SETTINGS, Setting, flag_of

_WRITTEN = "<!-- Written by `python -m gossamer.cli.reference docs/reference`; a test keeps it true. -->"

_CLI = f"""\
# The command line

{_WRITTEN}

Progress goes to stderr, results to stdout. Without a terminal, progress is a line every 10 seconds.

| exit code | meaning |
|---|---|
| 0 | finished, or a limit that you set was reached |
| 2 | usage: an unknown flag, an impossible value, something that is no URL |
| 3 | storage or configuration |
| 4 | nothing could be fetched |
| 130 | interrupted; `gossamer resume` continues |
"""

_CONFIGURATION = f"""\
# Configuration

{_WRITTEN}

A setting can be given in four places, each stronger than the one before:

1. its default;
2. `gossamer.toml` in the current directory, or the file that `--config` names;
3. an environment variable: its name in capitals after `GOSSAMER_`, as in `GOSSAMER_MAX_PAGES`;
4. a flag: its name with dashes, as in `--max-pages`.

`gossamer config` shows every value and where it came from. Unknown names and impossible values are errors that name
the nearest right one.

```toml
# gossamer.toml
data = "./docs-crawl"
scope = "site"
exclude = ["/archive/", "[?&]print="]
delay = "500ms"
max_pages = 5000
```

Times are written as in `30` (seconds), `250ms`, `10m` or `1h30m`, sizes as in `4096`, `500kB` or `10MiB`. `none` lifts
a limit or empties a list. In the environment, lists are separated by commas or spaces; patterns and headers, which may
hold both, by line breaks. Patterns are [RE2](https://github.com/google/re2/wiki/Syntax) and match anywhere in a URL.
Passwords and tokens are never shown. `GOSSAMER_TOKEN` and `GOSSAMER_FAILPOINT` are not settings.
"""


def command_line() -> str:
    return "\n".join([_CLI, *(_section(name) for name in ("", *COMMANDS))])


def _section(name: str) -> str:
    parent = click.Context(gossamer, info_name="gossamer", terminal_width=100, max_content_width=100)
    command = gossamer.get_command(parent, name) or gossamer
    ctx = click.Context(command, info_name=name, parent=parent) if name else parent
    ctx.help_option_names = ["-h", "--help"]
    help_text = "\n".join(line.rstrip() for line in command.get_help(ctx).splitlines())
    return f"## gossamer {name}".rstrip() + f"\n\n```text\n{help_text}\n```\n"


def configuration() -> str:
    return "\n".join([_CONFIGURATION, *map(_group, GROUPS)])


def _group(group: str) -> str:
    rows = [_row(setting) for setting in SETTINGS.values() if setting.group == group]
    return "\n".join(
        [f"## {group}", "", "| setting | flag | default | |", "|---|---|---|---|", *rows, *_lists(group), ""]
    )


def _row(setting: Setting) -> str:
    flag = flag_of(setting.name)
    if setting.kind.switch and getattr(DEFAULTS, setting.name):
        flag = f"--no-{flag[2:]}"
    given = flag if setting.kind.switch else f"{flag} {setting.kind.metavar}".replace("|", "\\|")
    default = setting.default or f"`{default_text(setting)}`"
    return f"| `{setting.name}` | `{given}` | {default} | {setting.help} |"


def _lists(group: str) -> Iterator[str]:
    """Defaults that are too long for a table."""
    for name, setting in SETTINGS.items():
        if setting.group == group and setting.default and setting.kind.many:
            yield f"\nThe default of `{name}` is {setting.kind.show(getattr(DEFAULTS, name))}."


def main(target: str) -> None:
    directory = Path(target)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cli.md").write_text(command_line())
    (directory / "configuration.md").write_text(configuration())


if __name__ == "__main__":
    main(sys.argv[1])
