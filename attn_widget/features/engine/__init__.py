"""The model inside a page: its weights in one file, as js/src/engine reads them."""
