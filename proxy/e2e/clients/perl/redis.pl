# Drives the Redis module: redis.pl HOST:PORT

use strict;
use warnings;
use Redis;

my $release = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end';
my $extend = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end';

# Without "reconnect" a connection that was lost stays lost.
my $redis = Redis->new(server => $ARGV[-1], reconnect => 2, every => 50_000);
my (%tokens, $count);

my %requests = (
    ping    => sub { $redis->ping eq 'PONG' },
    numbered => sub {
        my ($key, $fence) = @_;
        $redis->multi;
        $redis->set($key, 'a', 'NX', 'PX', 60_000);
        $redis->incr($fence);
        my ($taken, $number) = $redis->exec;
        return 'value ' . ($taken ? 'yes' : 'no') . " $number";
    },
    database => sub { Redis->new(server => $ARGV[-1])->select($_[0]) eq 'OK' },
    acquire => sub {
        my ($key, $millis) = @_;
        my $token = "$$:" . ++$count . ':' . rand;
        my $taken = $redis->set($key, $token, 'NX', 'PX', $millis) // '';
        $tokens{$key} = $token if $taken eq 'OK';
        return $taken eq 'OK';
    },
    extend  => sub { $redis->eval($extend, 1, $_[0], $tokens{$_[0]}, $_[1]) == 1 },
    release => sub { $redis->eval($release, 1, $_[0], $tokens{$_[0]}) == 1 },
);

$| = 1;
print "ready\n";
while (my $line = <STDIN>) {
    my ($word, @words) = split ' ', $line;
    my $reply = eval {
        my $said = $requests{$word}->(@words);
        !$said ? 'no' : $said =~ /^value / ? $said : 'yes';
    };
    if (!defined $reply) { # whatever the library dies of is what is asked for
        ($reply = "error $@") =~ tr/\r\n/  /;
    }
    print "$reply\n";
}
