"""What `make` runs: set-up, the demo, and the driver of a real JupyterLab."""
