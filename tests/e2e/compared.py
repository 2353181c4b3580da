"""The texts of the comparison that tests look at, and its panels."""

from __future__ import annotations

from playwright.sync_api import Page, expect

A, B = "The keys to the cabinet are here.", "The key to the cabinet are here."


def open_panel(page: Page, name: str) -> None:
    page.locator(f'.aw-difference [role="tab"][data-view="{name}"]').click()
    expect(page.locator(f'[data-panel="{name}"]')).to_be_visible()
    expect(page.locator('[data-panel] [aria-busy="true"]')).to_have_count(0)
