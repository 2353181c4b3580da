"""The figures of a head, each declared once: key, name, formula, reading, range, chance, source."""
