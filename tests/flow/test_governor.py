from __future__ import annotations

from gossamer.flow.governor import Governor


def test_it_begins_with_all_permits() -> None:
    governor = Governor(64, 0.05)
    assert (governor.permits, governor.latency) == (64, 0.0)


def test_slow_commits_shrink_the_permits_down_to_a_few() -> None:
    governor = Governor(64, 0.05)
    seen = []
    for _ in range(50):
        governor.observe(1.0)
        seen.append(governor.permits)
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == 4


def test_quick_commits_let_them_grow_again_one_by_one() -> None:
    governor = Governor(64, 0.05)
    for _ in range(50):
        governor.observe(1.0)
    while governor.latency > 0.05:
        governor.observe(0.0)
    low = governor.permits
    governor.observe(0.0)
    assert governor.permits == low + 1
    for _ in range(100):
        governor.observe(0.0)
    assert governor.permits == 64


def test_one_slow_commit_among_quick_ones_changes_nothing() -> None:
    governor = Governor(64, 0.05)
    for _ in range(10):
        governor.observe(0.001)
    governor.observe(0.2)
    assert governor.permits == 64


def test_what_may_be_few_is_never_made_more() -> None:
    governor = Governor(2, 0.05)
    for _ in range(10):
        governor.observe(1.0)
    assert governor.permits == 2
    for _ in range(100):
        governor.observe(0.0)
    assert governor.permits == 2
