/*
 * init: PID 1 of the test bed. Mounts what a Linux system expects, brings the loopback interface up, makes the vkms
 * card (displays), runs the command of $uml_job, and powers off.
 *
 * The kernel turns arguments it does not know ("uml_job=/tmp/bed.x") into the environment of init; this is how `run`
 * talks to it. The job folder lies on the host: `cmd` in it is the shell script to run, `rc` will hold its exit status.
 * The script's output leaves over two serial lines, which `run` has connected to its own stdout and stderr.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define OUT "/dev/ttyS0"
#define ERR "/dev/ttyS1"
#define SHELL "/dev/ttyS2"	/* the terminal of an interactive shell */

static void complain(const char *what, const char *about)
{
	fprintf(stderr, "init: %s %s: %s\n", what, about, strerror(errno));
}

static const char *env(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value ? value : otherwise;
}

static void mount_on(const char *type, const char *folder, const char *options)
{
	if (mount(type, folder, type, 0, options))
		complain("mount", folder);
}

static void link_to(const char *target, const char *path)
{
	if (symlink(target, path))
		complain("symlink", path);
}

/* The root is the host's, read-only: folders that programs write to are in memory. The kernel has mounted /dev. */
static void mount_all(void)
{
	mount_on("proc", "/proc", 0);
	mount_on("sysfs", "/sys", 0);
	mkdir("/dev/pts", 0755);
	mkdir("/dev/shm", 01777);
	mount_on("devpts", "/dev/pts", "gid=5,mode=620,ptmxmode=666");
	mount_on("tmpfs", "/dev/shm", "mode=1777,size=1g");
	mount_on("debugfs", "/sys/kernel/debug", 0);
	mount_on("configfs", "/sys/kernel/config", 0);
	mount_on("tmpfs", "/run", "mode=755");
	mount_on("tmpfs", "/var/tmp", "mode=1777");
	mkdir("/run/home", 0755);
	mkdir("/run/user", 0755);
	mkdir("/run/xdg", 0700);
	link_to("/proc/self/fd", "/dev/fd");
	link_to("/proc/self/fd/0", "/dev/stdin");
	link_to("/proc/self/fd/1", "/dev/stdout");
	link_to("/proc/self/fd/2", "/dev/stderr");
}

/* Mounts the host's folders that the guest may write, colon separated: a second, writable view over the first */
static void mount_writable(const char *list)
{
	char *copy = strdup(list);

	for (char *folder = strtok(copy, ":"); folder; folder = strtok(NULL, ":"))
		mount_on("hostfs", folder, folder);
	free(copy);
}

static void bring_network_up(void)
{
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	if (s < 0 || ioctl(s, SIOCSIFFLAGS, &loopback))
		complain("bring up", "lo");
	close(s);
	sethostname("bed", 3);
}

/* The guest's tools, among them displays, lie beside init */
static void make_card(const char *folder)
{
	char displays[600];
	pid_t child = fork();

	if (!child) {
		snprintf(displays, sizeof displays, "%s/displays", folder);
		execl(displays, displays, env("uml_displays", "1"), env("uml_overlays", "2"), env("uml_spare", "0"), (char *)0);
		complain("run", displays);
		_exit(127);
	}
	waitpid(child, NULL, 0);
}

static void set_environment(const char *folder)
{
	char path[700];

	snprintf(path, sizeof path, "%s:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", folder);
	setenv("PATH", path, 1);
	setenv("HOME", "/run/home", 1);
	setenv("XDG_RUNTIME_DIR", "/run/xdg", 1);
	setenv("TERM", env("uml_term", "dumb"), 1);
}

/* A serial line as a plain pipe: no echo, no newline translation, no carrier to wait for */
static int open_raw(const char *line)
{
	int fd = open(line, O_WRONLY | O_NOCTTY);
	struct termios t;

	if (fd >= 0 && !tcgetattr(fd, &t)) {
		cfmakeraw(&t);
		t.c_cflag |= CLOCAL;
		tcsetattr(fd, TCSANOW, &t);
	}
	return fd;
}

static void connect_to_run(void)
{
	int in = open("/dev/null", O_RDONLY), out = open_raw(OUT), err = open_raw(ERR);

	if (in < 0 || out < 0 || err < 0) {
		complain("open", OUT " and " ERR);
		_exit(127);
	}
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	close_range(3, ~0u, 0);
}

/* The controlling terminal of an interactive shell, so that Ctrl-C and job control work */
static void connect_to_terminal(void)
{
	int tty = open(SHELL, O_RDWR);

	if (tty < 0 || ioctl(tty, TIOCSCTTY, 1)) {
		complain("open", SHELL);
		_exit(127);
	}
	for (int fd = 0; fd < 3; fd++)
		dup2(tty, fd);
	close_range(3, ~0u, 0);
}

static void run_command(const char *folder, const char *job)
{
	char script[600];

	setsid();
	if (getenv("uml_shell"))
		connect_to_terminal();
	else
		connect_to_run();
	set_environment(folder);
	snprintf(script, sizeof script, "%s/cmd", job);
	execl("/bin/bash", "bash", script, (char *)0);
	_exit(127);
}

/* Waits for the command. PID 1 inherits orphans, which this reaps silently */
static int wait_for(pid_t command)
{
	int status;

	for (;;) {
		pid_t ended = wait(&status);

		if (ended == command)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		if (ended < 0 && errno != EINTR)
			return 255;
	}
}

/* Waits until the host has all output of this line */
static void drain(const char *line)
{
	int fd = open(line, O_WRONLY | O_NOCTTY);

	if (fd < 0)
		return;
	tcdrain(fd);
	close(fd);
}

static void write_status(const char *job, int status)
{
	char path[600];
	FILE *f;

	snprintf(path, sizeof path, "%s/rc", job);
	f = fopen(path, "w");
	if (!f)
		return complain("write", path);
	fprintf(f, "%d\n", status);
	fflush(f);
	fsync(fileno(f));
	fclose(f);
}

static void end_all_processes(void)
{
	kill(-1, SIGTERM);
	usleep(20000);
	kill(-1, SIGKILL);
}

int main(int argc, char **argv)
{
	const char *folder = argc ? dirname(strdup(argv[0])) : "/", *job = getenv("uml_job");
	pid_t command;
	int status;

	if (job) {
		mount_all();
		mount_writable(env("uml_rw", "/tmp"));
		bring_network_up();
		make_card(folder);
		command = fork();
		if (!command)
			run_command(folder, job);
		status = wait_for(command);
		drain(OUT);
		drain(ERR);
		end_all_processes();
		write_status(job, status);
		sync();
	}
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}
