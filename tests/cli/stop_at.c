// Preloaded into a program by harness.py: stops it at a place in its work, not at a time.
//
//   STOP_FILE=PATTERN  when a file of such a path has been renamed into its place (a checkpoint: of batch
//                      STOP_AT or a later one), send STOP_BY (a signal's number) STOP_TIMES times to
//                      STOP_WHOM: self, parent or sibling (another process of the same parent); with
//                      STOP_ONCE=FILE only where there is no such file yet, which is then made
//   KILL_BEFORE=N      kill -9 before the N-th change of a file or folder
//   COUNT_CHANGES=FILE at the end, write the number of changes to this file

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long changes, stopped;

static long number(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? 0 : atol(text);
}

static void change(void) {
  if (++changes == number("KILL_BEFORE")) kill(getpid(), SIGKILL);
}

// Of many writes to a file in a row the first counts, and every sixteenth.
static void wrote(int descriptor) {
  static long last = -1, in_a_row, at;
  in_a_row = descriptor == last && at == changes ? in_a_row + 1 : 0;
  last = descriptor;
  if (in_a_row % 16 == 0) change();
  at = changes;
}

__attribute__((destructor)) static void tell(void) {
  const char* path = getenv("COUNT_CHANGES");
  FILE* file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%ld\n", (long)changes);
  fclose(file);
}

static pid_t parent_of(pid_t pid) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE* file = fopen(path, "r");
  if (file == NULL) return -1;
  const size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = '\0';
  const char* end = strrchr(text, ')');  // of the command's name, which may hold anything
  int parent = -1;
  return end != NULL && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

static pid_t sibling(void) {
  pid_t found = -1;
  DIR* all = opendir("/proc");
  for (struct dirent* entry; (entry = readdir(all)) != NULL;) {
    const pid_t pid = atoi(entry->d_name);
    if (pid > 0 && pid != getpid() && parent_of(pid) == getppid()) found = pid;
  }
  closedir(all);
  return found;
}

static void renamed(const char* path) {
  const char *pattern = getenv("STOP_FILE"), *once = getenv("STOP_ONCE"), *name = strrchr(path, '/');
  if (pattern == NULL || fnmatch(pattern, path, 0) != 0) return;
  long step = 0;
  if (name != NULL && sscanf(name, "/step-%ld", &step) == 1 && step < number("STOP_AT")) return;
  if (atomic_exchange(&stopped, 1)) return;
  if (once != NULL && open(once, O_CREAT | O_EXCL | O_CLOEXEC, 0600) < 0) return;
  const char* whom = getenv("STOP_WHOM");
  const pid_t pid = strcmp(whom, "self") == 0     ? getpid()
                    : strcmp(whom, "parent") == 0 ? getppid()
                                                  : sibling();
  for (long i = number("STOP_TIMES"); i > 0; --i) kill(pid, (int)number("STOP_BY"));
}

#define NEXT(name, ...)                                   \
  static int (*next)(__VA_ARGS__);                        \
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, name)

int rename(const char* from, const char* to) {
  NEXT("rename", const char*, const char*);
  change();
  const int result = next(from, to);
  if (result == 0) renamed(to);
  return result;
}

// Not what a library tells a profiler (/tmp/perf-PID.map).
static int is_own_file(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  char link[64], path[16] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  return length < 0 || strncmp(path, "/tmp/perf-", 10) != 0;
}

ssize_t write(int descriptor, const void* bytes, size_t count) {
  static ssize_t (*next)(int, const void*, size_t);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "write");
  if (is_own_file(descriptor)) wrote(descriptor);
  return next(descriptor, bytes, count);
}

int fsync(int descriptor) {
  NEXT("fsync", int);
  change();
  return next(descriptor);
}

int ftruncate(int descriptor, off_t length) {
  NEXT("ftruncate", int, off_t);
  change();
  return next(descriptor, length);
}

int unlink(const char* path) {
  NEXT("unlink", const char*);
  change();
  return next(path);
}

int unlinkat(int folder, const char* path, int flags) {
  NEXT("unlinkat", int, const char*, int);
  change();
  return next(folder, path, flags);
}

int remove(const char* path) {
  NEXT("remove", const char*);
  change();
  return next(path);
}

int mkdir(const char* path, mode_t mode) {
  NEXT("mkdir", const char*, mode_t);
  change();
  return next(path, mode);
}

static int opened(const char* name, const char* path, int flags, mode_t mode) {
  NEXT(name, const char*, int, ...);
  if ((flags & (O_CREAT | O_TRUNC)) != 0) change();
  return next(path, flags, mode);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return opened("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return opened("open64", path, flags, mode);
}
