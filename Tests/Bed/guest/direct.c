/*
 * direct FOLDER COMMAND…   the director of a run: starts a player in the guest, performs FOLDER/script, and reports the results.
 *
 * FOLDER/script has one instruction a line. First comes the stage:
 *   seconds S                  sends SIGTERM to the player that long after its start
 *   terminal                   gives the player tty1 as controlling terminal and standard input
 *   touch W H | keys           plugs in a touch screen of that size, or a keyboard, from the beginning
 *   watch N X Y CW CH CELLS    watches display N, with the place of the number in its picture (see watch.c)
 *   listen DEVICE              records the sound
 *   sample SECONDS             the interval between looks at the player's memory
 *   able                       measures this guest's abilities, before anything else
 *   reference LINE             runs a shell line to its end before the rest, and times it
 *   look US LATE_US            the interval at which the director wakes, and the delay from which it reports it
 * Then come the events, in order, at US microseconds from the start of the player (below 0: before it), with an ID for the report:
 *   at US ID down X Y [FINGER] | move X Y [FINGER] | up [FINGER] | replay NAME | press CODE | release CODE | plug touch|keys |
 *            unplug touch|keys | display on|off N | screenshot N [NAME] | terminal | signal NUMBER | shell LINE
 * A finger without a number is 0. replay plays FOLDER/NAME (replay.c) on a device of its own.
 * A screenshot goes to FOLDER/NAME or FOLDER/ID.ppm; the state of the terminal and the output of a shell line go to FOLDER/ID.txt.
 * In a shell line $PLAYER is the player's process id. Screenshots and shell lines do not delay other events.
 *
 * The director writes FOLDER/log (the player's lines, each after its time), FOLDER/vblanks-N (from watch), FOLDER/sound.wav and sound.times
 * (from listen), and FOLDER/report, in which all times are CLOCK_MONOTONIC in microseconds:
 *   start US PID   did ID US   sample US CPU_US RSS_KB THREADS DESCRIPTORS   asked US (to end)   killed   ended US STATUS CPU_US PEAK_KB
 *   able CALL_NS SWITCH_NS FAULT_NS (a system call, a change to another process, a page touched for the first time)   reference US
 *   held US LATE_US (the director, which nothing outranks, should have run at US and ran LATE_US later)
 *   terminal text|graphics KEYBOARD VT   done
 */
#include "direct.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MAX_EVENTS 4096
#define MAX_TOOLS 8
#define PATIENCE 5000000	/* µs a player has to end after SIGTERM */

struct event {
	long long at;
	int id;
	char what[16], rest[1000];
};

static struct event events[MAX_EVENTS];
static int event_count;
static pid_t tools[MAX_TOOLS];
static int tool_count;
static const char *folder;
static FILE *report;
static struct player player = { .output = -1 };
static double seconds = 10, sample_seconds = 10;
static int terminal;
/* 50 looks a second. The limit is three quarters of a vblank period: the time that a player has from vblank to commit */
static long long look_us = 20000, held_us = 12000;

long long now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

void fail(const char *what)
{
	fprintf(stderr, "direct: %s: %s\n", what, strerror(errno));
	exit(1);
}

