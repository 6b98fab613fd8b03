"""The viewer's server: it answers a page's questions about traces, from indexes and in bounded memory."""
