"""Figures of long texts, which come layer by layer."""