static const char *in_folder(const char *name)
{
	static char path[600];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static FILE *create(const char *name)
{
	FILE *file = fopen(in_folder(name), "we");

	if (!file)
		fail(in_folder(name));
	setlinebuf(file);
	return file;
}

/* Starts a program of the bed with its output in FOLDER/output; it dies with the director */
static pid_t spawn(const char *output, char *const *command)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int file = open(in_folder(output), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (file < 0)
		fail(in_folder(output));
	dup2(file, 1);
	execvp(command[0], command);
	fail(command[0]);
}

static void start_tool(const char *output, char *const *command)
{
	if (tool_count < MAX_TOOLS)
		tools[tool_count++] = spawn(output, command);
}

static void stop_tools(void)
{
	for (int i = 0; i < tool_count; i++)
		kill(tools[i], SIGTERM);
	for (int i = 0; i < tool_count; i++)
		waitpid(tools[i], NULL, 0);
}

/* Splits TEXT at its blanks, in place */
static int split(char *text, char **words, int most)
{
	int count = 0;

	for (char *word = strtok(text, " "); word && count < most - 1; word = strtok(NULL, " "))
		words[count++] = word;
	words[count] = NULL;
	return count;
}

static void watch_display(char *rest)
{
	char seconds_text[32], name[32], *words[7];

	if (split(rest, words, 7) != 6)
		fail("watch");
	snprintf(seconds_text, sizeof seconds_text, "%.0f", seconds + 60);
	snprintf(name, sizeof name, "vblanks-%s", words[0]);
	start_tool(name, (char *[]){ "watch", seconds_text, "--crtc", words[0], "--bits", words[1], words[2], words[3], words[4], words[5], NULL });
}

static void listen_to(char *device)
{
	char wav[600];

	snprintf(wav, sizeof wav, "%s", in_folder("sound.wav"));
	start_tool("sound.times", (char *[]){ "listen", device, wav, NULL });
}

/* Measures means of many, in some tens of milliseconds. All three end up as system calls of the host */
static void measure(void)
{
	enum { CALLS = 2000, SWITCHES = 500, PAGES = 500 };
	int there[2], back[2];
	char byte = 0;
	long long begin = now_us(), call, change;

	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	call = (now_us() - begin) * 1000 / CALLS;

	if (pipe(there) || pipe(back))
		fail("pipe");
	pid_t other = fork();
	if (!other) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	begin = now_us();
	for (int i = 0; i < SWITCHES; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			fail("pipe");
	change = (now_us() - begin) * 1000 / (2 * SWITCHES);
	for (int i = 0; i < 2; i++)
		close(there[i]), close(back[i]);
	waitpid(other, NULL, 0);

	long page = sysconf(_SC_PAGESIZE);
	volatile char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		fail("mmap");
	begin = now_us();
	for (long i = 0; i < PAGES; i++)
		memory[i * page] = 1;
	fprintf(report, "able %lld %lld %lld\n", call, change, (now_us() - begin) * 1000 / PAGES);
	munmap((void *)memory, PAGES * page);
}

static void refer(char *line)
{
	long long begin = now_us();
	pid_t pid = spawn("reference", (char *[]){ "sh", "-c", line, NULL });
	int status = -1;

	waitpid(pid, &status, 0);
	if (!status)
		fprintf(report, "reference %lld\n", now_us() - begin);
}

static void set_stage(const char *what, char *rest)
{
	int w, h;

	if (!strcmp(what, "seconds"))
		seconds = atof(rest);
	else if (!strcmp(what, "terminal"))
		terminal = 1;
	else if (!strcmp(what, "touch") && sscanf(rest, "%d %d", &w, &h) == 2)
		inputs_size(w, h), inputs_plug(TOUCH);
	else if (!strcmp(what, "keys"))
		inputs_plug(KEYS);
	else if (!strcmp(what, "watch"))
		watch_display(rest);
	else if (!strcmp(what, "listen"))
		listen_to(rest);
	else if (!strcmp(what, "sample"))
		sample_seconds = atof(rest);
	else if (!strcmp(what, "able"))
		measure();
	else if (!strcmp(what, "reference"))
		refer(rest);
	else if (!strcmp(what, "look"))
		sscanf(rest, "%lld %lld", &look_us, &held_us);
	else
		errno = EINVAL, fail(what);
}

static void read_script(void)
{
	char line[1200], what[16];
	int used;
	FILE *script = fopen(in_folder("script"), "re");

	if (!script)
		fail(in_folder("script"));
	while (fgets(line, sizeof line, script)) {
		struct event *e = &events[event_count];

		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "at %lld %d %15s %n", &e->at, &e->id, e->what, &used) == 3) {
			snprintf(e->rest, sizeof e->rest, "%s", line + used);
			if (++event_count == MAX_EVENTS)
				errno = E2BIG, fail("script");
		} else if (sscanf(line, "%15s %n", what, &used) == 1)
			set_stage(what, line + used);
	}
	fclose(script);
}

static void screenshot(int id, char *rest)
{
	char path[600], name[32], *words[3];
	int count = split(rest, words, 3);

	snprintf(name, sizeof name, "%d.ppm", id);
	snprintf(path, sizeof path, "%s", in_folder(count == 2 ? words[1] : name));
	snprintf(name, sizeof name, "%d.txt", id);
	spawn(name, (char *[]){ "grab", path, words[0], NULL });
}

static void shell(int id, char *line)
{
	char name[32], pid[16];

	snprintf(name, sizeof name, "%d.txt", id);
	snprintf(pid, sizeof pid, "%d", player.pid);
	setenv("PLAYER", pid, 1);
	spawn(name, (char *[]){ "sh", "-c", line, NULL });
}

static void print_terminal(int id)
{
	char name[32];

	snprintf(name, sizeof name, "%d.txt", id);
	FILE *file = create(name);
	terminal_report(file);
	fclose(file);
}

static void replay(int id, const char *recording)
{
	char name[32], path[600];

	snprintf(name, sizeof name, "%d.txt", id);
	snprintf(path, sizeof path, "%s", in_folder(recording));
	spawn(name, (char *[]){ "replay", path, NULL });
}

