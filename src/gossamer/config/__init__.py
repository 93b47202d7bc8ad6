"""Every setting, what it may be, and where its value came from.

Defaults, then `gossamer.toml`, then the environment, then flags: each is stronger than the one before.
"""

from gossamer.config.load import ConfigError, FlagError, Loaded, flag_of, load, variable_of
from gossamer.config.settings import DEFAULTS, SeedError, Settings, WishError
from gossamer.config.table import GROUPS, SETTINGS, Setting

__all__ = [
    "DEFAULTS",
    "GROUPS",
    "SETTINGS",
    "ConfigError",
    "FlagError",
    "Loaded",
    "SeedError",
    "Setting",
    "Settings",
    "WishError",
    "flag_of",
    "load",
    "variable_of",
]
