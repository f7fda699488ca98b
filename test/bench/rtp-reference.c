/*
 * What C makes of RTP on this machine: the limits that row 9 is measured against, and its receiver.
 *   rtp-reference send GROUP PORT SECONDS            one stream, a packet every 20 ms of an absolute schedule
 *   rtp-reference flood GROUP COUNT PORT PACKETS     PACKETS to each of COUNT groups, as fast as it goes; prints packets/s
 *   rtp-reference receive GROUP COUNT PORT SECONDS   prints "ready", then |gap - 20 ms| in ns, one line a gap
 * COUNT groups follow each other from GROUP on. Everything stays on the loopback interface. Times of arrival are the
 * kernel's own, so that the receiver's scheduling does not count.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_GROUPS 1000
#define PACKET_BYTES 172
#define PERIOD_NS 20000000LL
#define SECOND_NS 1000000000LL

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static struct sockaddr_in address(const char *group, int nth, int port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
  to.sin_addr.s_addr = htonl(ntohl(inet_addr(group)) + nth);
  return to;
}

static long long now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * SECOND_NS + at.tv_nsec;
}

static int open_sender(const char *group, int nth, int port) {
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
  struct sockaddr_in to = address(group, nth, port);
  if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback)) fail("socket");
  if (connect(fd, (struct sockaddr *)&to, sizeof to)) fail("connect");
  return fd;
}

static void send_packet(int fd, int n) {
  unsigned char packet[PACKET_BYTES] = {0x80, 0, n >> 8, n};
  unsigned int timestamp = htonl(n * 160);
  memcpy(packet + 4, &timestamp, 4);
  if (send(fd, packet, sizeof packet, 0) < 0) fail("send");
}

static void send_paced(const char *group, int port, int seconds) {
  int fd = open_sender(group, 0, port);
  long long start = now();
  for (int n = 0; n < seconds * 50; n++) {
    long long due = start + n * PERIOD_NS;
    struct timespec at = {due / SECOND_NS, due % SECOND_NS};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL)) continue;
    send_packet(fd, n);
  }
}

static void flood(const char *group, int count, int port, int packets) {
  static int fds[MAX_GROUPS];
  for (int i = 0; i < count; i++) fds[i] = open_sender(group, i, port);
  long long start = now();
  for (int i = 0; i < count; i++)
    for (int n = 0; n < packets; n++) send_packet(fds[i], n);
  printf("%.0f\n", (double)count * packets * SECOND_NS / (now() - start));
}

static int open_receiver(const char *group, int nth, int port) {
  int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
  struct sockaddr_in from = address(group, nth, port);
  struct ip_mreq join = {from.sin_addr, {htonl(INADDR_LOOPBACK)}};
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  if (fd < 0 || bind(fd, (struct sockaddr *)&from, sizeof from)) fail("bind");
  if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof join)) fail("join");
  return fd;
}

static long long arrival(int fd) {
  char packet[2048], control[128];
  struct iovec part = {packet, sizeof packet};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  if (recvmsg(fd, &message, 0) < 0) fail("recvmsg");
  for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_type != SCM_TIMESTAMPNS) continue;
    struct timespec at;
    memcpy(&at, CMSG_DATA(c), sizeof at);
    return at.tv_sec * SECOND_NS + at.tv_nsec;
  }
  fail("timestamp");
  return 0;
}

static void receive(const char *group, int count, int port, int seconds) {
  static struct pollfd polls[MAX_GROUPS];
  static long long before[MAX_GROUPS];
  for (int i = 0; i < count; i++) polls[i] = (struct pollfd){open_receiver(group, i, port), POLLIN, 0};
  size_t room = (size_t)count * seconds * 60, gaps = 0;
  long long *errors = malloc(room * sizeof *errors);
  if (!errors) fail("memory");
  puts("ready");
  fflush(stdout);
  for (long long end = now() + seconds * SECOND_NS; now() < end;) {
    if (poll(polls, count, 100) < 0) fail("poll");
    for (int i = 0; i < count; i++) {
      if (!(polls[i].revents & POLLIN)) continue;
      long long at = arrival(polls[i].fd);
      if (before[i] && gaps < room) errors[gaps++] = llabs(at - before[i] - PERIOD_NS);
      before[i] = at;
    }
  }
  for (size_t i = 0; i < gaps; i++) printf("%lld\n", errors[i]);
}

int main(int argc, char **argv) {
  if (argc == 5 && !strcmp(argv[1], "send")) send_paced(argv[2], atoi(argv[3]), atoi(argv[4]));
  else if (argc == 6 && atoi(argv[3]) <= MAX_GROUPS && !strcmp(argv[1], "flood")) flood(argv[2], atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
  else if (argc == 6 && atoi(argv[3]) <= MAX_GROUPS && !strcmp(argv[1], "receive")) receive(argv[2], atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
  else return 2;
  return 0;
}
