"""Protocol: an analysis or a profile as bytes: the first paint, requests of the page and their answers."""
