"""Bring defaults, file, environment and flags together, and remember where each value came from."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from gossamer.config.kinds import nearest
from gossamer.config.settings import DEFAULTS, ORDERED, Settings
from gossamer.config.table import SETTINGS

FILE = "gossamer.toml"
PREFIX = "GOSSAMER_"
NOT_SETTINGS = frozenset({"GOSSAMER_FAILPOINT", "GOSSAMER_TOKEN"})


class ConfigError(Exception):
    """A setting is unknown or impossible; the text names the place and the nearest right one."""


class FlagError(ConfigError):
    """The same, on the command line."""


class Loaded(msgspec.Struct, frozen=True):
    settings: Settings
    origins: dict[str, str]
    """Name of a setting to the place its value came from: `default`, a file, a variable or a flag."""

    @property
    def from_flags(self) -> frozenset[str]:
        return frozenset(name for name, origin in self.origins.items() if origin.startswith("--"))


def load(
    flags: Mapping[str, object] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
    directory: Path | None = None,
) -> Loaded:
    """Settings from every place, the stronger over the weaker.

    `flags` maps names of settings to what was given for them, as text. Without `file`, a `gossamer.toml` in
    `directory` (the current one) is read where there is one.
    """
    values: dict[str, object] = {}
    origins = dict.fromkeys(SETTINGS, "default")
    path = file or (directory or Path()) / FILE
    for places in (
        _from_file(path, required=file is not None),
        _from_environment(os.environ if environ is None else environ),
        _from_flags(flags or {}),
    ):
        for name, value, origin in places:
            values[name], origins[name] = value, origin
    return Loaded(_checked(msgspec.structs.replace(DEFAULTS, **values), origins), origins)


def flag_of(name: str) -> str:
    return f"--{SETTINGS[name].flag or name.replace('_', '-')}"


def variable_of(name: str) -> str:
    return PREFIX + name.upper()


def _from_file(path: Path, *, required: bool) -> Iterator[tuple[str, object, str]]:
    for key, raw in _toml(path, required=required).items():
        if key not in SETTINGS:
            hint = "; settings stand without [sections]" if isinstance(raw, dict) else nearest(key, list(SETTINGS))
            raise ConfigError(f"{path}: there is no setting {key!r}{hint}")
        yield key, _read(key, raw, f"{path}: {key}", ConfigError), str(path)


def _toml(path: Path, *, required: bool) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if required:
            raise ConfigError(f"{path}: there is no such file") from None
        return {}
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from None


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, object, str]]:
    variables = {variable_of(name): name for name in SETTINGS}
    for variable, raw in environ.items():
        if not variable.startswith(PREFIX) or variable in NOT_SETTINGS:
            continue
        if variable not in variables:
            raise ConfigError(f"{variable}: there is no such variable{nearest(variable, list(variables))}")
        # An empty variable is one that somebody could not unset.
        if raw.strip():
            yield variables[variable], _read(variables[variable], raw, variable, ConfigError), variable


def _from_flags(flags: Mapping[str, object]) -> Iterator[tuple[str, object, str]]:
    for name, raw in flags.items():
        if raw is None or raw == ():
            continue
        flag = flag_of(name)
        if raw is False:
            flag = f"--no-{flag[2:]}"
        yield name, _read(name, raw, flag, FlagError), flag


def _read(name: str, raw: object, place: str, error: type[ConfigError]) -> object:
    try:
        return SETTINGS[name].kind.read(raw)
    except ValueError as wrong:
        raise error(f"{place}: {wrong}") from None


def _checked(settings: Settings, origins: Mapping[str, str]) -> Settings:
    """What is right alone can be wrong together."""
    for less, more in ORDERED:
        if getattr(settings, less) > getattr(settings, more):
            show = SETTINGS[less].kind.show
            given = (origins[less], origins[more])
            raise (FlagError if any(place.startswith("--") for place in given) else ConfigError)(
                f"{less} ({show(getattr(settings, less))}, {origins[less]}) is more than "
                f"{more} ({show(getattr(settings, more))}, {origins[more]})"
            )
    return settings
