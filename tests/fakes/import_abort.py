"""An adapter whose framework aborts the process while it is imported."""

import os

os.abort()
