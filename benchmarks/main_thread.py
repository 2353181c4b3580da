"""Work of the page's main thread, from a trace of Chromium: script, and rendering (style, layout, paint).

Split as the Performance panel of the developer tools splits it: the time of an event is its own, without
the events inside it, so that a layout which a script forces counts as rendering. In CPU time of the
thread, which other work on the machine does not lengthen as it does the wall clock.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

CATEGORIES = ["devtools.timeline", "v8", "v8.execute"]
SCRIPT = frozenset(
    {
        *("EventDispatch", "EvaluateScript", "FireAnimationFrame", "FunctionCall", "RunMicrotasks"),
        *("TimerFire", "v8.callFunction", "v8.run", "MinorGC", "MajorGC"),
    }
)
RENDERING = frozenset(
    ("UpdateLayoutTree", "Layout", "PrePaint", "Paint", "Layerize", "Commit", "HitTest")
)

Event = dict[str, Any]


def _whole(events: list[Event]) -> Iterator[Event]:
    """Events with a start and a duration; pairs of begin and end are joined."""
    begun: dict[tuple[int, int, str], list[Event]] = {}
    for event in sorted(events, key=lambda event: event["ts"]):
        key = event["pid"], event["tid"], event["name"]
        if event["ph"] == "X":
            yield {"dur": 0, "tdur": 0, **event}
        elif event["ph"] == "B":
            begun.setdefault(key, []).append(event)
        elif event["ph"] == "E" and begun.get(key):
            start = begun[key].pop()
            cpu = event.get("tts", 0) - start.get("tts", 0)
            yield {**start, "dur": event["ts"] - start["ts"], "tdur": cpu}


def main_thread_ms(trace: bytes) -> tuple[float, float]:
    """CPU time of script and of rendering, in ms, over a whole trace.

    ``trace`` is what `playwright`'s ``browser.stop_tracing()`` gives, recorded with `CATEGORIES`.
    """
    events = list(_whole(json.loads(trace)["traceEvents"]))
    threads = Counter(
        (event["pid"], event["tid"]) for event in events if event["name"] == "RunMicrotasks"
    )
    if not threads:
        raise ValueError("The trace holds no script: was it recorded with main_thread.CATEGORIES?")
    thread = threads.most_common(1)[0][0]
    mine = [event for event in events if (event["pid"], event["tid"]) == thread]
    mine.sort(key=lambda event: (event["ts"], -event["dur"]))
    own: Counter[str] = Counter()
    outer: list[Event] = []
    for event in mine:
        while outer and outer[-1]["ts"] + outer[-1]["dur"] <= event["ts"]:
            outer.pop()
        if outer:
            own[outer[-1]["name"]] -= event["tdur"]
        own[event["name"]] += event["tdur"]
        outer.append(event)
    script = sum(time for name, time in own.items() if name in SCRIPT or name.startswith("V8.GC"))
    return script / 1000, sum(own[name] for name in RENDERING) / 1000
