/* The time of day, moved by the seconds that stand in the file "clock" beside the program; steady clocks stay as they are. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Mapped once: a step is seen by every process at its next look. */
static volatile long *offset(void) {
  static volatile long *mapped;
  static long none;
  if (mapped) return mapped;
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 16);
  if (length < 0) return mapped = &none;
  path[length] = 0;
  strcpy(strrchr(path, '/') + 1, "clock");
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  void *page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  return mapped = page == MAP_FAILED ? &none : page;
}

int clock_gettime(clockid_t id, struct timespec *at) {
  int result = syscall(SYS_clock_gettime, id, at);
  if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) at->tv_sec += *offset();
  return result;
}

int gettimeofday(struct timeval *at, void *zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
