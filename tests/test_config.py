from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfoNotFoundError

import msgspec
import pytest

from gossamer.config import (
    DEFAULTS,
    GROUPS,
    SETTINGS,
    ConfigError,
    FlagError,
    Loaded,
    SeedError,
    Settings,
    WishError,
    load,
    variable_of,
)
from gossamer.config.change import changed_spec
from gossamer.config.settings import possible
from gossamer.config.units import read_duration, read_size, show_duration, show_size
from gossamer.frontier.policy import Rules
from gossamer.model import (
    Discovery,
    Folding,
    Hours,
    Order,
    Politeness,
    RequestOptions,
    Revisit,
    Scope,
    ScopeMode,
    SeedFrom,
    Traps,
)
from gossamer.url import TRACKING


@pytest.fixture(autouse=True)
def no_file_of_anybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def from_flags(**flags: object) -> Loaded:
    return load(flags, environ={})


def from_environment(**variables: str) -> Loaded:
    return load(environ={f"GOSSAMER_{name}": value for name, value in variables.items()})


def from_toml(directory: Path, text: str, environ: Mapping[str, str] | None = None) -> Loaded:
    (directory / "gossamer.toml").write_text(text)
    return load(environ=environ or {}, directory=directory)


def test_every_setting_is_in_the_table_and_every_row_is_a_setting() -> None:
    assert set(SETTINGS) == set(Settings.__struct_fields__)
    assert {row.group for row in SETTINGS.values()} == set(GROUPS)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_default_survives_being_shown_and_read(name: str) -> None:
    kind, default = SETTINGS[name].kind, getattr(DEFAULTS, name)
    assert kind.read(kind.show(default)) == default


def test_defaults_agree_with_the_frontier_and_the_model() -> None:
    spec = Settings().source_spec(["https://site.test/"])
    assert Settings().rules() == Rules()
    assert spec.politeness == Politeness()
    assert spec.scope == Scope(skip_types=DEFAULTS.skip_types)
    assert (spec.discovery, spec.folding, spec.traps) == (Discovery(), Folding(), Traps())
    assert (spec.order, spec.revisit) == (Order.BREADTH, Revisit())
    assert spec.request == RequestOptions(user_agent=DEFAULTS.user_agent, auth_hosts=("https://site.test",))


def test_each_place_is_stronger_than_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text("concurrency = 2\nper_host = 2\nmax_pages = 2\n")
    environ = {"GOSSAMER_PER_HOST": "3", "GOSSAMER_MAX_PAGES": "3"}
    loaded = load({"max_pages": "4"}, environ=environ, directory=tmp_path)
    got = loaded.settings
    assert (got.max_depth, got.concurrency, got.per_host, got.max_pages) == (None, 2, 3, 4)
    origins = [loaded.origins[name] for name in ("max_depth", "concurrency", "per_host", "max_pages")]
    assert origins == ["default", str(tmp_path / "gossamer.toml"), "GOSSAMER_PER_HOST", "--max-pages"]
    assert loaded.from_flags == {"max_pages"}


def test_a_named_file_is_read_instead_of_the_usual_one(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text("concurrency = 2")
    other = tmp_path / "other.toml"
    other.write_text("per_host = 5")
    got = load(environ={}, file=other, directory=tmp_path).settings
    assert (got.concurrency, got.per_host) == (DEFAULTS.concurrency, 5)


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load(environ={}, file=tmp_path / "other.toml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("max_page = 3", "there is no setting 'max_page'; did you mean max_pages?"),
        ("max-pages = 3", "there is no setting 'max-pages'; did you mean max_pages?"),
        ("[politeness]\ndelay = 1", "there is no setting 'politeness'; settings stand without [sections]"),
        ("max_pages = 0", "max_pages: 0 is too little; the least is 1"),
        ("max_pages = true", "max_pages: True is not a whole number"),
        ("per_host = 1000", "per_host: 1000 is too much; the most is 256"),
        ("durability = 'ful'", "durability: 'ful' is not one of normal, full; did you mean full?"),
        ("cookies = 'maybe'", "cookies: 'maybe' is neither true nor false"),
        ("delay = inf", "delay: inf is not a duration, or auto"),
        ("max_pages = ", "is not TOML"),
        ("backoff_first = '2h'", "is more than backoff_max (1h, default)"),
    ],
)
def test_a_mistake_in_the_file_names_the_file_and_the_way_out(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        from_toml(tmp_path, text)
    assert "gossamer.toml" in str(error.value)
    assert told in str(error.value)
    assert not isinstance(error.value, FlagError)


def test_an_unknown_variable_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"GOSSAMER_MAXPAGES: there is no such .*; did you mean GOSSAMER_MAX_PAGES\?"):
        from_environment(MAXPAGES="3")


