"""Scripts behind `make`: set-up, the demo, and the driver of a real JupyterLab."""
