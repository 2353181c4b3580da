"""Boxes of a drawn page: what lies outside, what is too small for a finger, what covers what, what is blank."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

HELPERS = """
const shown = e => e.checkVisibility({visibilityProperty: true, contentVisibilityAuto: false})
    && e.getClientRects().length > 0;
const nameOf = e => `${e.tagName.toLowerCase()}.${e.getAttribute('class') ?? ''} "${e.textContent.slice(0, 16)}"`;
// What is seen of an element: its box within everything around it that clips.
const seen = e => {
    let {left, top, right, bottom} = e.getBoundingClientRect();
    for (let p = e.parentElement; p !== null && p !== document.body; p = p.parentElement) {
        const {overflowX, overflowY} = getComputedStyle(p);
        if (overflowX === 'visible' && overflowY === 'visible') continue;
        const q = p.getBoundingClientRect();
        [left, right] = [Math.max(left, q.left), Math.min(right, q.right)];
        [top, bottom] = [Math.max(top, q.top), Math.min(bottom, q.bottom)];
    }
    return {left, top, right, bottom, width: right - left, height: bottom - top};
};
const root = document.querySelector('.attn-widget');
const all = [...root.querySelectorAll('*')].filter(shown);
const CONTROLS = 'button, select, input, summary, a, [role=tab], [role=button], [role=treeitem], .aw-tree-toggle';
"""

OUTSIDE = f"""([low, high]) => {{ {HELPERS}
    return all.filter(e => {{
        const box = seen(e);
        return box.width > 0.5 && box.height > 0.5 && (box.left < low - 1 || box.right > high + 1);
    }}).map(nameOf);
}}"""

SMALL = f"""([least, exempt]) => {{ {HELPERS}
    return all.filter(e => e.matches(CONTROLS) && !e.matches(exempt)).filter(e => {{
        const {{width, height}} = e.getBoundingClientRect();
        return width < least - 0.1 || height < least - 0.1;
    }}).map(e => `${{nameOf(e)}} ${{e.getBoundingClientRect().width}} x ${{e.getBoundingClientRect().height}}`);
}}"""

# A control whose middle belongs to another one cannot be hit there.
COVERED = f"""exempt => {{ {HELPERS}
    const found = [];
    for (const e of all.filter(e => e.matches(CONTROLS) && !e.matches(exempt))) {{
        const before = seen(e);
        if (before.width < 4 || before.height < 4) continue;
        e.scrollIntoView({{block: 'center', inline: 'center'}});  // from below a heading that sticks, too
        const box = seen(e);
        const hit = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
        const other = hit?.closest(CONTROLS) ?? null;
        if (other !== null && !e.contains(other) && !other.contains(e)) found.push(`${{nameOf(e)}} by ${{nameOf(other)}}`);
    }}
    return found;
}}"""

BLANK = f"""() => {{ {HELPERS}
    return all.filter(e => e.tagName === 'CANVAS').filter(canvas => {{
        if (canvas.width === 0 || canvas.height === 0) return true;
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
        copy.drawImage(canvas, 0, 0);
        const {{data}} = copy.getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size < 2;
    }}).map(nameOf);
}}"""

# Parts that stand one below or beside the other; [a selector, ...].
OVERLAPS = f"""selectors => {{ {HELPERS}
    const found = [];
    for (const selector of selectors) {{
        const parts = all.filter(e => e.matches(selector));
        parts.forEach((a, i) => parts.slice(i + 1).forEach(b => {{
            if (a.contains(b) || b.contains(a)) return;
            const [p, q] = [seen(a), seen(b)];
            const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
            const down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
            if (across > 1 && down > 1) found.push(`${{nameOf(a)}} and ${{nameOf(b)}}: ${{across}} x ${{down}}`);
        }}));
    }}
    return found;
}}"""

# Parts that hide some of what is in them.
CUT = f"""() => {{ {HELPERS}
    return all.filter(e => e instanceof HTMLElement && /auto|scroll/.test(
        getComputedStyle(e).overflowX + getComputedStyle(e).overflowY))
        .filter(e => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1).map(nameOf);
}}"""


def outside(page: Page, low: float, high: float) -> list[str]:
    return page.evaluate(OUTSIDE, [low, high])


def small(page: Page, least: float, exempt: str) -> list[str]:
    return page.evaluate(SMALL, [least, exempt])


def covered(page: Page, exempt: str) -> list[str]:
    return page.evaluate(COVERED, exempt)


def blank(page: Page) -> list[str]:
    return page.evaluate(BLANK)


def overlaps(page: Page, *selectors: str) -> list[str]:
    return page.evaluate(OVERLAPS, list(selectors))


def cut(page: Page) -> Any:
    return page.evaluate(CUT)