def test_variables_that_are_not_settings_are_left_alone() -> None:
    assert from_environment(FAILPOINT="parsed", TOKEN="t").settings == DEFAULTS


def test_an_empty_variable_is_no_variable() -> None:
    assert from_environment(MAX_PAGES="").settings.max_pages is None


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_can_be_a_variable(name: str) -> None:
    shown = SETTINGS[name].kind.show(getattr(DEFAULTS, name))
    loaded = load(environ={variable_of(name): shown})
    assert loaded.settings == DEFAULTS
    assert loaded.origins[name] == variable_of(name)


@pytest.mark.parametrize(
    ("flag", "told"),
    [
        ({"delay": "10mins"}, "--delay: '10mins' has no known unit; did you mean 10m?"),
        ({"delay": "quick"}, "--delay: 'quick' is not a duration, as in 30, 250ms, 10m or 1h30m, or auto"),
        ({"max_body": "10M"}, "--max-body: '10M' has no known unit; did you mean 10MiB?"),
        ({"scope": "hosts"}, "--scope: 'hosts' is not one of prefix, host, site, any; did you mean host?"),
        ({"allow_private": ("10.0.0.1/8",)}, "--allow-private: '10.0.0.1/8' is not a network"),
        ({"allow_private": ("10.0.0.1/8",)}, "did you mean 10.0.0.0/8?"),
        ({"headers": ("Accept",)}, "--header: a header is written as in 'Accept-Language: en'"),
        ({"skip_types": ("tar.gz",)}, "--skip-types: 'tar.gz' is not a file extension; did you mean gz?"),
        ({"seed_from": ("link",)}, "did you mean links?"),
        ({"seed_from": ("none",)}, "--seed-from: name at least one place"),
        ({"near_duplicates": "0.2"}, "--near-duplicates: 0.2 is not between 0.5 and 1; say off"),
        ({"near_duplicates": "nan"}, "--near-duplicates: nan is not between 0.5 and 1"),
        ({"near_duplicates": "much"}, "--near-duplicates: 'much' is not a share, as in 0.9, or off"),
        ({"ct_endpoint": "crt.sh"}, "--ct-endpoint: 'crt.sh' is not the URL of a service"),
        ({"commoncrawl_endpoint": "https://index.test/?x=1"}, "is not the URL of a service"),
        ({"hours": "late"}, "--hours: 'late' is not a time of day, as in 22:00-06:00"),
        ({"hours": "22:00-25:00"}, "--hours: 25:00 is no time of day"),
        ({"hours": "09:75-10:00"}, "--hours: 09:75 is no time of day"),
        ({"hours": "09:00-9:00"}, "begins when it ends"),
        ({"hours": "22:00-06:00 Europe/Berlim"}, "is no time zone, as in Europe/Berlin; did you mean Europe/Berlin?"),
        ({"hours": "22:00-06:00 Europe"}, "Europe is no time zone"),
        ({"hours": "22:00-06:00 ../passwd"}, "is no time zone"),
        ({"max_repeats": "1"}, "--max-repeats: 1 is too little; the least is 2"),
        ({"order": "depth"}, "--order: 'depth' is not one of breadth, best"),
        ({"revisit_least": "90d"}, "revisit_least (90d, --revisit-least) is more than revisit_most (30d, default)"),
        ({"data": "postgresql://db/x"}, "--data: this version does not have a PostgreSQL store yet"),
        ({"user_agent": "gössamer"}, "--user-agent: 'gössamer' cannot be sent"),
        ({"host_queue": "300000"}, "host_queue (300000, --host-queue) is more than queue_memory (200000, default)"),
    ],
)
def test_a_mistake_in_a_flag_names_the_flag_and_the_way_out(flag: dict[str, object], told: str) -> None:
    with pytest.raises(FlagError) as error:
        load(flag, environ={})
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("pattern", "fault", "character"),
    [("/a(b[", "missing ]", 5), ("*/x", "no argument for repetition operator", 1), ("/a(b", "missing )", 4)],
)
def test_a_bad_pattern_tells_where_it_goes_wrong(
    pattern: str, fault: str, character: int, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(FlagError) as error:
        from_flags(include=(pattern,))
    assert f"{fault}, at character {character};" in str(error.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 30), ("10m", 600), ("1h30m", 5400), ("250ms", 0.25), ("1.5s", 1.5), ("1h 30m", 5400), ("2d", 172_800)],
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert read_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "m", "-3", "1h30", "1..5", "soon"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a duration|no known unit"):
        read_duration(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("4096", 4096), ("10MiB", 10_485_760), ("1GB", 10**9), ("1.5 kB", 1500), ("64kib", 65_536), ("3B", 3)],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize("seconds", [0, 0.25, 1, 2.5, 59, 60, 61, 5400, 86_400, 90_061])
