"""The magic of notebooks: its code, cells that a kernel runs, and JupyterLab in a browser."""
