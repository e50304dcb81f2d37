"""An adapter whose framework never finishes its import and does not go when asked."""

import signal
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(3600)