def test_a_shown_duration_reads_back(seconds: float) -> None:
    assert read_duration(show_duration(seconds)) == pytest.approx(seconds)


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1024, 1536, 10_485_760, 10**9])
def test_a_shown_size_reads_back(size: int) -> None:
    assert read_size(show_size(size)) == size


def test_lists_come_repeated_or_in_one_piece() -> None:
    assert from_flags(skip_types=(".PDF, zip", "gz")).settings.skip_types == ("pdf", "zip", "gz")
    assert from_flags(skip_types=("none",)).settings.skip_types == ()
    assert from_flags(include=("a{1,2}", "b c")).settings.include == ("a{1,2}", "b c")
    assert from_environment(INCLUDE="a{1,2}\nb").settings.include == ("a{1,2}", "b")
    assert from_environment(ALLOW_PRIVATE="10.0.0.0/8, 127.0.0.1").settings.allow_private == (
        "10.0.0.0/8",
        "127.0.0.1/32",
    )


def test_places_to_find_urls_come_repeated_or_in_one_piece_and_all_is_all_but_auto() -> None:
    assert from_flags(seed_from=("sitemap,links", "llms")).settings.seed_from == ("sitemap", "links", "llms")
    every = ("sitemap", "links", "llms", "ct", "commoncrawl")
    assert from_flags(seed_from=("links,all",)).settings.seed_from == ("links", "sitemap", *every[2:])
    assert from_environment(SEED_FROM="all").settings.seed_from == every


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("22:00-06:00", Hours(1320, 360)),
        ("9:05 - 17:30 UTC", Hours(545, 1050)),
        ("00:00-24:00", Hours(0, 1440)),
        ("22:00-06:00 Europe/Berlin", Hours(1320, 360, "Europe/Berlin")),
    ],
)
def test_hours_are_read_as_people_write_them_and_shown_so_that_they_read_back(text: str, hours: Hours) -> None:
    kind = SETTINGS["hours"].kind
    assert kind.read(text) == hours
    assert kind.read(kind.show(hours)) == hours


def test_without_a_time_zone_database_utc_still_works_and_others_say_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> None:
        raise ZoneInfoNotFoundError(name)

    monkeypatch.setattr("gossamer.config.hours.ZoneInfo", missing)
    monkeypatch.setattr("gossamer.config.hours.available_timezones", set)
    assert from_flags(hours="22:00-06:00 utc").settings.hours == Hours(1320, 360)
    with pytest.raises(FlagError, match="this machine has no time zone database; install tzdata, or give UTC"):
        from_flags(hours="22:00-06:00 Europe/Berlin")


def test_an_endpoint_ends_with_a_slash() -> None:
    assert from_flags(ct_endpoint="https://ct.test/v1").settings.ct_endpoint == "https://ct.test/v1/"


def test_near_duplicates_can_be_kept() -> None:
    assert from_flags(near_duplicates="off").settings.near_duplicates is None
    assert from_flags(near_duplicates="0.75").settings.near_duplicates == 0.75


