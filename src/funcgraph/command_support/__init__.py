"""What several commands share: flags, the processes and traces that a command names, messages, recording."""
