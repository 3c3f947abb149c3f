/* A peer of RTPS 1.0 for tests, on the library of ORTE, which is not part of this project.
 *
 * orte pub TOPIC SIZE PERIOD_MS COUNT STRENGTH PERSISTENCE_MS
 * orte sub TOPIC SIZE strict|best DEADLINE_MS SEPARATION_MS
 * orte ping TOPIC SIZE PERIOD_MS COUNT
 * orte echo TOPIC SIZE
 *
 * Samples are of the type "Numbered": a number of 32 bits, and octets that all have its lowest
 * eight bits. `ping` writes TOPIC and reads TOPIC/back, `echo` the other way round; both strict, and
 * both sleep until a sample arrives.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "orte.h"

#define SIZE_MAX_OF 12000

static size_t size;
static unsigned char out[SIZE_MAX_OF], in[SIZE_MAX_OF];
static uint32_t answered;
static int64_t answered_at;
static sem_t arrived;

static int64_t now_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The macro has a variable of its own with the name `ms`. */
static NtpTime span_of(long milliseconds)
{
	NtpTime span;
	NtpTimeAssembFromMs(span, milliseconds / 1000, milliseconds % 1000);
	return span;
}

static void fill(uint32_t number)
{
	memset(out, (int)(number & 0xff), size);
	memcpy(out, &number, sizeof number);
}

static void received(const ORTERecvInfo *info, void *instance, void *unused)
{
	uint32_t number;
	size_t at;
	(void)unused;
	if (info->status == DEADLINE) {
		printf("deadline %" PRId64 "\n", now_ns() / 1000000);
		fflush(stdout);
		return;
	}
	memcpy(&number, instance, sizeof number);
	for (at = sizeof number; at < size; at++)
		if (((unsigned char *)instance)[at] != (number & 0xff)) {
			printf("broken %" PRIu32 "\n", number);
			break;
		}
	printf("sample %" PRIu32 " %08x-%08x %" PRId64 "\n", number,
	       (unsigned)info->senderGUID.hid, (unsigned)info->senderGUID.aid,
	       now_ns() / 1000000);
	fflush(stdout);
}

static void returned(const ORTERecvInfo *info, void *instance, void *unused)
{
	uint32_t number;
	(void)unused;
	if (info->status != NEW_DATA)
		return;
	answered_at = now_ns();
	memcpy(&number, instance, sizeof number);
	answered = number;
	sem_post(&arrived);
}

static void echoed(const ORTERecvInfo *info, void *instance, void *unused)
{
	(void)unused;
	if (info->status != NEW_DATA)
		return;
	memcpy(out, instance, size);
	/* The library holds its locks during this call. */
	sem_post(&arrived);
}

static ORTEPublication *writer(ORTEDomain *domain, const char *topic, int strength, long ms)
{
	NtpTime persistence = span_of(ms);
	return ORTEPublicationCreate(domain, topic, "Numbered", out, &persistence, strength, NULL,
				     NULL, NULL);
}

static ORTESubscription *reader(ORTEDomain *domain, const char *topic, int is_strict, long deadline,
				long separation, ORTERecvCallBack call)
{
	/* A deadline of zero would be over again and again. */
	NtpTime until = span_of(deadline ? deadline : 3600000), apart = span_of(separation);
	return ORTESubscriptionCreate(domain, IMMEDIATE, is_strict ? STRICT_RELIABLE : BEST_EFFORTS,
				      topic, "Numbered", in, &until, &apart, call, NULL,
				      IPADDRESS_INVALID);
}

static int publish(ORTEPublication *topic, long period, long count)
{
	long number;
	ORTEPublicationWaitForSubscriptions(topic, span_of(50), 600, 1);
	ORTESleepMs(300);
	for (number = 1; number <= count; number++) {
		fill((uint32_t)number);
		if (ORTEPublicationSend(topic) != ORTE_OK)
			printf("refused %ld\n", number);
		ORTESleepMs((unsigned)period);
	}
	ORTESleepMs(3000);
	return 0;
}

static int by_size(const void *one, const void *other)
{
	int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
	return (a > b) - (a < b);
}

static struct timespec at_ns(int64_t ns)
{
	struct timespec time = { ns / 1000000000, ns % 1000000000 };
	return time;
}

static int measure(ORTEPublication *topic, long period, long count)
{
	int64_t *all = calloc((size_t)count, sizeof *all);
	int64_t begin, due;
	long number, found = 0;
	if (!all)
		return 1;
	ORTEPublicationWaitForSubscriptions(topic, span_of(50), 600, 1);
	ORTESleepMs(1000);
	due = now_ns();
	for (number = 1; number <= count; number++) {
		struct timespec until = at_ns(due);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		begin = now_ns();
		fill((uint32_t)number);
		ORTEPublicationSend(topic);
		due += period * 1000000;
		until = at_ns(due);
		/* The time is taken in the callback: this thread need not be awake for it. */
		while (!sem_clockwait(&arrived, CLOCK_MONOTONIC, &until))
			if (answered == (uint32_t)number) {
				all[found++] = answered_at - begin;
				break;
			}
	}
	qsort(all, (size_t)found, sizeof *all, by_size);
	printf("rtt %ld of %ld", found, count);
	if (found)
		printf(" p50 %" PRId64 " p99 %" PRId64 " max %" PRId64 " ns", all[found / 2],
		       all[found * 99 / 100], all[found - 1]);
	printf("\n");
	free(all);
	return 0;
}

int main(int argc, char **argv)
{
	ORTEDomainProp properties;
	ORTEDomain *domain;
	char other[200];
	const char *verb = argc > 3 ? argv[1] : "";
	const long *a;
	long numbers[8] = { 0 };
	int at;

	for (at = 3; at < argc && at < 11; at++)
		numbers[at - 3] = strtol(argv[at], NULL, 10);
	a = numbers;
	size = (size_t)a[0];
	if (argc < 4 || size < sizeof(uint32_t) || size > SIZE_MAX_OF) {
		fprintf(stderr, "usage: orte pub|sub|ping|echo TOPIC SIZE ...\n");
		return 2;
	}
	sem_init(&arrived, 0, 0);
	ORTEInit();
	ORTEDomainPropDefaultGet(&properties);
	/* A new manager learns of this application within this time. */
	properties.baseProp.refreshPeriod = span_of(2000);
	properties.publPropDefault.sendQueueSize = 50;
	properties.publPropDefault.HBNornalRate = span_of(100);
	properties.subsPropDefault.recvQueueSize = 50;
	domain = ORTEDomainAppCreate(ORTE_DEFAULT_DOMAIN, &properties, NULL, ORTE_FALSE);
	if (!domain)
		return 1;
	ORTETypeRegisterAdd(domain, "Numbered", NULL, NULL, NULL, (unsigned)size);
	snprintf(other, sizeof other, "%s/back", argv[2]);
	if (!strcmp(verb, "pub"))
		return publish(writer(domain, argv[2], (int)a[3], a[4]), a[1], a[2]);
	if (!strcmp(verb, "ping")) {
		reader(domain, other, 1, 0, 0, returned);
		return measure(writer(domain, argv[2], 1, 1000), a[1], a[2]);
	}
	if (!strcmp(verb, "echo")) {
		ORTEPublication *back = writer(domain, other, 1, 1000);
		reader(domain, argv[2], 1, 0, 0, echoed);
		for (;;)
			if (!sem_wait(&arrived))
				ORTEPublicationSend(back);
	} else {
		reader(domain, argv[2], argc > 4 && !strcmp(argv[4], "strict"), a[2], a[3], received);
	}
	for (;;)
		ORTESleepMs(1000);
}
