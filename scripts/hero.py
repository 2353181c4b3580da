"""The pictures at the top of the README, light and dark, into docs/images/."""

from __future__ import annotations

import attn_widget as aw
from scripts.lab import ROOT, chromium
from scripts.page import mount

OUT = ROOT / "docs" / "images"
TEXT = "The trophy does not fit into the brown suitcase because it is too large."


def main() -> None:
    """Draw each picture at twice the resolution of the page."""
    OUT.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for theme in ("light", "dark"):
            widget = aw.show(
                TEXT,
                layer=2,
                head=3,
                token=11,
                pair=[11, 14],
                theme=theme,
                progress=False,
            )
            page = browser.new_page(
                viewport={"width": 1160, "height": 900}, device_scale_factor=1.5
            )
            mount(page, widget, width=1160)
            page.wait_for_load_state("networkidle")
            page.wait_for_function("document.querySelector('[data-aw-part=pair] [data-aw-value]')")
            page.evaluate("document.activeElement?.blur()")
            path = OUT / f"hero-{theme}.png"
            page.locator(".attn-widget").screenshot(path=path)
            print(f"[hero] wrote {path.relative_to(ROOT)}, {path.stat().st_size // 1000} kB")
            page.close()
            widget.close()


if __name__ == "__main__":
    main()
