"""A program for tests in a terminal: `specdec` over a model that says what it is told, as slowly as it is told.

python tests/support/chat_program.py '["first answer", "second"]' 0.01 chat --target …
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from specdec_cli.cli.environment import Environment
from specdec_cli.cli.main import main
from tests.support.chats import ScriptedBackend

if __name__ == "__main__":
    backend = ScriptedBackend(json.loads(sys.argv[1]), delay=float(sys.argv[2]))
    sys.exit(main(sys.argv[3:], Environment(open_backend=lambda: backend)))
