"""What runs inside the child process: the standard library, NumPy and one framework; nothing of ``runner``."""
