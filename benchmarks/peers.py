"""BertViz, CircuitsVis, inspectus and this package: the same tensors, the same Chromium, one run.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.peers --lengths 32 128 512 --ours 2048 8192`` (12 x 12 heads, 64 wide,
softmax of random scores; at 8,192 tokens one layer, since twelve would be 39 GB). It makes an environment of its own for the peers in ``build/peers`` (pip and npm), which
borrows torch and numpy from the one that runs it, and serves their code from there: nothing is fetched
while pages are timed. Each page has ``--limit`` seconds, for making it and for drawing it.
"""

from __future__ import annotations

import argparse
import functools
import json
import resource
import subprocess
import sys
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Error, Page
from playwright.sync_api import TimeoutError as Late

import attn_widget as aw
from benchmarks.shapes import WORDS, table
from scripts.lab import chromium

FOLDER = Path("build/peers")
RESULTS = Path("benchmarks/results/peers.json")  # drawn by `benchmarks.peers_picture`
PACKAGES = (
    "bertviz==1.4.1",
    "circuitsvis==1.43.3",
    "inspectus==0.2.0",
    "importlib-metadata==8.7.0",
    "zipp==3.23.0",
)
CODE = ("d3@5.16.0", "jquery@2.2.4", "requirejs@2.3.6")
PEERS = ("bertviz_head_view", "bertviz_model_view", "circuitsvis_one_layer", "inspectus")
HEADER = [
    "peer",
    "tokens",
    "made, s",
    "page, MB",
    "to picture, ms",
    "switch, ms",
    "hover, ms",
    "heap, MB",
]
LAYERS = HEADS = 12
MAX_TENSORS = 4_000_000_000  # bytes of weights; fewer layers where twelve would be more
MAX_MEMORY = 8_000_000_000  # bytes of address space of a process that makes a page
QUIET_MS = 700  # without a change of the page: it is drawn
# When the page last changed, in milliseconds of its own clock; canvases are drawn in the tasks that change it.
WATCH = """() => {
  window.changed = performance.now();
  new MutationObserver(() => { window.changed = performance.now(); })
    .observe(document, {subtree: true, childList: true, attributes: true});
}"""
PICTURE = "document.querySelectorAll('svg line, svg path, svg rect, canvas, img').length > 2"
# One change that a reader makes: another layer or head, and the pointer over the middle.
SWITCHES = {
    "bertviz_head_view": "() => { const s = document.querySelector('select'); s.value = '5'; "
    "s.dispatchEvent(new Event('change', {bubbles: true})); window.jQuery?.(s).trigger('change'); }",
    "attn_widget": """() => (document.querySelector('[data-layer="5"][data-head="3"]')
    ?? document.querySelector('[data-layer="0"][data-head="3"]')).click()""",
}


class Quiet(SimpleHTTPRequestHandler):
    """Serves the folder and says nothing."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


def environment() -> Path:
    """The peers' own Python, made where it is not there yet."""
    python = FOLDER / "env" / "bin" / "python"
    if not python.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER / "env")], check=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "-q", "--no-deps", *PACKAGES], check=True
        )
        ours = next(path for path in sys.path if path.endswith("site-packages"))
        theirs = next((FOLDER / "env" / "lib").glob("python*/site-packages"))
        (theirs / "borrowed.pth").write_text(ours)
    if not (FOLDER / "npm" / "node_modules").exists():
        (FOLDER / "npm").mkdir(parents=True, exist_ok=True)
        npm = ["npm", "install", "--silent", "--no-audit", "--prefix", str(FOLDER / "npm"), *CODE]
        subprocess.run(npm, check=True)
    return python


