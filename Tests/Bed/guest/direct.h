/* direct.h: what the files of the director share. direct.c says what it is and what its files look like. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/types.h>

/* CLOCK_MONOTONIC in microseconds: the clock of the kernel's vblank times. */
long long now_us(void);

/* Says on standard error what went wrong, and ends the director. */
void fail(const char *what) __attribute__((noreturn));

/* The fake input devices (inputs.c). Events for a device that is not plugged in are dropped, as fingers on a dead screen are. */
enum input { TOUCH, KEYS };
void inputs_size(int width, int height);	/* of the touch screen, before it is plugged in */
void inputs_plug(enum input which);
void inputs_unplug(enum input which);
void touch_down(int finger, int x, int y);	/* fingers are 0 to 7, each in the slot of its number */
void touch_move(int finger, int x, int y);
void touch_up(int finger);
void key_change(int code, int pressed);

/* The player (player.c): one process with both its outputs on a pipe. */
struct player {
	pid_t pid;		/* 0 before the start and after the end */
	int output;		/* the pipe's end here, -1 when it is closed */
	FILE *log;		/* gets every line with the time it was complete at: "US TEXT" */
	char line[4096];
	size_t used;
};
void player_start(struct player *p, char **command, int terminal, FILE *report);
void player_read(struct player *p);			/* after poll() says that output is readable */
void player_sample(const struct player *p, FILE *report);
int player_ended(struct player *p, FILE *report);	/* reaps it; 1 when it has ended */
void terminal_report(FILE *report);			/* what state the console's terminal is in */
