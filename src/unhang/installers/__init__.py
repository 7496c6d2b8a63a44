"""Adding unhang to the settings of other programs, and removing it again."""
