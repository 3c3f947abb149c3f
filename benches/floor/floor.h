/* What floor.c and xdp.c share. */
#include <sys/types.h>

#define ETHERTYPE 0x88B5

void fail(const char *what);

/* An AF_XDP socket on queue 0 of a device, with a program that gives it all frames of ETHERTYPE and
 * leaves the others to the kernel; both are gone when the process is. */
int xdp_open(const char *device);
void xdp_send(const unsigned char *frame, size_t length);
ssize_t xdp_next(unsigned char *frame, int wait);
