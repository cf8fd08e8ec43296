"""How a client comes by a token: OAuth as generators that yield steps and receive answers."""
