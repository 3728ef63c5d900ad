package clients

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"redlockproxy/proxy/redistest"
)

// Debian's clients, each through a driver in its own language.
func TestDebiansClientsLock(t *testing.T) {
	// Laravel 8 has no way to prolong a lock, and Django's cache a prefix.
	django := func(lock string) []string { return []string{":1:" + lock} }
	prove(t, []subject{
		{name: "redis-py", open: driven(python, "python/redis_lock.py")},
		{name: "django-redis", open: driven(python, "python/redis_lock.py", "django"), keys: django},
		{name: "phpredis", open: driven("php", "php/phpredis.php")},
		{name: "Predis", open: driven("php", "php/predis.php")},
		{name: "Laravel with phpredis", open: driven("php", "php/laravel.php", "phpredis"), noExtend: true},
		{name: "Laravel with Predis", open: driven("php", "php/laravel.php", "predis"), noExtend: true},
		{name: "redis-rb", open: driven("ruby", "ruby/redis_rb.rb")},
		{name: "Perl's Redis", open: driven("perl", "perl/redis.pl")},
		{name: "hiredis", open: driven(compiled(t, "c/hiredis.c", "-lhiredis"))},
		{name: "lua-redis", open: driven("lua5.1", "lua/driver.lua")},
	})
}

// A client that is to use another database is not to believe that it does: its locks
// would be those of the applications on database 0.
func TestDebiansClientsAreRefusedAnotherDatabase(t *testing.T) {
	proxy := startFive(t)
	for _, program := range clientPrograms(t) {
		d := open(t, proxy.Addr(), program[0], program[1:]...)
		wantReply(t, d, "yes", "database", "0")
		silent := slices.Contains(program, "php/phpredis.php") // it returns false, and its user has to look
		for _, n := range []string{"1", "15"} {
			reply, err := d.call("database", n)
			if silent && (err != nil || reply != "no") || !silent && (err == nil || !strings.Contains(err.Error(), "DB index is out of range")) {
				t.Errorf("%s: database %s: %q, %v", d.name, n, reply, err)
			}
		}
		wantReply(t, d, "yes", "ping")
	}
}

func TestDebiansClientsTakeALockAndANumberInOneTransaction(t *testing.T) {
	onBoth(t, func(t *testing.T, addr string) {
		for i, program := range clientPrograms(t) {
			key, fence := fmt.Sprint("lock:", i), fmt.Sprint("fence:", i)
			d := open(t, addr, program[0], program[1:]...)
			wantReply(t, d, "yes 1", "numbered", key, fence)
			wantReply(t, d, "no 2", "numbered", key, fence)
			wantReply(t, d, "yes", "ping")
		}
	})
}

// clientPrograms are the drivers of libraries that send commands, as opposed to those
// that know locks only.
func clientPrograms(t *testing.T) [][]string {
	t.Helper()
	return [][]string{
		{python, "python/redis_lock.py"}, {"php", "php/phpredis.php"}, {"php", "php/predis.php"}, {"ruby", "ruby/redis_rb.rb"},
		{"perl", "perl/redis.pl"}, {compiled(t, "c/hiredis.c", "-lhiredis")}, {"lua5.1", "lua/driver.lua"},
	}
}

// compiled makes a program of a C file.
func compiled(t *testing.T, file string, libs ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "driver")
	args := append([]string{"-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, file}, libs...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v (did ../setup.sh run?)\n%s", err, out)
	}
	return program
}

// open starts a driver and lives as long as the test.
func open(t *testing.T, addr, program string, args ...string) *driver {
	t.Helper()
	c, err := driven(program, args...)(t, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c.(*driver)
}

// wantReply checks the reply to a request of a driver's own.
func wantReply(t *testing.T, d *driver, wanted string, words ...string) {
	t.Helper()
	if got, err := d.call(words...); err != nil || got != wanted {
		t.Errorf("%s: %q: %q, %v; wanted %q", d.name, words, got, err, wanted)
	}
}

// onBoth runs a scenario against one Redis, which shows that the scenario itself is
// right, and against a proxy. The Redis has one database, as the proxy has.
func onBoth(t *testing.T, scenario func(t *testing.T, addr string)) {
	t.Run("one Redis", func(t *testing.T) {
		scenario(t, redistest.Start(t, redistest.Args("--databases", "1")).Addr())
	})
	t.Run("proxy", func(t *testing.T) { scenario(t, startFive(t).Addr()) })
}

func TestCachesOfDjangoAndLaravelAddOnlyWhatIsAbsent(t *testing.T) {
	onBoth(t, func(t *testing.T, addr string) {
		drivers := []*driver{open(t, addr, python, "python/redis_lock.py", "django")}
		for _, connection := range []string{"phpredis", "predis"} {
			drivers = append(drivers, open(t, addr, "php", "php/laravel.php", connection))
		}
		for _, d := range drivers {
			wantReply(t, d, "yes", "add", "once", "60000")
			wantReply(t, d, "no", "add", "once", "60000")
			wantReply(t, d, "yes", "delete", "once")
			wantReply(t, d, "no", "delete", "once")
		}
	})
}

// Where its script fails, the library reads the number and sets it again, which two can
// do at once.
func TestDjangosCacheCountsByItsScript(t *testing.T) {
	scenario := func(t *testing.T, addr string, sets func() string) {
		d := open(t, addr, python, "python/redis_lock.py", "django")
		before := sets()
		wantReply(t, d, "yes", "set", "count", "5")
		set := sets()
		if set == before {
			t.Fatalf("a SET is not seen: %q", set)
		}
		for _, n := range []string{"6", "7", "8"} {
			wantReply(t, d, n, "incr", "count")
		}
		if after := sets(); after != set {
			t.Errorf("the count was set: %q, before %q", after, set)
		}
		wantReply(t, d, "8", "get", "count")
		if got, err := d.call("incr", "absent"); err == nil {
			t.Errorf("incr of what is not there: %q", got)
		}
	}
	t.Run("one Redis", func(t *testing.T) {
		s := redistest.Start(t)
		scenario(t, s.Addr(), func() string {
			text, _ := s.MustDo("INFO", "commandstats").(string)
			return regexp.MustCompile(`cmdstat_set:calls=\d+`).FindString(text)
		})
	})
	t.Run("proxy", func(t *testing.T) {
		proxy := startFive(t, "-admin", "127.0.0.1:0")
		scenario(t, proxy.Addr(), func() string {
			return counter(t, proxy.Admin(), `redlock_proxy_operations_total{operation="write",outcome="written"}`)
		})
	})
}
