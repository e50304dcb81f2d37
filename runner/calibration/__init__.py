"""How often intervals and verdicts are right: on simulated noise (:mod:`.simulated`), and on real processes compared with themselves
(:mod:`.series`)."""
