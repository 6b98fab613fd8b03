"""What a person reads of a trace: reports, summaries, events and values as text."""