def test_a_limit_of_the_file_can_be_lifted_by_a_flag(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text("max_pages = 10\nduration = '1h'")
    got = load({"max_pages": "none", "duration": "none"}, environ={}, directory=tmp_path).settings
    assert (got.max_pages, got.duration) == (None, None)


def test_secrets_are_never_shown() -> None:
    settings = from_flags(
        auth="me:hunter2", proxy="http://me:hunter2@proxy.test:80", headers=("X-Api-Key: hunter2", "Accept: */*")
    ).settings
    assert settings.auth == ("me", "hunter2")
    assert settings.proxy == "http://me:hunter2@proxy.test:80"
    assert "hunter2" not in repr(settings)
    assert "http://***@proxy.test:80" in repr(settings)
    assert "Accept: */*" in repr(settings)


@pytest.mark.parametrize("flag", [{"auth": "hunter2"}, {"proxy": "me:hunter2@proxy"}, {"headers": ("hunter2",)}])
def test_a_mistake_in_a_secret_does_not_print_it(flag: dict[str, object]) -> None:
    with pytest.raises(FlagError) as error:
        load(flag, environ={})
    assert "hunter2" not in str(error.value)


def test_numbers_of_politeness_reach_the_frontier() -> None:
    rules = from_flags(concurrency="8", backoff_max="10m", total_timeout="5m").settings.rules()
    assert (rules.concurrency, rules.backoff_max) == (8, 600)
    assert rules.lease_time > 300


def test_a_source_spec_carries_what_was_asked() -> None:
    settings = from_flags(
        scope="site", delay="auto", max_pages="9", max_depth="2", headers=("A: b",), drop_parameters=("sid",),
        content=False, allow_private=("10.0.0.0/8",),
    ).settings  # fmt: skip
    spec = settings.source_spec(["HTTPS://Site.test:443/x?sid=1#top", "http://other.test"], ["127.0.0.1/32"])
    assert spec.seeds == ("https://site.test/x", "http://other.test/")
    assert (spec.scope.mode, spec.scope.max_depth, spec.max_pages) == (ScopeMode.SITE, 2, 9)
    assert spec.politeness.delay is None
    assert spec.request.auth_hosts == ("https://site.test", "http://other.test")
    assert spec.request.allow_private == ("10.0.0.0/8", "127.0.0.1/32")
    assert spec.request.drop_parameters == spec.scope.drop_parameters == ("sid",)
    assert spec.request.headers == (("A", "b"),)
    assert not spec.request.content


def test_a_source_spec_carries_how_to_find_fold_avoid_and_revisit() -> None:
    settings = from_flags(
        seed_from=("sitemap,links",), max_guides="7", near_duplicates="off", canonical=False, path_budget="9",
        soft_404=False, order="best", revisit_most="12h", per_address="3", hours="01:00-02:00",
    ).settings  # fmt: skip
    spec = settings.source_spec(["https://site.test/"])
    assert spec.discovery == Discovery(seed_from=(SeedFrom.SITEMAP, SeedFrom.LINKS), max_guides=7)
    assert spec.folding == Folding(near_duplicates=None, canonical=False)
    assert spec.traps == Traps(path_budget=9, soft_404=False)
    assert spec.revisit == Revisit(first=43_200, most=43_200), "the first interval keeps within its bounds"
    assert (spec.order, spec.politeness.per_address, spec.politeness.hours) == (Order.BEST, 3, Hours(60, 120))


def test_new_wishes_replace_what_a_source_had_and_the_rest_stays() -> None:
    old = from_flags(max_guides="7", path_budget="9", order="best", max_pages="5").settings
    spec = old.source_spec(["https://site.test/"])
    new = from_flags(
        seed_from=("links",), duplicates=False, max_repeats="5", revisit_least="2h", scope="host", max_pages="6",
        hours="01:00-02:00",
    )  # fmt: skip
    changed = changed_spec(spec, new.settings, new.from_flags)
    assert changed == msgspec.structs.replace(
        spec,
        scope=msgspec.structs.replace(spec.scope, mode=ScopeMode.HOST),
        politeness=Politeness(hours=Hours(60, 120)),
        discovery=Discovery(seed_from=(SeedFrom.LINKS,), max_guides=7),
        folding=Folding(duplicates=False),
        traps=Traps(path_budget=9, max_repeats=5),
        revisit=Revisit(least=7200),
        max_pages=6,
    )


@pytest.mark.parametrize(
    ("scope", "possible_with_ct"), [("prefix", False), ("host", False), ("site", True), ("any", True)]
)
def test_certificates_need_a_scope_of_more_than_one_host(scope: str, possible_with_ct: bool) -> None:
    spec = from_flags(scope=scope, seed_from=("all",)).settings.source_spec(["https://site.test/"])
    if possible_with_ct:
        assert possible(spec) is spec
    else:
        with pytest.raises(WishError, match=f"--scope {scope} leaves out; say --scope site, or --seed-from sitemap,"):
            possible(spec)


def test_certificates_may_be_asked_for_anew_where_the_source_has_the_scope_for_them() -> None:
    wide = from_flags(scope="site").settings.source_spec(["https://site.test/"])
    narrow = DEFAULTS.source_spec(["https://site.test/"])
    wish = from_flags(seed_from=("ct",))
    assert changed_spec(wide, wish.settings, wish.from_flags).discovery.seed_from == ("ct",)
    with pytest.raises(WishError):
        changed_spec(narrow, wish.settings, wish.from_flags)


def test_the_usual_tracking_parameters_need_no_words_in_a_spec() -> None:
    assert set(DEFAULTS.drop_parameters) == TRACKING
    assert DEFAULTS.source_spec(["https://site.test/?utm_source=x"]).seeds == ("https://site.test/",)


def test_every_bad_seed_is_named_with_the_nearest_right_one() -> None:
    with pytest.raises(SeedError) as error:
        DEFAULTS.seeds(["https://right.test", "site.test/docs", "ftp://files.test", "mailto:me@site.test"])
    assert "'site.test/docs' is not a URL that can be fetched; did you mean https://site.test/docs?" in str(error.value)
    assert "'ftp://files.test'" in str(error.value)
    assert "'mailto:me@site.test'" in str(error.value)
    assert "right.test" not in str(error.value)


def test_credentials_in_a_seed_are_refused_without_repeating_them() -> None:
    with pytest.raises(SeedError) as refused:
        DEFAULTS.seeds(["https://me:secret@example.com/docs"])
    assert "--auth" in str(refused.value)
    assert "secret" not in str(refused.value)
    assert DEFAULTS.seeds(["https://example.com/@me"]) == ("https://example.com/@me",)
