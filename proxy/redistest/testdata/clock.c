/*
 * A wall clock that a test sets. Preloaded into a redis-server, it replaces the three
 * functions by which a C program asks for the time of day; the monotonic clocks stay
 * as they are.
 *
 * It neither allocates nor looks up symbols: both may ask for the time themselves,
 * and an allocator that is only being set up would then wait for itself for ever. So
 * the true time comes from the kernel by a system call.
 *
 * The file that REDISTEST_CLOCK names holds eight numbers of 64 bits: an index, 0 or
 * 1, and behind it two settings of three numbers each (one number at the end is
 * unused). A setting is a true time, the time shown at that moment, both in
 * nanoseconds since 1970, and how many nanoseconds a second the clock gains.
 * A new setting is written to the slot not in use and then the index is changed, so a
 * reader never sees half of it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

struct setting {
	int64_t real, shown, gain;
};

struct clock {
	volatile int64_t index;
	volatile struct setting settings[2];
	int64_t unused;
};

static const struct clock *shared;

__attribute__((constructor)) static void open_clock(void)
{
	const char *path = getenv("REDISTEST_CLOCK");
	int fd;
	void *at;

	if (path == NULL)
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		_exit(120);
	at = mmap(NULL, sizeof(struct clock), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		_exit(121);
	shared = at;
}

/* The gain is applied in microseconds: in nanoseconds, half a minute of a clock that
   gains a tenth would not fit 64 bits. */
static int64_t shown_time(void)
{
	struct timespec t;
	volatile const struct setting *s;
	int64_t now, passed;

	syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
	now = t.tv_sec * SECOND + t.tv_nsec;
	if (shared == NULL)
		return now;
	s = &shared->settings[shared->index & 1];
	passed = now - s->real;
	return s->shown + passed + passed / 1000 * (s->gain / 1000) / 1000;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	int64_t now;

	if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)
		return syscall(SYS_clock_gettime, id, t);
	now = shown_time();
	t->tv_sec = now / SECOND;
	t->tv_nsec = now % SECOND;
	return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	int64_t now = shown_time();

	(void)zone;
	t->tv_sec = now / SECOND;
	t->tv_usec = now % SECOND / 1000;
	return 0;
}

time_t time(time_t *t)
{
	time_t now = shown_time() / SECOND;

	if (t != NULL)
		*t = now;
	return now;
}
