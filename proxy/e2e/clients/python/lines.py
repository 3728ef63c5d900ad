"""The lines that a driver speaks; ../doc.go has them."""

import sys


def serve(requests):
    """Answers each line of standard input by calling requests[word](*words).

    What a request returns is its reply: True and False are yes and no, None is done,
    and a text is a value.
    """
    def say(line):
        print(" ".join(str(line).split("\n")), flush=True)

    say("ready")
    for line in sys.stdin:
        word, *words = line.split()
        try:
            reply = requests[word](*words)
        except Exception as e:  # whatever the library raises is what is asked for
            say("error %s: %s" % (type(e).__name__, e))
            continue
        say({True: "yes", False: "no", None: "done"}[reply] if reply in (True, False, None) else "value %s" % reply)