def limited() -> None:
    """Let a peer's process fail rather than take the whole machine's memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))


def tensors(n: int) -> np.ndarray:
    """Weights [L, H, n, n]: softmax of random scores, about as sharp as a trained model's."""
    rng = np.random.default_rng(0)
    layers = min(LAYERS, MAX_TENSORS // (HEADS * n * n * 4))
    query, key = rng.normal(size=(2, layers, HEADS, n, 64)).astype(np.float32) * 1.5
    weights = query @ (key / 8).swapaxes(-1, -2)
    weights -= weights.max(axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights


def our_page(weights: np.ndarray, tokens: list[str], path: Path) -> None:
    widget = aw.AttentionWidget(aw.from_attentions(weights, tokens, tagger=None), layer=0, head=0)
    widget.to_html(path)
    widget.close()


def settled(page: Page, limit_ms: float) -> float:
    """When the page last changed, in ms of its clock, once it has been quiet."""
    page.wait_for_function(
        f"performance.now() - window.changed > {QUIET_MS} && {PICTURE}",
        timeout=limit_ms,
        polling=100,
    )
    return page.evaluate("window.changed")


def timed(page: Page, act: Any, limit_ms: float) -> str:
    """Milliseconds from an action to the last change that it made."""
    start = page.evaluate("performance.now()")
    act()
    end = settled(page, limit_ms)
    return f"{end - start:,.0f}" if end > start else "–"


def measure(browser: Browser, peer: str, address: str, size: int, limit: float) -> list[str]:
    """Row of the table: bytes, ms to the picture, of a switch, of a hover; heap."""
    # Our page's policy forbids what this measuring evaluates in it.
    context = browser.new_context(viewport={"width": 1200, "height": 900}, bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(limit * 1000)
    page.add_init_script(f"({WATCH})()")
    row = [f"{size / 1e6:,.2f}"]
    try:
        page.goto(address, wait_until="commit")
        row.append(f"{settled(page, limit * 1000):,.0f}")
        switch = SWITCHES.get(peer)
        row.append(
            "–" if switch is None else timed(page, lambda: page.evaluate(switch), limit * 1000)
        )
        row.append(timed(page, lambda: page.mouse.move(600, 500, steps=4), limit * 1000))
        session = context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        heap = session.send("Runtime.getHeapUsage")
        row.append(f"{(heap['usedSize'] + heap.get('backingStorageSize', 0)) / 1e6:,.0f}")
    except Error as error:
        late = isinstance(error, Late)
        row.append(f"> {1000 * limit:,.0f}" if late else f"failed: {error.message[:60]}")
    else:
        page.screenshot(path=str(FOLDER / f"{Path(address).stem}.png"))
    finally:
        context.close()
    return [*row, *["" for _ in range(5 - len(row))]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="*", default=[32, 128, 512])
    parser.add_argument("--ours", type=int, nargs="*", default=[], help="lengths for us alone")
    parser.add_argument("--limit", type=float, default=120, help="seconds a page")
    parser.add_argument("--peers", nargs="*", default=list(PEERS))
    arguments = parser.parse_args()
    python = environment()
    handler = functools.partial(Quiet, directory=str(FOLDER))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rows: list[list[str]] = []
    with chromium() as browser:
        for n in [*arguments.lengths, *arguments.ours]:
            weights = tensors(n)
            tokens = [WORDS[i % len(WORDS)] for i in range(n)]
            peers = arguments.peers if n in arguments.lengths else []
            if peers:
                np.save(FOLDER / "tensors.npy", weights)
                (FOLDER / "tokens.json").write_text(json.dumps(tokens))
            for peer in ["attn_widget", *peers]:
                path = FOLDER / f"{peer}-{n}.html"
                started = time.perf_counter()
                try:
                    if peer == "attn_widget":
                        our_page(weights, tokens, path)
                    else:
                        pages = str(Path(__file__).with_name("peers_pages.py"))
                        given = [str(FOLDER / name) for name in ("tensors.npy", "tokens.json")]
                        subprocess.run(
                            [str(python), pages, peer, *given, str(path)],
                            check=True, timeout=arguments.limit, capture_output=True, text=True,
                            preexec_fn=limited,
                        )  # fmt: skip
                    made = time.perf_counter() - started
                    address = f"http://127.0.0.1:{server.server_port}/{path.name}"
                    measured = measure(browser, peer, address, path.stat().st_size, arguments.limit)
                    rows.append([peer, str(n), f"{made:.1f}", *measured])
                except subprocess.TimeoutExpired:
                    rows.append([peer, str(n), f"> {arguments.limit:.0f}", *[""] * 5])
                except subprocess.CalledProcessError as error:
                    said = str(error.stderr or "").strip().splitlines()[-1:] or ["failed"]
                    rows.append([peer, str(n), said[0][:60], *[""] * 5])
                print(rows[-1], flush=True)
                path.unlink(missing_ok=True)
    server.shutdown()
    measured_now = [dict(zip(HEADER, row, strict=True)) for row in rows]
    replaced = {(row["peer"], row["tokens"]) for row in measured_now}
    before = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    kept = [row for row in before if (row["peer"], row["tokens"]) not in replaced]
    results = sorted([*kept, *measured_now], key=lambda row: int(row["tokens"]))
    written = json.dumps(results, indent=1, ensure_ascii=False)
    RESULTS.write_text(written + "\n", encoding="utf-8")
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
