/*
 * player.c: the process under test. Its two outputs go into one pipe. The director reads that at once, so the time of a line is the time
 * the player printed it. Usage during the run comes from /proc; the total comes from wait4() at the end.
 */
#include "direct.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kd.h>
#include <linux/vt.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* In the child: starts a session, with the console as controlling terminal if TERMINAL, like a service with TTYPath=/dev/tty1 */
static void settle(int output, int terminal)
{
	int input;

	setsid();
	input = open(terminal ? "/dev/tty1" : "/dev/null", O_RDWR);
	if (terminal)
		ioctl(input, TIOCSCTTY, 0);
	dup2(input, 0);
	dup2(output, 1);
	dup2(output, 2);
	if (input > 2)
		close(input);
}

void player_start(struct player *p, char **command, int terminal, FILE *report)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		fail("pipe");
	fflush(NULL);
	long long start = now_us();
	p->pid = fork();
	if (p->pid < 0)
		fail("fork");
	if (!p->pid) {
		settle(ends[1], terminal);
		execvp(command[0], command);
		fprintf(stderr, "direct: %s: %s\n", command[0], strerror(errno));
		_exit(127);
	}
	close(ends[1]);
	p->output = ends[0];
	fprintf(report, "start %lld %d\n", start, p->pid);
}

static void log_line(struct player *p)
{
	fprintf(p->log, "%lld %.*s\n", now_us(), (int)p->used, p->line);
	p->used = 0;
}

void player_read(struct player *p)
{
	char text[4096];
	ssize_t count = read(p->output, text, sizeof text);

	if (count <= 0) {
		if (p->used)
			log_line(p);
		close(p->output);
		p->output = -1;
		return;
	}
	for (ssize_t i = 0; i < count; i++) {
		if (text[i] == '\n')
			log_line(p);
		else if (p->used < sizeof p->line)
			p->line[p->used++] = text[i];
	}
}

/* Returns the number after NAME in the file OF of /proc/PID/, which has lines of "NAME: number kB" */
static long number_of(pid_t pid, const char *name, const char *of)
{
	char path[64], line[256];
	long value = -1;
	snprintf(path, sizeof path, "/proc/%d/%s", pid, of);
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof line, file))
		if (!strncmp(line, name, strlen(name)))
			value = atol(line + strlen(name) + 1);
	if (file)
		fclose(file);
	return value;
}

/* Reads the processor time of a process and its reaped children. Returns its parent; 0 if there is no such process */
static pid_t usage_of(pid_t pid, long long *cpu_us)
{
	char path[64], line[1024];
	int parent = 0;
	unsigned long user = 0, system = 0;
	long user_of_ended = 0, system_of_ended = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	FILE *file = fopen(path, "r");

	if (file && fgets(line, sizeof line, file))
		sscanf(strrchr(line, ')') + 2, "%*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &parent, &user, &system,
		       &user_of_ended, &system_of_ended);
	if (file)
		fclose(file);
	*cpu_us = ((long long)(user + system) + user_of_ended + system_of_ended) * (1000000LL / sysconf(_SC_CLK_TCK));
	return parent;
}

enum { MOST_PROCESSES = 256 };

/* Lists the player and its living descendants. A process that reads files for the player is normally one of them */
static int family(pid_t player, pid_t *members)
{
	struct { pid_t pid, parent; } all[MOST_PROCESSES];
	int known = 0, count = 0;
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	while (folder && (entry = readdir(folder)) && known < MOST_PROCESSES) {
		long long cpu;
		all[known].pid = atoi(entry->d_name);
		if (all[known].pid > 0 && (all[known].parent = usage_of(all[known].pid, &cpu)) > 0)
			known++;
	}
	if (folder)
		closedir(folder);
	members[count++] = player;
	for (int i = 0; i < count; i++)
		for (int j = 0; j < known; j++)
			if (all[j].parent == members[i] && count < MOST_PROCESSES)
				members[count++] = all[j].pid;
	return count;
}

static int descriptors(pid_t pid)
{
	char path[64];
	int count = -2;		/* . and .. */
	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	DIR *folder = opendir(path);

	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	return count;
}

void player_sample(const struct player *p, FILE *report)
{
	pid_t members[MOST_PROCESSES];
	long long cpu = 0;
	long share = 0;

	if (!p->pid)
		return;
	for (int i = family(p->pid, members); i-- > 0;) {
		long long used = 0;
		long of_one = number_of(members[i], "Pss:", "smaps_rollup");
		usage_of(members[i], &used);
		cpu += used;
		share += of_one > 0 ? of_one : 0;
	}
	fprintf(report, "sample %lld %lld %ld %ld %d %ld\n", now_us(), cpu, number_of(p->pid, "VmRSS", "status"),
		number_of(p->pid, "Threads", "status"), descriptors(p->pid), share);
}

int player_ended(struct player *p, FILE *report)
{
	struct rusage usage;
	int status;

	if (!p->pid || wait4(p->pid, &status, WNOHANG, &usage) != p->pid)
		return !p->pid;
	p->pid = 0;
	fprintf(report, "ended %lld %d %lld %ld\n", now_us(), WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
		(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec,
		usage.ru_maxrss);
	return 1;
}

void terminal_report(FILE *report)
{
	int terminal = open("/dev/tty1", O_RDWR | O_NOCTTY | O_CLOEXEC), mode = -1, keyboard = -1;
	struct vt_mode switching = { .mode = -1 };

	if (terminal < 0)
		return;
	ioctl(terminal, KDGETMODE, &mode);
	ioctl(terminal, KDGKBMODE, &keyboard);
	ioctl(terminal, VT_GETMODE, &switching);
	fprintf(report, "terminal %s %s %s\n", mode == KD_TEXT ? "text" : "graphics", keyboard == K_OFF ? "off" : "on",
		switching.mode == VT_AUTO ? "auto" : "process");
	close(terminal);
}
