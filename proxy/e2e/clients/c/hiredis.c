/* Drives hiredis: hiredis HOST:PORT */

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RELEASE "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
#define EXTEND "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end"

enum { MOST_LOCKS = 64, TOKEN = 64, LINE = 1024 };

static struct { char key[LINE], token[TOKEN]; } locks[MOST_LOCKS];
static int n_locks;

/* The token under which a key was taken, "" if it never was. */
static char *token_of(const char *key) {
	for (int i = 0; i < n_locks; i++)
		if (strcmp(locks[i].key, key) == 0)
			return locks[i].token;
	if (n_locks == MOST_LOCKS) {
		fprintf(stderr, "more than %d locks\n", MOST_LOCKS);
		exit(1);
	}
	snprintf(locks[n_locks].key, LINE, "%s", key);
	return locks[n_locks++].token;
}

/* Answers with the outcome of a command. Yes tells whether the reply says so. */
static int answer(redisContext *redis, redisReply *reply) {
	int yes = 0;
	if (reply == NULL) {
		printf("error %s\n", redis->errstr);
		redisReconnect(redis); /* the library leaves that to its user */
	} else if (reply->type == REDIS_REPLY_ERROR) {
		printf("error %s\n", reply->str);
	} else {
		yes = reply->type == REDIS_REPLY_STATUS || (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1);
		puts(yes ? "yes" : "no");
	}
	if (reply != NULL)
		freeReplyObject(reply);
	return yes;
}

/* Takes a lock and draws a number in one transaction, written as one pipeline. */
static void numbered(redisContext *redis, const char *key, const char *fence) {
	redisReply *reply = NULL;
	redisAppendCommand(redis, "MULTI");
	redisAppendCommand(redis, "SET %s a NX PX 60000", key);
	redisAppendCommand(redis, "INCR %s", fence);
	redisAppendCommand(redis, "EXEC");
	for (int i = 0; i < 4; i++) {
		if (reply != NULL)
			freeReplyObject(reply);
		reply = NULL;
		redisGetReply(redis, (void **)&reply);
	}
	if (reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2) {
		printf("value %s %lld\n", reply->element[0]->type == REDIS_REPLY_NIL ? "no" : "yes", reply->element[1]->integer);
		freeReplyObject(reply);
	} else {
		answer(redis, reply);
	}
}

static void serve(redisContext *redis, const char *word, const char *key, const char *millis) {
	static int count;
	if (strcmp(word, "ping") == 0) {
		answer(redis, redisCommand(redis, "PING"));
	} else if (strcmp(word, "numbered") == 0) {
		numbered(redis, key, millis);
	} else if (strcmp(word, "database") == 0) {
		answer(redis, redisCommand(redis, "SELECT %s", key));
	} else if (strcmp(word, "acquire") == 0) {
		char token[TOKEN];
		snprintf(token, sizeof token, "%d:%d", (int)getpid(), ++count);
		if (answer(redis, redisCommand(redis, "SET %s %s NX PX %s", key, token, millis)))
			strcpy(token_of(key), token);
	} else if (strcmp(word, "extend") == 0) {
		answer(redis, redisCommand(redis, "EVAL %s 1 %s %s %s", EXTEND, key, token_of(key), millis));
	} else if (strcmp(word, "release") == 0) {
		answer(redis, redisCommand(redis, "EVAL %s 1 %s %s", RELEASE, key, token_of(key)));
	} else {
		printf("error no such request: %s\n", word);
	}
}

int main(int argc, char **argv) {
	char *colon = argc > 1 ? strrchr(argv[argc - 1], ':') : NULL;
	if (colon == NULL)
		return 2;
	*colon = '\0';
	redisContext *redis = redisConnect(argv[argc - 1], atoi(colon + 1));
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (redis == NULL || redis->err) {
		printf("error %s\n", redis == NULL ? "no memory" : redis->errstr);
		return 1;
	}
	puts("ready");
	char line[LINE];
	while (fgets(line, sizeof line, stdin) != NULL) {
		char word[LINE] = "", key[LINE] = "", millis[LINE] = "";
		if (sscanf(line, "%1023s %1023s %1023s", word, key, millis) < 1)
			continue;
		serve(redis, word, key, millis);
	}
	redisFree(redis);
	return 0;
}
