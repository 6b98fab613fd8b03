"""What separates our rights from those of another party: identities, folders, helpers."""
