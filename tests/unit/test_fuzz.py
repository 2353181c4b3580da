"""Some hundred hostile calls over every public name; ``python -m tests.fuzz`` makes ten thousand."""

from __future__ import annotations

from typing import Any

import pytest

from attn_widget.errors import InputError
from tests import fuzz
from tests.fuzz import outside
from tests.fuzz.hostile import RefusedError

CALLS = 400


def test_hostile_calls_are_refused_in_words() -> None:
    pytest.importorskip("pandas")
    result = fuzz.run(CALLS, seed=7, slow=False)
    assert result.calls == CALLS
    # The time of a call is the machine's too: here, only one that never ends counts.
    faults = [fault for fault in result.faults if not fault.why.startswith("took")]
    assert not faults, "\n\n".join(f"{f.call}: {f.why}\n{f.traceback}" for f in faults)
    assert result.returned > CALLS // 10
    assert sum(result.refused.values()) > CALLS // 4


@pytest.mark.parametrize(
    ("strike", "count"), [(outside.messages, 300), (outside.files, 40), (outside.lines, 30)]
)
def test_hostile_messages_files_and_lines_are_refused_in_words(strike: Any, count: int) -> None:
    for module in ("pandas", "lancedb", "gguf"):
        pytest.importorskip(module)
    result = strike(count, seed=7)
    faults = [fault for fault in result.faults if not fault.why.startswith("took")]
    assert not faults, "\n\n".join(f"{f.call}: {f.why}\n{f.traceback}" for f in faults)
    assert result.calls > count // 2


def test_every_parameter_of_a_public_name_is_fuzzed() -> None:
    assert fuzz.unknown_parameters() == []


def test_the_rule_knows_a_bare_traceback() -> None:
    def entered() -> None:
        raise TypeError("of our own code")

    with pytest.raises(TypeError) as told:
        entered()
    assert "bare TypeError" in fuzz.why_bare(told.value, told.value.__traceback__)
    assert "bare KeyError" in fuzz.why_bare(KeyError("a"), None)
    assert fuzz.why_bare(TypeError("missing 1 required positional argument"), None) == ""
    assert fuzz.why_bare(InputError("a" * 10**6), None) == ""
    assert fuzz.why_bare(RefusedError(), told.value.__traceback__) == ""
