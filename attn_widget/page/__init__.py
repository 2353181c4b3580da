"""Page: what is kept for readers without a kernel: a saved page, the output of a cell."""
