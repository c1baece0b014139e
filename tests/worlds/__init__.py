"""Random worlds: groups whose true state is known, an AWS that fails in every way it can, and what must hold anyway."""
