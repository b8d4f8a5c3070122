/*
 * The worker of the supervisor bench: worker NAME EVENTS [plain|lines COUNT|tick MS|grandchild]
 * Says `main` and `ready` with its pid and the monotonic clock, one line each, in the file EVENTS.
 *   lines COUNT: on SIGUSR1 prints COUNT numbered lines of 100 bytes; tick MS: one such line each MS.
 *   grandchild: leaves a process in a session of its own that ignores SIGTERM.
 * Lives five minutes at most, whatever became of the bench.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int events;
static const char *name;
static volatile sig_atomic_t stopping;

static void on_term(int signal) { (void)signal; stopping = 1; }

static void say(const char *what, long value) {
  struct timespec now;
  char line[256];
  clock_gettime(CLOCK_MONOTONIC, &now);
  int size = snprintf(line, sizeof line, "%s %s %ld %lld\n", what, name, value, now.tv_sec * 1000000000LL + now.tv_nsec);
  if (write(events, line, size) < 0) _exit(3);
}

static void put(const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t written = write(1, bytes, size);
    if (written < 0) _exit(4);
    bytes += written;
    size -= written;
  }
}

/* 100 bytes with the newline. */
static void numbered(char *line, long number) {
  int head = sprintf(line, "L%08ld %07ld ", number, (long)getpid());
  memset(line + head, 'x', 98 - head);
  line[98] = 'E';
  line[99] = '\n';
}

static void lines(long count) {
  sigset_t set;
  int signal;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  say("ready", getpid());
  sigwait(&set, &signal);
  say("printing", count);
  static char batch[64 * 100];
  for (long number = 1; number <= count;) {
    int filled = 0;
    for (; filled < 64 && number <= count; filled++, number++) numbered(batch + filled * 100, number);
    put(batch, filled * 100);
  }
  say("printed", count);
}

static void tick(long ms) {
  struct timespec wait = {ms / 1000, ms % 1000 * 1000000L};
  char line[101];
  long number = 0;
  signal(SIGTERM, on_term);
  signal(SIGINT, on_term);
  say("ready", getpid());
  while (!stopping) {
    numbered(line, ++number);
    put(line, 100);
    nanosleep(&wait, NULL);
  }
  say("ends", getpid());
  say("last", number);
  _exit(0);
}

static void grandchild(void) {
  pid_t child = fork();
  if (child == 0) {
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    setsid();
    say("grandchild", getpid());
    for (int i = 0; i < 300; i++) sleep(1);
    _exit(0);
  }
  say("ready", getpid());
}

int main(int count, char **words) {
  if (count < 3) return 2;
  name = words[1];
  events = open(words[2], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (events < 0) return 3;
  say("main", getpid());
  alarm(300);
  const char *mode = count > 3 ? words[3] : "plain";
  long value = count > 4 ? atol(words[4]) : 0;
  if (strcmp(mode, "lines") == 0) lines(value);
  else if (strcmp(mode, "tick") == 0) tick(value);
  else if (strcmp(mode, "grandchild") == 0) grandchild();
  else say("ready", getpid());
  for (;;) pause();
}