static void switch_display(char *rest)
{
	char *words[3];

	if (split(rest, words, 3) == 2)
		spawn("hotplug.txt", (char *[]){ "hotplug", words[0], words[1], NULL });
}

static void perform(struct event *e)
{
	int x = 0, y = 0, finger = 0;

	sscanf(e->rest, "%d %d %d", &x, &y, &finger);
	fprintf(report, "did %d %lld\n", e->id, now_us());
	if (!strcmp(e->what, "down"))
		touch_down(finger & 7, x, y);
	else if (!strcmp(e->what, "move"))
		touch_move(finger & 7, x, y);
	else if (!strcmp(e->what, "up"))
		touch_up(x & 7);
	else if (!strcmp(e->what, "replay"))
		replay(e->id, e->rest);
	else if (!strcmp(e->what, "press") || !strcmp(e->what, "release"))
		key_change(x, e->what[0] == 'p');
	else if (!strcmp(e->what, "plug"))
		inputs_plug(e->rest[0] == 't' ? TOUCH : KEYS);
	else if (!strcmp(e->what, "unplug"))
		inputs_unplug(e->rest[0] == 't' ? TOUCH : KEYS);
	else if (!strcmp(e->what, "display"))
		switch_display(e->rest);
	else if (!strcmp(e->what, "screenshot"))
		screenshot(e->id, e->rest);
	else if (!strcmp(e->what, "terminal"))
		print_terminal(e->id);
	else if (!strcmp(e->what, "shell"))
		shell(e->id, e->rest);
	else if (!strcmp(e->what, "signal") && player.pid)
		kill(player.pid, x);
}

/* Sleeps until UNTIL, or until the player prints or ends. Reports a late wake-up: nothing in the guest outranks the director, so the host
 * withheld its processor. */
static void wait_until(long long until)
{
	struct pollfd output = { .fd = player.output, .events = POLLIN };
	long long now = now_us(), left = until - now, most = look_us, late;
	struct timespec time = { 0 };

	left = left < 0 ? 0 : left > most ? most : left;
	time.tv_nsec = left * 1000;
	int readable = ppoll(&output, 1, &time, NULL) > 0;
	late = now_us() - now - left;
	if (late > held_us)
		fprintf(report, "held %lld %lld\n", now + left, late);
	if (readable)
		player_read(&player);
}

/* Runs the player and its events */
static void play(char **command)
{
	long long first = event_count && events[0].at < 0 ? -events[0].at : 0, zero = now_us() + first;
	long long end = zero + seconds * 1e6, sample = zero + 2000000;
	int next = 0, started = 0, ended = 0;

	while (now_us() < end && (!ended || next < event_count)) {
		long long until = started ? end : zero;

		while (next < event_count && zero + events[next].at <= now_us() && (started || events[next].at < 0))
			perform(&events[next++]);
		if (!started && now_us() >= zero) {
			player_start(&player, command, terminal, report);
			started = 1;
		}
		if (now_us() >= sample) {
			player_sample(&player, report);
			sample += sample_seconds * 1e6;
		}
		if (next < event_count && zero + events[next].at < until)
			until = zero + events[next].at;
		wait_until(sample < until ? sample : until);
		ended = started && player_ended(&player, report);
	}
}

/* Asks the player to end, and kills it after PATIENCE */
static void end_player(void)
{
	long long asked = now_us();
	int killed = 0;

	if (player.pid) {
		player_sample(&player, report);
		fprintf(report, "asked %lld\n", asked);
		kill(player.pid, SIGTERM);
	}
	while (!player_ended(&player, report)) {
		wait_until(asked + 2 * PATIENCE);
		if (!killed && now_us() > asked + PATIENCE) {
			fprintf(report, "killed\n");
			kill(player.pid, SIGKILL);
			killed = 1;
		}
	}
	/* Reads the rest of the pipe; a guard process of the player may still have to tidy up */
	for (long long until = now_us() + 300000; now_us() < until;)
		wait_until(until);
}

/* Runs above the player's threads: events stay on time if the only processor is busy. The player keeps its own policy */
static void be_punctual(void)
{
	struct sched_param priority = { .sched_priority = 50 };

	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: direct FOLDER COMMAND...\n");
		return 64;
	}
	folder = argv[1];
	report = create("report");
	player.log = create("log");
	be_punctual();
	read_script();
	usleep(300000);		/* until the watchers run and the inputs have their nodes */
	play(argv + 2);
	end_player();
	terminal_report(report);
	stop_tools();
	while (wait(NULL) > 0)	/* screenshots and shell lines */
		;
	fprintf(report, "done\n");
	return 0;
}
