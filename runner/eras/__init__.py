"""Eras in practice: their locks made, interpreters found, and environments created, verified and removed."""
