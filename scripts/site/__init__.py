"""`make site`: build/site/, the documentation, the tutorials and a playground as pages for any static host or folder."""
