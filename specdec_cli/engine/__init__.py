"""The round and everything it stands in: session, generation, text, statistics.

prompt tokens ─▶ Session.start ─▶ ┌ propose ─ evaluate ─ judge ─ commit ─ tell ┐ ─▶ RoundEvent ─▶ whoever draws
                                  └────────────── one round, again ────────────┘

round.py      the five verbs, on one screen
session.py    owner of the committed tokens and of the target's cache
generation.py rounds until a limit, a stop or an interruption; a generator that leaves the caches consistent
output.py     tokens → text: whole characters, stop strings that span tokens
statistics.py what happened, as numbers
rollback.py   can a context drop rejected tokens? asked before the first one
template.py   messages → prompt text, by the model's own template
"""
