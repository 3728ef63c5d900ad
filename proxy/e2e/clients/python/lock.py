"""Drives redis-py's Lock and pipeline: lock.py HOST:PORT works|fails"""

import sys
import time

import redis
from redis.exceptions import LockNotOwnedError, ResponseError, WatchError

KEY = "lock:python"
FENCE = "fence:python"


def check(fact, what):
    if not fact:
        sys.exit("not so: " + what)


def raises(kind, what, call):
    try:
        got = call()
    except kind as e:
        return e
    sys.exit("%s: no %s but %r" % (what, kind.__name__, got))


def wait_until(what, cond):
    end = time.monotonic() + 5
    while not cond():
        check(time.monotonic() < end, what + " within 5 seconds")
        time.sleep(0.01)


def hold_and_release(one, two):
    first = one.lock(KEY, timeout=10)
    second = two.lock(KEY, timeout=10)
    check(first.acquire(), "a free lock is acquired")
    check(first.owned() and first.locked(), "its holder owns it")
    check(not second.acquire(blocking=False), "nobody else acquires it")
    check(second.locked() and not second.owned(), "nobody else owns it")

    check(first.extend(20), "its holder extends it")
    check(20000 < one.pttl(KEY) <= 30000, "20 seconds were added, PTTL is %d" % one.pttl(KEY))
    check(first.extend(5, replace_ttl=True), "its holder replaces the time")
    check(0 < one.pttl(KEY) <= 5000, "the time is 5 seconds, PTTL is %d" % one.pttl(KEY))
    check(first.reacquire(), "its holder sets the time anew")
    check(5000 < one.pttl(KEY) <= 10000, "the time is 10 seconds again, PTTL is %d" % one.pttl(KEY))

    first.release()
    check(not second.locked(), "it is free after the release")
    with second:
        check(second.owned(), "another one acquires it then")
    check(one.get(KEY) is None, "it is free again")


def wait_for_it(one, two):
    first = one.lock(KEY, timeout=0.3)
    second = two.lock(KEY, timeout=10, sleep=0.02)
    check(first.acquire(), "a short lock is acquired")
    check(second.acquire(blocking_timeout=5), "who waits gets it when it expires")
    second.release()


def lose(one, two):
    first = one.lock(KEY, timeout=0.2)
    second = two.lock(KEY, timeout=10)
    check(first.acquire(), "a short lock is acquired")
    wait_until("the lock expires", lambda: not first.locked())
    check(second.acquire(blocking=False), "another one acquires an expired lock")
    for what, call in [
        ("extend", lambda: first.extend(10)),
        ("reacquire", first.reacquire),
        ("release", first.release),
    ]:
        raises(LockNotOwnedError, what + " of a lost lock", call)
    check(second.owned(), "the lost lock's owner did no harm")
    second.release()


def transactions(one, two):
    fence = int(one.get(FENCE) or 0)
    check(one.pipeline().set(KEY, "t", nx=True, px=10000).incr(FENCE).execute() == [True, fence + 1], "a lock and its number in one MULTI")
    check(two.pipeline().set(KEY, "u", nx=True, px=10000).get(KEY).execute() == [None, b"t"], "a lock that is taken, in a MULTI")

    def release(pipe):
        check(pipe.get(KEY) == b"t", "a watched key is read")
        pipe.multi()
        pipe.delete(KEY)

    check(one.transaction(release, KEY) == [1], "a release by WATCH")
    with one.pipeline() as pipe:
        pipe.watch(KEY)
        two.set(KEY, "v", px=10000)
        pipe.multi()
        pipe.delete(KEY)
        raises(WatchError, "a change of a watched key", pipe.execute)
    check(two.get(KEY) == b"v", "a transaction that failed did nothing")
    check(two.delete(KEY) == 1, "DEL")


def works(one, two):
    check(one.ping(), "PING")
    hold_and_release(one, two)
    wait_for_it(one, two)
    lose(one, two)
    transactions(one, two)


def fails(one, two):
    lock = one.lock(KEY, timeout=10)
    calls = [
        ("acquire", lambda: lock.acquire(blocking=False)),
        ("locked", lock.locked),
        ("owned", lock.owned),
        ("INCR", lambda: one.incr(FENCE)),
        ("a transaction", lambda: two.pipeline().set(KEY, "t", nx=True, px=10000).incr(FENCE).execute()),
    ]
    for name in ("extend", "reacquire", "release"):
        def with_token(name=name):
            lock.local.token = b"x"
            return getattr(lock, name)(*((10,) if name == "extend" else ()))
        calls.append((name, with_token))
    for what, call in calls:
        start = time.monotonic()
        error = raises(ResponseError, what, call)
        check("UNAVAILABLE" in str(error), "%s says UNAVAILABLE: %s" % (what, error))
        check(time.monotonic() - start < 0.5, what + " fails within half a second")
    check(one.ping(), "PING")


if __name__ == "__main__":
    host, port = sys.argv[1].rsplit(":", 1)
    clients = [redis.Redis(host=host, port=int(port)) for _ in range(2)]
    {"works": works, "fails": fails}[sys.argv[2]](*clients)
