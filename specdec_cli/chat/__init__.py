"""`specdec chat`: a conversation that is kept, in the caches between two turns and on disk after each.

    line ─▶ repl ─┬▶ commands/ ──▶ act on Chat (options, sessions, files, models)
                  └▶ Chat.ask ─▶ fitting ─▶ PromptBuilder ─▶ answering ─▶ Generation ─▶ ui/chat_answer
                                   │             │                │
              drop or summarise ◀──┘   text and tokens of         └▶ Turn into the Conversation ─▶ session file
              only when asked to       answers are taken over

conversation.py     the value: all turns ever made; which of them are still sent
chat.py             the owner of everything a running chat has; a message becomes an answer here
prompting.py        conversation → token ids, so that the next turn decodes only what is new
fitting.py          what to leave out when the context is full, asked and never silent
session_files.py    one atomic file per conversation; damaged ones are kept aside
option_table.py     everything `/set` knows
line_editor.py      the prompt (prompt_toolkit); plain_lines.py where there is no terminal
ports.py            what is needed from outside: models to load (cli/chat_models.py), lines to read
"""
