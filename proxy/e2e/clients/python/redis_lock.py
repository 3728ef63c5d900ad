"""Drives redis-py's Lock: redis_lock.py HOST:PORT, or, through Django's cache,
redis_lock.py django HOST:PORT."""

import sys

from redis.exceptions import LockNotOwnedError

from lines import serve


def plain(host, port):
    import redis

    client = redis.Redis(host=host, port=int(port))

    def numbered(key, fence):
        taken, number = client.pipeline().set(key, "a", nx=True, px=60000).incr(fence).execute()
        return "%s %d" % ("yes" if taken else "no", number)

    return client.lock, {
        "numbered": numbered,
        "ping": client.ping,
        "database": lambda n: redis.Redis(host=host, port=int(port), db=int(n)).ping(),
    }


def django(host, port):
    from django.conf import settings

    settings.configure(CACHES={"default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": "redis://%s:%s/0" % (host, port),
    }})
    from django.core.cache import cache

    return cache.lock, {
        "ping": lambda: cache.client.get_client(write=True).ping(),
        "add": lambda key, millis: cache.add(key, "a value", timeout=int(millis) / 1000),
        "set": lambda key, value: cache.set(key, int(value), timeout=60),
        "get": lambda key: "%r" % cache.get(key),
        "incr": lambda key: "%d" % cache.incr(key),
        "delete": lambda key: bool(cache.delete(key)),
    }


def main():
    new_lock, requests = (django if sys.argv[1] == "django" else plain)(*sys.argv[-1].rsplit(":", 1))
    locks = {}

    def acquire(key, millis):
        lock = new_lock(key, timeout=int(millis) / 1000)
        if not lock.acquire(blocking=False):
            return False
        locks[key] = lock
        return True

    def held(call):
        try:
            call()
        except LockNotOwnedError:
            return False
        return True

    serve({
        **requests,
        "acquire": acquire,
        "extend": lambda key, millis: held(lambda: locks[key].extend(int(millis) / 1000, replace_ttl=True)),
        "release": lambda key: held(lambda: locks[key].release()),
    })


main()
