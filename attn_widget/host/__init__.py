"""Host: files written whole or not at all, the line a cell shows while it loads, work that waits for a quiet moment."""
