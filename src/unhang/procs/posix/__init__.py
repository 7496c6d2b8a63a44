"""What every Unix can do: process groups and `ps`. What it cannot do it says (OSError, None, an empty answer)."""
