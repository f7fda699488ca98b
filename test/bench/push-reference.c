/*
 * The least that pushing to phones can cost: one HTTP request to each of many phones, WINDOW at once, one connection
 * each, without reading what is answered beyond its end.
 *   push-reference TARGETS REQUEST WINDOW   TARGETS: a file of lines "address port"; REQUEST: a file with the bytes to
 *                                           send. Prints "seconds pushed-successfully".
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_EVENTS 1024
#define MAX_TARGETS 65536
#define MAX_REQUEST 16384

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec + at.tv_nsec / 1e9;
}

static struct sockaddr_in targets[MAX_TARGETS];
static char request[MAX_REQUEST];

static int read_targets(const char *path) {
  FILE *file = fopen(path, "r");
  char host[64];
  int port, count = 0;
  if (!file) fail(path);
  while (count < MAX_TARGETS && fscanf(file, "%63s %d", host, &port) == 2) {
    targets[count].sin_family = AF_INET;
    targets[count].sin_port = htons(port);
    targets[count++].sin_addr.s_addr = inet_addr(host);
  }
  fclose(file);
  return count;
}

static size_t read_request(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) fail(path);
  size_t length = fread(request, 1, sizeof request, file);
  fclose(file);
  return length;
}

static void open_one(int poller, int nth) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  struct epoll_event event = {.events = EPOLLOUT, .data.fd = fd};
  if (fd < 0) fail("socket");
  if (connect(fd, (struct sockaddr *)&targets[nth], sizeof targets[nth]) && errno != EINPROGRESS) fail("connect");
  if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event)) fail("epoll_ctl");
}

/* 1: answered with 200, 0: still waiting, -1: over without that. */
static int serve(int poller, struct epoll_event *event, size_t length) {
  int fd = event->data.fd;
  if (event->events & EPOLLOUT) {
    struct epoll_event next = {.events = EPOLLIN, .data.fd = fd};
    if (send(fd, request, length, MSG_NOSIGNAL) != (ssize_t)length) return -1;
    epoll_ctl(poller, EPOLL_CTL_MOD, fd, &next);
    return 0;
  }
  char answer[8192];
  ssize_t got = recv(fd, answer, sizeof answer - 1, 0);
  if (got <= 0) return -1;
  answer[got] = 0;
  return strncmp(answer, "HTTP/1.1 200", 12) == 0 ? 1 : -1;
}

int main(int count, char **values) {
  if (count != 4) return 2;
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  int total = read_targets(values[1]), window = atoi(values[3]);
  size_t length = read_request(values[2]);
  int poller = epoll_create1(0), begun = 0, open = 0, good = 0;
  struct epoll_event events[MAX_EVENTS];
  double start = now();
  while (begun < total || open > 0) {
    for (; open < window && begun < total; open++) open_one(poller, begun++);
    int ready = epoll_wait(poller, events, MAX_EVENTS, 10000);
    if (ready <= 0) fail("epoll_wait");
    for (int i = 0; i < ready; i++) {
      int result = serve(poller, &events[i], length);
      if (result == 0) continue;
      good += result > 0;
      close(events[i].data.fd);
      open--;
    }
  }
  printf("%.6f %d\n", now() - start, good);
  return 0;
}
