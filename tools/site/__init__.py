"""The project's pages as one site: `make site`."""
