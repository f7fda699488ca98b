/* Stands between a process and the kernel (LD_PRELOAD): writes down what it does to the files below DISK_FOLDER, in the
 * order in which it happens, into the file DISK_LOG, and lets fsync fail as long as the file DISK_FAILS exists.
 * A record: kind (w write, t truncate, s sync, u unlink), length of the name, offset or size, length of the data; name; data.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct head {
  uint32_t kind, name;
  uint64_t at, size;
};

static int log_fd = -1;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("DISK_LOG");
  if (path) log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* The file's name below the folder; NULL for what lies elsewhere. */
static const char *watched(const char *path) {
  const char *folder = getenv("DISK_FOLDER");
  size_t length = folder ? strlen(folder) : 0;
  if (log_fd < 0 || length == 0 || strncmp(path, folder, length) != 0 || path[length] != '/') return NULL;
  return path + length + 1;
}

static const char *named(int fd, char *path) {
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return NULL;
  path[length] = 0;
  return watched(path);
}

static void keep(uint32_t kind, const char *name, uint64_t at, const void *data, uint64_t size) {
  struct head head = {kind, (uint32_t)strlen(name), at, size};
  struct iovec parts[] = {{&head, sizeof head}, {(void *)name, head.name}, {(void *)data, size}};
  if (writev(log_fd, parts, 3) < 0) abort();
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
  static ssize_t (*real)(int, const void *, size_t, off64_t);
  if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
  ssize_t wrote = real(fd, data, size, at);
  char path[PATH_MAX];
  const char *name = named(fd, path);
  if (name && wrote > 0) keep('w', name, at, data, wrote);
  return wrote;
}

int ftruncate64(int fd, off64_t size) {
  static int (*real)(int, off64_t);
  if (!real) real = dlsym(RTLD_NEXT, "ftruncate64");
  int result = real(fd, size);
  char path[PATH_MAX];
  const char *name = named(fd, path);
  if (name && result == 0) keep('t', name, size, "", 0);
  return result;
}

int fsync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fsync");
  char path[PATH_MAX];
  const char *name = named(fd, path);
  const char *fails = getenv("DISK_FAILS");
  if (name && fails && access(fails, F_OK) == 0) {
    errno = EIO;
    return -1;
  }
  int result = real(fd);
  if (name && result == 0) keep('s', name, 0, "", 0);
  return result;
}

int unlink(const char *path) {
  static int (*real)(const char *);
  if (!real) real = dlsym(RTLD_NEXT, "unlink");
  int result = real(path);
  const char *name = watched(path);
  if (name && result == 0) keep('u', name, 0, "", 0);
  return result;
}
