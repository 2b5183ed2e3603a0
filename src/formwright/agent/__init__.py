"""Who proposes: a protocol, and proposers behind it. None of them judges what it proposed."""
