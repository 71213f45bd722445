"""Options that several commands have, and what they stand for: models, data, outputs, tasks, presets."""
