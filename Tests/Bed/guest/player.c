/*
 * player.c: the process under test. Its two outputs go into one pipe, which is read line by line as it comes, so that the time of a line is
 * the time it was said at. What it uses is read from /proc; what it has used in all comes with its end, from wait4().
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

/* In the child: a session of its own, with the console's terminal to control it if asked for, as a service with TTYPath=/dev/tty1 has */
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

/* The number behind NAME in a file of /proc/PID/ with lines of "NAME: number kB" */
static long number_of(pid_t pid, const char *name)
{
	char path[64], line[256];
	long value = -1;
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof line, file))
		if (!strncmp(line, name, strlen(name)))
			value = atol(line + strlen(name) + 1);
	if (file)
		fclose(file);
	return value;
}

static long long cpu_us(pid_t pid)
{
	char path[64], line[1024];
	unsigned long user = 0, system = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	FILE *file = fopen(path, "r");

	if (file && fgets(line, sizeof line, file))
		sscanf(strrchr(line, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
	if (file)
		fclose(file);
	return (user + system) * (1000000LL / sysconf(_SC_CLK_TCK));
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
	if (p->pid)
		fprintf(report, "sample %lld %lld %ld %ld %d\n", now_us(), cpu_us(p->pid), number_of(p->pid, "VmRSS"),
			number_of(p->pid, "Threads"), descriptors(p->pid));
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
