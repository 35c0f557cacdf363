"""Extensions that come with tierbench: each is a room of its own, without which all else works."""
