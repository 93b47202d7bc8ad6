"""Flags, made from the table of settings, and help that is grouped like it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import click

from gossamer.config import DEFAULTS, GROUPS, SETTINGS, Loaded, Setting, flag_of, load

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class SettingOption(click.Option):
    """A flag for one setting. Its text is read by `gossamer.config`, like that of a file or a variable."""

    group: str = ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        if not self.is_flag:
            return super().get_help_record(ctx)
        # Of a switch, the side that changes something.
        opposite = self.secondary_opts if getattr(DEFAULTS, str(self.name)) else self.opts
        return opposite[0], self.help or ""


class GroupedCommand(click.Command):
    """A command whose --help shows its own options first and then the settings, group by group."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                title = param.group if isinstance(param, SettingOption) else "Options"
                sections.setdefault(title, []).append(record)
        for title in ("Options", *GROUPS):
            if title in sections:
                with formatter.section(title):
                    formatter.write_dl(sections[title], col_max=32)


def setting_flags(names: Collection[str] = tuple(SETTINGS)) -> Decorator:
    """`--config` and a flag for each of these settings, handed to the command as one `loaded`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def command(config: Path | None, **given: Any) -> Any:
            flags = {name: given.pop(name) for name in names}
            return function(loaded=load(flags, file=config), **given)

        command.__doc__ = function.__doc__
        command.__click_params__ = [  # type: ignore[attr-defined]  # where click's decorators keep them
            *(_option(SETTINGS[name]) for name in reversed(list(names))),
            _CONFIG,
            *getattr(function, "__click_params__", []),
        ]
        return command

    return decorate


_CONFIG = click.Option(
    ["--config"],
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read settings from this TOML file.  [default: ./gossamer.toml where there is one]",
)


def _option(setting: Setting) -> SettingOption:
    flag = flag_of(setting.name)
    default = default_text(setting)
    shown = "" if setting.kind.switch or default == "none" else f"  [default: {default}]"
    help_text = setting.help.replace("`", "") + shown
    if setting.kind.switch:
        option = SettingOption([setting.name, f"{flag}/--no-{flag[2:]}"], default=None, help=help_text)
    else:
        option = SettingOption(
            [setting.name, flag], metavar=setting.kind.metavar, multiple=setting.kind.many, help=help_text
        )
    option.group = setting.group
    return option


def default_text(setting: Setting) -> str:
    return setting.default or setting.kind.show(getattr(DEFAULTS, setting.name))


def redacted(loaded: Loaded) -> Mapping[str, str]:
    return {name: setting.kind.show(getattr(loaded.settings, name)) for name, setting in SETTINGS.items()}
