"""The parts of ``postil train`` and ``postil pretrain``: files, raw text, encoders, teachers, gains, interruptions."""
